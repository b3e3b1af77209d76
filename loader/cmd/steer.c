// SPDX-License-Identifier: GPL-2.0
/* steer: the tables of rules and paths of bpf_steer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/output.h"
#include "cli/util.h"
#include "cmd/commands.h"
#include "cmd/steer.h"
#include "kernel/lock.h"
#include "sched/steer_account.h"
#include "sched/steer_edit.h"
#include "sched/steer_notes.h"
#include "sched/steer_saver.h"
#include "sched/steer_verbs.h"

#define HINT_STEER "`" PROGRAM " help steer` shows how"
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@:[]%/"

/* What the words ask for: read as far as that goes without the tables. */
struct request {
	const char *name;		/* delete_path; reset_accounts, or NULL */
	unsigned int number;		/* delete_rule; add_rule: 0 or where, then which it is */
	struct mps_steer_rule rule;	/* add_rule */
	struct mps_steer_path path;	/* add_path */
	struct mps_steer_table *tables; /* replace, replace_paths */
	char *channel;			/* push */
	const char *command, *cgroup;	/* of the options of that name, or NULL */
	bool off;			/* option */
	struct steer_asked asked;	/* test */
};

static void show_list_paths(const struct steer_table *s, const struct request *q)
{
	output_t *list = output_list(output_root(), "paths");
	char comment[100];
	unsigned int i;

	for (i = 0; i < s->t->nr_paths; i++) {
		output_t *item = output_item(list);

		output_account(item, s, &s->t->path[i], comment, sizeof(comment));
		output_row(item, &steer_path_kind, &s->t->path[i], comment);
	}
}

static void show_list_rules(const struct steer_table *s, const struct request *q)
{
	output_t *list = output_list(output_root(), "rules");
	unsigned int i;

	for (i = 0; i < s->t->nr_rules; i++)
		output_rule(list, &s->t->rule[i], i + 1);
	steer_warn_gone(s->t, true);
}

static void show_list(const struct steer_table *s, const struct request *q)
{
	show_list_paths(s, q);
	show_list_rules(s, q);
}

static enum exit_code parse_number(struct request *q, const char *text)
{
	struct steer_why why;
	__u64 number = 0;

	if (!value_number(&number, text, 1, MPS_STEER_RULES, &why))
		return fail(EX_USAGE, HINT_STEER, "not the number of a rule: %s", text);
	q->number = (unsigned int)number;
	return EX_OK;
}

static enum exit_code parse_add_rule(struct request *q, const char *const *word, unsigned int nr)
{
	unsigned int skip = 0;
	enum exit_code ret;

	if (nr && !strcmp(word[0], "at")) {
		if (nr < 2)
			return fail(EX_USAGE, HINT_STEER, "at is to have a value: NUMBER");
		ret = parse_number(q, word[1]);
		if (ret != EX_OK)
			return ret;
		skip = 2;
	}
	return steer_read(&steer_rule_kind, EX_USAGE, &q->rule, word + skip, nr - skip);
}

static enum exit_code change_add_rule(struct mps_steer_table *t, struct request *q)
{
	return steer_add_rule(t, &q->rule, q->number, &q->number);
}

static void show_add_rule(const struct steer_table *s, const struct request *q)
{
	output_rule(output_list(output_root(), "added"), &q->rule, q->number);
}

static enum exit_code parse_add_path(struct request *q, const char *const *word, unsigned int nr)
{
	return steer_read(&steer_path_kind, EX_USAGE, &q->path, word, nr);
}

static enum exit_code change_add_path(struct mps_steer_table *t, struct request *q)
{
	return steer_add_path(t, &q->path);
}

static void show_add_path(const struct steer_table *s, const struct request *q)
{
	output_row(output_item(output_list(output_root(), "added")), &steer_path_kind, &q->path,
		   "");
}

static enum exit_code parse_delete_rule(struct request *q, const char *const *word, unsigned int nr)
{
	return parse_number(q, word[0]);
}

static enum exit_code change_delete_rule(struct mps_steer_table *t, struct request *q)
{
	return steer_delete_rule(t, q->number);
}

static enum exit_code parse_delete_path(struct request *q, const char *const *word, unsigned int nr)
{
	const char *row[] = { "name", word[0] };

	q->name = word[0];
	return steer_read(&steer_path_kind, EX_USAGE, &q->path, row, 2);
}

static enum exit_code change_delete_path(struct mps_steer_table *t, struct request *q)
{
	return steer_delete_path(t, q->name);
}

static enum exit_code change_flush_rules(struct mps_steer_table *t, struct request *q)
{
	t->nr_rules = 0;
	return EX_OK;
}

static enum exit_code change_flush_paths(struct mps_steer_table *t, struct request *q)
{
	t->nr_paths = t->weighted = 0;
	return EX_OK;
}

static enum exit_code change_flush(struct mps_steer_table *t, struct request *q)
{
	change_flush_rules(t, q);
	return change_flush_paths(t, q);
}

static enum exit_code read_tables(struct request *q, const char *file,
				  enum exit_code (*read)(struct mps_steer_table *t,
							 const char *path))
{
	ERROR_ABOUT("read", file);

	q->tables = calloc(1, sizeof(*q->tables));
	if (!q->tables)
		out_of_memory();
	return read(q->tables, file);
}

static enum exit_code parse_replace(struct request *q, const char *const *word, unsigned int nr)
{
	return read_tables(q, word[0], steer_from_file);
}

static enum exit_code parse_replace_paths(struct request *q, const char *const *word,
					  unsigned int nr)
{
	return read_tables(q, word[0], steer_paths_from);
}

static enum exit_code change_replace_paths(struct mps_steer_table *t, struct request *q)
{
	steer_replace_paths(t, q->tables);
	return EX_OK;
}

static enum exit_code parse_push(struct request *q, const char *const *word, unsigned int nr)
{
	if (!nr == !q->command)
		return fail(EX_USAGE, HINT_STEER, "it takes HOST or --command, one of them");
	/* for ssh that would be an option, and for the shell all else would be more than a name */
	if (nr && (*word[0] == '-' || word[0][strspn(word[0], HOST_CHARACTERS)]))
		return fail(EX_USAGE, "give one as for ssh, or --command", "not a host: %s",
			    word[0]);
	if (asprintf(&q->channel, "%s%s", nr ? "ssh " : "", nr ? word[0] : q->command) < 0)
		out_of_memory();
	return EX_OK;
}

static enum exit_code parse_option(struct request *q, const char *const *word, unsigned int nr)
{
	q->off = nr;
	if (nr && strcmp(word[0], "off"))
		return fail(EX_USAGE, HINT_STEER, "neither off nor nothing: %s", word[0]);
	if (nr && !q->cgroup)
		return fail(EX_USAGE, HINT_STEER, "say for which: --cgroup PATH");
	return EX_OK;
}

static enum exit_code act_option(struct steer_table *s, struct request *q)
{
	return steer_option(s, q->cgroup, q->off);
}

static enum exit_code look_push(const struct steer_table *s, struct request *q)
{
	return steer_push(s->t, q->channel);
}

static enum exit_code change_replace(struct mps_steer_table *t, struct request *q)
{
	steer_replace(t, q->tables);
	return EX_OK;
}

static enum exit_code parse_test(struct request *q, const char *const *word, unsigned int nr)
{
	return steer_ask(&q->asked, word, nr);
}

static void show_test(const struct steer_table *s, const struct request *q)
{
	show_tested(s->t, &q->asked);
}

static enum exit_code parse_reset(struct request *q, const char *const *word, unsigned int nr)
{
	return nr ? parse_delete_path(q, word, nr) : EX_OK;
}

static void show_all_accounts(const struct steer_table *s, const struct request *q)
{
	show_accounts(s);
}

/* Tables with a new period are others; all else that is saved is in them already. */
static enum exit_code account_save(struct steer_table *s, struct request *q)
{
	enum exit_code ret = steer_accounts_look(s) ? steer_table_put(s) : EX_OK;

	return ret == EX_OK ? steer_accounts_save(s) : ret;
}

/*
 * The file, too: else the next load would bring them back. And first: where it cannot be written,
 * nothing has changed, and where the tables cannot, the next `save` puts it right.
 */
static enum exit_code account_reset(struct steer_table *s, struct request *q)
{
	enum exit_code ret = steer_accounts_reset(s, q->name);

	ret = ret == EX_OK ? steer_accounts_save(s) : ret;
	return ret == EX_OK ? steer_table_put(s) : ret;
}

enum verb {
#define VERB_ENUM(id, name, words, text) VERB_##id,
	STEER_VERBS(VERB_ENUM) NR_VERBS
#undef VERB_ENUM
};

static const struct {
	const char *name, *words;
} verbs[NR_VERBS] = {
#define VERB(id, name, words, text) { name, words },
	STEER_VERBS(VERB)
#undef VERB
};

/*
 * parse: NULL: it takes no words; change: of the tables, NULL: none; act: what is done otherwise;
 * show: of what is in place; look: the same, of what may fail, without the lock.
 */
static const struct {
	enum exit_code (*parse)(struct request *q, const char *const *word, unsigned int nr);
	enum exit_code (*change)(struct mps_steer_table *t, struct request *q);
	void (*show)(const struct steer_table *s, const struct request *q);
	enum exit_code (*act)(struct steer_table *s, struct request *q);
	enum exit_code (*look)(const struct steer_table *s, struct request *q);
} actions[NR_VERBS] = {
	[VERB_list] = { .show = show_list },
	[VERB_list_rules] = { .show = show_list_rules },
	[VERB_list_paths] = { .show = show_list_paths },
	[VERB_add_rule] = { .parse = parse_add_rule,
			    .change = change_add_rule,
			    .show = show_add_rule },
	[VERB_add_path] = { .parse = parse_add_path,
			    .change = change_add_path,
			    .show = show_add_path },
	[VERB_delete_rule] = { .parse = parse_delete_rule, .change = change_delete_rule },
	[VERB_delete_path] = { .parse = parse_delete_path, .change = change_delete_path },
	[VERB_flush] = { .change = change_flush },
	[VERB_flush_rules] = { .change = change_flush_rules },
	[VERB_flush_paths] = { .change = change_flush_paths },
	[VERB_replace_paths] = { .parse = parse_replace_paths, .change = change_replace_paths },
	[VERB_push] = { .parse = parse_push, .look = look_push },
	[VERB_option] = { .parse = parse_option, .act = act_option },
	[VERB_replace] = { .parse = parse_replace, .change = change_replace },
	[VERB_show_accounts] = { .show = show_all_accounts },
	[VERB_save_accounts] = { .act = account_save },
	[VERB_reset_accounts] = { .parse = parse_reset, .act = account_reset },
	[VERB_test] = { .parse = parse_test, .show = show_test },
};

static bool is_kind(const char *word)
{
	return !strcmp(word, steer_rule_kind.name) || !strcmp(word, steer_path_kind.name) ||
	       !strcmp(word, "account");
}

/* Of so many words; NR_VERBS: there is none. */
static enum verb find_verb(const char *const *word, unsigned int nr)
{
	char name[100];
	enum verb v;

	snprintf(name, sizeof(name), "%s%s%s", word[0], nr > 1 ? " " : "", nr > 1 ? word[1] : "");
	for (v = 0; v < NR_VERBS; v++)
		if (!strcmp(verbs[v].name, name))
			break;
	return v;
}

/* May there be none? So where all of them are in one pair of brackets. */
static bool may_be_none(const char *words)
{
	const char *end = strchr(words, ']');

	return words[1] == '[' && end && !end[1];
}

/* What can be wrong with the words is told before the kernel is asked, and before any wait. */
static enum exit_code parse(enum verb v, struct request *q, const char *const *word,
			    unsigned int nr)
{
	const char *words = verbs[v].words;

	if (nr && !*words)
		return fail(EX_USAGE, HINT_STEER, "it takes nothing more: %s", word[0]);
	if (*words && ((!nr && !may_be_none(words)) || (nr > 1 && !strstr(words, "..."))))
		return fail(EX_USAGE, HINT_STEER, "it takes%s", words);
	return actions[v].parse ? actions[v].parse(q, word, nr) : EX_OK;
}

static enum exit_code run(enum verb v, struct request *q)
{
	struct steer_table s;
	enum exit_code ret = steer_table_open(&s);

	if (ret == EX_OK && actions[v].change)
		ret = actions[v].change(s.t, q);
	if (ret == EX_OK && actions[v].change)
		ret = steer_table_put(&s);
	if (ret == EX_OK && actions[v].act)
		ret = actions[v].act(&s, q);
	if (ret == EX_OK && actions[v].look)
		ret = actions[v].look(&s, q);
	if (ret == EX_OK && actions[v].show)
		actions[v].show(&s, q);
	if (ret == EX_OK && actions[v].change)
		steer_warn(s.t, &s);
	/* who runs it each minute does so before the scheduler is loaded, too */
	if (v == VERB_save_accounts && (ret == EX_OK || !s.loaded))
		steer_saver_was_here();
	if (ret == EX_OK)
		output_num(output_root(), "generation", s.t->generation);
	steer_table_close(&s);
	return ret;
}

enum exit_code cmd_steer(const struct args *args)
{
	const unsigned int used = is_kind(args->word[0]) && args->nr_words > 1 ? 2 : 1;
	const enum verb v = find_verb(args->word, used);
	const char *whole = v == VERB_test ? "connection" : "tables";
	const char *object = used > 1 ? args->word[0] : whole;
	struct request q = { .command = args->command, .cgroup = args->cgroup };
	enum exit_code ret;

	ERROR_ABOUT(v == NR_VERBS ? "steer" : args->word[used - 1],
		    v == NR_VERBS ? args->word[0] : object);
	if (v == NR_VERBS)
		return fail(EX_USAGE, HINT_STEER, "no such thing to do%s%s", used > 1 ? ": " : "",
			    used > 1 ? args->word[1] : "");
	if ((q.command && v != VERB_push) || (q.cgroup && v != VERB_option))
		return fail(EX_USAGE, HINT_STEER, "--command is for push, --cgroup for option");
	ret = parse(v, &q, args->word + used, args->nr_words - used);
	if (ret == EX_OK && (actions[v].change || actions[v].act))
		ret = lock_take(args->timeout);
	if (ret == EX_OK)
		ret = run(v, &q);
	free(q.tables);
	free(q.channel);
	return ret;
}
