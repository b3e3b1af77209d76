// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_cfs: the redundant tail (cfs, section 3.1). minRTT while there is new
 * data; then the fastest subflow repeats what slower ones still owe.
 *
 * Use it for short transfers over paths whose delay varies or that may die: the
 * end does not wait for a slow path, at the price of sending the tail twice. It
 * never waits and predicts nothing, so a long transfer gives a slow path as much
 * as minRTT does. The policy is in include/mps_cfs.h.
 */
#define MPS_COPIES_TAIL true
#include "frame.h"
#include "mps_cfs.h"

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_minrtt_pick(c);
}

static __always_inline __u64 copies(const struct mps_conn *c, void *priv)
{
	return mps_cfs_copies(c);
}

MPS_SCHEDULER_COPIES(bpf_cfs, "smallest RTT, and the fastest subflow repeats the tail", pick,
		     copies);
