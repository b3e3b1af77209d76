/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happened to the paths of a connection between two looks of its scheduler at them. The
 * snapshots have it, so nothing in the kernel is asked for it.
 */
#ifndef MPS_TRACE_CHANGE_H
#define MPS_TRACE_CHANGE_H

#include <stdbool.h>
#include "bpf/trace.h"
#include "trace/observer.h"

/*
 * X(ID, name, what of the path is so). In pairs, what begins and what ends it; behind those what
 * has no end that is seen.
 */
#define TRACE_CHANGES(X)                                                                  \
	X(GIVEN_UP, "given-up", "is given up: nothing of what it owes is acknowledged")   \
	X(BACK, "back", "is back: it answers")                                            \
	X(QUIET, "quiet", "is quiet or had a timeout, and gets nothing new")              \
	X(HEARD, "heard", "is heard of again, and has repaired what a timeout was about") \
	X(STANDS_BY, "stands-by", "stands by, as a backup does")                          \
	X(MAY_CARRY, "may-carry", "may carry again")                                      \
	X(OVER_RTT, "over-rtt", "is over its RTT threshold")                              \
	X(WITHIN_RTT, "within-rtt", "is within its RTT threshold again")                  \
	X(OVER_LOSS, "over-loss", "is over its loss threshold")                           \
	X(WITHIN_LOSS, "within-loss", "is within its loss threshold again")               \
	X(OVER_CAP, "over-cap", "is over cap: it has had all bytes of its period")        \
	X(WITHIN_CAP, "within-cap", "has bytes of its period again")                      \
	X(PENALTY, "penalty", "fills the peer's window: a part of its own is withheld")

enum trace_change_id {
#define CHANGE_ENUM(id, name, text) CHANGE_##id,
	TRACE_CHANGES(CHANGE_ENUM)
#undef CHANGE_ENUM
		NR_CHANGES
};
#define CHANGE_PAIRS (CHANGE_PENALTY / 2)

enum change_kind {
	CHANGED_NUMBER, /* paths are counted anew from here on, as some came or went */
	CHANGED_PATH,
	CHANGED_NOTE, /* enum mps_note, of the connection */
};

struct trace_change {
	enum change_kind kind;
	unsigned int path;	  /* of a path */
	unsigned int what;	  /* enum trace_change_id, or the note */
	unsigned int before, now; /* number of paths; 1: the note holds now */
	unsigned int withheld;	  /* of a penalty: the part, of MPS_SHARE */
};

/* A connection at the last look. Zeroes: there was none. */
struct trace_look {
	__u32 token;
	__u16 notes;
	__u8 nr_paths;
	bool seen;
	__u8 path[MPS_MAX_PATHS]; /* bit i: the change 2 * i has begun */
};

#define CHANGES_MAX (1 + MPS_MAX_PATHS * CHANGE_PAIRS + MPS_NR_NOTES)

/*
 * What is not as it was at the last look at the same connection, which this one becomes; how many.
 * Paths have no other name than their number. So where the number of paths is another one, and at
 * the first look, all is told that is so now. Of a penalty, its answer; there is no snapshot then.
 * rec: of a whole record, else NULL. Zeroes but for the token are a connection's first `last`.
 */
unsigned int trace_changes(struct trace_look *last, const struct mps_trace_head *head,
			   const struct mps_trace_rec *rec, enum observed what,
			   struct trace_change *c);

#endif /* MPS_TRACE_CHANGE_H */
