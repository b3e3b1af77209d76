/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DAPS, delay-aware packet scheduling: over a schedule period each subflow is
 * given data in proportion to 1 / forward delay, as far as its congestion
 * window carries that, and in turns that spread its share over the period.
 *
 * Source: Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli, "DAPS: Intelligent
 * delay-aware packet scheduling for multipath transport", ICC 2014. ecf-conext17,
 * section 5.1, has it in words: by forward delay and window, inversely to the RTT.
 * The formula is this project's. With D = srtt / 2 and W = cwnd * mss of each
 * subflow, f the one with the smallest delay and s the one with the largest:
 *
 *   share_i = Q * D_f / D_i * min(W_i, W_f) / W_f
 *
 * Q is what f sends in one round trip of s, in bounds: W_f * D_s / D_f. The
 * schedule is made anew when it is used up or when a delay has changed by more
 * than a quarter, or when a subflow comes or goes.
 *
 * A schedule says for every byte on which path it goes, so while the window of
 * that one is full the paper's sender waits, and a path with more rate than its
 * delay tells is never used to the full. Here such a path takes what the others
 * have no room for beyond its share, which is a debt; the tunable wait_turn is the paper's form.
 *
 * What differs: the paper sends segments out of order, so that they arrive in
 * order. The kernel gives data out in order, so shares and turns are all that
 * can be had. It also assigns whole fragments, so shares are settled by the
 * bytes that a subflow really was given; what is too much goes off its next
 * share.
 */
#ifndef MPS_DAPS_H
#define MPS_DAPS_H

#include "policy/minrtt.h"
#include "model/estimate.h"

/* The fastest subflow's share of a period, Q: at least more than a debt. */
#define MPS_DAPS_SHARE_MIN (128U << 10)
#define MPS_DAPS_SHARE_MAX (1U << 20)
/* A pick gives a burst and completes its last fragment; no debt is larger. */
#define MPS_DAPS_MOST (96U << 10)
/* Shares are in so many bytes, ratios of delays in 256ths. */
#define MPS_DAPS_UNIT 64
#define MPS_DAPS_RATIO 256

/* Per connection. Zeroed memory is the state of a new connection. */
struct mps_daps_state {
	__s16 left[MPS_MAX_PATHS];  /* of its share, in units; < 0: given too much */
	__u16 ratio[MPS_MAX_PATHS]; /* D_i / D_f when the schedule was made; 0: not in it */
	__u32 delay_us;		    /* D_f at that time */
	__u32 seq;		    /* mps_path.metric of the last pick before it was given data */
	__u16 rest;		    /* bytes given that make no whole unit yet */
	__u8 last;		    /* the last pick plus one; 0: none that is not settled */
	__u8 nr_paths;		    /* when the schedule was made */
};

static __always_inline __u64 mps_daps_delay(const struct mps_path *p)
{
	return mps_max(p->srtt_us / 2, 1);
}

static __always_inline bool mps_daps_in_schedule(const struct mps_path *p, __u32 tier)
{
	return mps_is_usable(p, tier) && !(p->flags & MPS_PATH_LOSS) && p->srtt_us;
}

/*
 * Takes what the last pick really gave off its share: mps_path.metric counts
 * the bytes that a subflow was given. Returns these bytes.
 */
MPS_FN __u32 mps_daps_settle(struct mps_daps_state *st MPS_ARG, const struct mps_conn *c MPS_ARG)
{
	const __u32 last = st->last, i = (last - 1) & (MPS_MAX_PATHS - 1);
	__u32 given;
	__s32 left;

	st->last = 0;
	if (!last || i >= c->nr_paths)
		return 0;
	given = c->path[i].metric - st->seq;
	/* the subflow is gone and another one has its index */
	if (given > MPS_DAPS_MOST)
		return 0;
	left = st->left[i] - (__s32)((given + st->rest) / MPS_DAPS_UNIT);
	st->rest = (given + st->rest) % MPS_DAPS_UNIT;
	if (left < -(__s32)(MPS_DAPS_MOST / MPS_DAPS_UNIT))
		left = -(__s32)(MPS_DAPS_MOST / MPS_DAPS_UNIT);
	st->left[i] = (__s16)left;
	return given;
}

/* More than a quarter away from what the schedule was made with? */
static __always_inline bool mps_daps_moved(const struct mps_daps_state *st, __u32 ratio,
					   const struct mps_path *p)
{
	const __u64 now = mps_daps_delay(p) * 4 * MPS_DAPS_RATIO;
	const __u64 then = (__u64)st->delay_us * ratio;

	return now < 3 * then || (now > 5 * then && ratio < 0xffff);
}

/* The same subflows as in the schedule, their delays nearly so, and some of it left? */
MPS_FN __u32 mps_daps_holds(const struct mps_daps_state *st MPS_ARG,
			    const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u32 i, left = 0;

	if (st->nr_paths != c->nr_paths)
		return 0;
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];
		const __u32 ratio = st->ratio[i];

		if (i >= c->nr_paths)
			break;
		if (mps_daps_in_schedule(p, tier) != !!ratio)
			return 0;
		if (!ratio)
			continue;
		if (mps_daps_moved(st, ratio, p))
			return 0;
		left |= st->left[i] > 0;
	}
	return left;
}

/* f, or MPS_WAIT where nothing can be in a schedule. */
MPS_FN __s32 mps_daps_fastest(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u64 least = ~0ULL;
	__s32 best = MPS_WAIT;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_daps_in_schedule(p, tier) || mps_daps_delay(p) >= least)
			continue;
		least = mps_daps_delay(p);
		best = (__s32)i;
	}
	return best;
}

/* D_s: the largest delay of all in the schedule, 0 without any */
MPS_FN __u64 mps_daps_longest(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u64 most = 0;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		if (mps_daps_in_schedule(&c->path[i], tier))
			most = mps_max(most, mps_daps_delay(&c->path[i]));
	}
	return most;
}

/* Bytes of Q; the window is bounded so that the product fits. */
static __always_inline __u64 mps_daps_period(const struct mps_path *f, __u64 longest_us)
{
	const __u64 q =
		mps_bytes(f->cwnd, f) * mps_min(longest_us, MPS_RTT_MAX) / mps_daps_delay(f);

	return mps_min(mps_max(q, MPS_DAPS_SHARE_MIN), MPS_DAPS_SHARE_MAX);
}

/* A new schedule with f as the fastest; q: bytes. Debts stay. Returns f's units. */
MPS_FN __u32 mps_daps_plan(struct mps_daps_state *st MPS_ARG, const struct mps_conn *c MPS_ARG,
			   __u32 tier, __u32 f, __u32 q)
{
	const struct mps_path *fast = &c->path[f & (MPS_MAX_PATHS - 1)];
	const __u64 base = mps_daps_delay(fast), wnd = mps_bytes(fast->cwnd, fast);
	const bool same = st->nr_paths == c->nr_paths;
	__u64 ratio, share;
	__u32 i;

	MPS_UNROLL
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];
		const __s32 debt = same && st->left[i] < 0 ? st->left[i] : 0;

		st->left[i] = 0;
		st->ratio[i] = 0;
		if (i >= c->nr_paths || !mps_daps_in_schedule(p, tier))
			continue;
		ratio = mps_min(mps_daps_delay(p) * MPS_DAPS_RATIO / base, 0xffff);
		share = (__u64)q * MPS_DAPS_RATIO / ratio * mps_min(mps_bytes(p->cwnd, p), wnd) /
			wnd;
		st->ratio[i] = (__u16)ratio;
		st->left[i] = (__s16)(debt + (__s32)(share / MPS_DAPS_UNIT));
	}
	st->delay_us = (__u32)base;
	st->nr_paths = (__u8)c->nr_paths;
	return q / MPS_DAPS_UNIT;
}

/*
 * Whose turn it is: that of the path with the most time left to go, which is
 * what is left of its share by its delay; of equals the faster one. room: of
 * those with room only.
 */
MPS_FN __s32 mps_daps_turn(const struct mps_daps_state *st MPS_ARG,
			   const struct mps_conn *c MPS_ARG, __u32 room)
{
	__u32 i, time, most = 0, ratio = 0;
	__s32 best = MPS_WAIT;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		if (!st->ratio[i] || st->left[i] <= 0)
			continue;
		if (room && !mps_is_available(c, &c->path[i]))
			continue;
		time = (__u32)st->left[i] * st->ratio[i];
		if (time > most || (time == most && st->ratio[i] < ratio)) {
			most = time;
			ratio = st->ratio[i];
			best = (__s32)i;
		}
	}
	return best;
}

/* bytes: no more than that */
static __always_inline struct mps_verdict
mps_daps_send(const struct mps_conn *c, struct mps_daps_state *st, __s32 i, __u64 bytes)
{
	struct mps_verdict v = mps_send_on(c, (__u32)i);

	if (v.bytes > bytes)
		v.bytes = (__u32)bytes;
	st->seq = c->path[i & (MPS_MAX_PATHS - 1)].metric;
	st->last = (__u8)(i + 1);
	return v;
}

/* patient: wait for the turn of a path without room, as the paper's schedule asks for */
static __always_inline struct mps_verdict mps_daps_pick(const struct mps_conn *c,
							struct mps_daps_state *st, __u32 patient)
{
	const __s32 tier = mps_usable_tier(c);
	const struct mps_path *p;
	__s32 f, s, turn;

	mps_daps_settle(st, c);
	if (tier < 0)
		return mps_wait_for(MPS_WAIT_NO_SUBFLOW);
	f = mps_daps_fastest(c, (__u32)tier);
	s = mps_minrtt_available(c, (__u32)tier);
	p = &c->path[s & (MPS_MAX_PATHS - 1)];
	/* a first sample, or nothing else to do */
	if (s >= 0 && (f < 0 || mps_wants_first_sample(c, p)))
		return mps_daps_send(c, st, s, MPS_MAX_BURST);
	if (f < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	if (!mps_daps_holds(st, c, (__u32)tier)) {
		p = &c->path[f & (MPS_MAX_PATHS - 1)];
		mps_daps_plan(st, c, (__u32)tier, (__u32)f,
			      (__u32)mps_daps_period(p, mps_daps_longest(c, (__u32)tier)));
	}
	turn = mps_daps_turn(st, c, !patient);
	p = &c->path[turn & (MPS_MAX_PATHS - 1)];
	if (turn >= 0 && mps_is_available(c, p))
		return mps_daps_send(c, st, turn,
				     (__u64)st->left[turn & (MPS_MAX_PATHS - 1)] * MPS_DAPS_UNIT);
	if (patient && mps_has_inflight(p))
		return mps_wait_for(MPS_WAIT_TURN);
	/* nothing would end the wait */
	if (s < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	return mps_daps_send(c, st, s, MPS_MAX_BURST);
}

#endif /* MPS_DAPS_H */
