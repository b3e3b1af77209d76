/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering: which part of a subflow's segments is lost, of late, and whether that is over the
 * threshold of its path. TCP tells totals; what counts is the difference since the look before.
 *
 * Lost is what was sent again, less what the receiver had already (D-SACK). TCP's own `lost` counts
 * the whole flight where one timeout was too early, and keeps that when it finds out.
 *
 * Both sums are halved when many segments were sent, and after some time. So a path is judged by
 * its last two hundred segments or so, and one that is left alone is forgiven.
 */
#ifndef MPS_STEER_LOSS_H
#define MPS_STEER_LOSS_H

#include "model/types.h"

/* Sums are in parts of a segment, or halves would be lost. */
#define MPS_LOSS_UNIT 256U
/* Fewer count as if that many had been sent: two of three lost segments say little. */
#define MPS_LOSS_LEAST (128 * MPS_LOSS_UNIT)
/* With so many sent both sums are halved, ... */
#define MPS_LOSS_MANY (256 * MPS_LOSS_UNIT)
/* ... and each time that so much time has passed. */
#define MPS_LOSS_HALF_US 10000000U
/* More segments than that between two looks say nothing of the last ones. */
#define MPS_LOSS_STEP 65536U

/* Least and most of a threshold, in per cent. */
#define MPS_LOSS_MIN 1
#define MPS_LOSS_MAX 50

/* Zeroed: of a subflow that has sent nothing yet. */
struct mps_steer_loss {
	__u32 lost_seen, sent_seen; /* TCP's totals at the last look */
	__u32 lost, sent;	    /* of late, in MPS_LOSS_UNIT */
	__u32 since_us;		    /* when they were halved last */
};

/* Segments that were sent again, and had to be; what D-SACK takes back comes a round trip later. */
static __always_inline void mps_loss_add(struct mps_steer_loss *l, __s32 segments)
{
	const __u32 back = segments < 0 ? (__u32)-segments * MPS_LOSS_UNIT : 0;

	if (segments >= 0)
		l->lost += (__u32)segments * MPS_LOSS_UNIT;
	else
		l->lost -= l->lost < back ? l->lost : back;
}

/* From here on: what was before counts for nothing. */
static __always_inline void mps_loss_begin(struct mps_steer_loss *l, __u32 lost, __u32 sent)
{
	l->lost_seen = lost;
	l->sent_seen = sent;
}

static __always_inline __u32 mps_loss_halvings(const struct mps_steer_loss *l, __u32 now_us)
{
	const __u32 times = (now_us - l->since_us) / MPS_LOSS_HALF_US;

	if (times)
		return times < 31 ? times : 31;
	return l->sent >= MPS_LOSS_MANY;
}

/* lost, sent: TCP's totals now, of segments: sent again and missing, and sent. */
static __always_inline void mps_loss_look(struct mps_steer_loss *l, __u32 lost, __u32 sent,
					  __u32 now_us)
{
	const __u32 halvings = mps_loss_halvings(l, now_us), more = sent - l->sent_seen;
	const __s32 gone = (__s32)(lost - l->lost_seen);

	if (halvings) {
		l->lost >>= halvings;
		l->sent >>= halvings;
		l->since_us = now_us;
	}
	if (more < MPS_LOSS_STEP && gone < (__s32)MPS_LOSS_STEP && gone > -(__s32)MPS_LOSS_STEP) {
		mps_loss_add(l, gone);
		l->sent += more * MPS_LOSS_UNIT;
	}
	mps_loss_begin(l, lost, sent);
}

/* most: in per cent; 0: any. was: it was over at the last look. Back when an eighth below. */
static __always_inline bool mps_loss_is_over(const struct mps_steer_loss *l, __u32 most, bool was)
{
	const __u64 of = l->sent < MPS_LOSS_LEAST ? MPS_LOSS_LEAST : l->sent;

	return most && (__u64)l->lost * 800 > of * most * (was ? 7 : 8);
}

#endif /* MPS_STEER_LOSS_H */
