// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_minrtt: the smallest smoothed RTT among the subflows with room in their
 * congestion window; the "default" of the MPTCP papers.
 *
 * Use it as the baseline, or where paths are alike. Where they are not, a slow
 * path gets the end of a transfer as soon as the fast one's window is full;
 * bpf_ecf is for that. The policy is in include/policy/minrtt.h.
 */
#include "frame/scheduler.h"
#include "policy/minrtt.h"

MPS_COMMON_TUNABLES(500, 2, 1);

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_minrtt_pick(c);
}

MPS_POLICY(minrtt, .pick = pick, .available_only = true);
MPS_SCHEDULER(bpf_minrtt, "smallest RTT among subflows with room in their window", minrtt);
