// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include "cmd.h"
#include "caps.h"
#include "object.h"
#include "world.h"

static const struct out_col cols[] = {
	{ "name", "NAME", OUT_LEFT },	      { "origin", "ORIGIN", OUT_LEFT },
	{ "registered", "LOADED", OUT_LEFT }, { "namespaces", "USED IN", OUT_LEFT },
	{ "about", "ABOUT", OUT_LEFT },	      { NULL, NULL, OUT_LEFT },
};

static const struct out_col tunable_cols[] = {
	{ "name", "TUNABLE", OUT_LEFT }, { "default", "DEFAULT", OUT_RIGHT },
	{ "min", "MIN", OUT_RIGHT },	 { "max", "MAX", OUT_RIGHT },
	{ "live", "LIVE", OUT_LEFT },	 { "text", "MEANING", OUT_LEFT },
	{ NULL, NULL, OUT_LEFT },
};

static void out_tunables(out_t *item, const struct object *o)
{
	out_t *list = out_list(item, "tunables");
	unsigned int i;

	for (i = 0; i < o->tunables.nr; i++) {
		const struct tunable *t = &o->tunables.t[i];
		out_t *row = out_item(list);

		out_str(row, "name", "%s", t->name);
		out_tunable(row, "default", t, t->def);
		out_tunable(row, "min", t, t->min);
		out_tunable(row, "max", t, t->max);
		out_flag(row, "live", t->section == TUNABLE_LIVE);
		out_str(row, "text", "%s", t->text);
	}
}

static enum exit_code describe_builtin(out_t *item, const struct builtin *b)
{
	struct object o;
	/* both forms of an object say the same about it */
	enum exit_code ret = object_open_builtin(&o, "list", b, FORM_SEND);

	if (ret != EX_OK)
		return ret;
	out_str(item, "about", "%s", o.about);
	out_tunables(item, &o);
	object_close(&o);
	return EX_OK;
}

static const char *origin(const struct sched *s, bool builtin, bool complete)
{
	if (!s)
		return "built-in";
	if (s->pinned)
		return builtin ? "built-in" : "loaded file";
	if (s->map_id)
		return "other program";
	return complete || !strcmp(s->name, "default") ? "kernel" : "unknown";
}

static out_t *out_sched(out_t *list, struct world *w, const struct sched *s, const char *name,
			bool builtin)
{
	out_t *item = out_item(list);
	char path[128];

	out_str(item, "name", "%s", name);
	out_str(item, "origin", "%s", origin(s, builtin, w->schedulers.complete));
	out_flag(item, "builtin", builtin);
	out_flag(item, "registered", s != NULL);
	pin_path(name, path, sizeof(path));
	if (s && s->pinned)
		out_str(item, "pin", "%s", path);
	else
		out_null(item, "pin");
	out_users(out_list(item, "namespaces"), &w->namespaces, name);
	return item;
}

static void print_tunables(out_t *list)
{
	size_t i, n = json_object_array_length(list);

	for (i = 0; i < n; i++) {
		out_t *item = json_object_array_get_idx(list, i);
		out_t *tunables = json_object_object_get(item, "tunables");

		if (!tunables || !json_object_array_length(tunables))
			continue;
		out_line("\n%s", json_object_get_string(json_object_object_get(item, "name")));
		out_table(tunables, tunable_cols, "  ");
	}
}

/* Without privilege too: then it knows the names of what is loaded, no more. */
enum exit_code cmd_list(const struct args *args)
{
	out_t *list = out_list(out_root(), "schedulers");
	struct world w = { 0 };
	char missing[200];
	enum exit_code ret = EX_OK;
	unsigned int i;

	registry_read(&w.schedulers);
	netns_read(&w.namespaces);
	for (i = 0; i < nr_builtins && ret == EX_OK; i++) {
		const char *name = builtins[i].name;

		ret = describe_builtin(
			out_sched(list, &w, registry_find(&w.schedulers, name), name, true),
			&builtins[i]);
	}
	for (i = 0; i < w.schedulers.nr && ret == EX_OK; i++) {
		const struct sched *s = &w.schedulers.sched[i];

		if (s->registered && !builtin_find(s->name))
			out_sched(list, &w, s, s->name, false);
	}
	if (ret == EX_OK)
		out_table(list, cols, "");
	if (ret == EX_OK && args->verbose)
		print_tunables(list);
	if (ret == EX_OK && caps_missing(CAPS_LIST, missing, sizeof(missing)))
		out_note("without %s not every namespace, origin and pin is visible", missing);
	world_free(&w);
	return ret;
}
