// SPDX-License-Identifier: GPL-2.0
/* include/policy/auto.h as a library for test_auto.py, which has the state's layout. */
#include "policy/auto.h"

unsigned long auto_size(void)
{
	return sizeof(struct mps_auto_state);
}

void auto_earn(struct mps_auto_state *st, __u64 given, __u32 budget)
{
	mps_auto_earn(st, given, budget);
}

__u32 auto_copies(const struct mps_conn *c, struct mps_auto_state *st, __u32 length, __u32 pays)
{
	return mps_auto_copies(c, st, length, pays);
}

/* Its parts, each by itself. */
__u32 part(const struct mps_conn *c, __u32 which, __u32 length)
{
	switch (which) {
	case 0:
		return mps_thin_probes(c, length);
	case 1:
		return mps_copy_if_it_pays(c);
	default:
		return mps_cfs_copies(c);
	}
}
