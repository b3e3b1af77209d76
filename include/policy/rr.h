/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Round robin: each usable subflow with room in its congestion window in turn,
 * whatever its RTT. A turn is so many segments, and in any case the whole head
 * fragment, which is the least that the kernel takes on a pick (up to 32 KB).
 */
#ifndef MPS_RR_H
#define MPS_RR_H

#include "model/decision.h"

/* Per connection. Zeroed memory is the state of a new connection. */
struct mps_rr_state {
	__u32 next; /* the turn of the first available path from this index on */
};

/* That path, or the first of all behind it, or MPS_WAIT. */
MPS_FN __s32 mps_rr_turn(const struct mps_conn *c MPS_ARG, __u32 tier, __u32 next)
{
	__s32 first = MPS_WAIT;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		if (!mps_is_usable(&c->path[i], tier) || !mps_is_available(c, &c->path[i]))
			continue;
		if (i >= next)
			return (__s32)i;
		if (first < 0)
			first = (__s32)i;
	}
	return first;
}

/* segments: of a turn, at least 1 */
static __always_inline struct mps_verdict mps_rr_pick(const struct mps_conn *c,
						      struct mps_rr_state *st, __u32 segments)
{
	const __s32 tier = mps_usable_tier(c);
	struct mps_verdict v;
	__u64 most;
	__s32 i;

	if (tier < 0)
		return mps_wait_for(MPS_WAIT_NO_SUBFLOW);
	i = mps_rr_turn(c, (__u32)tier, st->next);
	if (i < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	st->next = (__u32)i + 1;
	v = mps_send_on(c, (__u32)i);
	most = (__u64)segments * c->path[i & (MPS_MAX_PATHS - 1)].mss;
	if (v.bytes > most)
		v.bytes = (__u32)most;
	return v;
}

#endif /* MPS_RR_H */
