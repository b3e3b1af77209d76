/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who gets the rest of a fragment that was begun. The peer's window may cut a fragment anywhere,
 * and a copy is always of the whole fragment (__mptcp_retrans()). With its halves on two subflows
 * neither of them may send a copy, and the slower one decides. Where a copy would end that wait,
 * the rest goes to the subflow that has the beginning.
 */
#ifndef MPS_REST_H
#define MPS_REST_H

#include "model/estimate.h"

/* Bytes of data in one fragment, at most: sk_page_frag_refill(), net/core/sock.c */
#define MPS_FRAGMENT (32U << 10)

/* us until the beginning is delivered; 0: it was, or there is no telling */
static __always_inline __u64 mps_rest_left(const struct mps_conn *c, const struct mps_path *p)
{
	const __u64 owed = mps_owed(p);
	const __u64 trip = p->srtt_us > c->age_us ? p->srtt_us - c->age_us : 0;

	if (!owed || !p->srtt_us || p->flags & MPS_PATH_LOSS)
		return 0;
	return mps_max(trip, mps_duration(owed, mps_likely_rate(p)));
}

/*
 * The path that has the beginning, if a copy of the whole on the chosen one would be done a
 * quarter earlier than it (mps_copy_first()); else the chosen one.
 */
MPS_FN __s32 mps_rest_path(const struct mps_conn *c MPS_ARG, __s32 chosen)
{
	const __s32 tier = mps_usable_tier(c);
	const struct mps_path *first = &c->path[chosen & (MPS_MAX_PATHS - 1)];
	__s32 found = chosen;
	__u32 i, flags = 0;
	__u64 t;

	/* mostly nothing was begun */
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		flags |= c->path[i].flags;
	}
	if (!(flags & MPS_PATH_BEGAN))
		return chosen;
	if (tier < 0 || first->flags & MPS_PATH_BEGAN || !first->srtt_us)
		return chosen;
	t = mps_finish_us(first, MPS_FRAGMENT, MPS_EST_GROW | MPS_EST_RATE);
	MPS_UNROLL
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (p->flags & MPS_PATH_BEGAN && mps_is_usable(p, (__u32)tier) &&
		    t + t / 4 < mps_rest_left(c, p))
			found = (__s32)i;
	}
	return found;
}

/* The verdict v with that. tail: copies wait until there is nothing left to assign. */
static __always_inline struct mps_verdict mps_with_rest(const struct mps_conn *c,
							struct mps_verdict v, bool tail)
{
	__s32 path;

	if (v.path < 0 || (tail && c->pending > c->unit))
		return v;
	path = mps_rest_path(c, v.path);
	if (path != v.path) {
		v.path = path;
		v.bytes = (__u32)mps_min(c->unit, c->wnd_left);
	}
	return v;
}

#endif /* MPS_REST_H */
