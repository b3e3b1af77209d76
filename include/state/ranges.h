/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which data went to a subflow: ranges of the data sequence in the order in
 * which they were given to it, in bounded memory. MPS_RANGES of them are exact;
 * contiguous ones count once. When more are unacknowledged, those with the least
 * between them are joined to a hull: a subflow may then be taken for a carrier of
 * data that it never had, never the other way round, so no copy ever goes where
 * its data is. Where that is the wrong way round hulls do not count: mps_ranges_reach().
 *
 * Sequence numbers and times are the low halves of 64-bit ones and compared by
 * their difference, as TCP does: ranges are less than 2 GB apart.
 */
#ifndef MPS_RANGES_H
#define MPS_RANGES_H

#include "model/types.h"

#define MPS_RANGES 15

/*
 * Times are in ticks of 8192 us, of which the low bits are kept: ages up to 8 s
 * are right within a tick. What is contiguous and given in the same tick is one.
 */
#define MPS_TICK_BITS 13
#define MPS_TICKS (1U << 10)

/*
 * A range, or a hull, that is longer than this counts in KB, rounded up. Of one that is longer
 * than all of these KB the end is kept: the rest was acknowledged long ago, as no window is 1 GB.
 */
#define MPS_LENGTH_MAX ((1U << 20) - 1)
#define MPS_LENGTH_KB (1U << 20)
#define MPS_LENGTH_HULL (1U << 21) /* it claims data that the subflow never had */

#define MPS_NEVER (~0U)

struct mps_range {
	__u32 start;	 /* data sequence number */
	__u32 len : 22;	 /* bytes, or KB with a bit that says so, and the hull's bit */
	__u32 tick : 10; /* when the subflow was given it, a hull: the last of it */
};

struct mps_ranges {
	__u32 nr;
	struct mps_range range[MPS_RANGES];
};

/* a before b, in sequence space */
static __always_inline bool mps_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* The end, excluded. */
static __always_inline __u32 mps_range_end(const struct mps_range *r)
{
	const __u32 length = r->len & MPS_LENGTH_MAX;

	return r->start + (r->len & MPS_LENGTH_KB ? length << 10 : length);
}

static __always_inline void mps_range_set(struct mps_range *r, __u32 start, __u32 end)
{
	__u32 kb, length = end - start;

	r->start = start;
	r->len = length;
	if (length <= MPS_LENGTH_MAX)
		return;
	kb = (length + 1023) >> 10;
	if (kb > MPS_LENGTH_MAX) {
		kb = MPS_LENGTH_MAX;
		r->start = end - (kb << 10);
	}
	r->len = MPS_LENGTH_KB | kb;
}

static __always_inline __u32 mps_tick(__u32 us)
{
	return us >> MPS_TICK_BITS & (MPS_TICKS - 1);
}

/* Bytes that one hull of both would claim and neither has; less than none where they overlap. */
static __always_inline __s32 mps_ranges_claim(const struct mps_range *a, const struct mps_range *b)
{
	const __u32 a_end = mps_range_end(a), b_end = mps_range_end(b);
	const __u32 start = mps_before(a->start, b->start) ? a->start : b->start;
	const __u32 end = mps_before(a_end, b_end) ? b_end : a_end;

	return (__s32)((end - start) - (a_end - a->start) - (b_end - b->start));
}

/* What it costs to join them: nothing is as cheap as what is acknowledged. */
#define MPS_RANGES_FREE (-0x7fffffff)

MPS_FN __s32 mps_ranges_cost(const struct mps_range *a MPS_ARG, const struct mps_range *b MPS_ARG,
			     __u32 una)
{
	if (!mps_before(una, mps_range_end(a)) || !mps_before(una, mps_range_end(b)))
		return MPS_RANGES_FREE;
	return mps_ranges_claim(a, b);
}

/* a goes into b, which is younger; what is acknowledged goes altogether. */
MPS_FN __u32 mps_ranges_join(const struct mps_range *a MPS_ARG, struct mps_range *b MPS_ARG,
			     __u32 una)
{
	const __u32 a_end = mps_range_end(a), b_end = mps_range_end(b);
	__u32 hull;

	if (!mps_before(una, a_end))
		return b_end;
	if (!mps_before(una, b_end)) {
		*b = *a;
		return a_end;
	}
	hull = (a->len | b->len) & MPS_LENGTH_HULL;
	hull |= mps_ranges_claim(a, b) > 0 ? MPS_LENGTH_HULL : 0;
	mps_range_set(b, mps_before(a->start, b->start) ? a->start : b->start,
		      mps_before(b_end, a_end) ? a_end : b_end);
	b->len |= hull;
	return mps_range_end(b);
}

/*
 * The first of the two neighbours whose hull claims least; MPS_RANGES where one that begins at
 * start can join the last and claim nothing.
 */
MPS_FN __u32 mps_ranges_nearest(const struct mps_ranges *g MPS_ARG, __u32 una, __u32 start)
{
	__s32 cost, least = 0x7fffffff;
	__u32 i, at = 0;

	for (i = 0; i + 1 < MPS_RANGES; i++) {
		cost = mps_ranges_cost(&g->range[i], &g->range[i + 1], una);
		if (cost < least) {
			least = cost;
			at = i;
		}
		/* mostly the first one is */
		if (cost == MPS_RANGES_FREE)
			return at;
	}
	if (least > 0 && mps_range_end(&g->range[MPS_RANGES - 1]) == start)
		return MPS_RANGES;
	return at;
}

/* Makes place for one that begins at start, if it needs any. Returns how many are left. */
MPS_FN __u32 mps_ranges_shrink(struct mps_ranges *g MPS_ARG, __u32 una, __u32 start)
{
	const __u32 at = mps_ranges_nearest(g, una, start);
	__u32 i;

	if (at >= MPS_RANGES)
		return MPS_RANGES;
	for (i = 0; i + 1 < MPS_RANGES; i++) {
		if (i == at)
			mps_ranges_join(&g->range[i], &g->range[i + 1], una);
		if (i >= at)
			g->range[i] = g->range[i + 1];
	}
	return MPS_RANGES - 1;
}

/* The subflow was given [start, end) at `us`; una: all before it is acknowledged. The last is no
 * hull. */
MPS_FN __u32 mps_ranges_add(struct mps_ranges *g MPS_ARG, __u32 start, __u32 end, __u32 una,
			    __u32 us)
{
	__u32 nr = g->nr;

	if (!mps_before(start, end))
		return nr;
	if (nr && nr <= MPS_RANGES) {
		struct mps_range *last = &g->range[nr - 1];

		if (mps_range_end(last) == start && last->tick == mps_tick(us)) {
			mps_range_set(last, last->start, end);
			return nr;
		}
	}
	if (nr >= MPS_RANGES)
		nr = mps_ranges_shrink(g, una, start);
	if (nr >= MPS_RANGES) {
		nr = MPS_RANGES - 1;
		start = g->range[MPS_RANGES - 1].start;
	}
	mps_range_set(&g->range[nr], start, end);
	g->range[nr].tick = mps_tick(us);
	g->nr = nr + 1;
	return g->nr;
}

/*
 * Once all that it was given is acknowledged there is nothing to remember; while
 * others carry 2 GB more, it would come to look like data that is still to come.
 */
MPS_FN __u32 mps_ranges_forget(struct mps_ranges *g MPS_ARG, __u32 una)
{
	const __u32 last = g->nr - 1;
	__u32 i;

	/* what was given last mostly is not */
	if (last < MPS_RANGES && mps_before(una, mps_range_end(&g->range[last])))
		return last + 1;
	for (i = 0; i < MPS_RANGES; i++) {
		if (i >= g->nr)
			break;
		if (mps_before(una, mps_range_end(&g->range[i])))
			return g->nr;
	}
	g->nr = 0;
	return 0;
}

/* How long ago, in us, the subflow was last given some of [start, end), or MPS_NEVER. */
MPS_FN __u32 mps_ranges_age(const struct mps_ranges *g MPS_ARG, __u32 start, __u32 end, __u32 us)
{
	__u32 i, ticks, age = MPS_NEVER;

	if (!mps_before(start, end))
		return MPS_NEVER;
	for (i = 0; i < MPS_RANGES; i++) {
		const struct mps_range *r = &g->range[i];

		if (i >= g->nr)
			break;
		if (!mps_before(r->start, end) || !mps_before(start, mps_range_end(r)))
			continue;
		ticks = (mps_tick(us) - r->tick) & (MPS_TICKS - 1);
		if (ticks << MPS_TICK_BITS < age)
			age = ticks << MPS_TICK_BITS;
	}
	return age;
}

/*
 * How far on from `start` all data was given to the subflow for certain, `end` at most. Ranges are
 * followed in their order, and neither hulls nor what counts in KB are, so there may be more.
 */
MPS_FN __u32 mps_ranges_reach(const struct mps_ranges *g MPS_ARG, __u32 start, __u32 end)
{
	__u32 i, reach = start;

	for (i = 0; i < MPS_RANGES; i++) {
		const struct mps_range *r = &g->range[i];
		const __u32 r_end = mps_range_end(r);

		if (i >= g->nr)
			break;
		if (r->len & (MPS_LENGTH_HULL | MPS_LENGTH_KB))
			continue;
		if (!mps_before(reach, r->start) && mps_before(reach, r_end))
			reach = r_end;
	}
	return mps_before(end, reach) ? end : reach;
}

/* mps_ranges_age(), if what it was given last ends right before `end`; else MPS_NEVER. */
static __always_inline __u32 mps_ranges_last_age(const struct mps_ranges *g, __u32 end, __u32 us)
{
	const __u32 last = g->nr - 1;
	const struct mps_range *r = &g->range[last < MPS_RANGES ? last : 0];

	if (last >= MPS_RANGES || mps_range_end(r) != end)
		return MPS_NEVER;
	return ((mps_tick(us) - r->tick) & (MPS_TICKS - 1)) << MPS_TICK_BITS;
}

/*
 * How many bytes the subflow was given behind the last of its data in [start, end). With hulls
 * that is too much, by what they claim. 0 without any such data.
 */
MPS_FN __u32 mps_ranges_behind(const struct mps_ranges *g MPS_ARG, __u32 start, __u32 end)
{
	__u32 i, bytes = 0, found = 0;

	MPS_UNROLL
	for (i = 0; i < MPS_RANGES; i++) {
		const struct mps_range *r = &g->range[i];
		const __u32 r_end = mps_range_end(r);

		if (i >= g->nr)
			break;
		if (mps_before(r->start, end) && mps_before(start, r_end)) {
			found = 1;
			bytes = mps_before(end, r_end) ? r_end - end : 0;
		} else if (found) {
			bytes += r_end - r->start;
		}
	}
	return bytes;
}

#endif /* MPS_RANGES_H */
