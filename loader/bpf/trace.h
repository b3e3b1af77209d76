/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs of trace.bpf.c tell of a decision. */
#ifndef MPS_TRACE_REC_H
#define MPS_TRACE_REC_H

#include "bpf/records.h"

/* The most connections that can be the busiest ones. */
#define MPS_TRACE_TOP 1024

/* No decision of this connection before, as far as is known. */
#define MPS_TRACE_FIRST (~0ULL)

/* A whole record of a decision; its beginning alone where a glance was enough, and of a penalty. */
struct mps_trace_head {
	__u64 when_ns;	/* of CLOCK_MONOTONIC */
	__u64 since_ns; /* since the decision before of this connection; MPS_TRACE_FIRST */
	__u64 answer;	/* of the function */
	__u32 target;	/* which function: the cookie of what is attached */
	__u32 token;
	__u32 netns;	 /* inode; 0: its socket was not found, then there are no ends either */
	__u32 has_state; /* of a whole record: priv is valid */
	struct mps_addr local, remote;
};

struct mps_trace_rec {
	struct mps_trace_head head;
	struct mps_conn conn;
	struct mps_priv priv; /* as it was before the decision */
};

struct mps_trace_counts {
	__u64 seen;    /* decisions that passed the filter */
	__u64 dropped; /* of those, for want of room in the ring */
};

#endif /* MPS_TRACE_REC_H */
