// SPDX-License-Identifier: GPL-2.0
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/args.h"
#include "cli/input.h"
#include "cli/output.h"
#include "sched/steer_edit.h"
#include "sched/steer_values.h"

#define BLANKS " \t\r"

static bool has(const char *const *word, unsigned int nr, const char *field)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(word[i], field))
			return true;
	return false;
}

enum exit_code steer_add_rule(struct mps_steer_table *t, enum exit_code usage,
			      const char *const *word, unsigned int nr, unsigned int at,
			      unsigned int *number)
{
	struct mps_steer_rule r;
	enum exit_code ret = steer_read(&steer_rule_kind, usage, &r, word, nr);

	if (ret != EX_OK)
		return ret;
	if (!has(word, nr, "mode"))
		return fail(usage, "say what is done, such as mode priority",
			    "the rule has no mode");
	if (has(word, nr, "deadline") && r.mode != MPS_STEER_PRIORITY)
		return fail(usage, "leave it out, or take mode priority",
			    "deadline: mode %s has none", steer_mode_name(r.mode));
	if (t->nr_rules == MPS_STEER_RULES)
		return fail(EX_FAILED, "delete some", "there are %u rules already",
			    MPS_STEER_RULES);
	if (at > t->nr_rules + 1U)
		return fail(EX_FAILED, NULL, "the last rule is %u", t->nr_rules);
	at = at ?: t->nr_rules + 1U;
	memmove(&t->rule[at], &t->rule[at - 1], (t->nr_rules - at + 1U) * sizeof(r));
	t->rule[at - 1] = r;
	t->nr_rules++;
	*number = at;
	return EX_OK;
}

/* Does some path have a weight? Load-balancing goes by rates where none has. */
static void note_weights(struct mps_steer_table *t)
{
	unsigned int i;

	t->weighted = 0;
	for (i = 0; i < t->nr_paths; i++)
		t->weighted |= !!t->path[i].weight;
}

static int find_path(const struct mps_steer_table *t, const char *name)
{
	int i;

	for (i = 0; i < t->nr_paths; i++)
		if (!strcmp(t->path[i].name, name))
			return i;
	return -1;
}

enum exit_code steer_add_path(struct mps_steer_table *t, enum exit_code usage,
			      const char *const *word, unsigned int nr)
{
	struct mps_steer_path p;
	enum exit_code ret = steer_read(&steer_path_kind, usage, &p, word, nr);

	if (ret != EX_OK)
		return ret;
	if (!*p.name)
		return fail(usage, "give it one: name NAME", "the path has no name");
	if (find_path(t, p.name) >= 0)
		return fail(EX_FAILED, "delete that one, or take another name",
			    "there is a path %s already", p.name);
	if (t->nr_paths == MPS_STEER_PATHS)
		return fail(EX_FAILED, "delete some", "there are %u paths already",
			    MPS_STEER_PATHS);
	t->path[t->nr_paths++] = p;
	note_weights(t);
	return EX_OK;
}

enum exit_code steer_delete_rule(struct mps_steer_table *t, const char *number)
{
	char why[STEER_WHY];
	__u64 at;

	if (!value_number(&at, number, MPS_STEER_RULES, why) || !at || at > t->nr_rules)
		return fail(EX_FAILED, "`" PROGRAM " steer list` shows the numbers",
			    "there is no rule %s", number);
	memmove(&t->rule[at - 1], &t->rule[at], (t->nr_rules - at) * sizeof(t->rule[0]));
	memset(&t->rule[--t->nr_rules], 0, sizeof(t->rule[0]));
	return EX_OK;
}

enum exit_code steer_delete_path(struct mps_steer_table *t, const char *name)
{
	const int at = find_path(t, name);

	if (at < 0)
		return fail(EX_FAILED, "`" PROGRAM " steer list` shows the names",
			    "there is no path %s", name);
	memmove(&t->path[at], &t->path[at + 1],
		(size_t)(t->nr_paths - at - 1) * sizeof(t->path[0]));
	memset(&t->path[--t->nr_paths], 0, sizeof(t->path[0]));
	note_weights(t);
	return EX_OK;
}

static enum exit_code add_line(struct mps_steer_table *t, char *line)
{
	const char *word[MAX_WORDS];
	unsigned int nr = 0, number;
	char *save = NULL, *at;

	line[strcspn(line, "#")] = '\0';
	for (at = strtok_r(line, BLANKS, &save); at; at = strtok_r(NULL, BLANKS, &save)) {
		if (nr == MAX_WORDS)
			return fail(EX_FAILED, NULL, "too many words");
		word[nr++] = at;
	}
	if (!nr)
		return EX_OK;
	if (!strcmp(word[0], steer_rule_kind.name))
		return steer_add_rule(t, EX_FAILED, word + 1, nr - 1, 0, &number);
	if (!strcmp(word[0], steer_path_kind.name))
		return steer_add_path(t, EX_FAILED, word + 1, nr - 1);
	return fail(EX_FAILED, "a line is `rule FIELD VALUE ...` or `path FIELD VALUE ...`",
		    "neither a rule nor a path: %s", word[0]);
}

enum exit_code steer_from_text(struct mps_steer_table *t, const char *path, char *text)
{
	enum exit_code ret = EX_OK;
	unsigned int number = 0;
	char place[300];

	t->nr_rules = t->nr_paths = t->weighted = 0;
	while (ret == EX_OK && text) {
		char *line = strsep(&text, "\n");

		snprintf(place, sizeof(place), "%s:%u", path, ++number);
		ERROR_ABOUT(NULL, place);
		ret = add_line(t, line);
	}
	return ret;
}

enum exit_code steer_from_file(struct mps_steer_table *t, const char *path)
{
	char *text = NULL;
	enum exit_code ret;
	size_t len = 0;

	ret = input_file(path, NULL, INPUT_CONFIG, &text, &len);
	if (ret == EX_OK && strlen(text) != len)
		ret = fail(EX_FAILED, NULL, "there is a NUL character in the file");
	if (ret == EX_OK)
		ret = steer_from_text(t, path, text);
	free(text);
	return ret;
}

static void warn_covered(const struct mps_steer_table *t)
{
	unsigned int i, j;

	for (i = 1; i < t->nr_rules; i++) {
		for (j = 0; j < i && !steer_covers_rule(&t->rule[j], &t->rule[i]); j++)
			;
		if (j < i)
			output_note("rule %u never matches: rule %u has all that it would match",
				    i + 1, j + 1);
	}
	for (i = 1; i < t->nr_paths; i++) {
		for (j = 0; j < i && !steer_covers_path(&t->path[j], &t->path[i]); j++)
			;
		if (j < i)
			output_note("path %s never matches: path %s has all that it would match",
				    t->path[i].name, t->path[j].name);
	}
}

static void warn_weights(const struct mps_steer_table *t)
{
	unsigned int i, sum = 0;

	for (i = 0; i < t->nr_paths; i++)
		sum += t->path[i].weight ?: 1;
	if (t->weighted && sum != 100)
		output_note("the weights make %u in all, not 100: with all paths in use each gets "
			    "its weight's part of %u",
			    sum, sum);
}

static void warn_devices(const struct mps_steer_table *t)
{
	char name[MPS_STEER_DEVICE + 1] = "";
	unsigned int i;

	for (i = 0; i < t->nr_paths; i++) {
		if (!t->path[i].device[0])
			continue;
		memcpy(name, t->path[i].device, MPS_STEER_DEVICE);
		if (!if_nametoindex(name))
			output_note("there is no device %s in this network namespace: path %s "
				    "matches where one of that name is",
				    name, t->path[i].name);
	}
}

static void warn_ranks(const struct mps_steer_table *t)
{
	unsigned int i, ranks = 0;

	for (i = 0; i < t->nr_paths; i++)
		ranks |= t->path[i].rank || t->path[i].flags & MPS_STEER_METERED;
	for (i = 0; i < t->nr_rules && !ranks; i++) {
		if (t->rule[i].mode != MPS_STEER_STANDBY && t->rule[i].mode != MPS_STEER_PRIORITY)
			continue;
		output_note("rule %u goes by ranks, and no path has one but 0: backups apart, it "
			    "uses all of them",
			    i + 1);
		break;
	}
}

void steer_warn(const struct mps_steer_table *t)
{
	warn_covered(t);
	warn_weights(t);
	warn_devices(t);
	warn_ranks(t);
}
