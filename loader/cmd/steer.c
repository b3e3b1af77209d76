// SPDX-License-Identifier: GPL-2.0
/* steer: the tables of rules and paths of bpf_steer. */
#include <string.h>
#include "cli/output.h"
#include "cmd/commands.h"
#include "kernel/lock.h"
#include "policy/match.h"
#include "sched/steer_edit.h"
#include "sched/steer_values.h"

#define HINT_STEER "`" PROGRAM " help steer` shows how"

/* A row: its number or name, its fields and, as it is written, all of it. */
static void output_row(output_t *list, const struct steer_kind *k, const void *row,
		       unsigned int number)
{
	char line[STEER_LINE], text[STEER_TEXT];
	const struct steer_field *f;
	output_t *item = output_item(list);

	steer_write(k, row, STEER_ALL, line, sizeof(line));
	if (number)
		output_num(item, "rule", number);
	for (f = k->fields; f->name; f++) {
		if (!f->write(row, text, sizeof(text)))
			continue;
		if (f->value)
			output_str(item, f->name, "%s", text);
		else
			output_flag(item, f->name, true);
	}
	output_str(item, "text", "%s", line);
	if (number)
		output_line("%s %s  # %u", k->name, line, number);
	else
		output_line("%s %s", k->name, line);
}

static void list_paths(const struct mps_steer_table *t)
{
	output_t *list = output_list(output_root(), "paths");
	unsigned int i;

	for (i = 0; i < t->nr_paths; i++)
		output_row(list, &steer_path_kind, &t->path[i], 0);
}

static void list_rules(const struct mps_steer_table *t)
{
	output_t *list = output_list(output_root(), "rules");
	unsigned int i;

	for (i = 0; i < t->nr_rules; i++)
		output_row(list, &steer_rule_kind, &t->rule[i], i + 1);
}

/* What the table is to become; `kind` NULL: both. */
struct change {
	const struct steer_kind *kind;
	const char *verb;
	const char *const *word; /* behind the verb */
	unsigned int nr;
};

static enum exit_code add(struct mps_steer_table *t, const struct change *c)
{
	ERROR_ABOUT("add", c->kind->name);
	unsigned int number = 0, skip = 0;
	char why[STEER_WHY];
	enum exit_code ret;
	__u64 at = 0;

	if (c->kind == &steer_path_kind) {
		ret = steer_add_path(t, EX_USAGE, c->word, c->nr);
		if (ret == EX_OK)
			output_row(output_list(output_root(), "added"), c->kind,
				   &t->path[t->nr_paths - 1], 0);
		return ret;
	}
	if (c->nr > 1 && !strcmp(c->word[0], "at")) {
		skip = 2;
		if (!value_number(&at, c->word[1], MPS_STEER_RULES, why) || !at)
			return fail(EX_USAGE, HINT_STEER, "at: not the number of a rule: %s",
				    c->word[1]);
	}
	ret = steer_add_rule(t, EX_USAGE, c->word + skip, c->nr - skip, (unsigned int)at, &number);
	if (ret == EX_OK)
		output_row(output_list(output_root(), "added"), c->kind, &t->rule[number - 1],
			   number);
	return ret;
}

static enum exit_code delete(struct mps_steer_table *t, const struct change *c) {
	ERROR_ABOUT("delete", c->kind->name);

	if (c->nr != 1) return fail(EX_USAGE, HINT_STEER, "it takes one %s",
				    c->kind == &steer_rule_kind ? "number" : "name");
	return c->kind == &steer_rule_kind ? steer_delete_rule(t, c->word[0])
					   : steer_delete_path(t, c->word[0]);
}

static enum exit_code flush(struct mps_steer_table *t, const struct change *c)
{
	if (c->kind != &steer_path_kind)
		t->nr_rules = 0;
	if (c->kind != &steer_rule_kind)
		t->nr_paths = t->weighted = 0;
	return EX_OK;
}

static enum exit_code replace(struct mps_steer_table *t, const struct change *c)
{
	ERROR_ABOUT("read", c->word[0]);

	return steer_from_file(t, c->word[0]);
}

static enum exit_code list(struct mps_steer_table *t, const struct change *c)
{
	if (c->kind != &steer_rule_kind)
		list_paths(t);
	if (c->kind != &steer_path_kind)
		list_rules(t);
	return EX_OK;
}

static enum exit_code test(struct mps_steer_table *t, const struct change *c)
{
	ERROR_ABOUT("test", "rule");
	char line[STEER_LINE];
	struct mps_steer_rule asked;
	struct mps_steer_key key;
	output_t *passed;
	unsigned int i;
	enum exit_code ret = steer_read(&steer_rule_kind, EX_USAGE, &asked, c->word, c->nr);

	if (ret != EX_OK)
		return ret;
	steer_key_of(&key, &asked);
	passed = output_list(output_root(), "passed");
	for (i = 0; i < t->nr_rules && !mps_match_rule(&t->rule[i], &key); i++) {
		output_t *item = output_item(passed);

		steer_differs(&t->rule[i], &key, line, sizeof(line));
		output_num(item, "rule", i + 1);
		output_str(item, "differs", "%s", line);
		output_line("rule %u does not match: %s", i + 1, line);
	}
	if (i == t->nr_rules) {
		output_null(output_root(), "rule");
		output_str(output_root(), "mode", "%s", steer_mode_name(MPS_STEER_AUTO));
		output_line("no rule matches: mode %s", steer_mode_name(MPS_STEER_AUTO));
		return EX_OK;
	}
	output_num(output_root(), "rule", i + 1);
	output_str(output_root(), "mode", "%s", steer_mode_name(t->rule[i].mode));
	steer_write(&steer_rule_kind, &t->rule[i], STEER_ALL, line, sizeof(line));
	output_line("rule %u matches: %s", i + 1, line);
	return EX_OK;
}

/* What may be done. each: with rule or path in front; changes: what is put in place then. */
static const struct verb {
	const char *name;
	bool each, both, changes;
	unsigned int most; /* words behind it */
	enum exit_code (*run)(struct mps_steer_table *t, const struct change *c);
} verbs[] = {
	{ "add", true, false, true, MAX_WORDS, add },
	{ "delete", true, false, true, 1, delete },
	{ "flush", true, true, true, 0, flush },
	{ "list", true, true, false, 0, list },
	{ "replace", false, true, true, 1, replace },
	{ "test", false, true, false, MAX_WORDS, test },
};

static const struct verb *find_verb(const struct change *c)
{
	const struct verb *v;

	for (v = verbs; c->verb && v < verbs + sizeof(verbs) / sizeof(verbs[0]); v++)
		if (!strcmp(v->name, c->verb) && (c->kind ? v->each : v->both))
			return v;
	return NULL;
}

static void take_words(struct change *c, const struct args *args)
{
	unsigned int at = 0;

	memset(c, 0, sizeof(*c));
	if (!strcmp(args->word[0], steer_rule_kind.name))
		c->kind = &steer_rule_kind;
	else if (!strcmp(args->word[0], steer_path_kind.name))
		c->kind = &steer_path_kind;
	at += !!c->kind;
	c->verb = at < args->nr_words ? args->word[at] : NULL;
	c->word = args->word + at + 1;
	c->nr = at < args->nr_words ? args->nr_words - at - 1 : 0;
}

/* What can be wrong with the words is told before the kernel is asked. */
static enum exit_code check_words(const struct verb *v, const struct change *c)
{
	const struct steer_kind *k = c->kind ?: &steer_rule_kind;
	const unsigned int skip = c->nr > 1 && !strcmp(c->word[0], "at") ? 2 : 0;
	union {
		struct mps_steer_rule rule;
		struct mps_steer_path path;
	} row;

	ERROR_ABOUT(v->name, k->name);
	if (v->run != add && v->run != test)
		return EX_OK;
	return steer_read(k, EX_USAGE, &row, c->word + skip, c->nr - skip);
}

static enum exit_code run(const struct verb *v, const struct change *c)
{
	struct steer_table s;
	enum exit_code ret = steer_table_open(&s);

	if (ret == EX_OK)
		ret = v->run(s.t, c);
	if (ret == EX_OK && v->changes)
		ret = steer_table_put(&s);
	if (ret == EX_OK)
		output_num(output_root(), "generation", s.t->generation);
	else
		output_forget();
	if (ret == EX_OK && v->changes)
		steer_warn(s.t);
	steer_table_close(&s);
	return ret;
}

enum exit_code cmd_steer(const struct args *args)
{
	ERROR_ABOUT("steer", args->word[0]);
	struct change c;
	const struct verb *v;
	enum exit_code ret;

	take_words(&c, args);
	v = find_verb(&c);
	if (!v)
		return fail(EX_USAGE, HINT_STEER, "no such thing to do%s%s", c.verb ? ": " : "",
			    c.verb ?: "");
	if (c.nr > v->most || (v->run == replace && c.nr != 1))
		return fail(EX_USAGE, HINT_STEER, "%s takes %s", v->name,
			    v->run == replace ? "a file"
			    : v->most	      ? "one"
					      : "nothing more");
	ret = check_words(v, &c);
	if (ret == EX_OK && v->changes)
		ret = lock_take(args->timeout);
	return ret == EX_OK ? run(v, &c) : ret;
}
