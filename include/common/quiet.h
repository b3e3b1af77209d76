/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths that are quiet: more than two segments are on their way, and nothing was acknowledged for
 * longer than the RTT explains (bpf_mptcp_is_quiet(), kmod/silence.h). What they owe may be lost,
 * as after a timeout, and so the snapshot shows them. But it is a doubt only: where no other path
 * could carry anything they go on as they are, or data would wait for what may not come.
 */
#ifndef MPS_QUIET_H
#define MPS_QUIET_H

#include "model/decision.h"

/* quiet: a mask of paths. Returns those that count as after a timeout from now on. */
MPS_FN __u32 mps_quiet_out(struct mps_conn *c MPS_ARG, __u32 quiet)
{
	const __s32 tier = mps_usable_tier(c);
	__u32 i, others = 0;

	for (i = 0; tier >= 0 && i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		others |= !(quiet >> i & 1) && mps_is_usable(&c->path[i], (__u32)tier) &&
			  !(c->path[i].flags & MPS_PATH_LOSS);
	}
	for (i = 0; others && i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		if (quiet >> i & 1)
			c->path[i].flags |= MPS_PATH_LOSS;
	}
	return others ? quiet : 0;
}

#endif /* MPS_QUIET_H */
