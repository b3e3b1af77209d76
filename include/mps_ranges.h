/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which data went to a subflow: ranges of the data sequence in the order in
 * which they were given to it, in bounded memory. The last MPS_RANGES - 1
 * bursts are exact. Older ones, as long as they are unacknowledged, are joined
 * to a hull: a subflow may then be taken for a carrier of data that it never
 * had, never the other way round, so no copy ever goes where its data is.
 *
 * Sequence numbers and times are the low halves of 64-bit ones and compared by
 * their difference, as TCP does: ranges are less than 2 GB apart.
 */
#ifndef MPS_RANGES_H
#define MPS_RANGES_H

#include "mps_types.h"

#define MPS_RANGES 11

/* Contiguous bursts are one range while they are not further apart, in us. */
#define MPS_RANGE_JOIN_US 4000

#define MPS_NEVER (~0U)

struct mps_range {
	__u32 start, end; /* data sequence numbers, end excluded */
	__u32 us;	  /* when the first byte was given to the subflow */
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

/* Make place: the oldest range goes when acknowledged, else into the next one's hull. */
static __always_inline void mps_ranges_shift(struct mps_ranges *g, __u32 una)
{
	const struct mps_range old = g->range[0];
	struct mps_range *next = &g->range[1];
	__u32 i;

	if (mps_before(una, old.end)) {
		if (mps_before(old.start, next->start))
			next->start = old.start;
		if (mps_before(next->end, old.end))
			next->end = old.end;
	}
	for (i = 0; i + 1 < MPS_RANGES; i++)
		g->range[i] = g->range[i + 1];
}

/* The subflow was given [start, end) at `us`; una: all before it is acknowledged. */
MPS_FN __u32 mps_ranges_add(struct mps_ranges *g MPS_ARG, __u32 start, __u32 end, __u32 una,
			    __u32 us)
{
	__u32 nr = g->nr;

	if (!mps_before(start, end))
		return nr;
	if (nr && nr <= MPS_RANGES) {
		struct mps_range *last = &g->range[nr - 1];

		if (last->end == start && us - last->us < MPS_RANGE_JOIN_US) {
			last->end = end;
			return nr;
		}
	}
	if (nr >= MPS_RANGES) {
		mps_ranges_shift(g, una);
		nr = MPS_RANGES - 1;
	}
	g->range[nr] = (struct mps_range){ .start = start, .end = end, .us = us };
	g->nr = nr + 1;
	return g->nr;
}

/* How long ago the subflow was last given some of [start, end), or MPS_NEVER. */
MPS_FN __u32 mps_ranges_age(const struct mps_ranges *g MPS_ARG, __u32 start, __u32 end, __u32 us)
{
	__u32 i, age = MPS_NEVER;

	for (i = 0; i < MPS_RANGES; i++) {
		const struct mps_range *r = &g->range[i];

		if (i >= g->nr)
			break;
		if (!mps_before(r->start, end) || !mps_before(start, r->end))
			continue;
		if (us - r->us < age)
			age = us - r->us;
	}
	return age;
}

#endif /* MPS_RANGES_H */
