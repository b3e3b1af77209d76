/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When and where to send the oldest unacknowledged fragment a second time,
 * without a loss: opportunistic retransmission. Policies; each answers a bit
 * mask of paths, 0 for none. Common to all:
 *
 *  - copies never delay fresh data: there is nothing that could be assigned,
 *    because nothing is left or because the peer's window is full;
 *  - never on a subflow that was given data of the fragment (MPS_PATH_CARRIED): the
 *    core sends all of it again. common/fragment.h sees to it that some subflow was not;
 *  - only into free window of a subflow of the tier that carries data, so at
 *    most one congestion window per RTT (policy/redundant.h: a batch per RTT).
 *
 * They stop with the acknowledgement at data level, which moves the fragment,
 * or with new data.
 */
#ifndef MPS_COPY_H
#define MPS_COPY_H

#include "model/estimate.h"

#define MPS_COPY_NONE 0U

static __always_inline bool mps_may_copy(const struct mps_conn *c)
{
	return c->unacked && c->unit && !(c->pending && c->wnd_left) && c->age_us != ~0U;
}

static __always_inline bool mps_lacks_fragment(const struct mps_path *p, __u32 tier)
{
	return mps_is_usable(p, tier) && p->srtt_us && !(p->flags & MPS_PATH_CARRIED);
}

static __always_inline bool mps_can_take_copy(const struct mps_conn *c, const struct mps_path *p,
					      __u32 tier)
{
	return mps_lacks_fragment(p, tier) && mps_is_available(c, p);
}

/*
 * Bytes that a carrier has to deliver until it is done with the fragment: what it owes but for
 * what it was given later. The fragment is the connection's oldest, and yet something may be in
 * front of it here: data that was copied, so that the peer has had it from elsewhere.
 */
static __always_inline __u64 mps_to_deliver(const struct mps_conn *c, const struct mps_path *p)
{
	const __u64 owed = mps_owed(p);

	return owed > (__u64)p->behind + c->unit ? owed - p->behind : c->unit;
}

/*
 * us until the fragment is acknowledged where it is: the rate decides, and data
 * that was just sent needs the rest of a round trip in any case. A carrier that is in recovery
 * after a timeout, or that the core has given up, will not deliver. Nor will
 * one that sends nothing although its window is open: a short segment is held
 * back there, by TCP_CORK (nginx, until it has written a file's end) or Nagle.
 */
MPS_FN __u64 mps_remaining_us(const struct mps_conn *c MPS_ARG, const struct mps_path *p MPS_ARG)
{
	const __u64 rate = mps_likely_rate(p);
	/* what is overdue there was lost, and needs one more */
	const __u64 over = p->flags & MPS_PATH_REPAIRS ? p->srtt_us : 0;
	const __u64 trip = p->srtt_us > c->age_us ? p->srtt_us - c->age_us : over;
	const bool held = p->unsent && !p->inflight;

	if (!mps_is_active(p) || p->flags & MPS_PATH_LOSS || !p->srtt_us || held)
		return ~0ULL;
	return mps_max(trip, mps_duration(mps_to_deliver(c, p), rate));
}

/* The least of that over all that carry it; ~0 when none of them will deliver. */
MPS_FN __u64 mps_carriers_us(const struct mps_conn *c MPS_ARG)
{
	__u64 best = ~0ULL;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		if (mps_carries(&c->path[i]))
			best = mps_min(best, mps_remaining_us(c, &c->path[i]));
	}
	return best;
}

/*
 * Of the usable paths that do not have the fragment, the one that finishes it first, if by a
 * quarter before `left` us. room: of those with room only.
 */
MPS_FN __u32 mps_copy_first(const struct mps_conn *c MPS_ARG, __u32 tier, __u64 left, __u32 room)
{
	__u64 t, best = ~0ULL;
	__u32 i, mask = MPS_COPY_NONE;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_lacks_fragment(p, tier) || (room && !mps_is_available(c, p)))
			continue;
		t = mps_finish_us(p, c->unit, MPS_EST_GROW | MPS_EST_RATE);
		if (t < best && t + t / 4 < left) {
			best = t;
			mask = 1U << i;
		}
	}
	return mask;
}

/*
 * Opportunistic retransmission where it pays: on the path that finishes the
 * fragment first, if that is before its carriers do, by a quarter.
 */
MPS_FN __u32 mps_copy_if_it_pays(const struct mps_conn *c MPS_ARG)
{
	const __s32 tier = mps_usable_tier(c);

	if (tier < 0 || !mps_may_copy(c))
		return MPS_COPY_NONE;
	return mps_copy_first(c, (__u32)tier, mps_carriers_us(c), 1);
}

/*
 * Is the oldest data lost behind TCP's back? A round trip has passed since its
 * subflows had it acknowledged, and the connection has not. The receiver has dropped
 * it (its counter MPTcpExtNoDSSInWindow, see state/peer_window.h), and the core would wait for
 * its timer once per fragment.
 */
MPS_FN __u32 mps_lost_behind(const struct mps_conn *c MPS_ARG)
{
	__u32 i, dropped = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_carries(p))
			return 0;
		dropped |= p->flags & MPS_PATH_DROPPED && !(p->flags & MPS_PATH_CARRIED);
	}
	return c->unacked && c->unit && dropped;
}

/*
 * Was the fragment given to a subflow that delivers, less than a round trip of that one ago? By its
 * youngest carrier, as no other age is known. Then a timer that fires knows nothing of it. After a
 * subflow was given up the core assigns all anew, and goes on with the same pass.
 */
MPS_FN __u32 mps_is_under_way(const struct mps_conn *c MPS_ARG)
{
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_carries(p) && mps_is_active(p) && !(p->flags & MPS_PATH_LOSS) &&
		    c->age_us < p->srtt_us)
			return 1;
	}
	return 0;
}

/*
 * Nobody has it, and everything waits for it: the mask of the path that sends it again, in
 * front of fresh data and in its queue if its window is full.
 */
MPS_FN __u32 mps_repair_first(const struct mps_conn *c MPS_ARG)
{
	const __s32 tier = mps_usable_tier(c);

	return tier < 0 ? MPS_COPY_NONE : mps_copy_first(c, (__u32)tier, ~0ULL, 0);
}

#endif /* MPS_COPY_H */
