/* SPDX-License-Identifier: GPL-2.0 */
/* loader/trace/print.c and change.c as a library: a line of `trace`, and what comes before it. */
#define _GNU_SOURCE
#include "../../loader/trace/print.c"
#include "../../loader/trace/print_change.c"
#include "../../loader/trace/change.c"
#include "../../loader/cli/json_print.c"
#include "../../loader/cli/output.c"
#include "../../loader/cli/text.c"

/* loader/kernel/sockets.c has it, and the kernel's skeletons with it */
const char *addr_text(const struct mps_addr *a, char *buf, size_t size)
{
	snprintf(buf, size, "%u.%u.%u.%u:%u", a->ip[0], a->ip[1], a->ip[2], a->ip[3], a->port);
	return buf;
}

/* What is known of the connection; `compare` says so of whatever is shown. */
static struct trace_look last;
static bool compare;

/* This connection is met, and looked at from now on; 0: it is not. */
void meet(unsigned int token)
{
	last = (struct trace_look){ .token = token };
	compare = token;
}

/* what: enum observed */
void show(const struct mps_trace_rec *rec, unsigned int what, bool json, bool several, bool paths,
	  unsigned int cols)
{
	const bool whole = what == OBSERVED_DECIDE || what == OBSERVED_COPIES;
	struct trace_change changes[CHANGES_MAX];
	struct trace_line l = {
		.head = &rec->head,
		.rec = whole ? rec : NULL,
		.what = what,
		.sched = "bpf_steer",
		.policy = what == OBSERVED_GLANCE ? "" : "steer_thin",
		.netns = "web",
		.one_of_several = several,
		.is_new = rec->head.since_ns == MPS_TRACE_FIRST && rec->head.netns,
		.paths = paths,
		.cols = cols,
		.time = 1700000000.25,
	};

	if (compare) {
		l.change = changes;
		l.nr_changes = trace_changes(&last, l.head, l.rec, l.what, changes);
	}
	output_setup(json, true);
	trace_print(&l);
	fflush(stdout);
}
