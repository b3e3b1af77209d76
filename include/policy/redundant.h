/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Redundant: every byte on every active subflow that has room, so that the
 * fastest copy of each decides. New data goes to the subflow that would finish
 * it first, copies follow by way of retransmission at once. That road begins at
 * the oldest unacknowledged fragment, and where that one has been copied it goes
 * no further. So new data is assigned in batches (tunable strict) of at most batch_fragments
 * fragments, and each is copied when all before it is acknowledged. A batch is several windows
 * long (batch_windows): what waits in a subflow's own queue is in the others' queues, too, and
 * late nowhere. The next is assigned to the same subflow while the end of the last is on its
 * way (overlap), so that no subflow stands still for that round trip. What arrives before its
 * pass comes, a segment or two, has no copies. A slow, full or dead subflow delays nothing: unless
 * it keeps up with the first, it gets no copy while it has no room.
 *
 * Source: thin-streams, section V, the redundant scheduler it compares with.
 */
#ifndef MPS_REDUNDANT_H
#define MPS_REDUNDANT_H

#include "common/copy.h"
#include "policy/minrtt.h"
#include "common/fragment.h"

struct mps_redundant_options {
	__u32 strict;  /* 0: only what is the oldest data when its turn comes is copied */
	__u32 most;    /* fragments that one pass can copy, at least 1 */
	__u32 windows; /* per batch, at least 1 */
	__u32 ahead;   /* fragments of a batch whose end the next one does not wait for */
};

/* Per connection. Zeroed memory is the state of a new connection. */
struct mps_redundant_state {
	__u8 lead;  /* index of the path that has the batch */
	__u8 given; /* fragments in it; 0: there is none that could grow */
	__u8 along; /* mask of the paths that kept up when it began */
	__u8 bound; /* mask of those whose windows bound it */
	__u32 open; /* its bytes while it is not copied yet: the last that were assigned */
	__u8 last;  /* fragments of the last that was copied */
};

/* Bytes that a path takes: so many windows in all, those behind the first in its queue. */
static __always_inline __u64 mps_redundant_room(const struct mps_path *p, __u32 windows)
{
	const __u64 all = (__u64)windows * p->cwnd * p->mss;
	const __u64 owed = (__u64)p->inflight * p->mss + p->unsent;

	return mps_takes_data(p) && all > owed ? all - owed : 0;
}

/* along: mask of the paths that take a copy into their queue; they may be a batch behind */
MPS_FN __u32 mps_redundant_lackers(const struct mps_conn *c MPS_ARG, __u32 along, __u32 windows)
{
	const __s32 tier = mps_usable_tier(c);
	__u32 i, mask = MPS_COPY_NONE;

	if (tier < 0 || !c->unacked || !c->unit || c->age_us == ~0U)
		return MPS_COPY_NONE;
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_is_usable(p, (__u32)tier) &&
		    (mps_is_available(c, p) ||
		     (along >> i & 1 && mps_redundant_room(p, 2 * windows))) &&
		    !(p->flags & MPS_PATH_CARRIED))
			mask |= 1U << i;
	}
	return mask;
}

/*
 * The subflow that gets the data of a batch: the one that would finish all that is
 * pending first, as each of them is to carry all of it; where that is not known, by RTT.
 * old: the one that has the last batch, or MPS_WAIT when that is acknowledged. Another one
 * is better than it if done a quarter earlier; and then whether it has room or not.
 */
MPS_FN __s32 mps_redundant_lead(const struct mps_conn *c MPS_ARG, __u32 tier, __s32 old)
{
	__u64 t, least = ~0ULL;
	__s32 best = MPS_WAIT;
	__u32 i;

	MPS_UNROLL
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_is_usable(p, tier) || !mps_takes_data(p) || !p->srtt_us ||
		    (old < 0 && !mps_is_available(c, p)))
			continue;
		t = mps_finish_us(p, c->pending, MPS_EST_GROW | MPS_EST_RATE);
		t -= (__s32)i == old ? t / 5 : 0;
		if (t < least) {
			least = t;
			best = (__s32)i;
		}
	}
	return best < 0 ? mps_minrtt_available(c, tier) : best;
}

/* Mask of the paths that take data and have `times` of their windows' room for so many bytes. */
MPS_FN __u32 mps_redundant_hold(const struct mps_conn *c MPS_ARG, __u32 tier, __u64 bytes,
				__u32 times, __u32 windows)
{
	__u32 i, found = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_is_usable(p, tier) && mps_takes_data(p))
			found |= (__u32)(times * mps_redundant_room(p, windows) >= bytes) << i;
	}
	return found;
}

/*
 * A batch begins on path `lead`. Those with half of its room bound it: it grows while all of
 * them have room for it. Those with a quarter of what there is to send keep up: they get all of
 * it, in their queue if need be. A window that is full for a moment, or has become smaller than
 * that of a like path by a few losses, is no reason to lack a part of it.
 */
static __always_inline void mps_redundant_begin(const struct mps_conn *c,
						struct mps_redundant_state *st, __u32 tier,
						__s32 lead, __u32 windows)
{
	const __u64 whole = mps_redundant_room(&c->path[lead & (MPS_MAX_PATHS - 1)], windows);

	st->given = st->along = st->bound = 0;
	st->open = 0;
	if (lead < 0)
		return;
	st->along = (__u8)mps_redundant_hold(c, tier, mps_min(whole, c->pending), 4, windows);
	st->bound = (__u8)mps_redundant_hold(c, tier, whole, 2, windows);
}

/* Is the next batch due although the last, which was copied, is still on its way? */
static __always_inline bool mps_redundant_goes_on(const struct mps_redundant_state *st, __u32 ahead)
{
	return !st->given && st->last >= ahead;
}

/*
 * May the batch that path `lead` has so far, which nobody else has yet, grow by the next
 * fragment? Only while everybody who bounds it has room for all of it.
 */
MPS_FN __u32 mps_redundant_grows(const struct mps_conn *c MPS_ARG, __u32 tier,
				 const struct mps_redundant_state *st MPS_ARG, __u32 windows)
{
	const __u32 lead = st->lead;
	const struct mps_path *first = &c->path[lead & (MPS_MAX_PATHS - 1)];
	__u32 i;

	if (lead >= c->nr_paths || !mps_is_usable(first, tier) ||
	    mps_redundant_room(first, windows) < first->mss)
		return 0;
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (i == lead || !(st->bound >> i & 1) || !mps_is_usable(p, tier))
			continue;
		if (mps_redundant_room(p, windows) < (__u64)st->open + c->unit)
			return 0;
	}
	return 1;
}

/* Paths that could get data, now or when their buffers have room: with one, none gets a copy. */
MPS_FN __u32 mps_redundant_takers(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u32 i, found = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		found += mps_is_usable(&c->path[i], tier) && !(c->path[i].flags & MPS_PATH_LOSS);
	}
	return found;
}

static __always_inline struct mps_verdict mps_redundant_pick(const struct mps_conn *c,
							     struct mps_redundant_state *st,
							     const struct mps_redundant_options *o)
{
	const __s32 tier = mps_usable_tier(c);
	struct mps_verdict v;
	__s32 i;

	if (!o->strict || tier < 0 || mps_redundant_takers(c, (__u32)tier) < 2) {
		st->given = st->last = 0;
		st->open = 0;
		return mps_minrtt_pick(c);
	}
	if (!c->unacked) {
		i = mps_redundant_lead(c, (__u32)tier, MPS_WAIT);
		mps_redundant_begin(c, st, (__u32)tier, i, 1);
	} else if (mps_redundant_goes_on(st, o->ahead)) {
		i = mps_redundant_lead(c, (__u32)tier, st->lead);
		if (i != st->lead)
			return mps_wait_for(MPS_WAIT_COPIES);
		if (!mps_is_available(c, &c->path[i & (MPS_MAX_PATHS - 1)]))
			return mps_wait_for(MPS_WAIT_NO_ROOM);
		mps_redundant_begin(c, st, (__u32)tier, i, o->windows);
	} else if (st->given && st->given < o->most &&
		   mps_redundant_grows(c, (__u32)tier, st, o->windows)) {
		i = st->lead;
	} else {
		return mps_wait_for(MPS_WAIT_COPIES);
	}
	if (i < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	st->lead = (__u8)i;
	st->given++;
	v = mps_send_on(c, (__u32)i);
	/* one fragment at a time, so that they are counted; there may be no room in the window */
	v.bytes = (__u32)mps_min(c->wnd_left, mps_min(c->unit ?: v.bytes, MPS_MAX_BURST));
	st->open += v.bytes;
	return v;
}

/* What was acknowledged ends before the batch: a pass for copies would not get to it. */
static __always_inline bool mps_redundant_is_ahead(const struct mps_redundant_state *st,
						   __u64 unacked)
{
	return unacked > st->open;
}

/* Every path that could carry the fragment and has not yet. That ends a batch that is reached. */
static __always_inline __u32 mps_redundant_copies(const struct mps_conn *c,
						  struct mps_redundant_state *st, __u32 windows)
{
	if (!mps_redundant_is_ahead(st, c->unacked)) {
		st->last = st->given ?: st->last;
		st->given = 0;
		st->open = 0;
	}
	return mps_redundant_lackers(c, st->along, windows);
}

/* Bytes of send buffer in which a batch finds room: its segments take up to twice their data. */
static __always_inline __u32 mps_redundant_sndbuf(__u32 most)
{
	return 2 * most * MPS_FRAGMENT;
}

#endif /* MPS_REDUNDANT_H */
