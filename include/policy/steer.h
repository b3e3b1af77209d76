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
 * Smallest-delay: the path in use stays until another one's RTT is less by more than an eighth.
 * While it is full the next carries beside it. So of two alike one carries, and what arrives is in
 * order.
 *
 * The other modes: all that are within their thresholds.
 *
 * Vocabulary: 3GPP TS 23.501, 5.32.8 (ATSSS). There thresholds and modes are what these are here;
 * ranks, weights by path and the deadline are this project's.
 */
#ifndef MPS_POLICY_STEER_H
#define MPS_POLICY_STEER_H

#include "policy/steer_overflow.h"

/*
 * Active-standby: a lower rank is back for so long before it is used again. TCP tries a silent one
 * once a second, and its loss recovery takes some round trips: it is used within 2 s.
 */
#define MPS_STEER_BACK_US 500000U

/* Smallest-delay: one part in so many of an RTT is no reason to change. */
#define MPS_STEER_STEADY 8

/* The most that the tunable queue_cap counts as: who looks at what is left itself wants 1. */
static __always_inline __u32 mps_steer_queue_cap(__u32 mode)
{
	const __u32 looks = 1U << MPS_STEER_AUTO | 1U << MPS_STEER_ECF | 1U << MPS_STEER_STANDBY |
			    1U << MPS_STEER_PRIORITY | 1U << MPS_STEER_BALANCE;

	return looks >> (mode & 31) & 1 ? 1 : 2;
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
		notes |= mps_steer_is_over_rtt(p) << MPS_NOTE_OVER_RTT;
		notes |= mps_steer_is_over_loss(p) << MPS_NOTE_OVER_LOSS;
		notes |= mps_steer_is_over_cap(p) << MPS_NOTE_OVER_CAP;
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

	p->flags &= ~((metered | mps_steer_is_over_cap(p)) * MPS_PATH_DUE);
}

/*
 * In these modes what may take a fragment from the path that was chosen (common/fragment.h) waits
 * until all is assigned: shares count what that one was given, and copies are of the end.
 */
static __always_inline bool mps_steer_tail(__u32 mode)
{
	return mode == MPS_STEER_CFS || mode == MPS_STEER_BALANCE;
}

/*
 * over: MPS_STEER_OVER_CAP and MPS_STEER_BLOCKED. What is blocked sends nothing again, either: it
 * would be the first choice for that, as it is idle.
 */
static __always_inline void mps_steer_cap(struct mps_path *p, __u32 over)
{
	p->metric |= over;
	p->flags &= ~(!!(over & MPS_STEER_BLOCKED) * (MPS_PATH_ACTIVE | MPS_PATH_SENDS));
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

/*
 * Smallest-delay: the path in use from now on, be it full, where that of best does not make another
 * one of it. It is known by its place: where a subflow goes, another may take over by that.
 */
MPS_FN __u32 mps_steer_steady(const struct mps_conn *c MPS_ARG,
			      const struct mps_steer_state *s MPS_ARG, __u32 best)
{
	const __u32 last = s->last & (MPS_MAX_PATHS - 1);
	const struct mps_path *p = &c->path[last];
	const struct mps_path *b = &c->path[best & (MPS_MAX_PATHS - 1)];

	if (!s->begun || last >= c->nr_paths || !mps_is_usable(p, b->flags & MPS_PATH_BACKUP))
		return best;
	/* the best one without a sample is chosen to get it, and has 0 here */
	if (!p->srtt_us || p->srtt_us - p->srtt_us / MPS_STEER_STEADY > b->srtt_us)
		return best;
	return last;
}

static __always_inline struct mps_verdict mps_steer_delay_pick(const struct mps_conn *c,
							       struct mps_priv *priv)
{
	const struct mps_verdict v = mps_minrtt_pick(c);
	struct mps_steer_state *s = mps_steer_state(priv);

	if (v.path < 0)
		return v;
	s->last = mps_steer_steady(c, s, (__u32)v.path) & (MPS_MAX_PATHS - 1);
	s->begun = 1;
	return mps_is_available(c, &c->path[s->last]) ? mps_send_on(c, s->last) : v;
}

#endif /* MPS_POLICY_STEER_H */
