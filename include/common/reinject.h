/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When to ask for a copy of the oldest unacknowledged fragment while the
 * kernel's own scheduler serves the connection. Its get_retrans is fixed: the
 * whole fragment goes to the first idle subflow that is no backup. So the one
 * question is whether that pays. It costs nothing else at that moment, since
 * there is nothing to assign, but it keeps that subflow busy for the time it
 * takes, which is why it must be well ahead of the fragment's own subflow.
 *
 * Source: the opportunistic retransmission that the papers' kernels had on
 * (ecf-conext17, section 2), by time and not always. Which subflow holds the
 * fragment is not known: the slowest of the busy ones is taken, which is exact
 * with two subflows.
 */
#ifndef MPS_REINJECT_H
#define MPS_REINJECT_H

#include "model/estimate.h"

/* The hash of namespaces that opted in; the name carries the layout's version. */
#define MPS_REINJECT_MAP "mps_reinject_v1"
#define MPS_REINJECT_MAX 1024

/* X(ID, json_name, description), per network namespace */
#define MPS_REINJECT_COUNTERS(X)                                                                \
	X(LOOKS, looks, "segments that came when data was on its way and none left")            \
	X(NO_IDLE, no_idle, "of these, those that found no idle subflow for a copy")            \
	X(NO_GAIN, no_gain, "of these, those whose copy would not have been earlier")           \
	X(HELD_BACK, held_back, "of these, those that had asked for the same data just before") \
	X(ASKED, asked, "passes asked for")                                                     \
	X(REFUSED, refused, "requests that the bridge refused")

enum mps_reinject_counter {
#define MPS_REINJECT_ENUM(id, name, text) MPS_R_##id,
	MPS_REINJECT_COUNTERS(MPS_REINJECT_ENUM)
#undef MPS_REINJECT_ENUM
		MPS_NR_REINJECT_COUNTERS
};

/* Value of MPS_REINJECT_MAP; the key is the cookie of the namespace (__u64). */
struct mps_reinject_ns {
	__u64 counter[MPS_NR_REINJECT_COUNTERS];
};

#define MPS_NEVER_US (~0ULL)

/* The oldest unacknowledged fragment, in bytes. */
struct mps_fragment {
	__u32 whole; /* what a copy is made of; 0: there is none */
	__u32 left;  /* as far as it is not acknowledged */
};

/* What the subflows say, one after the other in the kernel's order. */
struct mps_outlook {
	__u64 copy_us; /* until a copy would be acknowledged; MPS_NEVER_US: no idle subflow */
	__u64 left_us; /* until the fragment is, where it is, at least 1; 0: no busy subflow */
};

#define MPS_OUTLOOK_INIT { MPS_NEVER_US, 0 }

/*
 * What a subflow delivers until it is done with the fragment. That is the next
 * in its queue, unless earlier ones were copied: the other end has those, but
 * they still have to be delivered, in front of it. It shows in acknowledgements
 * of the subflow, worth more than a segment, that did not move the connection's.
 * Then it may be anywhere in the queue, and is taken to be at its end. No more than
 * the subflow delivers in an RTT without a queue says nothing: another one, with
 * a shorter way back, may have told of it before.
 */
static __always_inline __u32 mps_until_done(const struct mps_fragment *f, const struct mps_path *p,
					    __u32 owed, __u32 in_vain)
{
	const __u64 rate = mps_min(mps_likely_rate(p), ~0U);
	const __u64 early = rate * p->min_rtt_us / MPS_USEC;

	return in_vain > mps_max(p->mss, early) && owed > f->left ? owed : f->left;
}

/*
 * Until a busy subflow has delivered so many bytes more: the rate decides. One in recovery after a
 * timeout, or given up, or heard of neither way for longer than its RTT ever takes, is not known to
 * deliver at all.
 */
static __always_inline __u64 mps_busy_us(const struct mps_path *p, __u32 bytes, __u64 silent_us)
{
	const __u64 rate = mps_likely_rate(p);

	if (!(p->flags & MPS_PATH_ACTIVE) || p->flags & MPS_PATH_LOSS)
		return MPS_NEVER_US;
	if (p->srtt_us && silent_us > (__u64)p->srtt_us + 4ULL * p->mdev_us)
		return MPS_NEVER_US;
	return mps_max(mps_duration(bytes, rate), 1);
}

/*
 * whole: bytes of a copy; bytes: mps_until_done(); silent_us: since the subflow
 * last sent or received anything. Does it count at all?
 */
MPS_FN __u32 mps_outlook_add(struct mps_outlook *o MPS_ARG, const struct mps_path *p MPS_ARG,
			     __u32 whole, __u32 bytes, __u64 silent_us)
{
	if (!(p->flags & MPS_PATH_SENDS))
		return 0;
	if (!(p->flags & MPS_PATH_IDLE)) {
		o->left_us = mps_max(o->left_us, mps_busy_us(p, bytes, silent_us));
		return 1;
	}
	/* the kernel takes the first one that is idle and no backup */
	if (p->flags & MPS_PATH_BACKUP || o->copy_us != MPS_NEVER_US)
		return 0;
	/* without an RTT sample it is unknown, not fast */
	o->copy_us = p->srtt_us ? mps_finish_us(p, whole, MPS_EST_GROW | MPS_EST_RATE)
				: MPS_NEVER_US - 1;
	return 1;
}

/* By a quarter: both times are estimates, and a copy that comes late is a loss. */
static __always_inline bool mps_reinject_pays(const struct mps_outlook *o)
{
	return o->copy_us < MPS_NEVER_US - 1 && o->copy_us + o->copy_us / 4 < o->left_us;
}

/*
 * Has the receiver dropped the fragment? It does that with data beyond its window, and when it is
 * out of memory. TCP has acknowledged all that was sent, and of this subflow two segments since
 * the connection got on: the acknowledgement at data level may be one late. None follows that
 * would tell more, and nobody but the retransmission timer would send it again. That the last one
 * does not tell of it either is for the caller to see.
 */
static __always_inline bool mps_reinject_dropped(const struct mps_outlook *o, __u32 in_vain,
						 __u32 mss)
{
	return !o->left_us && o->copy_us < MPS_NEVER_US - 1 && in_vain >= 2 * mss;
}

#endif /* MPS_REINJECT_H */
