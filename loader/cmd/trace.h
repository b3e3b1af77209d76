/* SPDX-License-Identifier: GPL-2.0 */
/* What `trace` tells of besides decisions: docs/reference/json.md. */
#ifndef MPS_CMD_TRACE_H
#define MPS_CMD_TRACE_H

#include "cli/args.h"
#include "stats/reader.h"
#include "trace/recording.h"

/* X(ID, name, description) */
#define TRACE_EVENTS(X)                                                             \
	X(TRACED, "scheduler-traced", "its decisions are shown from now on")        \
	X(NOT_TRACED, "scheduler-not-traced", "they are not, for that reason")      \
	X(GONE, "scheduler-gone", "it was unloaded, and no connection has it")      \
	X(STARTED, "started", "what was loaded is traced from here on")             \
	X(DECISION, "decision", "where new data goes")                              \
	X(COPIES, "copies", "whether the oldest data goes once more, without loss") \
	X(PATH, "path", "what happened to a path since the decision before")        \
	X(PATHS, "paths", "their number changed, and they are numbered anew")       \
	X(NOTE, "note", "what the scheduler has to say now, or no more")            \
	X(ENDED, "ended", "how many decisions there were, and how many were lost")

enum trace_event {
#define TRACE_ENUM(id, name, text) TRACE_##id,
	TRACE_EVENTS(TRACE_ENUM)
#undef TRACE_ENUM
};

/* trace_record.c */
enum exit_code trace_record_begin(struct recording *r, const struct args *args, double to_real);
/* Those that it does not have yet: they come before their first decision. */
void trace_record_functions(struct recording *r, const struct observers *o);

/* trace_top.c: --top, the connections that sent most between two looks. */
struct trace_top {
	struct stats *skel; /* NULL: without --top */
	struct reading before;
	__u32 token[MPS_TRACE_TOP];
	unsigned int nr;
};

enum exit_code trace_top_open(struct trace_top *top);
/* f: whose they are. */
enum exit_code trace_top_look(struct trace_top *top, const struct observers *o,
			      const struct observer_filter *f, unsigned int number);
void trace_top_close(struct trace_top *top);

#endif /* MPS_CMD_TRACE_H */
