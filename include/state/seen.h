/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which subflows a snapshot has, and as which of its paths. It has place for MPS_MAX_PATHS;
 * a connection may have more (`ip mptcp limits set subflow 64`), and the core's list also has
 * those that are not established yet, and the first one after it was closed. The rule:
 *
 *  - only those that can send have a place, the first of the list first;
 *  - where there are more, an active one takes the place of one that is not, of a stale one.
 *
 * So what the subflows with a place leave undone is never for want of an active one.
 */
#ifndef MPS_SEEN_H
#define MPS_SEEN_H

#include "model/decision.h"

/* Places in the list count in a byte, like the core's own subflows. */
#define MPS_SEEN_MAX 255

/* Of one look at the list. Zeroed memory is its beginning. */
struct mps_seen {
	__u64 where; /* a byte for each path: its place in the list */
	__u32 at;    /* of the subflow that is looked at next */
	__u16 nr;    /* paths so far */
	__u16 weak;  /* mask of those that are not active */
};

/* Which path of the mask is the subflow at this place of the list? MPS_MAX_PATHS: none. */
MPS_FN __u32 mps_seen_path(const struct mps_seen *seen MPS_ARG, __u32 mask, __u32 at)
{
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (!(mask >> i))
			break;
		if (mask >> i & 1 && (seen->where >> 8 * i & 0xff) == at)
			return i;
	}
	return MPS_MAX_PATHS;
}

/* The lowest bit of a mask that has one. */
static __always_inline __u32 mps_seen_lowest(__u32 mask)
{
	const __u32 bit = mask & -mask;

	return (bit & 0xaa ? 1 : 0) + (bit & 0xcc ? 2 : 0) + (bit & 0xf0 ? 4 : 0);
}

/*
 * The next subflow of the list, with these flags: the path that it becomes, perhaps in place
 * of another subflow, or MPS_MAX_PATHS.
 */
MPS_FN __u32 mps_seen_next(struct mps_seen *seen MPS_ARG, __u32 flags)
{
	const __u32 at = seen->at++;
	const bool weak = !(flags & MPS_PATH_ACTIVE);
	__u32 i = seen->nr;

	if (!(flags & MPS_PATH_SENDS) || at >= MPS_SEEN_MAX)
		return MPS_MAX_PATHS;
	if (i < MPS_MAX_PATHS)
		seen->nr++;
	else if (weak || !seen->weak)
		return MPS_MAX_PATHS;
	else
		i = mps_seen_lowest(seen->weak);
	seen->where &= ~(0xffULL << 8 * (i & (MPS_MAX_PATHS - 1)));
	seen->where |= (__u64)at << 8 * (i & (MPS_MAX_PATHS - 1));
	seen->weak &= ~(1U << i);
	seen->weak |= (__u32)weak << i;
	return i;
}

/* All of the list, n of them, became paths in its order. */
static __always_inline void mps_seen_all(struct mps_seen *seen, __u32 n)
{
	seen->where = 0x0706050403020100ULL;
	seen->at = n;
	seen->nr = (__u16)n;
}

#endif /* MPS_SEEN_H */
