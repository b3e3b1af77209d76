// SPDX-License-Identifier: GPL-2.0
/* kmod/silence.h as a library for test_silence.py. */
#include "../../kmod/silence.h"

unsigned int until_silent(const unsigned int *f, unsigned int slack)
{
	const struct msb_flight flight = {
		.srtt = f[0],
		.mdev = f[1],
		.apart = f[2],
		.quiet = f[3],
		.age = f[4],
		.rto = f[5],
	};

	return msb_until_silent(&flight, slack);
}
