/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Auto: one composition of the other policies, for those who want to choose none.
 *
 *  - New data goes where ECF wants it (policy/ecf_extended.h); over paths that are alike that is
 *    minRTT.
 *  - A path that nobody used for some RTTs is probed by a copy of the end of a burst, and one that
 *    is idle counts by the least of its newest RTTs, as for thin streams (policy/thin.h).
 *  - The oldest data is copied where that pays (common/copy.h). Where the estimates say that it
 *    would not, the tail is repeated all the same, as CFS does (policy/cfs.h), within a budget:
 *    that is what wrong estimates may cost.
 */
#ifndef MPS_AUTO_H
#define MPS_AUTO_H

#include "policy/cfs.h"
#include "policy/ecf_extended.h"
#include "policy/thin.h"

/* The budget that a connection begins with, and the most that it saves up: bytes, a fragment. */
#define MPS_AUTO_CREDIT_MAX 32768U
/* Of credit and budget: thousandths. */
#define MPS_AUTO_SCALE 1000U

/* Per connection. Zeroed memory is the state of a new connection. */
struct mps_auto_state {
	struct mps_ecf_state ecf;
	__u32 given;  /* low half of what was assigned when credit was added last; 0: never */
	__u32 credit; /* bytes that the tail may repeat, times MPS_AUTO_SCALE */
};

/* given: the next byte to be assigned. budget: the part of new data that the tail may repeat. */
static __always_inline void mps_auto_earn(struct mps_auto_state *st, __u64 given, __u32 budget)
{
	const __u32 more = st->given ? (__u32)given - st->given : 0;
	const __u64 most = budget ? (__u64)MPS_AUTO_CREDIT_MAX * MPS_AUTO_SCALE : 0;
	const __u64 credit = st->given ? st->credit + (__u64)more * budget : most;

	st->given = (__u32)given ?: 1;
	st->credit = (__u32)mps_min(credit, most);
}

/* The tail once more, where nothing says that it pays. */
static __always_inline __u32 mps_auto_tail(const struct mps_conn *c, struct mps_auto_state *st)
{
	const __u64 cost = (__u64)c->unit * MPS_AUTO_SCALE;
	__u32 mask;

	if (st->credit < cost)
		return MPS_COPY_NONE;
	mask = mps_cfs_copies(c);
	if (mask)
		st->credit -= (__u32)cost;
	return mask;
}

/* length: segments of a probe at most; pays: copies are wanted where they pay. */
static __always_inline __u32 mps_auto_copies(const struct mps_conn *c, struct mps_auto_state *st,
					     __u32 length, bool pays)
{
	__u32 mask = mps_thin_probes(c, length);

	if (mask || !pays)
		return mask;
	mask = mps_copy_if_it_pays(c);
	return mask ?: mps_auto_tail(c, st);
}

#endif /* MPS_AUTO_H */
