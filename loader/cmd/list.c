// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include "cli/caps.h"
#include "cmd/commands.h"
#include "kernel/pin.h"
#include "sched/leftovers.h"
#include "sched/object.h"
#include "sched/pindir.h"
#include "sched/usage.h"

static const struct output_col cols[] = {
	{ "name", "NAME", OUTPUT_LEFT },	 { "origin", "ORIGIN", OUTPUT_LEFT },
	{ "registered", "LOADED", OUTPUT_LEFT }, { "namespaces", "USED IN", OUTPUT_LEFT },
	{ "about", "ABOUT", OUTPUT_LEFT },	 { NULL, NULL, OUTPUT_LEFT },
};

static const struct output_col tunable_cols[] = {
	{ "name", "TUNABLE", OUTPUT_LEFT }, { "default", "DEFAULT", OUTPUT_RIGHT },
	{ "min", "MIN", OUTPUT_RIGHT },	    { "max", "MAX", OUTPUT_RIGHT },
	{ "live", "LIVE", OUTPUT_LEFT },    { "text", "MEANING", OUTPUT_LEFT },
	{ NULL, NULL, OUTPUT_LEFT },
};

static void output_tunables(output_t *item, const struct object *o)
{
	output_t *list = output_list(item, "tunables");
	unsigned int i;

	for (i = 0; i < o->tunables.nr; i++) {
		const struct tunable *t = &o->tunables.t[i];
		output_t *row = output_item(list);

		output_str(row, "name", "%s", t->name);
		output_tunable(row, "default", t, t->def);
		output_tunable(row, "min", t, t->min);
		output_tunable(row, "max", t, t->max);
		output_flag(row, "live", t->section == TUNABLE_LIVE);
		output_str(row, "text", "%s", t->text);
	}
}

static enum exit_code describe_builtin(output_t *item, const struct builtin *b)
{
	struct object o;
	/* both forms of an object say the same about it */
	enum exit_code ret = object_open_builtin(&o, b, FORM_SEND);

	if (ret != EX_OK)
		return ret;
	output_str(item, "about", "%s", o.about);
	output_tunables(item, &o);
	object_close(&o);
	return EX_OK;
}

static const char *origin(const struct sched *s, bool builtin, bool complete)
{
	if (!s)
		return "built-in";
	if (s->pinned)
		return builtin ? "built-in" : "loaded file";
	if (s->map_id && pindir_out_of_sight())
		return "unknown";
	if (s->map_id)
		return "other program";
	return complete || !strcmp(s->name, "default") ? "kernel" : "unknown";
}

static output_t *output_sched(output_t *list, struct usage *u, const struct sched *s,
			      const char *name, bool builtin)
{
	output_t *item = output_item(list);
	char path[128];

	output_str(item, "name", "%s", name);
	output_str(item, "origin", "%s", origin(s, builtin, u->schedulers.complete));
	output_flag(item, "builtin", builtin);
	output_flag(item, "registered", s != NULL);
	pin_path(name, path, sizeof(path));
	if (s && s->pinned)
		output_str(item, "pin", "%s", path);
	else
		output_null(item, "pin");
	output_users(output_list(item, "namespaces"), &u->namespaces, name);
	return item;
}

static void print_tunables(output_t *list)
{
	size_t i, n = json_object_array_length(list);

	for (i = 0; i < n; i++) {
		output_t *item = json_object_array_get_idx(list, i);
		output_t *tunables = json_object_object_get(item, "tunables");

		if (!tunables || !json_object_array_length(tunables))
			continue;
		output_line("\n%s", json_object_get_string(json_object_object_get(item, "name")));
		output_table(tunables, tunable_cols, "  ");
	}
}

/* Without privilege too: then it knows the names of what is loaded, no more. */
enum exit_code cmd_list(const struct args *args)
{
	ERROR_ABOUT("list", NULL);
	output_t *list = output_list(output_root(), "schedulers");
	struct usage u = { 0 };
	char missing[200];
	enum exit_code ret = EX_OK;
	unsigned int i;

	registry_read(&u.schedulers);
	netns_read(&u.namespaces);
	for (i = 0; i < nr_builtins && ret == EX_OK; i++) {
		const char *name = builtins[i].name;

		ret = describe_builtin(
			output_sched(list, &u, registry_find(&u.schedulers, name), name, true),
			&builtins[i]);
	}
	for (i = 0; i < u.schedulers.nr && ret == EX_OK; i++) {
		const struct sched *s = &u.schedulers.sched[i];

		if (s->registered && !builtin_find(s->name))
			output_sched(list, &u, s, s->name, false);
	}
	if (ret == EX_OK)
		output_table(list, cols, "");
	if (ret == EX_OK && args->verbose)
		print_tunables(list);
	if (ret == EX_OK)
		leftovers_note(&u.schedulers);
	if (ret == EX_OK && pindir_out_of_sight())
		output_note(PINS_OUT_OF_SIGHT "; " HINT_OUTSIDE);
	if (ret == EX_OK && caps_missing(CAPS_LIST, missing, sizeof(missing)))
		output_note("without %s not every namespace, origin and pin is visible", missing);
	usage_free(&u);
	return ret;
}
