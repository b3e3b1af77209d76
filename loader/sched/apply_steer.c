// SPDX-License-Identifier: GPL-2.0
/* The statements of [paths] and [rules]: together they are steering's tables, which they replace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/util.h"
#include "sched/apply.h"
#include "sched/steer_edit.h"
#include "sched/steer_notes.h"

/* The words of `steer path add` or `steer rule add`. Returns how many. */
static unsigned int words_of(const struct config_line *l, const char **word)
{
	unsigned int nr = 0, i;

	if (l->kind == CONFIG_PATHS) {
		word[nr++] = "name";
		word[nr++] = l->key;
	}
	for (i = 0; i < l->nr_words; i++)
		word[nr++] = l->word[i];
	return nr;
}

static struct mps_steer_table *tables_of(struct apply *a)
{
	if (!a->tables)
		a->tables = calloc(1, sizeof(*a->tables));
	if (!a->tables)
		out_of_memory();
	return a->tables;
}

static enum exit_code add_path(struct apply *a, const struct config_line *l)
{
	const char *word[MAX_SETS + 2];
	const unsigned int nr = words_of(l, word);
	struct mps_steer_path path;
	enum exit_code ret = steer_read(&steer_path_kind, EX_FAILED, &path, word, nr);

	return ret == EX_OK ? steer_add_path(tables_of(a), &path) : ret;
}

/* What it names may come with another unit: until then no connection can match it. */
static void leave_out(struct apply *a, const struct config_line *l, const struct steer_why *why)
{
	char place[300];

	a->left_out[l - a->config.line] = true;
	output_note("%s: the rule matches nothing yet: %s; `" PROGRAM " apply` again when it is "
		    "there",
		    config_place(&a->config, l->line, place, sizeof(place)), why->text);
}

/* checked: what is wrong with it on any machine has been said. */
static enum exit_code add_rule(struct apply *a, const struct config_line *l, bool checked)
{
	const char *word[MAX_SETS + 2];
	const unsigned int nr = words_of(l, word);
	struct mps_steer_rule rule;
	struct steer_why absent;
	enum exit_code ret;
	unsigned int number;

	ret = steer_read_here(&steer_rule_kind, EX_FAILED, &rule, word, nr, &absent);
	if (ret != EX_OK)
		return ret;
	if (!checked || absent.code == EX_OK)
		return steer_add_rule(tables_of(a), &rule, 0, &number);
	/* what may not be looked at may well be there */
	if (absent.code != EX_FAILED)
		return fail(absent.code, absent.hint, "%s", absent.text);
	leave_out(a, l, &absent);
	return EX_OK;
}

/* A cgroup or a namespace may come with another unit: that is no error of the file. */
enum exit_code apply_check_row(struct apply *a, const struct config_line *l)
{
	return l->kind == CONFIG_PATHS ? add_path(a, l) : add_rule(a, l, false);
}

/* The line of the n-th row in the tables, from 0 on. */
static const struct config_line *line_of(const struct apply *a, enum config_kind kind,
					 unsigned int n)
{
	unsigned int i;

	for (i = 0; i < a->config.nr; i++)
		if (a->config.line[i].kind == kind && !a->left_out[i] && !n--)
			return &a->config.line[i];
	return NULL;
}

static const struct config_line *first_of(const struct apply *a, enum config_kind kind)
{
	unsigned int i;

	for (i = 0; i < a->config.nr; i++)
		if (a->config.line[i].kind == kind)
			return &a->config.line[i];
	return NULL;
}

static const struct config_line *first_row(const struct apply *a)
{
	return first_of(a, CONFIG_PATHS) ?: first_of(a, CONFIG_RULES);
}

enum exit_code apply_row(struct apply *a, const struct config_line *l)
{
	enum exit_code ret;

	/* what the check has read goes */
	if (l == first_row(a))
		memset(tables_of(a), 0, sizeof(*a->tables));
	ret = l->kind == CONFIG_PATHS ? add_path(a, l) : add_rule(a, l, true);
	a->tables_wrong |= ret != EX_OK;
	return ret;
}

/* --- the difference */

struct side {
	const char *row; /* the first one */
	unsigned int nr;
};

/* One of the tables: what it is, and what it is to be. */
struct difference {
	const struct steer_kind *kind;
	size_t size;
	struct side was, is;
};

static const char *text_of(const struct difference *d, const struct side *s, unsigned int i,
			   char *buf, size_t size)
{
	return steer_write(d->kind, s->row + i * d->size, buf, size);
}

static bool is_same(const struct difference *d, unsigned int was, unsigned int is)
{
	char a[STEER_LINE], b[STEER_LINE];

	return !strcmp(text_of(d, &d->was, was, a, sizeof(a)),
		       text_of(d, &d->is, is, b, sizeof(b)));
}

static void add_change(struct apply *a, const struct difference *d, const struct side *s,
		       unsigned int i, output_t ***rows, unsigned int *nr)
{
	const enum config_kind kind = d->kind == &steer_path_kind ? CONFIG_PATHS : CONFIG_RULES;
	const struct config_line *l = s == &d->is ? line_of(a, kind, i) : first_row(a);
	char line[STEER_LINE], subject[100];
	const char *text = text_of(d, s, i, line, sizeof(line));

	if (kind == CONFIG_RULES) {
		snprintf(subject, sizeof(subject), "rule %u", i + 1);
	} else {
		/* "name NAME" comes first */
		text += strcspn(text, " ") + 1;
		snprintf(subject, sizeof(subject), "path %.*s", (int)strcspn(text, " "), text);
		text += strcspn(text, " ");
	}
	*rows = grow(*rows, *nr, sizeof(**rows));
	(*rows)[(*nr)++] = apply_add_change(a, l, subject, s == &d->is ? "add" : "delete",
					    text + strspn(text, " "));
}

/* What stands between rows that are the same, at the beginning and at the end. */
static void compare(struct apply *a, const struct difference *d, output_t ***rows, unsigned int *nr)
{
	unsigned int same = 0, end = 0, i;

	while (same < d->was.nr && same < d->is.nr && is_same(d, same, same))
		same++;
	while (end < d->was.nr - same && end < d->is.nr - same &&
	       is_same(d, d->was.nr - end - 1, d->is.nr - end - 1))
		end++;
	for (i = same; i < d->was.nr - end; i++)
		add_change(a, d, &d->was, i, rows, nr);
	for (i = same; i < d->is.nr - end; i++)
		add_change(a, d, &d->is, i, rows, nr);
}

static enum exit_code put(struct apply *a, struct steer_table *s)
{
	enum exit_code ret = EX_OK;
	unsigned int nr = 0, i;
	output_t **rows = NULL;
	const struct difference paths = {
		&steer_path_kind,
		sizeof(s->t->path[0]),
		{ (const char *)s->was->path, s->was->nr_paths },
		{ (const char *)a->tables->path, a->tables->nr_paths },
	};
	const struct difference rules = {
		&steer_rule_kind,
		sizeof(s->t->rule[0]),
		{ (const char *)s->was->rule, s->was->nr_rules },
		{ (const char *)a->tables->rule, a->tables->nr_rules },
	};

	compare(a, &paths, &rows, &nr);
	compare(a, &rules, &rows, &nr);
	if (nr && !a->dry_run) {
		steer_replace(s->t, a->tables);
		ret = steer_table_put(s);
	}
	for (i = 0; i < nr; i++)
		apply_finish_row(a, rows[i], ret);
	if (nr && ret == EX_OK)
		steer_warn(a->tables, s);
	free(rows);
	return ret;
}

enum exit_code apply_tables(struct apply *a)
{
	static struct mps_steer_table none;
	const struct config_line *l = first_row(a);
	struct steer_table s = { .t = &none, .was = &none };
	enum exit_code ret;

	/* what is wrong has been said */
	if (!l || a->tables_wrong)
		return EX_OK;
	ret = apply_load_unlisted(a, l, STEER_SCHEDULER);
	if (ret != EX_OK)
		return ret;
	if (a->dry_run && !kern_has_sched(STEER_SCHEDULER))
		return put(a, &s);
	ret = steer_table_open(&s);
	if (ret == EX_OK)
		ret = put(a, &s);
	steer_table_close(&s);
	return ret;
}
