/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ECF, Earliest Completion First: rather than hand data to a slow subflow
 * because it happens to have room, wait for the fast one when that finishes
 * the data at hand earlier.
 *
 * Source: ecf-conext17, Algorithm 1. Kept exactly: k is what the application
 * wrote and no subflow has yet, sigma is the RTT's mean deviation, and
 * "waiting" belongs to the connection. Not in the paper, but needed here: no
 * wait for a path that nothing will wake (nothing in flight, or in recovery
 * after a timeout), and no estimate from a path without an RTT sample.
 *
 * This is the paper's form; policy/ecf_extended.h has what its assumptions miss.
 */
#ifndef MPS_ECF_H
#define MPS_ECF_H

#include "policy/minrtt.h"

/* beta is in thousandths: the paper's 0.25 is 250. */
#define MPS_ECF_BETA_SCALE 1000

/* Per connection. Zeroed memory is the state of a new connection. */
struct mps_ecf_state {
	__u32 waiting;
	__u32 blocked_us; /* when the writer was last seen to wait for room, low half; 0: never */
	__u64 begun;	  /* bytes assigned before the connection was last idle */
	__u64 ahead;	  /* bytes of the backlog that the writer still has, as one expects */
};

/* A 128-bit product, for RTTs (us) times bytes: 64 bits overflow. */
struct mps_u128 {
	__u64 hi, lo;
};

static __always_inline struct mps_u128 mps_mul(__u64 a, __u64 b)
{
	const __u64 al = (__u32)a, ah = a >> 32, bl = (__u32)b, bh = b >> 32;
	const __u64 ll = al * bl, lh = al * bh, hl = ah * bl;
	const __u64 mid = (ll >> 32) + (__u32)lh + (__u32)hl;
	struct mps_u128 r;

	r.lo = (mid << 32) | (__u32)ll;
	r.hi = ah * bh + (lh >> 32) + (hl >> 32) + (mid >> 32);
	return r;
}

/* a * b < c * d, exact */
static __always_inline bool mps_product_less(__u64 a, __u64 b, __u64 c, __u64 d)
{
	const struct mps_u128 l = mps_mul(a, b), r = mps_mul(c, d);

	return l.hi < r.hi || (l.hi == r.hi && l.lo < r.lo);
}

/*
 * Both inequalities of Algorithm 1, multiplied out so that no division is
 * left. With k = pending / mss_f segments and W = cwnd * mss_f bytes:
 *
 *   first:  (1 + k / cwnd_f) * rtt_f < (1 + waiting * beta) * (rtt_s + delta)
 *   second: (k / cwnd_s) * rtt_s >= 2 * rtt_f + delta
 *
 * Updates st->waiting as the algorithm does; true: wait for f.
 */
static __always_inline bool mps_ecf_waits(__u64 pending, const struct mps_path *f,
					  const struct mps_path *s, struct mps_ecf_state *st,
					  __u32 beta)
{
	const __u64 delta = f->mdev_us > s->mdev_us ? f->mdev_us : s->mdev_us;
	const __u64 w_f = (__u64)f->cwnd * f->mss;
	const __u64 w_s = (__u64)s->cwnd * f->mss;
	const __u64 gain = MPS_ECF_BETA_SCALE + (st->waiting ? (__u64)beta : 0);

	if (!mps_product_less(w_f + pending, (__u64)f->srtt_us * MPS_ECF_BETA_SCALE,
			      gain * (s->srtt_us + delta), w_f)) {
		st->waiting = 0;
		return false;
	}
	if (mps_product_less(pending, s->srtt_us, 2ULL * f->srtt_us + delta, w_s))
		return false;
	st->waiting = 1;
	return true;
}

/* x_f: the smallest known RTT among usable paths, whether it has room or not. */
MPS_FN __s32 mps_ecf_fastest(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u32 i, best_rtt = ~0U;
	__s32 best = MPS_WAIT;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_is_usable(p, tier) || (p->flags & MPS_PATH_LOSS) || !p->srtt_us)
			continue;
		if (p->srtt_us < best_rtt) {
			best_rtt = p->srtt_us;
			best = (__s32)i;
		}
	}
	return best;
}

static __always_inline struct mps_verdict mps_ecf_paper_pick(const struct mps_conn *c,
							     struct mps_ecf_state *st, __u32 beta)
{
	struct mps_verdict v;
	const struct mps_path *fast, *slow;
	const __s32 tier = mps_usable_tier(c);
	__s32 f, s;

	if (tier < 0)
		return mps_wait_for(MPS_WAIT_NO_SUBFLOW);
	s = mps_minrtt_available(c, (__u32)tier);
	if (s < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	v = mps_send_on(c, (__u32)s);
	f = mps_ecf_fastest(c, (__u32)tier);
	if (f < 0 || f == s)
		return v;

	fast = &c->path[f & (MPS_MAX_PATHS - 1)];
	slow = &c->path[s & (MPS_MAX_PATHS - 1)];
	/* as fast as x_f, so an x_f that is available; or nothing to compare */
	if (slow->srtt_us <= fast->srtt_us || !mps_has_inflight(fast))
		return v;
	if (mps_ecf_waits(c->pending, fast, slow, st, beta))
		return mps_wait_for(MPS_WAIT_FASTER);
	return v;
}

#endif /* MPS_ECF_H */
