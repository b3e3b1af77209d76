// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include "cli/output.h"
#include "state/subflow_state.h"
#include "trace/print.h"

static const struct {
	const char *name, *text;
} changes[] = {
#define CHANGE(id, name, text) { name, text },
	TRACE_CHANGES(CHANGE)
#undef CHANGE
};

static const struct {
	const char *name, *text;
} notes[] = {
#define NOTE(id, name, text) { #name, text },
	MPS_NOTES(NOTE)
#undef NOTE
};

/* --- JSON */

static void output_kind(output_t *o, const struct trace_change *c)
{
	switch (c->kind) {
	case CHANGED_NUMBER:
		output_num(o, "paths", c->now);
		output_num(o, "before", c->before);
		break;
	case CHANGED_PATH:
		output_num(o, "path", c->path);
		output_str(o, "change", "%s", changes[c->what].name);
		if (c->what == CHANGE_PENALTY)
			output_real(o, "withheld", (double)c->withheld / MPS_SHARE, 3);
		break;
	case CHANGED_NOTE:
		output_str(o, "note", "%s", notes[c->what].name);
		output_flag(o, "holds", c->now);
		break;
	}
}

void trace_output_changes(const struct trace_line *l)
{
	static const char *const events[] = {
		[CHANGED_NUMBER] = "paths",
		[CHANGED_PATH] = "path",
		[CHANGED_NOTE] = "note",
	};
	unsigned int i;

	for (i = 0; i < l->nr_changes; i++) {
		output_t *o = output_root();

		output_real(o, "time", l->time, 6);
		output_str(o, "event", "%s", events[l->change[i].kind]);
		output_str(o, "token", "0x%08x", l->head->token);
		output_str(o, "scheduler", "%.*s", MPS_NAME_LEN, l->sched);
		output_kind(o, &l->change[i]);
		output_finish();
	}
}

/* --- text */

static void kind_text(const struct trace_change *c, char *buf, size_t size)
{
	switch (c->kind) {
	case CHANGED_NUMBER:
		snprintf(buf, size, "paths: %u -> %u, which are numbered anew", c->before, c->now);
		break;
	case CHANGED_PATH:
		if (c->what == CHANGE_PENALTY)
			snprintf(buf, size, "path %u %s (%u %%)", c->path, changes[c->what].text,
				 c->withheld * 100 / MPS_SHARE);
		else
			snprintf(buf, size, "path %u %s", c->path, changes[c->what].text);
		break;
	case CHANGED_NOTE:
		if (c->now)
			snprintf(buf, size, "note %s: %s", notes[c->what].name,
				 notes[c->what].text);
		else
			snprintf(buf, size, "note %s is over", notes[c->what].name);
		break;
	}
}

void trace_print_changes(const struct trace_line *l)
{
	char clock[32], text[200];
	unsigned int i;

	if (l->nr_changes)
		trace_clock(l->time, clock, sizeof(clock));
	for (i = 0; i < l->nr_changes; i++) {
		kind_text(&l->change[i], text, sizeof(text));
		output_line("%s  %10s  0x%08x  %s", clock, "", l->head->token, text);
	}
}
