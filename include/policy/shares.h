/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Load-balancing by weights: each path its part of the bytes. A path's clock goes on by what it is
 * given over its weight, and the turn is of the path whose clock is behind all others (start-time
 * fair queueing). Where that one is full the others may run ahead by a little, and then wait for
 * it: the shares hold, and the connection is as fast as the path that can carry least of its share.
 *
 * A path that may not carry for a time does not make up for it later.
 */
#ifndef MPS_SHARES_H
#define MPS_SHARES_H

#include "model/estimate.h"
#include "state/steer.h"

/* A clock's unit: a byte of a path whose weight is this. */
#define MPS_SHARES_UNIT MPS_STEER_WEIGHT_MAX
/* So many bytes of its own a path may run ahead of one that is full. */
#define MPS_SHARES_AHEAD (64U << 10)

/* Per connection. Zeroed memory is the state of a new connection. */
struct mps_shares_state {
	__u32 clock[MPS_MAX_PATHS]; /* low halves, less than 2^31 apart */
};
_Static_assert(sizeof(struct mps_shares_state) <=
		       MPS_STEER_POLICY_BYTES + offsetof(struct mps_steer_state, last),
	       "state of a connection");

static __always_inline bool mps_shares_takes_part(const struct mps_path *p, __u32 tier)
{
	return mps_is_usable(p, tier) && !(p->flags & MPS_PATH_LOSS);
}

/* The path that is behind all others, or MPS_WAIT. room: of those with room only. */
MPS_FN __s32 mps_shares_last(const struct mps_conn *c MPS_ARG,
			     const struct mps_shares_state *s MPS_ARG, __u32 tier, __u32 room)
{
	__s32 best = MPS_WAIT;
	__u32 i, least = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_shares_takes_part(p, tier) || (room && !mps_is_available(c, p)))
			continue;
		if (best < 0 || (__s32)(s->clock[i] - least) < 0) {
			least = s->clock[i];
			best = (__s32)i;
		}
	}
	return best;
}

/* Those that may not carry now are where the last one is. */
MPS_FN __u32 mps_shares_level(const struct mps_conn *c MPS_ARG, struct mps_shares_state *s MPS_ARG,
			      __u32 tier, __u32 clock)
{
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++)
		if (i >= c->nr_paths || !mps_shares_takes_part(&c->path[i], tier))
			s->clock[i] = clock;
	return 0;
}

static __always_inline __u32 mps_shares_ticks(const struct mps_path *p, __u32 bytes)
{
	return bytes * MPS_SHARES_UNIT / mps_steer_weight(p);
}

/* What finds no room in the window waits in the subflow's queue: the core hands over all of it. */
static __always_inline __u32 mps_shares_given(const struct mps_conn *c, const struct mps_verdict *v)
{
	return (__u32)mps_min(mps_max(v->bytes, c->unit), c->wnd_left);
}

/* paths: how many there were at the last look; with another number indices mean other paths. */
static __always_inline struct mps_verdict mps_shares_pick(const struct mps_conn *c,
							  struct mps_shares_state *s, __u8 *paths)
{
	const __s32 tier = mps_usable_tier(c);
	const struct mps_path *p;
	struct mps_verdict v;
	__s32 last, i;
	__u32 clock;

	if (tier < 0)
		return mps_wait_for(MPS_WAIT_NO_SUBFLOW);
	if (*paths != c->nr_paths)
		__builtin_memset(s, 0, sizeof(*s));
	*paths = (__u8)c->nr_paths;
	last = mps_shares_last(c, s, (__u32)tier, 0);
	i = mps_shares_last(c, s, (__u32)tier, 1);
	if (i < 0 || last < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	p = &c->path[i & (MPS_MAX_PATHS - 1)];
	clock = s->clock[last & (MPS_MAX_PATHS - 1)];
	mps_shares_level(c, s, (__u32)tier, clock);
	if (s->clock[i & (MPS_MAX_PATHS - 1)] - clock > mps_shares_ticks(p, MPS_SHARES_AHEAD) &&
	    mps_has_inflight(&c->path[last & (MPS_MAX_PATHS - 1)]))
		return mps_wait_for(MPS_WAIT_TURN);
	v = mps_send_on(c, (__u32)i);
	if (c->unit && v.bytes > c->unit)
		v.bytes = c->unit;
	s->clock[i & (MPS_MAX_PATHS - 1)] += mps_shares_ticks(p, mps_shares_given(c, &v));
	return v;
}

#endif /* MPS_SHARES_H */
