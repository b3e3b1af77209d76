// SPDX-License-Identifier: GPL-2.0
/* `mptcp-sched replay`: recorded decisions once more, as recorded and by other schedulers. */
#include <stdlib.h>
#include <string.h>
#include "cli/caps.h"
#include "cli/output.h"
#include "cli/util.h"
#include "cmd/commands.h"
#include "replay/replay.h"
#include "trace/print.h"
#include "trace/recording.h"

/* A function whose decisions were recorded. */
struct replayed {
	const struct recording_function *function;
	bool decided; /* functions that were loaded, and decided nothing, are no candidates */
	int own;      /* the candidate that is it, as recorded; -1: not in this command */
};

struct replaying {
	const struct args *args;
	struct recording_file file;
	struct replayed *function; /* by target */
	unsigned int nr_functions;
	/* those that were given, and those of the recording as recorded: as_recorded() */
	struct candidate *candidate;
	unsigned int nr;
	__u64 decisions, glances, stateless;
	unsigned int told;
};

static struct candidate *add(struct replaying *r)
{
	r->candidate = grow(r->candidate, r->nr, sizeof(*r->candidate));
	return &r->candidate[r->nr++];
}

/* One for the functions of one name and the same values; *own: where it is. */
static enum exit_code as_recorded(struct replaying *r, const struct replay_sched *sched,
				  const char *settings, int *own)
{
	struct candidate new;
	enum exit_code ret = candidate_as_recorded(&new, sched, settings);
	unsigned int i;

	for (i = 0; ret == EX_OK && i < r->nr; i++) {
		const struct candidate *c = &r->candidate[i];

		if (c->words || c->sched != sched)
			continue;
		*own = (int)i;
		if (candidate_equals(c, &new)) {
			candidate_free(&new);
			return EX_OK;
		}
		new.nth++;
	}
	*own = (int)r->nr;
	*add(r) = new;
	return ret;
}

static enum exit_code take_function(struct replaying *r, const struct recording_function *f)
{
	if (f->target != r->nr_functions)
		return fail_on(EX_FAILED, r->file.path, NULL,
			       "it is damaged: functions are missing");
	r->function = grow(r->function, r->nr_functions, sizeof(*r->function));
	r->function[r->nr_functions++] = (struct replayed){ .function = f, .own = -1 };
	return EX_OK;
}

static enum exit_code first_decision(struct replaying *r, struct replayed *by)
{
	const struct recording_function *f = by->function;
	const struct replay_sched *sched = replay_find(f->sched, strlen(f->sched));

	by->decided = true;
	if (sched)
		return as_recorded(r, sched, f->tunables, &by->own);
	output_note("%s does not come with this command, so it is not replayed itself", f->sched);
	return EX_OK;
}

static void output_name(output_t *o, const struct candidate *c)
{
	char nth[20] = "";

	if (c->nth)
		snprintf(nth, sizeof(nth), ", %u", c->nth + 1);
	if (c->words)
		output_str(o, "scheduler", "%s", c->words);
	else
		output_str(o, "scheduler", "%s (as recorded%s)", c->sched->name, nth);
}

static void tell(struct replaying *r, const struct candidate *c, const struct recording_function *f,
		 const struct mps_trace_rec *rec, __u64 answer)
{
	char recorded[64], instead[64];
	output_t *o;

	if (r->told == r->args->differences)
		return;
	r->told++;
	trace_verdict(f->what, rec->head.answer, recorded, sizeof(recorded));
	trace_verdict(f->what, answer, instead, sizeof(instead));
	o = output_item(output_list(output_root(), "differences"));
	output_num(o, "at_ns", rec->head.when_ns);
	output_str(o, "token", "0x%08x", rec->head.token);
	output_name(o, c);
	output_str(o, "recorded", "%s", recorded);
	output_str(o, "instead", "%s", instead);
}

static void decide_again(struct replaying *r, const struct mps_trace_rec *rec,
			 const struct replayed *by)
{
	unsigned int i;
	__u64 answer;

	for (i = 0; i < r->nr; i++) {
		struct candidate *c = &r->candidate[i];

		if (!c->words && (int)i != by->own)
			continue;
		if (!candidate_decide(c, by->function, rec, &answer))
			tell(r, c, by->function, rec, answer);
	}
}

static enum exit_code take_decision(struct replaying *r, const struct recording_item *item)
{
	const struct mps_trace_rec *rec = &item->rec;
	enum exit_code ret = EX_OK;
	struct replayed *by;

	if (rec->head.target >= r->nr_functions)
		return EX_OK;
	by = &r->function[rec->head.target];
	r->decisions++;
	if (!item->whole || !rec->head.has_state) {
		r->glances += !item->whole;
		r->stateless += item->whole;
		return EX_OK;
	}
	if (!by->decided)
		ret = first_decision(r, by);
	if (ret == EX_OK)
		decide_again(r, rec, by);
	return ret;
}

static enum exit_code read_all_of(struct replaying *r)
{
	struct recording_item *item = calloc(1, sizeof(*item));
	enum exit_code ret;
	bool more;

	if (!item)
		out_of_memory();
	while ((ret = recording_next(&r->file, item, &more)) == EX_OK && more) {
		if (item->kind == RECORDING_FUNCTION)
			ret = take_function(r, item->function);
		else if (item->kind == RECORDING_DECISION)
			ret = take_decision(r, item);
		if (ret != EX_OK)
			break;
	}
	if (ret == EX_OK && r->file.complete && item->end->lost)
		output_note("%llu of %llu decisions were lost while it was recorded",
			    (unsigned long long)item->end->lost,
			    (unsigned long long)item->end->seen);
	free(item);
	return ret;
}

/* --- the result */

static const struct output_col cols[] = {
	{ "scheduler", "SCHEDULER", OUTPUT_LEFT },
	{ "decisions", "DECISIONS", OUTPUT_RIGHT },
	{ "same", "THE SAME", OUTPUT_RIGHT },
	{ NULL, NULL, OUTPUT_LEFT },
};
static const struct output_col instead_cols[] = {
	{ "scheduler", "SCHEDULER", OUTPUT_LEFT },
	{ "recorded", "RECORDED", OUTPUT_LEFT },
	{ "instead", "INSTEAD", OUTPUT_LEFT },
	{ "count", "TIMES", OUTPUT_RIGHT },
	{ NULL, NULL, OUTPUT_LEFT },
};
static const struct output_col difference_cols[] = {
	{ "token", "CONNECTION", OUTPUT_LEFT },	 { "scheduler", "SCHEDULER", OUTPUT_LEFT },
	{ "recorded", "RECORDED", OUTPUT_LEFT }, { "instead", "INSTEAD", OUTPUT_LEFT },
	{ "at_ns", "AT (NS)", OUTPUT_RIGHT },	 { NULL, NULL, OUTPUT_LEFT },
};

static void output_candidate(output_t *list, output_t *instead, const struct candidate *c)
{
	output_t *o = output_item(list);
	unsigned int was, is;

	output_name(o, c);
	output_flag(o, "as_recorded", !c->words);
	output_num(o, "decisions", c->decisions);
	output_num(o, "same", c->same);
	for (was = 0; was < NR_REPLAY_CLASSES; was++) {
		for (is = 0; is < NR_REPLAY_CLASSES; is++) {
			if (!c->instead[was][is])
				continue;
			o = output_item(instead);
			output_name(o, c);
			output_str(o, "recorded", "%s", replay_class_name(was));
			output_str(o, "instead", "%s%s", was == is ? "another " : "",
				   replay_class_name(is));
			output_num(o, "count", c->instead[was][is]);
		}
	}
}

static void tell_all(struct replaying *r)
{
	const struct recording_header *h = r->file.header;
	output_t *root = output_root();
	output_t *list, *instead, *differences = output_list(root, "differences");
	unsigned int i;

	output_str(root, "kernel", "%.*s", (int)sizeof(h->kernel) - 1, h->kernel);
	output_num(root, "decisions", r->decisions);
	output_num(root, "glances", r->glances);
	output_num(root, "without_state", r->stateless);
	output_flag(root, "complete", r->file.complete);
	list = output_list(root, "schedulers");
	instead = output_list(root, "instead");
	for (i = 0; i < r->nr; i++)
		if (!r->candidate[i].words)
			output_candidate(list, instead, &r->candidate[i]);
	for (i = 0; i < r->nr; i++)
		if (r->candidate[i].words)
			output_candidate(list, instead, &r->candidate[i]);
	output_line("%llu decisions of Linux %.*s, %llu of them by a glance%s",
		    (unsigned long long)r->decisions, (int)sizeof(h->kernel) - 1, h->kernel,
		    (unsigned long long)r->glances,
		    r->file.complete ? "" : "; the end of the recording is missing");
	output_table(list, cols, "");
	if (json_object_array_length(instead)) {
		output_line("%s", "");
		output_table(instead, instead_cols, "");
	}
	if (json_object_array_length(differences)) {
		output_line("%s", "");
		output_table(differences, difference_cols, "");
	}
}

enum exit_code cmd_replay(const struct args *args)
{
	ERROR_ABOUT("replay", args->word[0]);
	struct replaying r = { .args = args };
	enum exit_code ret = EX_OK;
	unsigned int i;

	for (i = 0; ret == EX_OK && i < args->nr_schedulers; i++)
		ret = candidate_parse(add(&r), args->scheduler[i]);
	if (ret == EX_OK)
		ret = recording_open(&r.file, args->word[0]);
	/* it may be anybody's, and takes no rights but to open it */
	if (ret == EX_OK)
		ret = caps_confine("replay", 0);
	if (ret == EX_OK) {
		for (i = 0; i < nr_replay_scheds; i++)
			replay_scheds[i]->set_form(r.file.header->get_subflow);
		ret = read_all_of(&r);
	}
	if (ret == EX_OK)
		tell_all(&r);
	else
		output_forget();
	for (i = 0; i < r.nr; i++)
		candidate_free(&r.candidate[i]);
	free(r.candidate);
	free(r.function);
	recording_close(&r.file);
	return ret;
}
