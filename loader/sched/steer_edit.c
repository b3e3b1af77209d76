// SPDX-License-Identifier: GPL-2.0
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/args.h"
#include "cli/input.h"
#include "sched/steer_edit.h"

#define BLANKS " \t\r"

#define HINT_NUMBERS "`" PROGRAM " steer list` shows the numbers"
#define HINT_FILE "`" PROGRAM " steer list` prints one"
#define END_LINE STEER_END "\n"
#define HINT_END "the channel broke, and nothing has changed: send it again"
#define HINT_LINE "a line is `rule FIELD VALUE ...` or `path FIELD VALUE ...`"

enum exit_code steer_add_rule(struct mps_steer_table *t, const struct mps_steer_rule *r,
			      unsigned int at, unsigned int *number)
{
	if (t->nr_rules == MPS_STEER_RULES)
		return fail(EX_FAILED, "delete some", "there are %u rules already",
			    MPS_STEER_RULES);
	if (at > t->nr_rules + 1U)
		return fail(EX_FAILED, HINT_NUMBERS, "the last rule is %u", t->nr_rules);
	at = at ?: t->nr_rules + 1U;
	memmove(&t->rule[at], &t->rule[at - 1], (t->nr_rules - at + 1U) * sizeof(*r));
	t->rule[at - 1] = *r;
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

enum exit_code steer_add_path(struct mps_steer_table *t, const struct mps_steer_path *p)
{
	if (find_path(t, p->name) >= 0)
		return fail(EX_FAILED, "delete that one, or take another name",
			    "there is a path %s already", p->name);
	if (t->nr_paths == MPS_STEER_PATHS)
		return fail(EX_FAILED, "delete some", "there are %u paths already",
			    MPS_STEER_PATHS);
	t->path[t->nr_paths++] = *p;
	note_weights(t);
	return EX_OK;
}

enum exit_code steer_delete_rule(struct mps_steer_table *t, unsigned int number)
{
	if (!number || number > t->nr_rules)
		return fail(EX_FAILED, HINT_NUMBERS, "there is no rule %u", number);
	memmove(&t->rule[number - 1], &t->rule[number],
		(t->nr_rules - number) * sizeof(t->rule[0]));
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

void steer_replace_paths(struct mps_steer_table *t, const struct mps_steer_table *with)
{
	memcpy(t->path, with->path, sizeof(t->path));
	t->nr_paths = with->nr_paths;
	t->weighted = with->weighted;
}

void steer_replace(struct mps_steer_table *t, const struct mps_steer_table *with)
{
	const __u32 generation = t->generation;

	*t = *with;
	t->generation = generation;
}

static enum exit_code add_row(struct mps_steer_table *t, const char *const *word, unsigned int nr)
{
	const struct steer_kind *kinds[] = { &steer_rule_kind, &steer_path_kind }, *k = NULL;
	unsigned int i, number;
	enum exit_code ret;
	union {
		struct mps_steer_rule rule;
		struct mps_steer_path path;
	} row;

	for (i = 0; i < 2; i++)
		if (!strcmp(word[0], kinds[i]->name))
			k = kinds[i];
	if (!k)
		return fail(EX_FAILED, HINT_LINE, "neither a rule nor a path: %s", word[0]);
	ret = steer_read(k, EX_FAILED, &row, word + 1, nr - 1);
	if (ret != EX_OK)
		return ret;
	return k == &steer_rule_kind ? steer_add_rule(t, &row.rule, 0, &number)
				     : steer_add_path(t, &row.path);
}

static enum exit_code add_line(struct mps_steer_table *t, char *line)
{
	const char *word[MAX_WORDS];
	unsigned int nr = 0;
	char *save = NULL, *at;

	line[strcspn(line, "#")] = '\0';
	for (at = strtok_r(line, BLANKS, &save); at; at = strtok_r(NULL, BLANKS, &save)) {
		if (nr == MAX_WORDS)
			return fail(EX_FAILED, HINT_LINE, "more than %u words", MAX_WORDS);
		word[nr++] = at;
	}
	return nr ? add_row(t, word, nr) : EX_OK;
}

enum exit_code steer_from_text(struct mps_steer_table *t, const char *path, char *text)
{
	enum exit_code ret = EX_OK;
	unsigned int number = 0;
	char place[PATH_MAX + 16];

	t->nr_rules = t->nr_paths = t->weighted = 0;
	while (ret == EX_OK && text) {
		char *line = strsep(&text, "\n");

		snprintf(place, sizeof(place), "%s:%u", path, ++number);
		ERROR_ABOUT(NULL, place);
		ret = add_line(t, line);
	}
	return ret;
}

/* stdin: "-" is that, and ends with STEER_END. */
static enum exit_code read_text(const char *path, bool stdin_too, char **text)
{
	const bool is_stdin = stdin_too && !strcmp(path, "-");
	enum exit_code ret;
	size_t len = 0;
	char *end;

	ret = is_stdin ? input_read(HINT_FILE, STDIN_FILENO, INPUT_CONFIG, text, &len)
		       : input_file(path, HINT_FILE, INPUT_CONFIG, text, &len);
	if (ret == EX_OK && strlen(*text) != len)
		return fail(EX_FAILED, HINT_FILE, "there is a NUL character in the file");
	if (ret != EX_OK || !is_stdin)
		return ret;
	end = *text + len - (len > strlen(END_LINE) ? strlen(END_LINE) : len);
	if (strcmp(end, END_LINE) || (end > *text && end[-1] != '\n'))
		return fail(EX_FAILED, HINT_END, "stdin ended before its last line, " STEER_END);
	*end = '\0';
	return EX_OK;
}

static enum exit_code tables_from(struct mps_steer_table *t, const char *path, bool stdin_too)
{
	char *text = NULL;
	enum exit_code ret = read_text(path, stdin_too, &text);

	if (ret == EX_OK)
		ret = steer_from_text(t, path, text);
	free(text);
	return ret;
}

enum exit_code steer_from_file(struct mps_steer_table *t, const char *path)
{
	return tables_from(t, path, false);
}

enum exit_code steer_paths_from(struct mps_steer_table *t, const char *path)
{
	enum exit_code ret = tables_from(t, path, true);

	if (ret == EX_OK && t->nr_rules)
		ret = fail(EX_FAILED, "`" PROGRAM " steer replace` takes both",
			   "there are rules among the paths");
	return ret;
}
