// SPDX-License-Identifier: GPL-2.0
/* get and set: tunables of a scheduler while it is at work. */
#include <string.h>
#include "cli/output.h"
#include "cmd/commands.h"
#include "kernel/lock.h"
#include "sched/tunable_live.h"

static const struct output_col get_cols[] = {
	{ "name", "TUNABLE", OUTPUT_LEFT }, { "value", "VALUE", OUTPUT_RIGHT },
	{ "min", "MIN", OUTPUT_RIGHT },	    { "max", "MAX", OUTPUT_RIGHT },
	{ "live", "LIVE", OUTPUT_LEFT },    { "text", "MEANING", OUTPUT_LEFT },
	{ NULL, NULL, OUTPUT_LEFT },
};

static enum exit_code unreadable(const struct tunable_live *l, const struct tunable *t, int err)
{
	return fail(code_of(-err), NULL, "%s cannot be read: %s", t->name, strerror(-err));
}

static enum exit_code output_value(output_t *list, const struct tunable_live *l,
				   const struct tunable *t)
{
	output_t *row = output_item(list);
	__u32 value;
	int err = tunable_live_value(l, t, &value);

	if (err)
		return unreadable(l, t, err);
	output_str(row, "name", "%s", t->name);
	output_tunable(row, "value", t, value);
	output_tunable(row, "min", t, t->min);
	output_tunable(row, "max", t, t->max);
	output_flag(row, "live", t->section == TUNABLE_LIVE);
	output_str(row, "text", "%s", t->text);
	return EX_OK;
}

static enum exit_code get_one(output_t *list, const struct tunable_live *l, const char *name)
{
	const struct tunable *t = tunable_table_find(&l->tunables, name, strlen(name));
	enum exit_code ret;

	if (!t)
		return tunable_table_unknown(&l->tunables, name, strlen(name));
	ret = output_value(list, l, t);
	if (ret == EX_OK)
		output_line("%s", json_object_get_string(output_at(list, "0.value")));
	return ret;
}

enum exit_code cmd_get(const struct args *args)
{
	ERROR_ABOUT("get", args->word[0]);
	output_t *list = output_list(output_root(), "tunables");
	struct tunable_live l;
	enum exit_code ret = tunable_live_open(&l, args->word[0]);
	unsigned int i;

	output_str(output_root(), "scheduler", "%s", args->word[0]);
	if (ret == EX_OK && args->nr_words > 1) {
		ret = get_one(list, &l, args->word[1]);
	} else {
		for (i = 0; ret == EX_OK && i < l.tunables.nr; i++)
			ret = output_value(list, &l, &l.tunables.t[i]);
		if (ret == EX_OK)
			output_table(list, get_cols, "");
	}
	if (ret != EX_OK)
		output_forget();
	tunable_live_close(&l);
	return ret;
}

struct change {
	const struct tunable *t;
	__u32 before, value;
};

static enum exit_code check(const struct tunable_live *l, const char *setting, struct change *c)
{
	enum exit_code ret = tunable_table_parse(&l->tunables, setting, &c->t, &c->value);
	int err;

	if (ret == EX_OK)
		ret = tunable_live_check(l, c->t);
	if (ret != EX_OK)
		return ret;
	err = tunable_live_value(l, c->t, &c->before);
	return err ? unreadable(l, c->t, err) : EX_OK;
}

static void output_change(output_t *list, const struct tunable_live *l, const struct change *c)
{
	output_t *row = output_item(list);

	output_str(row, "name", "%s", c->t->name);
	output_tunable(row, "before", c->t, c->before);
	output_tunable(row, "value", c->t, c->value);
	output_line("%s of %s is %s (before: %s)", c->t->name, l->name,
		    json_object_get_string(output_at(row, "value")),
		    json_object_get_string(output_at(row, "before")));
}

/* All of them are checked before the first one changes. */
static enum exit_code set_all(const struct tunable_live *l, const struct args *args)
{
	struct change change[MAX_WORDS];
	unsigned int i, nr = args->nr_words - 1;
	enum exit_code ret = EX_OK;
	output_t *list;

	for (i = 0; ret == EX_OK && i < nr; i++)
		ret = check(l, args->word[i + 1], &change[i]);
	if (ret != EX_OK)
		return ret;
	output_str(output_root(), "scheduler", "%s", l->name);
	list = output_list(output_root(), "changed");
	for (i = 0; ret == EX_OK && i < nr; i++) {
		ret = tunable_live_set(l, change[i].t, change[i].value);
		if (ret == EX_OK)
			output_change(list, l, &change[i]);
	}
	return ret;
}

enum exit_code cmd_set(const struct args *args)
{
	ERROR_ABOUT("set", args->word[0]);
	struct tunable_live l;
	enum exit_code ret =
		tunable_table_check_words(EX_USAGE, args->word + 1, args->nr_words - 1);

	if (ret == EX_OK)
		ret = lock_take(args->timeout);
	if (ret != EX_OK)
		return ret;
	ret = tunable_live_open(&l, args->word[0]);
	if (ret == EX_OK)
		ret = set_all(&l, args);
	tunable_live_close(&l);
	return ret;
}
