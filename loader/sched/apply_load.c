// SPDX-License-Identifier: GPL-2.0
/* The statements of [load]: a scheduler is loaded, set, or unloaded and loaded anew. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/signals.h"
#include "kernel/registry.h"
#include "sched/apply.h"
#include "sched/load.h"
#include "sched/steer_keep.h"
#include "sched/tunable_live.h"

enum exit_code apply_open(const struct apply *a, const struct config_line *l, struct object *o)
{
	const struct builtin *b = builtin_find(l->key);
	enum exit_code ret;
	unsigned int i;

	if (!b && access(l->key, F_OK))
		return fail(EX_FAILED, "`" PROGRAM " list` shows what there is",
			    "no such scheduler or file");
	ret = tunable_table_check_words(EX_FAILED, (const char *const *)l->word, l->nr_words);
	if (ret != EX_OK)
		return ret;
	ret = b ? object_open_builtin(o, b, a->kern.form)
		: object_open_file(o, l->key, a->kern.form);
	for (i = 0; ret == EX_OK && i < l->nr_words; i++) {
		ret = object_set(o, l->word[i]);
		if (ret != EX_OK)
			object_close(o);
	}
	return ret;
}

static enum exit_code load_line(const struct config_line *l)
{
	const struct settings settings = { (const char *const *)l->word, l->nr_words };
	char name[MPS_NAME_LEN];

	return load_sched(l->key, &settings, name);
}

static void settings_of(const struct config_line *l, char *buf, size_t size)
{
	size_t at = (size_t)snprintf(buf, size, "(");
	unsigned int i;

	for (i = 0; i < l->nr_words && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? " " : "", l->word[i]);
	if (at < size)
		snprintf(buf + at, size - at, "%s)", i ? "" : "defaults");
}

enum exit_code apply_change_load(struct apply *a, const struct config_line *l)
{
	enum exit_code ret = EX_OK;
	char detail[600];
	output_t *row;

	settings_of(l, detail, sizeof(detail));
	row = apply_add_row(a, l, "load", detail);
	if (!a->dry_run)
		ret = load_line(l);
	apply_finish_row(a, row, ret);
	return ret;
}

static enum exit_code reload_line(const struct config_line *l)
{
	const struct settings settings = { (const char *const *)l->word, l->nr_words };

	return reload_sched(l->key, &settings);
}

/* Steering's tables and options stay: nobody asked for their end. */
static enum exit_code reload_steer(const struct apply *a, const struct config_line *l)
{
	struct steer_kept kept;
	enum exit_code ret;
	sigset_t before;

	steer_keep(&kept);
	if (!kept.tables && !a->tables)
		return fail(EX_FAILED,
			    "write them to [paths] and [rules], or unload it with --force first",
			    "the rules and paths of what is loaded would be lost: %s",
			    steer_table_why(kept.err));
	signals_hold(&before);
	ret = reload_line(l);
	if (ret == EX_OK)
		ret = steer_put_back(&kept);
	signals_let(&before);
	steer_kept_free(&kept);
	return ret;
}

static enum exit_code change_reload(struct apply *a, const struct config_line *l, const char *name,
				    const char *why)
{
	enum exit_code ret = EX_OK;
	char detail[900];
	output_t *row;

	snprintf(detail, sizeof(detail), "(%s)", why);
	row = apply_add_row(a, l, "unload and load", detail);
	if (!a->dry_run)
		ret = strcmp(name, STEER_SCHEDULER) ? reload_line(l) : reload_steer(a, l);
	apply_finish_row(a, row, ret);
	return ret;
}

static enum exit_code change_set(struct apply *a, const struct config_line *l,
				 const struct tunable_live *now, const struct tunable *t,
				 __u32 before, __u32 value)
{
	char from[32], to[32], detail[200];
	enum exit_code ret = EX_OK;
	output_t *row;

	tunable_value_format(t, before, from, sizeof(from));
	tunable_value_format(t, value, to, sizeof(to));
	snprintf(detail, sizeof(detail), "%s=%s (now %s)", t->name, to, from);
	row = apply_add_row(a, l, "set", detail);
	if (!a->dry_run)
		ret = tunable_live_set(now, t, value);
	apply_finish_row(a, row, ret);
	return ret;
}

/* Why what is loaded cannot become what is wanted without being loaded anew; false: it can. */
static bool needs_reload(const struct object *o, const struct tunable_live *now, char *why,
			 size_t size)
{
	unsigned int i;

	for (i = 0; i < o->tunables.nr; i++) {
		const struct tunable *want = &o->tunables.t[i];
		const struct tunable *t =
			tunable_table_find(&now->tunables, want->name, strlen(want->name));
		char from[32], to[32];
		__u32 value;

		if (!t || tunable_live_value(now, t, &value)) {
			snprintf(why, size, "what is loaded has no tunable %s", want->name);
			return true;
		}
		if (t->section == TUNABLE_LIVE || value == object_value(o, want))
			continue;
		tunable_value_format(t, value, from, sizeof(from));
		tunable_value_format(want, object_value(o, want), to, sizeof(to));
		snprintf(why, size, "%s=%s, now %s, is fixed at load", t->name, to, from);
		return true;
	}
	return false;
}

static enum exit_code match_tunables(struct apply *a, const struct config_line *l,
				     const struct object *o, const struct sched *s)
{
	enum exit_code ret;
	struct tunable_live now;
	unsigned int i;
	char why[800];

	ret = tunable_live_open_sched(&now, s);
	if (ret == EX_OK && needs_reload(o, &now, why, sizeof(why))) {
		/* its maps must not be held while it goes */
		tunable_live_close(&now);
		return change_reload(a, l, s->name, why);
	}
	for (i = 0; i < o->tunables.nr && ret == EX_OK; i++) {
		const struct tunable *want = &o->tunables.t[i], *t;
		__u32 value = 0;

		t = tunable_table_find(&now.tunables, want->name, strlen(want->name));
		tunable_live_value(&now, t, &value);
		if (value != object_value(o, want))
			ret = change_set(a, l, &now, t, value, object_value(o, want));
	}
	tunable_live_close(&now);
	return ret;
}

enum exit_code apply_load(struct apply *a, const struct config_line *l)
{
	struct registry r;
	struct object o;
	struct sched *s;
	enum exit_code ret = apply_open(a, l, &o);

	if (ret != EX_OK)
		return ret;
	registry_read(&r);
	s = registry_find(&r, o.name);
	if (!s)
		ret = apply_change_load(a, l);
	else if (!s->pinned)
		ret = fail_on(EX_FAILED, o.name, "`" PROGRAM " list` shows where it comes from",
			      "a scheduler of this name was registered by somebody else");
	else
		ret = match_tunables(a, l, &o, s);
	registry_free(&r);
	object_close(&o);
	return ret;
}
