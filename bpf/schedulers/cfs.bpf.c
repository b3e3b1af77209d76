// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_cfs: the redundant tail (cfs, section 3.1). minRTT while there is new
 * data; then the fastest subflow repeats what slower ones still owe.
 *
 * Use it for short transfers over paths whose delay varies or that may die: the
 * end does not wait for a slow path, at the price of sending the tail twice. It
 * predicts nothing, so a long transfer gives a slow path as much as minRTT does,
 * but for what would block the peer's window. The policy is in include/policy/cfs.h;
 * --set window_wait=0 --set min_room=0 --set queue_cap=0 is the paper's.
 */
#include "frame/scheduler.h"
#include "policy/cfs.h"

MPS_COMMON_TUNABLES(500, 2, 1);
MPS_WAS(window_wait, window);
MPS_TUNABLE(
	window_wait, 1000, 0, 16000, 1000,
	"factor of BLEST's wait, used while more is to be sent than the peer's window takes; 0: no wait");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_cfs_pick(c, priv, window_wait);
}

static __always_inline __u64 copies(const struct mps_conn *c, void *priv)
{
	return mps_cfs_copies(c);
}

MPS_POLICY(cfs, .pick = pick, .copies = copies, .copies_tail = true);
MPS_SCHEDULER(bpf_cfs, "smallest RTT, and the fastest subflow repeats the tail", cfs);
