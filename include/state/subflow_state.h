/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the frame knows of a subflow beyond what TCP tells: which data it was
 * given, how fast it ever delivered, which part of its window is withheld. Pure
 * functions on struct mps_subflow_store, called once per subflow and snapshot.
 */
#ifndef MPS_STORE_H
#define MPS_STORE_H

#include "state/attribution.h"
#include "model/estimate.h"

/*
 * A measured rate is believed for this long unless a higher one comes; in slow
 * start, where rates are low because windows are, six times as long.
 */
#define MPS_RATE_US 10000000U

/*
 * Of a window, MPS_SHARE parts; what penalisation takes away in one step; how
 * many RTTs give all of it back.
 */
#define MPS_SHARE 256
#define MPS_PENALTY_MAX (MPS_SHARE * 3 / 4)
#define MPS_PENALTY_RTTS 32

/*
 * Which data that was. Of a fragment that it was chosen to send again the range
 * was noted then. Of the oldest data, sent again unasked, some may have been
 * acknowledged since; what was not is in as many bytes from there.
 */
static __always_inline void mps_note_taken(struct mps_subflow_store *s, const struct mps_round *r,
					   const struct mps_taken *t)
{
	const __u32 then_us = r->now_us - r->late_us;

	if (t->fresh)
		mps_ranges_add(&s->ranges, t->from, t->to, r->una, then_us);
	if (t->oldest)
		mps_ranges_add(&s->ranges, r->una, r->una + t->oldest, r->una, then_us);
}

/* p->rate is TCP's last sample on entry, the rate to believe on return. */
static __always_inline void mps_filter_rate(struct mps_subflow_store *s, struct mps_path *p,
					    __u32 now_us)
{
	const __u32 age = now_us - s->rate_us;
	const __u32 limit = p->cwnd < p->ssthresh ? 6 * MPS_RATE_US : MPS_RATE_US;

	if (p->rate && (p->rate >= s->rate || age > limit)) {
		s->rate = p->rate;
		s->rate_us = now_us;
	}
	p->rate = s->rate;
}

/* The part of the penalty that is left after some time. */
static __always_inline __u32 mps_penalty_left(const struct mps_subflow_store *s,
					      const struct mps_path *p, __u32 now_us)
{
	const __u64 span = (__u64)(p->srtt_us ?: 1) * MPS_PENALTY_RTTS;
	const __u64 back = (__u64)(now_us - s->penalty_us) * MPS_SHARE / span;

	return s->penalty > back ? s->penalty - (__u32)back : 0;
}

/*
 * Halve what a carrier of the oldest data may use of its window, at most once
 * per RTT of it: the papers' penalisation, without writing the window behind
 * congestion control's back. Not in a subflow's first slow start: there any path
 * fills the 64 KB that a peer begins with, and a window that is not used does not
 * grow. Returns the part that is withheld then.
 */
MPS_FN __u32 mps_penalise_carrier(struct mps_subflow_store *s MPS_ARG,
				  const struct mps_path *p MPS_ARG, __u32 now_us)
{
	__u32 left;

	if (!mps_carries(p) || p->ssthresh == ~0U ||
	    (s->penalty && now_us - s->penalty_us < p->srtt_us))
		return s->penalty;
	left = mps_penalty_left(s, p, now_us);
	left += (MPS_SHARE - left) / 2;
	s->penalty = (__u16)(left < MPS_PENALTY_MAX ? left : MPS_PENALTY_MAX);
	s->penalty_us = now_us;
	return s->penalty;
}

static __always_inline void mps_withhold(struct mps_subflow_store *s, struct mps_path *p,
					 __u32 now_us)
{
	const __u32 left = s->penalty ? mps_penalty_left(s, p, now_us) : 0;
	__u32 cwnd;

	s->penalty = left ? s->penalty : 0;
	cwnd = (__u32)((__u64)p->cwnd * (MPS_SHARE - left) / MPS_SHARE);
	p->cwnd = cwnd ?: 1;
}

/*
 * Has the receiver dropped the oldest data, which this subflow was given `age` us ago? It does
 * that with data beyond its window (state/peer_window.h), and when it is out of memory. TCP has it
 * acknowledged, and two segments behind it if there are so many, as the acknowledgement at data
 * level may be one late; by the times, too: a segment that was sent `gap` us ago has arrived.
 * Yet it is not acknowledged at data level; others merely wait for that one. gap: MPS_NEVER,
 * longer than any age, when a segment before that one is missing.
 */
static __always_inline bool mps_was_dropped(const struct mps_path *p, __u32 behind, __u32 age,
					    __u32 gap)
{
	const __u64 owed = mps_owed(p), trip = p->srtt_us + (2ULL << MPS_TICK_BITS);

	return p->srtt_us && age > trip + gap && behind >= owed + mps_min(owed, 2ULL * p->mss);
}

/*
 * How long ago, in us, the newest segment was sent that the peer has, 0 when it has all of
 * them; MPS_NEVER where one before it is missing, or none is known. missing: segments that are
 * lost, or were overtaken; owed: bytes that are not acknowledged; sent_us: rack.mstamp.
 */
MPS_FN __u32 mps_gap(__u32 missing, __u32 owed, __u32 sent_us, __u32 now_us)
{
	if (!owed)
		return 0;
	return missing || !sent_us ? MPS_NEVER : now_us - sent_us;
}

/*
 * What this subflow, which was given data of the fragment, means to it. All wait for the oldest
 * byte: who was not given that one holds nothing up and dropped nothing, whether its part is still
 * on its way or waits at the receiver.
 */
static __always_inline __u32 mps_fate(const struct mps_subflow_store *s, const struct mps_path *p,
				      const struct mps_round *r, __u32 gap)
{
	__u32 age, behind;

	if (r->frag != r->una)
		return MPS_PATH_CARRIED;
	age = mps_ranges_age(&s->ranges, r->una, r->una + 1, r->now_us);
	if (age == MPS_NEVER)
		return MPS_PATH_CARRIED | MPS_PATH_DROPPED;
	behind = mps_ranges_behind(&s->ranges, r->una, r->una + 1);
	return mps_was_dropped(p, behind, age, gap) ? MPS_PATH_DROPPED : MPS_PATH_CARRIED;
}

/*
 * Completes p, as the snapshot read it from TCP, by what is stored. Returns how
 * long ago, in us, the subflow was given data of the fragment, or of the beginning of
 * the one that is next. seq: see mps_settle(); gap: see mps_was_dropped().
 */
MPS_FN __u32 mps_complete_path(struct mps_subflow_store *s MPS_ARG, struct mps_path *p MPS_ARG,
			       struct mps_round *r MPS_ARG, __u32 seq, __u32 gap)
{
	const struct mps_taken t = mps_settle(s, r, seq);
	__u32 age;

	mps_note_taken(s, r, &t);
	mps_filter_rate(s, p, r->now_us);
	mps_withhold(s, p, r->now_us);
	age = mps_ranges_age(&s->ranges, r->begun ? r->head - 1 : r->frag,
			     r->begun ? r->head : r->frag_end, r->now_us);
	if (age != MPS_NEVER && r->begun) {
		p->flags |= MPS_PATH_BEGAN;
	} else if (age != MPS_NEVER) {
		p->behind = mps_ranges_behind(&s->ranges, r->frag, r->frag_end);
		p->flags |= mps_fate(s, p, r, gap);
	}
	mps_ranges_forget(&s->ranges, r->una);
	return age;
}

/* get_send: the same in short, where no rate is new and nothing is withheld. */
MPS_FN __u32 mps_complete_quickly(struct mps_subflow_store *s MPS_ARG, struct mps_path *p MPS_ARG,
				  struct mps_round *r MPS_ARG, __u32 seq)
{
	const struct mps_taken t = mps_settle(s, r, seq);
	__u32 age;

	mps_note_taken(s, r, &t);
	age = r->begun ? mps_ranges_last_age(&s->ranges, r->head, r->now_us) : MPS_NEVER;
	p->flags |= (age != MPS_NEVER) * MPS_PATH_BEGAN;
	return age;
}

/*
 * Jiffies since `last`. What happened up to a second after `now` was read, which a decision does
 * not hold off, is 0 and no time of weeks.
 */
static __always_inline __u32 mps_elapsed(__u32 now, __u32 last)
{
	const __u32 passed = now - last;

	return passed * (__u32)(((__u64)passed + 1000) >> 32 ^ 1);
}

/*
 * tcp_cwnd_restart(), net/ipv4/tcp_output.c: TCP lowers the window of a subflow
 * that was idle for longer than its RTO, but only once data is queued on it.
 * A decision that is made just before has to know. idle, rto: jiffies.
 */
#define MPS_RESTART_CWND 10

MPS_FN __u32 mps_idle_cwnd(__u32 cwnd, __u32 idle, __u32 rto)
{
	const __u32 floor = cwnd < MPS_RESTART_CWND ? cwnd : MPS_RESTART_CWND;
	__u32 halvings;

	if (!rto || idle <= rto)
		return cwnd;
	halvings = (idle - 1) / rto;
	cwnd = halvings < 32 ? cwnd >> halvings : 0;
	return cwnd > floor ? cwnd : floor;
}

/*
 * The smoothed RTT of a busy path has its queue in it. After an idle time that
 * queue is gone, and the lowest RTT of the last minutes says more about the
 * next packet. The same limit as for the window; us, idle and rto in jiffies.
 */
MPS_FN __u32 mps_idle_rtt(__u32 srtt_us, __u32 min_us, __u32 idle, __u32 rto)
{
	return idle > rto && min_us < srtt_us ? min_us : srtt_us;
}

#endif /* MPS_STORE_H */
