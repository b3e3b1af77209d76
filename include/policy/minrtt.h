/* SPDX-License-Identifier: GPL-2.0 */
/*
 * minRTT: among the subflows with room in their congestion window, the one
 * with the smallest smoothed RTT. The "default" of the MPTCP papers, and the
 * choice of the second-best path in ECF and BLEST.
 *
 * Source: ecf-conext17, section 5.1, "Default"; KERNEL behaviour it differs
 * from: upstream's default reads neither RTT nor cwnd.
 */
#ifndef MPS_MINRTT_H
#define MPS_MINRTT_H

#include "model/decision.h"

/*
 * A path without an RTT sample is unknown, not fast. It gets its first sample
 * early and cheaply: once, while it is idle, and only when that does not make
 * it carry the end of the data, which would then wait for a path of any speed.
 */
static __always_inline bool mps_wants_first_sample(const struct mps_conn *c,
						   const struct mps_path *p)
{
	return !p->srtt_us && !mps_has_inflight(p) && c->pending > c->unit;
}

/*
 * Index of the available path with the smallest RTT, an unknown one only where
 * no known one is available; MPS_WAIT if there is none at all.
 */
MPS_FN __s32 mps_minrtt_available(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u64 best_rtt = ~0ULL;
	__s32 best = MPS_WAIT;
	__u32 i;

	MPS_UNROLL
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];
		/* unknown sorts behind every known one */
		__u64 rtt = p->srtt_us ? p->srtt_us : 1ULL << 32;

		if (i >= c->nr_paths)
			break;
		if (!mps_is_usable(p, tier) || !mps_is_available(c, p))
			continue;
		if (mps_wants_first_sample(c, p))
			return (__s32)i;
		if (rtt < best_rtt) {
			best_rtt = rtt;
			best = (__s32)i;
		}
	}
	return best;
}

static __always_inline struct mps_verdict mps_minrtt_pick(const struct mps_conn *c)
{
	const __s32 tier = mps_usable_tier(c);
	__s32 i;

	if (tier < 0)
		return mps_wait_for(MPS_WAIT_NO_SUBFLOW);
	i = mps_minrtt_available(c, (__u32)tier);
	if (i < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	return mps_send_on(c, (__u32)i);
}

#endif /* MPS_MINRTT_H */
