/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A glance: may new data wait, by so little of each subflow that nothing stored is needed? The
 * full decision waits for want of room where no usable path has any in its window, whatever else
 * is true of the paths: what it looks up beside TCP only makes windows smaller, and policies give
 * data to no path without room, unless they say so (fills_queues, frame/policy.h). Most of the
 * core's questions end like that: it asks at each acknowledgement.
 *
 * Some policies take available paths only, which have room for `fit` bytes or an eighth of their
 * window (mps_is_available()). A smaller window has less of both. So for them less than that is no
 * room here, either.
 */
#ifndef MPS_GLANCE_H
#define MPS_GLANCE_H

#include "model/estimate.h"

/* What a glance says; neither: it takes a full look. */
enum mps_glance_says {
	MPS_GLANCE_WAIT = 1 << 0,   /* new data may wait for room, as much as `fit` says */
	MPS_GLANCE_PLAIN = 1 << 1,  /* there is room, and nothing is doubtful or new */
	MPS_GLANCE_UNSENT = 1 << 2, /* with the first: a subflow has data that it has not sent */
};

/* Of subflows that are all active. Zeroed memory is its beginning. */
struct mps_glance {
	__u32 seen;   /* 1: one that is no backup, 2: one that is */
	__u32 room;   /* the same, of those with room */
	__u32 unsent; /* not 0: a subflow has data that it has not sent */
};

/* p: cwnd, inflight, mss and unsent of the path; backup: 0 or 1; fit: 0, where any room counts */
static __always_inline void mps_glance_add(struct mps_glance *g, const struct mps_path *p,
					   __u32 backup, __u32 fit)
{
	const bool room = fit ? mps_has_room(p, fit) : !!mps_cwnd_room(p);

	g->seen |= 1U << backup;
	g->unsent |= p->unsent;
	g->room |= (__u32)room << backup;
}

/* No path of those that mps_usable_tier() lets carry data has room, and there is one. */
static __always_inline bool mps_glance_waits(const struct mps_glance *g)
{
	return g->seen && !(g->room & g->seen & -g->seen);
}

/*
 * Is TCP's last sample of the delivery rate one that raises what is believed of the path? It is
 * gone with the next. mps_full_rate() > rate, without a division.
 */
static __always_inline bool mps_glance_news(__u32 rate, __u32 segments, __u32 mss,
					    __u32 interval_us, __u32 cwnd, __u32 min_rtt_us)
{
	const __u64 bytes = mps_min((__u64)segments * mss, MPS_BYTES_MAX);

	return bytes * MPS_USEC >= (rate + 1ULL) * interval_us && rate != ~0U && interval_us &&
	       mps_was_full(segments, interval_us, cwnd, min_rtt_us);
}

#endif /* MPS_GLANCE_H */
