// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_rr: round robin, the baseline that knows nothing of its paths. Subflows
 * with room in their congestion window take turns.
 *
 * Use it to compare with. Unlike paths make the receiver wait for the slower
 * one again and again, and at the end of the data; copies mend what they can of
 * that. On like paths it is as good as any. The policy is in include/policy/rr.h.
 */
#include "frame/scheduler.h"
#include "policy/rr.h"

MPS_COMMON_TUNABLES(500, 2, 1);
MPS_TUNABLE(segments, 1, 1, 45, 1, "segments per turn; the kernel completes the head fragment");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_rr_pick(c, priv, segments);
}

MPS_POLICY(rr, .pick = pick, .available_only = true);
MPS_SCHEDULER(bpf_rr, "subflows with room in their window take turns", rr);
