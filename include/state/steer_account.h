/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering's accounts: bytes on the wire per row of the paths' table and period, TCP's payload with
 * retransmissions as it is sent, and in order as it is received.
 *
 * The kernel counts in slots of a map that only ever grow. What belongs to a period is the
 * difference to what they had when it began, which the row has: user space alone writes that, so
 * neither ever overwrites what the other has written.
 *
 * Each byte is counted once: a look at a subflow puts TCP's totals in the place of those of the
 * look before, in one atomic exchange each, and adds the difference. So looks may overtake each
 * other, and their sum is exact all the same.
 */
#ifndef MPS_STEER_ACCOUNT_H
#define MPS_STEER_ACCOUNT_H

#include "state/steer_loss.h"

/* Name of the map of slots, with the layout's version. */
#define MPS_STEER_SLOTS_MAP "mps_slots_v1"
/* Twice as many as rows: one that was in use is not taken anew while subflows may know it. */
#define MPS_STEER_SLOTS 128

enum mps_steer_way { MPS_STEER_SENT, MPS_STEER_RECEIVED, MPS_NR_STEER_WAYS };

struct mps_steer_slot {
	__u64 bytes[MPS_NR_STEER_WAYS];
};

enum mps_steer_period {
	MPS_STEER_NO_PERIOD, /* for good */
	MPS_STEER_DAY,
	MPS_STEER_WEEK, /* from Monday on */
	MPS_STEER_MONTH,
	MPS_NR_STEER_PERIODS
};

/* Dates: state/steer_period.h. */
struct mps_steer_account {
	__u64 cap;			 /* bytes per period, both ways together; 0: none */
	__u64 base[MPS_NR_STEER_WAYS];	 /* of the slot when the period began */
	__u64 before[MPS_NR_STEER_WAYS]; /* bytes of the period before */
	__s32 start, before_start;	 /* of both; 0: not known */
	__s32 seen;  /* the start by the clock at the last look, right or wrong */
	__u8 period; /* enum mps_steer_period */
	__u8 day;    /* of the month, 1 to 31 */
	__u8 slot;
	__u8 reserved;
};

/* What is kept of a subflow: sk_storage of bpf_steer. */
struct mps_steer_seen {
	__u64 bytes[MPS_NR_STEER_WAYS]; /* TCP's totals at the last look */
	__u32 generation;		/* of the table that the row is of; 0: it is not known */
	__u8 row;			/* from 1 on; 0: none */
	__u8 slot;			/* from 1 on; 0: none */
	__u8 backup;
	__u8 lossy; /* over the row's loss threshold */
	struct mps_steer_loss loss;
};

/* Of the period, one way. Differences may overtake each other: less than nothing is nothing. */
static __always_inline __u64 mps_account_bytes(const struct mps_steer_account *a,
					       const struct mps_steer_slot *s, __u32 way)
{
	const __u64 bytes = s->bytes[way] - a->base[way];

	return (__s64)bytes < 0 ? 0 : bytes;
}

/* queued: bytes that TCP was given and has not sent, so that no slot has them yet. */
static __always_inline bool mps_account_is_over(const struct mps_steer_account *a,
						const struct mps_steer_slot *s, __u32 queued)
{
	return a->cap && mps_account_bytes(a, s, MPS_STEER_SENT) +
					 mps_account_bytes(a, s, MPS_STEER_RECEIVED) + queued >=
				 a->cap;
}

#endif /* MPS_STEER_ACCOUNT_H */
