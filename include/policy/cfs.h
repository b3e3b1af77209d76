/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CFS, the redundant tail: minRTT while there is new data; when nothing is left
 * to assign and the fastest subflow has room, it sends again what slower ones
 * have unacknowledged. No prediction: only the tail is copied, and whichever
 * copy comes first ends the wait.
 *
 * Source: cfs, section 3.1; line 6 of its algorithm says x_s where it means
 * x_f, the subflow with room. While the peer's window holds new data back
 * nothing is copied here, as the tail has not come.
 *
 * Not in the paper: so nothing mends a window that a slow subflow blocks, and
 * while more waits than the window takes it gets nothing that would, by the
 * estimate of BLEST (policy/blest.h).
 */
#ifndef MPS_CFS_H
#define MPS_CFS_H

#include "policy/blest.h"
#include "common/copy.h"

/*
 * Does a slower path than this one carry the fragment? One in recovery after a timeout is slower
 * than any. One that the core has given up counts only where it is the last: else its part went to
 * the others again, as nothing waits to be assigned.
 */
MPS_FN __u32 mps_cfs_slower_carrier(const struct mps_conn *c MPS_ARG, __u32 rtt)
{
	__u32 i, slower = 0, alive = 0, given_up = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_carries(p))
			continue;
		if (!mps_is_active(p)) {
			given_up = 1;
			continue;
		}
		alive = 1;
		if (p->srtt_us > rtt || p->flags & MPS_PATH_LOSS)
			slower = 1;
	}
	return alive ? slower : given_up;
}

/* x_f: of the usable paths with room that have not carried the fragment, the fastest. */
MPS_FN __s32 mps_cfs_fastest(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u32 i, best_rtt = ~0U;
	__s32 best = MPS_WAIT;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_can_take_copy(c, p, tier) && p->srtt_us < best_rtt) {
			best_rtt = p->srtt_us;
			best = (__s32)i;
		}
	}
	return best;
}

/*
 * Who gets new data. factor: BLEST's lambda, in thousandths, which does not adapt here; 0: the
 * paper's form. A window that takes all that there is cannot be blocked.
 */
static __always_inline struct mps_verdict mps_cfs_pick(const struct mps_conn *c,
						       struct mps_blest_state *st, __u32 factor)
{
	const struct mps_blest_options o = {
		.start = factor,
		.min = factor,
		.max = factor,
		.whole = 1,
		.rate = 1,
	};

	if (factor && c->pending > c->wnd_left)
		return mps_blest_pick(c, st, &o);
	return mps_minrtt_pick(c);
}

static __always_inline __u32 mps_cfs_copies(const struct mps_conn *c)
{
	const __s32 tier = mps_usable_tier(c);
	__s32 f;

	if (tier < 0 || c->pending || !mps_may_copy(c))
		return MPS_COPY_NONE;
	f = mps_cfs_fastest(c, (__u32)tier);
	if (f < 0 || !mps_cfs_slower_carrier(c, c->path[f & (MPS_MAX_PATHS - 1)].srtt_us))
		return MPS_COPY_NONE;
	return 1U << f;
}

#endif /* MPS_CFS_H */
