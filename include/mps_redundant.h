/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Redundant: every byte on every active subflow that has room, so that the
 * fastest copy of each decides. New data goes to the fastest subflow, copies
 * follow by way of retransmission at once. That road only has the oldest
 * unacknowledged fragment on it, so as long as one is unacknowledged no new
 * data is given out ("strict"), or parts of it would never be copied. A slow,
 * full or dead subflow delays nothing: it gets no copy while it has no room.
 *
 * Source: thin-streams, section V, the redundant scheduler it compares with.
 */
#ifndef MPS_REDUNDANT_H
#define MPS_REDUNDANT_H

#include "mps_copy.h"
#include "mps_minrtt.h"

/* Every path that could carry the oldest fragment and has not yet. */
MPS_FN __u32 mps_redundant_copies(const struct mps_conn *c MPS_ARG)
{
	const __s32 tier = mps_usable_tier(c);
	__u32 i, mask = MPS_COPY_NONE;

	if (tier < 0 || !c->unacked || !c->unit || c->age_us == ~0U)
		return MPS_COPY_NONE;
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_is_usable(p, (__u32)tier) && mps_is_available(p) &&
		    !(p->flags & MPS_PATH_CARRIED))
			mask |= 1U << i;
	}
	return mask;
}

static __always_inline struct mps_verdict mps_redundant_pick(const struct mps_conn *c, __u32 strict)
{
	struct mps_verdict v = mps_minrtt_pick(c);

	if (v.path < 0 || !strict)
		return v;
	if (c->unacked)
		return mps_wait_for(MPS_WAIT_COPIES);
	/* one fragment, since the next would be out of the reach of copies */
	v.bytes = (__u32)mps_min(v.bytes, c->unit ?: v.bytes);
	return v;
}

#endif /* MPS_REDUNDANT_H */
