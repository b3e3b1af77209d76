// SPDX-License-Identifier: GPL-2.0
/* kmod/silence.h as a library for test_silence.py. */
#include "../../kmod/silence.h"

static struct msb_flight flight(const unsigned int *f)
{
	return (struct msb_flight){
		.srtt = f[0],
		.mdev = f[1],
		.apart = f[2],
		.quiet = f[3],
		.age = f[4],
		.rto = f[5],
		.much = f[6],
	};
}

unsigned int until_silent(const unsigned int *numbers, unsigned int slack)
{
	const struct msb_flight f = flight(numbers);

	return msb_until_silent(&f, slack);
}

unsigned int until_quiet(const unsigned int *numbers, unsigned int slack)
{
	const struct msb_flight f = flight(numbers);

	return msb_until_quiet(&f, slack);
}
