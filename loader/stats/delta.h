/* SPDX-License-Identifier: GPL-2.0 */
/* A reading put in order for people, and what has happened since the one before. */
#ifndef MPS_STATS_DELTA_H
#define MPS_STATS_DELTA_H

#include <stdbool.h>
#include "kernel/netns.h"
#include "stats/reader.h"

struct conn_delta {
	const struct mps_conn_rec *rec, *before; /* before: in the earlier reading, or NULL */
	const struct mps_subflow_rec *subflow;
	unsigned int nr_subflows;
	__u64 bytes; /* that its subflows were ever given */
	__u64 fresh; /* of these, since the earlier reading; 0 where it was not there */
};

struct stats_delta {
	struct conn_delta *conn; /* those that assign most first */
	unsigned int nr, nr_subflows;
	__u64 fresh;
	double seconds; /* between the readings; 0: there is no earlier one */
	const struct reading *before;
	const struct mps_steer_table *steer; /* of bpf_steer, or NULL */
	const struct mps_steer_slot *slot;   /* with it, MPS_STEER_SLOTS: what was counted */
};

/* before: NULL, or the earlier one; only: NULL, or the namespace. Both readings must stay. */
void stats_delta_make(struct stats_delta *d, const struct reading *now,
		      const struct reading *before, const struct netns *only);
void stats_delta_free(struct stats_delta *d);

/* All bytes that a subflow was given: new ones, those sent again, copies. */
__u64 subflow_bytes(const struct mps_subflow_rec *rec);
/* The same since the earlier reading. */
__u64 subflow_fresh(const struct stats_delta *d, const struct mps_subflow_rec *rec);

#endif /* MPS_STATS_DELTA_H */
