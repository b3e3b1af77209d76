/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host tests' parts: sut.c holds the headers under test, oracle.c says what
 * they ought to answer, draw.c makes states, fuzz.c compares. Only struct layouts
 * are common to all of them; the oracle takes no function and no limit from the
 * headers.
 */
#ifndef MPS_TESTS_HOST_H
#define MPS_TESTS_HOST_H

#include "model/decision.h"

enum host_op { HOST_MINRTT, HOST_ECF, HOST_CLOSED, HOST_RETRANS, HOST_NR_OPS };

/* One question, as draw.c makes it and as Python packs it for "batch". */
struct host_case {
	__u32 op;
	__u32 beta;    /* thousandths */
	__u32 waiting; /* ECF's state before */
	__u32 reserved;
	struct mps_conn conn;
};

struct host_answer {
	__s32 path;
	__u32 reason;
	__u32 bytes;
	__u32 waiting; /* ECF's state after */
};

/* sut.c */
void sut_answer(const struct host_case *q, struct host_answer *a);
void sut_mul(__u64 a, __u64 b, __u64 *hi, __u64 *lo);
int sut_product_less(__u64 a, __u64 b, __u64 c, __u64 d);
void sut_print_sizes(void);

/* What can be wrong with an answer. X(ID, name) */
#define HOST_FAULTS(X)                  \
	X(RANGE, "range")               \
	X(INACTIVE, "inactive")         \
	X(LOSS, "loss")                 \
	X(SNDBUF, "sndbuf")             \
	X(ROOM, "room")                 \
	X(BACKUP, "backup")             \
	X(BYTES, "bytes")               \
	X(REASON, "reason")             \
	X(FASTER, "faster")             \
	X(FIRST_SAMPLE, "first-sample") \
	X(MIN_RTT, "min-rtt")           \
	X(ECF, "ecf-decision")          \
	X(ECF_STATE, "ecf-waiting")     \
	X(CLOSED, "window-closed")      \
	X(DETERMINISM, "determinism")   \
	X(SNAPSHOT, "snapshot-changed") \
	X(BEYOND, "beyond-nr-paths")    \
	X(HYSTERESIS, "hysteresis")     \
	X(ENDLESS, "endless-wait")      \
	X(HOMOGENEOUS, "equal-paths")

/* What the states reached, so that a test which checks nothing shows. */
#define HOST_REACHED(X)                                   \
	X(PICK_MINRTT, "minrtt-picks")                    \
	X(PICK_FIRST, "first-sample-picks")               \
	X(PICK_UNKNOWN, "unknown-only-picks")             \
	X(PICK_BACKUP, "backup-picks")                    \
	X(NO_SUBFLOW, "no-subflow")                       \
	X(NO_ROOM, "no-room")                             \
	X(ECF_FAST, "ecf-fast-available")                 \
	X(ECF_GUARD, "ecf-nothing-in-flight")             \
	X(ECF_JUDGED, "ecf-judged")                       \
	X(ECF_UNSURE, "ecf-undecided")                    \
	X(ECF_WAIT, "ecf-waits")                          \
	X(ECF_WAIT_BY_BETA, "ecf-waits-by-beta")          \
	X(ECF_FIRST_FALSE, "ecf-first-false")             \
	X(ECF_CLEARED, "ecf-waiting-cleared")             \
	X(ECF_SECOND_FALSE, "ecf-second-false")           \
	X(ECF_SECOND_FALSE_W, "ecf-second-false-waiting") \
	X(CLOSED_PROBE, "closed-probes")                  \
	X(CLOSED_WAIT, "closed-waits")

#define HOST_ENUM_FAULT(id, name) FAULT_##id,
#define HOST_ENUM_REACHED(id, name) REACHED_##id,
enum host_fault { FAULT_NONE = -1, HOST_FAULTS(HOST_ENUM_FAULT) NR_FAULTS };
enum host_reached { HOST_REACHED(HOST_ENUM_REACHED) NR_REACHED };

/* oracle.c */
extern __u64 host_reached[NR_REACHED];

/*
 * The first fault of the answer; *undecided is set when floating point cannot
 * tell which side of an inequality the state is on.
 */
enum host_fault oracle_judge(const struct host_case *q, const struct host_answer *a,
			     bool *undecided);

#endif /* MPS_TESTS_HOST_H */
