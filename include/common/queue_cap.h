/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a queue a slower path may have. When its bottleneck drops a segment, the repair takes
 * about two of its round trips: one until the sender knows, one for the repair. Nothing is
 * acknowledged at data level meanwhile. Where the peer's window W does not take what all paths
 * carry in that time, 2 * sum(BW) * RTT, all of them stand still.
 * RFC 6182, section 5.3, wants a receive buffer of just that size. A receiver makes it as
 * large as the RTTs need that it sees (mptcp_rcv_space_adjust(), net/mptcp/protocol.c), and
 * TCP then fills its queue on the slower path until a segment is dropped. At the end of the
 * data it is the same with what is left in place of W: such a loss delays the end.
 *
 * So a path whose RTT is not the smallest may have on its way what it delivers in
 *
 *   max(min(W, left) / (2 * sum(BW)), 1.5 * RTT_min)
 *
 * and half of its window in any case, which is what the loss would leave. The second term
 * keeps its bottleneck busy whatever the window. Not in its first slow start: it ends by
 * itself, and a window that is not used does not grow.
 */
#ifndef MPS_COVER_H
#define MPS_COVER_H

#include "model/estimate.h"

/*
 * us for which the peer's window, or what is left, covers a repair; huge while no path's rate
 * is known. more: more data follows, as the writer waits for room.
 */
MPS_FN __u64 mps_covered_us(const struct mps_conn *c MPS_ARG, __u32 tier, __u32 more)
{
	__u64 rate = 0, fresh = c->wnd_left;
	__u32 i;

	if (!more)
		fresh = mps_min(fresh, c->pending);
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_is_usable(p, tier))
			rate += mps_likely_rate(p);
	}
	return mps_duration(fresh + c->unacked, 2 * rate);
}

/* In us, of the usable paths; ~0: none is known. */
MPS_FN __u32 mps_shortest_rtt(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u32 i, rtt = ~0U;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_is_usable(p, tier) && p->srtt_us && p->srtt_us < rtt)
			rtt = p->srtt_us;
	}
	return rtt;
}

/* Segments that the path may have on its way; us: what is covered. */
static __always_inline __u32 mps_covered_cwnd(const struct mps_path *p, __u64 us)
{
	const __u64 least = p->min_rtt_us * 3ULL / 2;
	const __u64 bytes = p->rate * mps_min(mps_max(us, least), MPS_RTT_MAX) / MPS_USEC;
	const __u64 segments = mps_max(bytes / p->mss, p->cwnd / 2);

	return (__u32)mps_min(mps_max(segments, 1), p->cwnd);
}

/*
 * get_send: takes from the windows in the snapshot what is not covered. Returns from how many.
 * more: see mps_covered_us().
 */
MPS_FN __u32 mps_cover(struct mps_conn *c MPS_ARG, __u32 more)
{
	const __s32 tier = mps_usable_tier(c);
	__u32 i, rtt, cwnd, found = 0;
	__u64 us;

	if (tier < 0)
		return 0;
	us = mps_covered_us(c, (__u32)tier, more);
	rtt = mps_shortest_rtt(c, (__u32)tier);
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_is_usable(p, (__u32)tier) || p->srtt_us <= rtt || p->ssthresh == ~0U ||
		    !p->rate)
			continue;
		cwnd = mps_covered_cwnd(p, us);
		found += cwnd < p->cwnd;
		p->cwnd = cwnd;
	}
	return found;
}

#endif /* MPS_COVER_H */
