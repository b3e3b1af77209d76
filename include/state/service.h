/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a subflow's packets are in service: from leaving the local device
 * queue to their acknowledgement (queueaware, section 3). Per packet i, which is
 * handed down at t_s, leaves the queue at t_l and is acknowledged at t_a:
 *
 *	RTT_i = t_a - t_s,  W_i = t_l - t_s,  X_i = RTT_i - W_i = t_a - t_l
 *	S = alpha * S + (1 - alpha) * X_i
 *
 * so what has to be kept of a packet is t_l, until its acknowledgement comes.
 * Pure functions on struct mps_service; who calls them is in bpf/frame/service.h.
 *
 * A sample needs an acknowledgement that can mean one transmission only: after
 * a retransmission there are none until data that was sent later is
 * acknowledged (Karn's rule, RFC 6298, section 3), nor while TCP sees holes.
 *
 * Sequence numbers and times are compared by their difference, as in TCP.
 */
#ifndef MPS_SERVICE_H
#define MPS_SERVICE_H

#include "state/ranges.h"

/* A power of two: with more packets in flight only every so many-th is kept. */
#define MPS_DEPARTURES 32

/*
 * An acknowledgement that covers data beyond the newest kept departure came for
 * a later packet: X would have the gap between the two in it. It is taken only
 * where that many in a row were no better, as with stretched acknowledgements.
 */
#define MPS_INEXACT 8

/* alpha is in thousandths: the paper's 0.8 is 800. */
#define MPS_ALPHA_SCALE 1000

/*
 * Of one subflow; zeroed memory is the state of a new one. Packets leave and
 * acknowledgements arrive on any two CPUs, without a common lock: `head` and the
 * departures are written where packets leave, `tail` where acknowledgements
 * arrive, and a departure is one word.
 */
struct mps_service {
	__u32 head, tail; /* departures tail to head - 1 are kept, modulo MPS_DEPARTURES */
	__u32 seen;	  /* data packets that left */
	__u32 last_end;	  /* TCP sequence number behind the newest data that left ... */
	__u32 last_us;	  /* ... and when TCP handed that transmission down */
	__u32 skip_to;	  /* no sample from data before this: it was sent twice */
	__u32 skip;	  /* whether skip_to holds */
	__u32 wait_us;	  /* W of the last packet */
	__u32 service_us; /* S; 0: no sample yet */
	__u32 samples;
	__u32 inexact; /* acknowledgements of later packets in a row */
	__u32 reserved;
	__u64 departure[MPS_DEPARTURES]; /* sequence number behind it << 32 | us */
};

/* One data packet that leaves the local queue. */
struct mps_departure {
	__u32 end;	 /* TCP sequence number behind its data */
	__u32 now_us;	 /* t_l */
	__u32 handed_us; /* t_s, by the same clock */
	__u32 spacing;	 /* bytes between departures that are kept, for a flight of this size */
};

static __always_inline __u32 mps_departure_end(__u64 departure)
{
	return (__u32)(departure >> 32);
}

static __always_inline __u64 *mps_departure_at(struct mps_service *v, __u32 i)
{
	return &v->departure[i & (MPS_DEPARTURES - 1)];
}

/* Returns W in us. */
MPS_FN __u32 mps_service_leaves(struct mps_service *v MPS_ARG,
				const struct mps_departure *d MPS_ARG)
{
	const __u64 word = (__u64)d->end << 32 | d->now_us;
	const __u32 head = v->head, kept = head - v->tail;
	const __u32 wait = d->now_us - d->handed_us;

	/* a packet with a departure time to come, from a pacing TCP, did not wait */
	v->wait_us = (__s32)wait > 0 ? wait : 0;
	if (v->seen && !mps_before(v->last_end, d->end)) {
		if (d->end == v->last_end && d->handed_us == v->last_us) {
			/* the driver had no room for it before: it leaves only now */
			if (kept && mps_departure_end(*mps_departure_at(v, head - 1)) == d->end)
				*mps_departure_at(v, head - 1) = word;
			return v->wait_us;
		}
		v->skip_to = v->last_end;
		v->skip = 1;
		return v->wait_us;
	}
	v->seen++;
	v->last_end = d->end;
	v->last_us = d->handed_us;
	if (kept >= MPS_DEPARTURES)
		return v->wait_us;
	if (kept && d->end - mps_departure_end(*mps_departure_at(v, head - 1)) < d->spacing)
		return v->wait_us;
	*mps_departure_at(v, head) = word;
	v->head = head + 1;
	return v->wait_us;
}

/* The newest kept departure that the acknowledgement covers, all covered ones taken out; or 0. */
MPS_FN __u64 mps_service_covered(struct mps_service *v MPS_ARG, __u32 ack)
{
	const __u32 head = v->head;
	__u32 i, tail = v->tail;
	__u64 newest = 0;

	for (i = 0; i < MPS_DEPARTURES; i++) {
		const __u64 word = *mps_departure_at(v, tail);

		if (tail == head || mps_before(ack, mps_departure_end(word)))
			break;
		newest = word;
		tail++;
	}
	v->tail = tail;
	return newest;
}

/* alpha: thousandths, at most MPS_ALPHA_SCALE. Both times fit the product. */
static __always_inline __u32 mps_service_mean(__u32 old, __u32 x, __u32 alpha)
{
	if (!old || alpha > MPS_ALPHA_SCALE)
		return x;
	return (__u32)(((__u64)old * alpha + (__u64)x * (MPS_ALPHA_SCALE - alpha)) /
		       MPS_ALPHA_SCALE);
}

/*
 * An acknowledgement of all data before `ack` arrives. holes: TCP counts some
 * data as lost or has it acknowledged out of order. Returns X in us, 0 for none.
 */
MPS_FN __u32 mps_service_acked(struct mps_service *v MPS_ARG, __u32 ack, __u32 now_us, __u32 holes,
			       __u32 alpha)
{
	const __u64 newest = mps_service_covered(v, ack);
	const bool twice = v->skip && !mps_before(v->skip_to, mps_departure_end(newest));
	__u32 x = now_us - (__u32)newest;

	if (v->skip && mps_before(v->skip_to, ack))
		v->skip = 0;
	if (!newest || holes || twice)
		return 0;
	if (mps_departure_end(newest) != ack && ++v->inexact < MPS_INEXACT)
		return 0;
	v->inexact = 0;
	if ((__s32)x < 1)
		x = 1;
	v->service_us = mps_service_mean(v->service_us, x, alpha) ?: 1;
	v->samples++;
	return x;
}

#endif /* MPS_SERVICE_H */
