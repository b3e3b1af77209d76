/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A decision as `trace` shows it, and what happened before it; docs/reference/json.md describes the
 * JSON.
 */
#ifndef MPS_TRACE_PRINT_H
#define MPS_TRACE_PRINT_H

#include <stdbool.h>
#include "bpf/trace.h"
#include "trace/change.h"
#include "trace/observer.h"

/* X(ID, name, description): what was decided, on new data or on copies */
#define TRACE_VERDICTS(X)                                                        \
	X(SEND, "send", "new data to that path; 0 bytes: a probe of the window") \
	X(WAIT, "wait", "nothing is sent now, for that reason")                  \
	X(COPY, "copy", "the oldest data once more, to those paths")             \
	X(NONE, "none", "a copy would not pay")

struct trace_line {
	const struct mps_trace_head *head;
	const struct mps_trace_rec *rec;   /* of a whole record, else NULL */
	const struct trace_change *change; /* since the decision before; of a penalty that alone */
	unsigned int nr_changes;
	enum observed what;
	const char *sched, *policy, *netns;
	bool one_of_several; /* policies that its scheduler has */
	bool is_new;	     /* text: a connection that no line was about yet */
	bool paths;	     /* text: a line for each path, too */
	unsigned int cols;   /* text: of the terminal, where fields go on in the next line; or 0 */
	double time;	     /* seconds since 1970 */
};

void trace_print(const struct trace_line *l);

/* print_change.c: each a document of its own, ... */
void trace_output_changes(const struct trace_line *l);
/* ... and a line of its own. */
void trace_print_changes(const struct trace_line *l);

/* The time of day, to the microsecond. */
void trace_clock(double time, char *buf, size_t size);

/* "send 14480 B to path 0", "wait faster", "copy to path 1" */
void trace_verdict(enum observed what, __u64 answer, char *buf, size_t size);

#endif /* MPS_TRACE_PRINT_H */
