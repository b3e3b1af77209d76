/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Priority's estimates: would the data at hand be late on the paths that may carry it, so that the
 * next rank is to help? What is done with the answer: policy/steer.h.
 */
#ifndef MPS_POLICY_STEER_OVERFLOW_H
#define MPS_POLICY_STEER_OVERFLOW_H

#include "common/copy.h"
#include "policy/steer_key.h"

/* Priority: for so long what waits for a path in recovery after a timeout stays with it. */
#define MPS_STEER_SILENT_US 1000000U
/* A writer that got room is given so long to use it. */
#define MPS_STEER_REFILL_US 20000U
/* A wait is never longer: beyond the longest deadline, an hour, and within a clock of 32 bits. */
#define MPS_STEER_WAIT_MAX_US 3700000000U
/* Of a transfer that goes on one part of so many of its time is expected to follow. */
#define MPS_STEER_REST_PARTS 4
/* Ranks beyond the lowest that priority may take in at once. */
#define MPS_STEER_OVERFLOWS 3

/* Paths up to this key; recovery does not count. */
static __always_inline bool mps_steer_is_within(const struct mps_path *p, __u32 limit)
{
	return mps_steer_key(p, MPS_STEER_BY_RANK, 0) <= limit;
}

/* Is one of them not in recovery? */
MPS_FN __u32 mps_steer_speaks(const struct mps_conn *c MPS_ARG, __u32 limit)
{
	__u32 i, found = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		found |= mps_steer_is_within(&c->path[i], limit) &&
			 !(c->path[i].flags & MPS_PATH_LOSS);
	}
	return found;
}

static __always_inline __u64 mps_steer_rate(const struct mps_path *p)
{
	return mps_min(mps_likely_rate(p), 1U << 29);
}

/* What it will deliver can be told. Of a path in recovery after a timeout nothing can. */
static __always_inline bool mps_steer_is_sure(const struct mps_path *p, __u32 limit)
{
	return mps_steer_is_within(p, limit) && p->srtt_us && !(p->flags & MPS_PATH_LOSS);
}

/* Of all of them together. */
MPS_FN __u64 mps_steer_rates(const struct mps_conn *c MPS_ARG, __u32 limit)
{
	__u64 rate = 0;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		if (mps_steer_is_sure(&c->path[i], limit))
			rate += mps_steer_rate(&c->path[i]);
	}
	return rate;
}

/*
 * us until they have all that is at hand acknowledged, each its part by its rate; 0: there is no
 * telling.
 */
MPS_FN __u64 mps_steer_done_us(const struct mps_conn *c MPS_ARG, __u32 limit)
{
	const __u64 bytes = mps_min(c->pending, MPS_BYTES_MAX), rate = mps_steer_rates(c, limit);
	__u64 done = 0;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_steer_is_sure(p, limit))
			continue;
		done = mps_max(done, mps_finish_us(p, bytes * mps_steer_rate(p) / (rate ?: 1),
						   MPS_EST_GROW | MPS_EST_RATE));
	}
	return done;
}

/* us until a path of just this key would have the next fragment acknowledged; ~0: none would. */
MPS_FN __u64 mps_steer_helps_us(const struct mps_conn *c MPS_ARG, __u32 key)
{
	__u64 best = ~0ULL;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_steer_key(p, MPS_STEER_BY_RANK, 0) == key && p->srtt_us)
			best = mps_min(best,
				       mps_finish_us(p, c->unit, MPS_EST_GROW | MPS_EST_RATE));
	}
	return best;
}

/*
 * How long the data at hand has been waiting, in us. speaks: mps_steer_speaks(); where nobody does
 * others have repaired what was on its way, and that nothing is unacknowledged is no end of a wait.
 */
static __always_inline __u32 mps_steer_waited(const struct mps_conn *c, struct mps_steer_state *s,
					      const struct mps_steer_options *o, __u32 speaks)
{
	const bool rest = s->begun && (__s32)(o->head - s->last) < 0;
	const bool more = o->waits || rest;
	const bool done = !c->unacked || (!more && c->now_us - s->busy_us > MPS_STEER_REFILL_US);

	if (!s->begun || (speaks && done))
		s->since_us = c->now_us;
	if (c->now_us - s->since_us > MPS_STEER_WAIT_MAX_US)
		s->since_us = c->now_us - MPS_STEER_WAIT_MAX_US;
	if (more || !s->begun)
		s->busy_us = c->now_us;
	s->last = o->head + (__u32)c->pending;
	s->begun = 1;
	return c->now_us - s->since_us;
}

/* How long priority waits for a path in recovery. */
static __always_inline __u32 mps_steer_patience(const struct mps_steer_options *o)
{
	return o->deadline_us < MPS_STEER_SILENT_US ? o->deadline_us : MPS_STEER_SILENT_US;
}

/*
 * Would the data be late on paths up to this key, and earlier with those of the next? At hand is
 * what the send buffer holds, which these are soon done with. So a far path, or one in slow start,
 * would never be earlier: it is measured by what is expected to follow, too, as long as the writer
 * waits.
 */
static __always_inline bool mps_steer_is_late(const struct mps_conn *c, __u32 limit, __u32 next,
					      __u32 waited, const struct mps_steer_options *o)
{
	const __u64 follows = o->waits ? waited / MPS_STEER_REST_PARTS : 0;
	__u64 done;

	if (o->deadline_us == MPS_STEER_NO_DEADLINE || next >= MPS_STEER_KEY_OUT)
		return false;
	done = mps_steer_done_us(c, limit);
	return done && waited + done > o->deadline_us &&
	       mps_steer_helps_us(c, next) < done + follows;
}

/* Priority: the greatest key that may carry now. least: that of the lowest rank. */
static __always_inline __u32 mps_steer_overflow(const struct mps_conn *c, struct mps_steer_state *s,
						const struct mps_steer_options *o, __u32 least)
{
	__u32 speaks = mps_steer_speaks(c, least);
	const __u32 waited = mps_steer_waited(c, s, o, speaks);
	__u32 i, next, limit = least;

	for (i = 0; i < MPS_STEER_OVERFLOWS; i++) {
		next = mps_steer_least(c, MPS_STEER_BY_RANK | MPS_STEER_BY_LOSS, 0, limit + 1);
		if (next >= MPS_STEER_KEY_LOSS)
			break;
		if (speaks ? !mps_steer_is_late(c, limit, next, waited, o)
			   : waited < mps_steer_patience(o))
			break;
		limit = next;
		speaks = 1;
	}
	return limit;
}

#endif /* MPS_POLICY_STEER_OVERFLOW_H */
