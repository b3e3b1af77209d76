// SPDX-License-Identifier: GPL-2.0
/* get and set: tunables of a scheduler while it is at work. */
#include <string.h>
#include "cmd.h"
#include "loaded.h"
#include "lock.h"
#include "out.h"

static const struct out_col get_cols[] = {
	{ "name", "TUNABLE", OUT_LEFT }, { "value", "VALUE", OUT_RIGHT },
	{ "min", "MIN", OUT_RIGHT },	 { "max", "MAX", OUT_RIGHT },
	{ "live", "LIVE", OUT_LEFT },	 { "text", "MEANING", OUT_LEFT },
	{ NULL, NULL, OUT_LEFT },
};

static enum exit_code unreadable(const struct loaded *l, const char *operation,
				 const struct tunable *t, int err)
{
	return fail(code_of(-err), operation, l->name, NULL, "%s cannot be read: %s", t->name,
		    strerror(-err));
}

static enum exit_code out_value(out_t *list, const struct loaded *l, const struct tunable *t)
{
	out_t *row = out_item(list);
	__u32 value;
	int err = loaded_value(l, t, &value);

	if (err)
		return unreadable(l, "get", t, err);
	out_str(row, "name", "%s", t->name);
	out_tunable(row, "value", t, value);
	out_tunable(row, "min", t, t->min);
	out_tunable(row, "max", t, t->max);
	out_flag(row, "live", t->section == TUNABLE_LIVE);
	out_str(row, "text", "%s", t->text);
	return EX_OK;
}

static enum exit_code get_one(out_t *list, const struct loaded *l, const char *name)
{
	const struct tunable *t = tunables_find(&l->tunables, name, strlen(name));
	enum exit_code ret;
	char hint[512];

	tunables_describe(&l->tunables, hint, sizeof(hint));
	if (!t)
		return fail(EX_FAILED, "get", l->name, hint, "no tunable %s", name);
	ret = out_value(list, l, t);
	if (ret == EX_OK)
		out_line("%s", json_object_get_string(out_at(list, "0.value")));
	return ret;
}

enum exit_code cmd_get(const struct args *args)
{
	out_t *list = out_list(out_root(), "tunables");
	struct loaded l;
	enum exit_code ret = loaded_open(&l, "get", args->word[0]);
	unsigned int i;

	out_str(out_root(), "scheduler", "%s", args->word[0]);
	if (ret == EX_OK && args->nr_words > 1) {
		ret = get_one(list, &l, args->word[1]);
	} else {
		for (i = 0; ret == EX_OK && i < l.tunables.nr; i++)
			ret = out_value(list, &l, &l.tunables.t[i]);
		if (ret == EX_OK)
			out_table(list, get_cols, "");
	}
	if (ret != EX_OK)
		out_forget();
	loaded_close(&l);
	return ret;
}

struct change {
	const struct tunable *t;
	__u32 before, value;
};

static enum exit_code check(const struct loaded *l, const char *setting, struct change *c)
{
	enum exit_code ret =
		tunables_parse(&l->tunables, "set", l->name, setting, &c->t, &c->value);
	int err;

	if (ret == EX_OK)
		ret = loaded_check_live(l, "set", c->t);
	if (ret != EX_OK)
		return ret;
	err = loaded_value(l, c->t, &c->before);
	return err ? unreadable(l, "set", c->t, err) : EX_OK;
}

static void out_change(out_t *list, const struct loaded *l, const struct change *c)
{
	out_t *row = out_item(list);

	out_str(row, "name", "%s", c->t->name);
	out_tunable(row, "before", c->t, c->before);
	out_tunable(row, "value", c->t, c->value);
	out_line("%s of %s is %s (before: %s)", c->t->name, l->name,
		 json_object_get_string(out_at(row, "value")),
		 json_object_get_string(out_at(row, "before")));
}

/* All of them are checked before the first one changes. */
static enum exit_code set_all(const struct loaded *l, const struct args *args)
{
	struct change change[MAX_WORDS];
	unsigned int i, nr = args->nr_words - 1;
	enum exit_code ret = EX_OK;
	out_t *list;

	for (i = 0; ret == EX_OK && i < nr; i++)
		ret = check(l, args->word[i + 1], &change[i]);
	if (ret != EX_OK)
		return ret;
	out_str(out_root(), "scheduler", "%s", l->name);
	list = out_list(out_root(), "changed");
	for (i = 0; ret == EX_OK && i < nr; i++) {
		ret = loaded_set(l, "set", change[i].t, change[i].value);
		if (ret == EX_OK)
			out_change(list, l, &change[i]);
	}
	return ret;
}

enum exit_code cmd_set(const struct args *args)
{
	struct loaded l;
	enum exit_code ret = lock_take("set", args->word[0], args->timeout);

	if (ret != EX_OK)
		return ret;
	ret = loaded_open(&l, "set", args->word[0]);
	if (ret == EX_OK)
		ret = set_all(&l, args);
	loaded_close(&l);
	return ret;
}
