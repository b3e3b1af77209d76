/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When data given to a path now will be acknowledged. The papers take
 * cwnd / RTT for a path's speed; that is right in congestion avoidance with a
 * full window, and far off after an idle time (RTT without the path's own
 * queue, window about to be cut) and in slow start. Each correction can be
 * switched off: enum mps_estimate.
 */
#ifndef MPS_TIME_H
#define MPS_TIME_H

#include "model/decision.h"

enum mps_estimate {
	MPS_EST_GROW = 1 << 0,	  /* a window below ssthresh doubles every RTT */
	MPS_EST_RATE = 1 << 1,	  /* no faster than the path was ever seen to deliver */
	MPS_EST_ARRIVAL = 1 << 2, /* until it is with the peer: mps_done_us(), get_send alone */
};

#define MPS_USEC 1000000ULL
/* Rounds of slow start that are followed: 2^8 windows. */
#define MPS_GROW_ROUNDS 8
/* No product below overflows with at most so many bytes (16 GB) ... */
#define MPS_BYTES_MAX (1ULL << 34)
/* ... and an RTT of so many us (9 minutes, what srtt_us can hold). */
#define MPS_RTT_MAX ((1ULL << 29) - 1)

static __always_inline __u64 mps_min(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __always_inline __u64 mps_max(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

static __always_inline __u64 mps_bytes(__u64 segments, const struct mps_path *p)
{
	return mps_min(segments * p->mss, MPS_BYTES_MAX);
}

/* Bytes that a path has yet to deliver: on their way, or waiting in its own queue. */
static __always_inline __u64 mps_owed(const struct mps_path *p)
{
	return mps_bytes(p->inflight, p) + p->unsent;
}

/* us to carry that many bytes at that many bytes/s */
static __always_inline __u64 mps_duration(__u64 bytes, __u64 rate)
{
	return mps_min(bytes, MPS_BYTES_MAX) * MPS_USEC / (rate ?: 1);
}

/* TCP's last sample of the delivery rate in bytes/s, 0: none. */
MPS_FN __u32 mps_last_rate(__u32 segments, __u32 mss, __u32 interval_us)
{
	const __u64 bytes = mps_min((__u64)segments * mss, MPS_BYTES_MAX);
	const __u64 rate = bytes * MPS_USEC / (interval_us ?: 1);

	return interval_us ? (__u32)mps_min(rate, ~0U) : 0;
}

/*
 * Does a sample tell what the path can do? It was full if that took longer than a round trip
 * without a queue, and a quarter of the window was delivered meanwhile: in slow start that is half
 * of what the window was. Else the sample tells how little there was to send, or that the
 * acknowledgement of a lone segment was delayed; TCP's own mark for that, rate_app_limited, is
 * never set on a subflow.
 */
static __always_inline bool mps_was_full(__u32 segments, __u32 interval_us, __u32 cwnd,
					 __u32 min_rtt_us)
{
	return segments > 1 && 4ULL * segments >= cwnd &&
	       interval_us >= (__u64)min_rtt_us + min_rtt_us / 8;
}

/* mps_last_rate(), 0 where the path was not full. */
MPS_FN __u32 mps_full_rate(__u32 segments, __u32 mss, __u32 interval_us, __u32 cwnd,
			   __u32 min_rtt_us)
{
	if (!mps_was_full(segments, interval_us, cwnd, min_rtt_us))
		return 0;
	return mps_last_rate(segments, mss, interval_us);
}

/*
 * The most that the path is known to carry. In its first slow start it was
 * never full, so it may do twice what it was seen to do.
 */
static __always_inline __u64 mps_known_rate(const struct mps_path *p)
{
	return p->ssthresh == ~0U ? 2ULL * p->rate : p->rate;
}

/* Bytes/s that it delivers, as far as one can tell. */
static __always_inline __u64 mps_likely_rate(const struct mps_path *p)
{
	return p->rate ?: mps_bytes(p->cwnd, p) * MPS_USEC / (p->srtt_us ?: 1);
}

/*
 * us until `bytes`, given to the path now, are acknowledged: the last window's
 * round trip after the rounds that the windows before it take, and not before
 * the path's bottleneck is done with what is in front and with the bytes.
 * The path's RTT is known. how: enum mps_estimate.
 */
MPS_FN __u64 mps_finish_us(const struct mps_path *p MPS_ARG, __u64 bytes, __u32 how)
{
	const __u64 rate = how & MPS_EST_RATE ? mps_known_rate(p) : 0;
	const __u64 rtt = mps_min(p->srtt_us, MPS_RTT_MAX), limit = mps_bytes(p->ssthresh, p);
	const __u64 all = mps_min(mps_min(bytes, MPS_BYTES_MAX) + p->unsent, MPS_BYTES_MAX);
	__u64 wnd = mps_bytes(p->cwnd, p), left = all, t = rtt, busy;
	__u64 room = p->cwnd > p->inflight ? mps_bytes(p->cwnd - p->inflight, p) : 0;
	__u32 i;

	/* what finds no room now follows in later rounds, with windows that grow */
	MPS_UNROLL
	for (i = 0; i < MPS_GROW_ROUNDS; i++) {
		if (left <= room || !(how & MPS_EST_GROW) || wnd >= limit)
			break;
		left -= room;
		t += rtt;
		wnd = mps_min(2 * wnd, limit);
		room = wnd;
	}
	if (left > room)
		t += (left - room) * rtt / (wnd ?: 1);
	if (!rate)
		return t;
	/* an RTT that was measured with the same queue in front has its time in it */
	busy = mps_max(rtt, mps_duration(mps_bytes(p->inflight, p), rate));
	return mps_max(t, busy + mps_duration(all, rate));
}

/*
 * The same, or (MPS_EST_ARRIVAL) us until the bytes are with the peer: nobody there waits for the
 * way back, which is long where the path is. It is taken for half of the lowest RTT. What an RTT
 * has beyond that is a queue, and the data waits in that one.
 */
static __always_inline __u64 mps_done_us(const struct mps_path *p, __u64 bytes, __u32 how)
{
	const __u64 rtt = mps_min(mps_min(p->min_rtt_us, p->srtt_us), MPS_RTT_MAX);

	return mps_finish_us(p, bytes, how) - (how & MPS_EST_ARRIVAL ? rtt / 2 : 0);
}

#endif /* MPS_TIME_H */
