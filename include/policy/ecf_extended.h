/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ECF beyond the paper. Its form takes cwnd / RTT for the speed of a path and
 * one segment for what a choice hands over. Here a choice hands over a whole
 * fragment, up to 32 KB, and paths are idle between transfers: after that, the
 * RTT of a slow path says nothing of the queue that the fragment will make.
 *
 * This form keeps the idea and the order of Algorithm 1, takes for x_f and x_s
 * the paths that complete the next fragment first, and puts the estimates of
 * model/estimate.h in the place of n * rtt_f and rtt_s.
 */
#ifndef MPS_ECF_EXTENDED_H
#define MPS_ECF_EXTENDED_H

#include "policy/ecf.h"
#include "model/estimate.h"

/* All of them 0: the paper's form. */
struct mps_ecf_options {
	__u32 beta;	/* thousandths */
	__u32 estimate; /* enum mps_estimate */
	__u32 whole;	/* compare what a choice really hands over, the whole fragment */
	__u32 buffer;	/* the send buffer holds a part only of what is to come */
	__u32 grow;	/* in slow start a path gets a part of what is to come all the same */
};

/* ... one part of so many may be on its way there. */
#define MPS_ECF_GROW_PARTS 4

/* A writer that got room is given so long, in us, to use it. */
#define MPS_ECF_REFILL_US 20000

/*
 * k of the paper is what the application has to send; the send buffer holds only
 * a part of that, in a long transfer less than the fast path carries while one
 * fragment takes the slow one. As long as the writer waits for room, expect a part
 * of what was assigned since the connection was last idle to come on top. When
 * none comes, the transfer is late by that part of its time at most.
 *
 * given: bytes assigned so far; waits: the writer waits for room now; part: in
 * thousandths.
 */
static __always_inline void mps_ecf_look_ahead(struct mps_conn *c, struct mps_ecf_state *st,
					       __u64 given, bool waits, __u32 part)
{
	const __u32 now_us = c->now_us ?: 1;

	/* or its state is new in mid-connection, as where bpf_steer takes another policy */
	if (!c->unacked || !st->begun)
		st->begun = given;
	if (waits)
		st->blocked_us = now_us;
	else if (now_us - st->blocked_us > MPS_ECF_REFILL_US)
		st->blocked_us = 0;
	st->ahead = st->blocked_us ? mps_min(given - st->begun, MPS_BYTES_MAX) * part / 1000 : 0;
	c->pending += st->ahead;
}

/* What one choice hands over at least: the estimates compare that. */
static __always_inline __u64 mps_ecf_unit(const struct mps_conn *c, const struct mps_path *p,
					  __u32 whole)
{
	return whole && c->unit > p->mss ? c->unit : p->mss;
}

/*
 * x_f counts as available with less than a segment's room, too: it is the best
 * there is, and TCP would fill the gap with the short end of its queue, which
 * costs a segment now and, by Nagle's rule, a round trip at the end of the data.
 */
static __always_inline bool mps_ecf_has_gap(const struct mps_path *p)
{
	return p->flags & MPS_PATH_SNDBUF && mps_cwnd_room(p);
}

/* The path that is done with one unit first, whether it has room or (room) only with. */
MPS_FN __s32 mps_ecf_first(const struct mps_conn *c MPS_ARG, __u32 tier, __u32 room, __u32 estimate,
			   __u32 whole)
{
	__u64 t, best_t = ~0ULL;
	__s32 best = MPS_WAIT;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_is_usable(p, tier) || p->flags & MPS_PATH_LOSS || !p->srtt_us)
			continue;
		if (room && !mps_is_available(c, p))
			continue;
		t = mps_done_us(p, mps_ecf_unit(c, p, whole), estimate);
		if (t < best_t) {
			best_t = t;
			best = (__s32)i;
		}
	}
	return best;
}

/*
 * What s takes holds up the send buffer until it is acknowledged. Until then f gets what the
 * buffer has, and what the writer puts into the room that acknowledgements of the other data
 * make. When f has sent that earlier, it stands still, and its next window is a burst of which
 * its queue may drop some: that costs more than a slower s brings.
 *
 *   T_f(buffer) - rtt_f < T_s(unit) + delta
 *
 * Not of an s in its first slow start, whose T_s is not known yet.
 */
static __always_inline bool mps_ecf_runs_dry(const struct mps_conn *c, const struct mps_path *f,
					     const struct mps_path *s,
					     const struct mps_ecf_state *st, __u32 estimate,
					     __u64 t_s)
{
	const __u64 flight = mps_bytes(f->inflight, f);
	const __u64 freed = c->unacked > flight ? c->unacked - flight : 0;
	const __u64 buffer = c->pending - st->ahead + mps_min(st->ahead, freed);

	return st->ahead && s->ssthresh != ~0U && mps_likely_rate(s) < mps_likely_rate(f) &&
	       mps_finish_us(f, buffer, estimate) < t_s + mps_min(f->srtt_us, MPS_RTT_MAX);
}

/*
 * A window that is not used does not grow. A long path that is left alone in its slow start
 * stays slow, and it is left alone as it is slow. So it gets data all the same while so much is
 * to come that f alone is busy with it for a round trip of s or longer, and owes a part of that at
 * most. If nothing comes, the fast path repeats what s owes (common/copy.h), and the end is late by
 * the time of that.
 */
static __always_inline bool mps_ecf_grows(const struct mps_path *f, const struct mps_path *s,
					  const struct mps_ecf_state *st, __u64 unit)
{
	return s->cwnd < s->ssthresh && (mps_owed(s) + unit) * MPS_ECF_GROW_PARTS <= st->ahead &&
	       !mps_product_less(st->ahead, MPS_USEC, mps_likely_rate(f), s->srtt_us);
}

/*
 * The extended form's two inequalities, with the estimates of model/estimate.h: T until data is
 * acknowledged, and D until it has arrived.
 *
 *   first:  D_f(pending) < (1 + waiting * beta) * (D_s(unit) + delta)
 *   second: T_s(pending) >= 2 * rtt_f + delta
 */
static __always_inline bool
mps_ecf_waits_extended(const struct mps_conn *c, const struct mps_path *f, const struct mps_path *s,
		       struct mps_ecf_state *st, const struct mps_ecf_options *o)
{
	const __u64 delta = f->mdev_us > s->mdev_us ? f->mdev_us : s->mdev_us;
	const __u64 gain = MPS_ECF_BETA_SCALE + (st->waiting ? (__u64)o->beta : 0);
	const __u64 unit = mps_ecf_unit(c, s, o->whole);
	const __u64 t_s = mps_finish_us(s, unit, o->estimate) + delta;
	const __u64 d_f = mps_done_us(f, c->pending, o->estimate);
	const __u64 d_s = mps_done_us(s, unit, o->estimate) + delta;

	if (o->buffer && mps_ecf_runs_dry(c, f, s, st, o->estimate, t_s))
		return true;
	if (o->grow && mps_ecf_grows(f, s, st, unit))
		return false;
	if (!mps_product_less(d_f, MPS_ECF_BETA_SCALE, d_s, gain)) {
		st->waiting = 0;
		return false;
	}
	if (mps_finish_us(s, c->pending, o->estimate) < 2ULL * f->srtt_us + delta)
		return false;
	st->waiting = 1;
	return true;
}

static __always_inline struct mps_verdict mps_ecf_extended_pick(const struct mps_conn *c,
								struct mps_ecf_state *st,
								__u32 tier,
								const struct mps_ecf_options *o)
{
	const __s32 f = mps_ecf_first(c, tier, 0, o->estimate, o->whole);
	const __s32 s = mps_minrtt_available(c, tier);
	const struct mps_path *fast = &c->path[f & (MPS_MAX_PATHS - 1)];
	__s32 x;

	/* a first sample, or only paths of unknown RTT */
	if (s >= 0 && (f < 0 || !c->path[s & (MPS_MAX_PATHS - 1)].srtt_us))
		return mps_send_on(c, (__u32)s);
	if (f >= 0 && mps_ecf_has_gap(fast))
		return mps_send_on(c, (__u32)f);
	if (s < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	x = mps_ecf_first(c, tier, 1, o->estimate, o->whole);
	if (x < 0 || x == f || !mps_has_inflight(fast))
		return mps_send_on(c, (__u32)(x < 0 ? s : x));
	if (mps_ecf_waits_extended(c, fast, &c->path[x & (MPS_MAX_PATHS - 1)], st, o))
		return mps_wait_for(MPS_WAIT_FASTER);
	return mps_send_on(c, (__u32)x);
}

static __always_inline struct mps_verdict
mps_ecf_pick(const struct mps_conn *c, struct mps_ecf_state *st, const struct mps_ecf_options *o)
{
	const __s32 tier = mps_usable_tier(c);

	if (tier < 0)
		return mps_wait_for(MPS_WAIT_NO_SUBFLOW);
	if (!o->estimate && !o->whole)
		return mps_ecf_paper_pick(c, st, o->beta);
	return mps_ecf_extended_pick(c, st, (__u32)tier, o);
}

#endif /* MPS_ECF_EXTENDED_H */
