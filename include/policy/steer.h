/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering: a filter of the snapshot, in front of any policy. It says which paths may carry new
 * data now, by the flag that policies go by already: those that may are no backups, and the others
 * are. So what is on its way on the others still counts, and they are used when nothing else lives.
 *
 * Active-standby: the lowest rank that is alive, and no other. The next at once when it is not, be
 * it only in recovery after a timeout; back when a lower rank has been alive for MPS_STEER_BACK_US.
 *
 * Priority: the lowest rank, and the next beside it while the data at hand would be late: its end
 * acknowledged more than the rule's `deadline` after it began to wait. Data that its writer goes on
 * with, as in a long transfer, began with it, so that such a one overflows for good after the
 * deadline. A path in recovery after a timeout is given that long, too, but MPS_STEER_SILENT_US at
 * most: what a loss costs is no reason to pay. Then the next rank carries whatever it is like.
 *
 * The other modes: all that are within their thresholds.
 *
 * Vocabulary: 3GPP TS 23.501, 5.32.8 (ATSSS). There thresholds and modes are what these are here;
 * ranks, weights by path and the deadline are this project's.
 */
#ifndef MPS_POLICY_STEER_H
#define MPS_POLICY_STEER_H

#include "common/copy.h"
#include "policy/minrtt.h"
#include "state/steer.h"

/* Active-standby: a lower rank is back for so long before it is used again. */
#define MPS_STEER_BACK_US 1000000U
/* Priority: for so long what waits for a path in recovery after a timeout stays with it. */
#define MPS_STEER_SILENT_US 1000000U
/* A writer that got room is given so long to use it. */
#define MPS_STEER_REFILL_US 20000U
/* A wait is never longer: beyond the longest deadline, an hour, and within a clock of 32 bits. */
#define MPS_STEER_WAIT_MAX_US 3700000000U
/* Ranks beyond the lowest that priority may take in at once. */
#define MPS_STEER_OVERFLOWS 3
/* No path has it. */
#define MPS_STEER_NO_KEY (~0U)

/* The most that the tunable queue_cap counts as: who looks at what is left itself wants 1. */
static __always_inline __u32 mps_steer_queue_cap(__u32 mode)
{
	const __u32 looks = 1U << MPS_STEER_AUTO | 1U << MPS_STEER_ECF | 1U << MPS_STEER_STANDBY |
			    1U << MPS_STEER_PRIORITY | 1U << MPS_STEER_BALANCE;

	return looks >> (mode & 31) & 1 ? 1 : 2;
}

struct mps_steer_options {
	__u32 mode;
	__u32 deadline_us;
	__u32 head;  /* what is given out next, low half */
	__u32 waits; /* the writer waits for room */
	__u32 copy;  /* get_retrans: for data that some path had before */
};

/* How paths are put in order; 0: neither. */
enum mps_steer_how {
	MPS_STEER_BY_RANK = 1 << 0,
	MPS_STEER_BY_LOSS = 1 << 1, /* and those in recovery after a timeout last */
};

/* What is above the rank in a key by rank. */
enum mps_steer_above {
	MPS_STEER_KEY_OUT = 1 << 8, /* over a threshold */
	MPS_STEER_KEY_BACKUP = 1 << 9,
	MPS_STEER_KEY_LOSS = 1 << 10,
};

/*
 * The order in which paths may carry, the least first. By rank: first those that are alive, then
 * those over a threshold, then backups that no row matches, then those in recovery. Else: those
 * within thresholds, the others, backups; copies on metered paths only where nothing else delivers.
 */
static __always_inline __u32 mps_steer_key(const struct mps_path *p, __u32 how, __u32 copy)
{
	const __u32 rank = mps_steer_rank(p), out = mps_steer_is_out(p);
	const __u32 loss = !!(p->flags & MPS_PATH_LOSS);
	const __u32 backup = rank >= MPS_STEER_RANK_BACKUP;
	const __u32 metered = rank >= MPS_STEER_RANK_METERED;

	if (!mps_is_active(p))
		return MPS_STEER_NO_KEY;
	if (!how)
		return backup << 2 | out << 1 | ((metered | loss) & copy);
	return rank | out * MPS_STEER_KEY_OUT | backup * MPS_STEER_KEY_BACKUP |
	       (how / MPS_STEER_BY_LOSS & loss) * MPS_STEER_KEY_LOSS;
}

static __always_inline bool mps_steer_is_alive(__u32 key)
{
	return !(key & (MPS_STEER_KEY_OUT | MPS_STEER_KEY_LOSS));
}

/* The least key from this one on. */
MPS_FN __u32 mps_steer_least(const struct mps_conn *c MPS_ARG, __u32 how, __u32 copy, __u32 from)
{
	__u32 i, key, least = MPS_STEER_NO_KEY;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		key = mps_steer_key(&c->path[i], how, copy);
		if (key >= from && key < least)
			least = key;
	}
	return least;
}

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

/* Would the data be late on paths up to this key, and earlier with those of the next? */
static __always_inline bool mps_steer_is_late(const struct mps_conn *c, __u32 limit, __u32 next,
					      __u32 waited, __u32 deadline)
{
	__u64 done;

	if (deadline == MPS_STEER_NO_DEADLINE || next >= MPS_STEER_KEY_OUT)
		return false;
	done = mps_steer_done_us(c, limit);
	return done && waited + done > deadline && mps_steer_helps_us(c, next) < done;
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
		if (speaks ? !mps_steer_is_late(c, limit, next, waited, o->deadline_us)
			   : waited < mps_steer_patience(o))
			break;
		limit = next;
		speaks = 1;
	}
	return limit;
}

/*
 * The connection's rule and mode are these from now on. By other tables keys mean other paths; only
 * what waits has waited all the same.
 */
static __always_inline void mps_steer_begin(struct mps_priv *priv, __u32 mode, __u32 rule,
					    __u32 generation)
{
	struct mps_steer_state *s = mps_steer_state(priv);

	if (mode != s->mode)
		__builtin_memset(priv, 0, MPS_PRIV_BYTES);
	if (mode != MPS_STEER_PRIORITY) {
		s->begun = 0;
		s->back_us = 0;
	}
	s->mode = (__u8)mode;
	s->rule = (__u16)rule;
	s->generation = generation;
}

/* Active-standby: is the key still good that was in use, and not the least? */
static __always_inline bool mps_steer_stays(const struct mps_conn *c,
					    const struct mps_steer_state *s, __u32 least)
{
	return s->begun && least < s->last && mps_steer_is_alive(s->last) &&
	       mps_steer_least(c, MPS_STEER_BY_RANK | MPS_STEER_BY_LOSS, 0, s->last) == s->last;
}

/* Active-standby: the key that carries now. */
static __always_inline __u32 mps_steer_standby(const struct mps_conn *c, struct mps_steer_state *s,
					       __u32 least)
{
	const __u32 now_us = c->now_us ?: 1;
	const bool stays = mps_steer_stays(c, s, least);

	if (!stays)
		s->back_us = 0;
	else if (!s->back_us)
		s->back_us = now_us;
	if (!stays || now_us - s->back_us >= MPS_STEER_BACK_US) {
		s->last = least;
		s->back_us = 0;
	}
	s->begun = 1;
	return s->last;
}

/* Marks the paths: those with a key in this range may carry. Returns notes, 1 << enum mps_note. */
MPS_FN __u32 mps_steer_mark(struct mps_conn *c MPS_ARG, __u32 how, __u32 copy, __u32 from,
			    __u32 limit)
{
	__u32 i, key, out, notes = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		key = mps_steer_key(p, how, copy);
		notes |= mps_steer_is_out(p) << MPS_NOTE_OVER_RTT;
		if (key == MPS_STEER_NO_KEY)
			continue;
		out = (key < from) | (key > limit);
		p->flags &= ~MPS_PATH_BACKUP;
		p->flags |= out * MPS_PATH_BACKUP;
		notes |= (how & out) << MPS_NOTE_STANDBY;
	}
	return notes;
}

/* Copies wait for a path in recovery as new data does, by the age of what they are of. */
static __always_inline __u32 mps_steer_how(const struct mps_conn *c,
					   const struct mps_steer_options *o)
{
	if (o->mode == MPS_STEER_STANDBY)
		return MPS_STEER_BY_RANK | MPS_STEER_BY_LOSS;
	if (o->mode != MPS_STEER_PRIORITY)
		return 0;
	return MPS_STEER_BY_RANK |
	       (o->copy && c->age_us >= mps_steer_patience(o)) * MPS_STEER_BY_LOSS;
}

/* Probes of smallest-delay are copies: none where nothing is copied to, nor asked for. */
static __always_inline void mps_steer_spare_probe(struct mps_path *p)
{
	const __u32 metered = mps_steer_rank(p) >= MPS_STEER_RANK_METERED;

	p->flags &= ~(metered * MPS_PATH_DUE);
}

/*
 * Copies wait until all is given out, in these modes: so does what may take a fragment from the
 * path that was chosen (common/fragment.h), and shares count what that one was given.
 */
static __always_inline bool mps_steer_tail(__u32 mode)
{
	return mode == MPS_STEER_CFS || mode == MPS_STEER_BALANCE;
}

static __always_inline bool mps_steer_copies_all(__u32 mode)
{
	return mode == MPS_STEER_REDUNDANT || mode == MPS_STEER_REDUNDANT_NAME;
}

/* For copies the state tells, and neither it nor what is noted changes. */
MPS_FN __u32 mps_steer_filter(struct mps_conn *c MPS_ARG, struct mps_priv *priv MPS_ARG,
			      const struct mps_steer_options *o MPS_ARG)
{
	struct mps_steer_state *s = mps_steer_state(priv);
	const __u32 how = mps_steer_how(c, o), copy = o->copy && !mps_steer_copies_all(o->mode);
	const __u32 least = mps_steer_least(c, how, copy, 0);
	__u32 notes, from = least, limit = least;

	if (o->mode == MPS_STEER_PRIORITY && !o->copy)
		limit = mps_steer_overflow(c, s, o, least);
	else if (o->mode == MPS_STEER_STANDBY && !o->copy)
		from = limit = mps_steer_standby(c, s, least);
	else if (o->mode == MPS_STEER_STANDBY && mps_steer_stays(c, s, least))
		from = limit = s->last;
	notes = mps_steer_mark(c, how, copy, from, limit);
	notes |= (__u32)(from < limit) << MPS_NOTE_OVERFLOW;
	if (!o->copy)
		priv->notes = (__u16)notes;
	return notes;
}

/*
 * In a rank: first those of unknown RTT that are idle (policy/minrtt.h), then by RTT, other unknown
 * ones last.
 */
static __always_inline __u64 mps_steer_place(const struct mps_conn *c, const struct mps_path *p)
{
	const __u64 known = p->srtt_us ?: 1ULL << 32;

	return (__u64)mps_steer_rank(p) << 33 | (mps_wants_first_sample(c, p) ? 0 : known);
}

/* Of those with room: the lowest rank, and the first in that. */
MPS_FN __s32 mps_steer_first(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u64 key, least = ~0ULL;
	__s32 best = MPS_WAIT;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_is_usable(p, tier) || !mps_is_available(c, p))
			continue;
		key = mps_steer_place(c, p);
		if (key < least) {
			least = key;
			best = (__s32)i;
		}
	}
	return best;
}

static __always_inline struct mps_verdict mps_steer_ranks_pick(const struct mps_conn *c)
{
	const __s32 tier = mps_usable_tier(c);
	__s32 i;

	if (tier < 0)
		return mps_wait_for(MPS_WAIT_NO_SUBFLOW);
	i = mps_steer_first(c, (__u32)tier);
	return i < 0 ? mps_wait_for(MPS_WAIT_NO_ROOM) : mps_send_on(c, (__u32)i);
}

#endif /* MPS_POLICY_STEER_H */
