/* SPDX-License-Identifier: GPL-2.0 */
/* Connections and subflows of earlier readings: what of their counters is in the sums already. */
#ifndef MPS_KNOWN_H
#define MPS_KNOWN_H

#include "exporter/totals.h"

struct known {
	/* who it is: sk, and of a connection its token, of a subflow its ports and id there ... */
	__u64 sk;
	__u64 id;
	/* ... and the connection's token: the next one on the socket may have the same of both */
	__u32 token;
	/* where its counters go, and what went there */
	struct series *series;
	unsigned int path; /* before it is known: which one of the reading it is */
	unsigned int absent;
	__u64 counter[MPS_NR_CONN_COUNTERS];
};
_Static_assert((int)MPS_NR_SUBFLOW_COUNTERS <= (int)MPS_NR_CONN_COUNTERS, "room for both");

/* For qsort(); a list of these is in this order. */
int known_order(const void *a, const void *b);

/*
 * The known ones of now: those of the reading, each with what is known of it, and those that may
 * come back. Both lists are in order.
 */
void known_join(struct known **known, unsigned int *nr, struct known *now, unsigned int nr_now);

/* The token by which the socket is known, 0 if it is not. */
__u64 known_token(const struct known *known, unsigned int nr, __u64 sk);

/* Where in the reading each of them is: known_join() keeps their order. The caller frees it. */
unsigned int *known_index(const struct known *now, unsigned int nr);

#endif /* MPS_KNOWN_H */
