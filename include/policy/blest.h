/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BLEST, blocking estimation: a segment on a slow subflow holds a part of the
 * peer's data-level window for a whole RTT of it. When the fast subflow, which
 * has no room at this moment, could fill what is then left of the window within
 * that time, wait for it; otherwise use the slow one.
 *
 * Source: Ferlin, Alay, Mehani, Boreli, "BLEST: Blocking estimation-based MPTCP
 * scheduler for heterogeneous networks", IFIP Networking 2016. ecf-conext17,
 * section 5.1, has the idea in words, without formulas. With rounds =
 * rtt_s / rtt_f the fast subflow sends
 *
 *   X = mss_f * (cwnd_f + (rounds - 1) / 2) * rounds    congestion avoidance
 *   X = mss_f * cwnd_f * (2^rounds - 1)                 slow start
 *
 * and is waited for when  lambda * X > M - in flight on s - one more segment,
 * M being all that the window holds at once.
 *
 * Not in the paper, but in its authors' code for Linux (mptcp_blest.c): what is
 * sent in slow start; there it is the first slow start only, and a round more.
 *
 * Not in the paper: one more segment is by default what a choice really hands
 * over, the whole head fragment; X is no more than f was seen to deliver in
 * rtt_s, as a window that doubles on past what its bottleneck carries fills a
 * queue and no window of the peer; bytes that TCP has queued on s count as being
 * in flight; no wait for a path that nothing will wake (policy/ecf.h).
 */
#ifndef MPS_BLEST_H
#define MPS_BLEST_H

#include "policy/ecf.h"
#include "model/estimate.h"

/* lambda is in thousandths */
#define MPS_BLEST_SCALE 1000
/* Rounds are in 1024ths, and the fast subflow is followed for so many. */
#define MPS_BLEST_ROUND 1024
#define MPS_BLEST_MAX_ROUNDS 16
/* lambda comes down in steps of this part of those in which it goes up. */
#define MPS_BLEST_DOWN 4
/* Beyond all windows; times MPS_BLEST_SCALE it still fits. */
#define MPS_BLEST_MAX_WINDOW (1ULL << 53)

/* Per connection. Zeroed memory is the state of a new connection. */
struct mps_blest_state {
	__u32 updated_us; /* when lambda was looked at last, low half */
	__u32 lambda;	  /* thousandths; 0: not set yet */
	__u32 blocked;	  /* mps_conn.blocked at that time */
};

/* All of lambda's in thousandths: 0 < min <= start <= max. */
struct mps_blest_options {
	__u32 start;
	__u32 min;
	__u32 max;
	__u32 step;
	__u32 whole; /* "one more segment" is the whole fragment that a choice hands over */
	__u32 rate;  /* X is no more than the fast subflow was seen to deliver */
};

/*
 * lambda for the decision at hand. At most once per RTT of the slow subflow it
 * goes up, when the window was found full or data was sent again since the last
 * time, and down otherwise.
 */
MPS_FN __u32 mps_blest_lambda(struct mps_blest_state *st MPS_ARG, const struct mps_conn *c MPS_ARG,
			      __u32 rtt_us, const struct mps_blest_options *o MPS_ARG)
{
	const __u32 down = o->step / MPS_BLEST_DOWN;
	__u32 lambda = st->lambda;

	if (!lambda) {
		lambda = o->start;
	} else {
		if (c->now_us - st->updated_us < rtt_us)
			return lambda;
		if (c->blocked != st->blocked)
			lambda += o->step;
		else
			lambda = lambda > down ? lambda - down : 0;
	}
	if (lambda > o->max)
		lambda = o->max;
	if (lambda < o->min)
		lambda = o->min;
	st->lambda = lambda;
	st->blocked = c->blocked;
	st->updated_us = c->now_us;
	return lambda;
}

/* rtt_s / rtt_f in 1024ths, bounded; s is the slower one, rtt_f is not 0. */
static __always_inline __u64 mps_blest_rounds(const struct mps_path *f, const struct mps_path *s)
{
	return mps_min((__u64)s->srtt_us * MPS_BLEST_ROUND / (f->srtt_us ?: 1),
		       MPS_BLEST_MAX_ROUNDS * MPS_BLEST_ROUND);
}

/* Bytes of the window that stay free of the slow subflow when it takes more. */
static __always_inline __u64 mps_blest_left(const struct mps_conn *c, const struct mps_path *s,
					    __u32 whole)
{
	const __u64 segment = whole && c->unit > s->mss ? c->unit : s->mss;
	const __u64 held = (__u64)s->inflight * s->mss + s->unsent + segment;
	const __u64 window = mps_min(c->unacked, MPS_BLEST_MAX_WINDOW / 2) +
			     mps_min(c->wnd_left, MPS_BLEST_MAX_WINDOW / 2);

	return window > held ? window - held : 0;
}

/*
 * lambda * X > left, with all divisions multiplied out; rounds in 1024ths. In
 * slow start only whole rounds double the window.
 */
MPS_FN __u32 mps_blest_blocks(const struct mps_path *f MPS_ARG, __u64 rounds, __u64 left,
			      __u32 lambda)
{
	const __u64 wnd = mps_bytes(f->cwnd, f);
	const __u64 lambda_left = left * MPS_BLEST_SCALE;
	__u64 x;

	if (f->cwnd < f->ssthresh)
		return mps_product_less(lambda_left, 1,
					wnd * ((1ULL << (rounds / MPS_BLEST_ROUND)) - 1), lambda);
	x = (2 * MPS_BLEST_ROUND * wnd + (rounds - MPS_BLEST_ROUND) * f->mss) * rounds;
	return mps_product_less(lambda_left, 2ULL * MPS_BLEST_ROUND * MPS_BLEST_ROUND, x, lambda);
}

/*
 * lambda * X > left still, with no more for X than the fast subflow was seen to deliver in the
 * slow one's round trip? Without a sample nothing says no.
 */
MPS_FN __u32 mps_blest_delivers(const struct mps_path *f MPS_ARG, __u32 rtt_us, __u64 left,
				__u32 lambda)
{
	const __u64 rate = mps_known_rate(f);

	return !rate || mps_product_less(left * MPS_BLEST_SCALE, MPS_USEC,
					 rate * mps_min(rtt_us, MPS_RTT_MAX), lambda);
}

static __always_inline struct mps_verdict mps_blest_pick(const struct mps_conn *c,
							 struct mps_blest_state *st,
							 const struct mps_blest_options *o)
{
	const __s32 tier = mps_usable_tier(c);
	const struct mps_path *fast, *slow;
	__s32 f, s;
	__u32 lambda;
	__u64 left;

	if (tier < 0)
		return mps_wait_for(MPS_WAIT_NO_SUBFLOW);
	s = mps_minrtt_available(c, (__u32)tier);
	if (s < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	f = mps_ecf_fastest(c, (__u32)tier);
	if (f < 0 || f == s)
		return mps_send_on(c, (__u32)s);
	fast = &c->path[f & (MPS_MAX_PATHS - 1)];
	slow = &c->path[s & (MPS_MAX_PATHS - 1)];
	/* a first sample; or as fast as x_f, so an x_f that is available */
	if (slow->srtt_us <= fast->srtt_us)
		return mps_send_on(c, (__u32)s);
	lambda = mps_blest_lambda(st, c, slow->srtt_us, o);
	left = mps_blest_left(c, slow, o->whole);
	if (mps_has_inflight(fast) &&
	    mps_blest_blocks(fast, mps_blest_rounds(fast, slow), left, lambda) &&
	    (!o->rate || mps_blest_delivers(fast, slow->srtt_us, left, lambda)))
		return mps_wait_for(MPS_WAIT_WINDOW);
	return mps_send_on(c, (__u32)s);
}

#endif /* MPS_BLEST_H */
