// SPDX-License-Identifier: GPL-2.0
/*
 * apply: makes the system match the configuration file. It looks first, so a
 * second run finds nothing to do; what the file does not mention stays as it is.
 * One statement that fails does not keep the others from being done: at boot
 * a namespace may come later than this.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd.h"
#include "config.h"
#include "loaded.h"
#include "lock.h"
#include "object.h"
#include "out.h"
#include "reinject.h"
#include "select.h"

struct apply {
	const struct args *args;
	struct config config;
	struct kern kern;
	char (*name)[MPS_NAME_LEN]; /* of each line of [load], as it registers */
	out_t *changes;
	unsigned int nr, nr_done;
};

/* "apply FILE:LINE," of the errors */
struct place {
	char text[340];
};

static const char *operation_of(const struct apply *a, const struct config_line *l, struct place *p)
{
	char place[300];

	snprintf(p->text, sizeof(p->text), "apply %s,",
		 config_place(&a->config, l->line, place, sizeof(place)));
	return p->text;
}

static const char *subject_of(const struct config_line *l, char *buf, size_t size)
{
	if (l->kind == CONFIG_ROOT)
		snprintf(buf, size, "the root namespace");
	else
		snprintf(buf, size, "%s%s", l->kind == CONFIG_NETNS ? "namespace " : "", l->key);
	return buf;
}

static out_t *add_change(struct apply *a, const struct config_line *l, const char *what,
			 const char *detail)
{
	out_t *row = out_item(a->changes);
	char subject[300];

	a->nr++;
	out_str(row, "change", "%s", what);
	out_str(row, "object", "%s", subject_of(l, subject, sizeof(subject)));
	out_str(row, "detail", "%s", detail);
	out_num(row, "line", l->line);
	out_flag(row, "done", false);
	return row;
}

static void finish_change(struct apply *a, out_t *row, enum exit_code ret)
{
	const char *how = a->args->dry_run ? "would" : ret == EX_OK ? "done:" : "FAILED:";

	a->nr_done += ret == EX_OK && !a->args->dry_run;
	out_flag(row, "done", ret == EX_OK && !a->args->dry_run);
	out_line("%s %s %s %s", how, json_object_get_string(out_at(row, "change")),
		 json_object_get_string(out_at(row, "object")),
		 json_object_get_string(out_at(row, "detail")));
}

/* --- schedulers */

static enum exit_code open_line(const struct apply *a, const struct config_line *l,
				struct object *o)
{
	const struct builtin *b = builtin_find(l->key);
	enum exit_code ret;
	struct place p;
	unsigned int i;

	if (!b && access(l->key, F_OK))
		return fail(EX_FAILED, operation_of(a, l, &p), l->key,
			    "`" PROGRAM " list` shows what there is", "no such scheduler or file");
	ret = b ? object_open_builtin(o, operation_of(a, l, &p), b, a->kern.form)
		: object_open_file(o, operation_of(a, l, &p), l->key, a->kern.form);
	for (i = 0; ret == EX_OK && i < l->nr_words; i++) {
		ret = object_set(o, operation_of(a, l, &p), l->word[i]);
		if (ret != EX_OK)
			object_close(o);
	}
	return ret;
}

static enum exit_code load_line(const struct config_line *l, const char *operation)
{
	struct args args = { .nr_set = l->nr_words };
	char name[MPS_NAME_LEN];

	memcpy(args.set, l->word, sizeof(args.set));
	return load_sched(operation, l->key, &args, name);
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

static enum exit_code change_load(struct apply *a, const struct config_line *l)
{
	enum exit_code ret = EX_OK;
	char detail[600];
	struct place p;
	out_t *row;

	settings_of(l, detail, sizeof(detail));
	row = add_change(a, l, "load", detail);
	if (!a->args->dry_run)
		ret = load_line(l, operation_of(a, l, &p));
	finish_change(a, row, ret);
	return ret;
}

static enum exit_code change_reload(struct apply *a, const struct config_line *l, const char *name,
				    const char *why)
{
	enum exit_code ret = EX_OK;
	char detail[900];
	struct place p;
	out_t *row;

	snprintf(detail, sizeof(detail), "(%s)", why);
	row = add_change(a, l, "unload and load", detail);
	if (!a->args->dry_run) {
		ret = unload_sched(name, true);
		if (ret == EX_OK)
			ret = load_line(l, operation_of(a, l, &p));
	}
	finish_change(a, row, ret);
	return ret;
}

static enum exit_code change_set(struct apply *a, const struct config_line *l,
				 const struct loaded *now, const struct tunable *t, __u32 before,
				 __u32 value)
{
	char from[32], to[32], detail[200];
	enum exit_code ret = EX_OK;
	struct place p;
	out_t *row;

	tunable_format(t, before, from, sizeof(from));
	tunable_format(t, value, to, sizeof(to));
	snprintf(detail, sizeof(detail), "%s=%s (now %s)", t->name, to, from);
	row = add_change(a, l, "set", detail);
	if (!a->args->dry_run)
		ret = loaded_set(now, operation_of(a, l, &p), t, value);
	finish_change(a, row, ret);
	return ret;
}

/* Why what is loaded cannot become what is wanted without being loaded anew; false: it can. */
static bool needs_reload(const struct object *o, const struct loaded *now, char *why, size_t size)
{
	unsigned int i;

	for (i = 0; i < o->tunables.nr; i++) {
		const struct tunable *want = &o->tunables.t[i];
		const struct tunable *t =
			tunables_find(&now->tunables, want->name, strlen(want->name));
		char from[32], to[32];
		__u32 value;

		if (!t || loaded_value(now, t, &value)) {
			snprintf(why, size, "what is loaded has no tunable %s", want->name);
			return true;
		}
		if (t->section == TUNABLE_LIVE || value == object_value(o, want))
			continue;
		tunable_format(t, value, from, sizeof(from));
		tunable_format(want, object_value(o, want), to, sizeof(to));
		snprintf(why, size, "%s=%s, now %s, is fixed at load", t->name, to, from);
		return true;
	}
	return false;
}

static enum exit_code match_tunables(struct apply *a, const struct config_line *l,
				     const struct object *o, const struct sched *s)
{
	enum exit_code ret;
	struct loaded now;
	struct place p;
	unsigned int i;
	char why[800];

	ret = loaded_open_sched(&now, operation_of(a, l, &p), s);
	if (ret == EX_OK && needs_reload(o, &now, why, sizeof(why))) {
		/* its maps must not be held while it goes */
		loaded_close(&now);
		return change_reload(a, l, s->name, why);
	}
	for (i = 0; i < o->tunables.nr && ret == EX_OK; i++) {
		const struct tunable *want = &o->tunables.t[i], *t;
		__u32 value = 0;

		t = tunables_find(&now.tunables, want->name, strlen(want->name));
		loaded_value(&now, t, &value);
		if (value != object_value(o, want))
			ret = change_set(a, l, &now, t, value, object_value(o, want));
	}
	loaded_close(&now);
	return ret;
}

static enum exit_code apply_load(struct apply *a, const struct config_line *l)
{
	struct registry r;
	struct object o;
	struct sched *s;
	struct place p;
	enum exit_code ret = open_line(a, l, &o);

	if (ret != EX_OK)
		return ret;
	registry_read(&r);
	s = registry_find(&r, o.name);
	if (!s)
		ret = change_load(a, l);
	else if (!s->pinned)
		ret = fail(EX_FAILED, operation_of(a, l, &p), o.name,
			   "`" PROGRAM " list` shows where it comes from",
			   "a scheduler of this name was registered by somebody else");
	else
		ret = match_tunables(a, l, &o, s);
	registry_free(&r);
	object_close(&o);
	return ret;
}

/* --- namespaces */

static enum exit_code find_namespace(const struct apply *a, const struct config_line *l,
				     struct netns *ns)
{
	char path[300];
	struct place p;

	if (l->kind == CONFIG_ROOT) {
		enum exit_code ret = netns_resolve(ns, operation_of(a, l, &p), "/proc/1/ns/net");

		snprintf(ns->name, sizeof(ns->name), "(root)");
		return ret;
	}
	if (strchr(l->key, '/') || strlen(l->key) > 200)
		return fail(EX_FAILED, operation_of(a, l, &p), l->key, NULL,
			    "not a name of `ip netns list`");
	snprintf(path, sizeof(path), NETNS_DIR "/%s", l->key);
	if (access(path, F_OK))
		return fail(EX_FAILED, operation_of(a, l, &p), l->key,
			    "`ip netns add` makes it; then `" PROGRAM " apply` again",
			    "no such network namespace");
	return netns_resolve(ns, operation_of(a, l, &p), path);
}

static enum exit_code apply_use(struct apply *a, const struct config_line *l)
{
	const char *name = l->word[0];
	char now[MPS_NAME_LEN] = "?", detail[200];
	struct mps_reinject_ns counters;
	struct selected done = { .gone = false };
	enum exit_code ret;
	struct netns ns;
	struct place p;
	bool early;
	out_t *row;
	int map;

	ret = find_namespace(a, l, &ns);
	if (ret != EX_OK)
		return ret;
	netns_get_sched(&ns, now);
	map = reinject_map();
	early = reinject_read(map, &ns, &counters);
	if (map >= 0)
		close(map);
	if (!strcmp(now, name) && early == l->reinject)
		return EX_OK;
	snprintf(detail, sizeof(detail), "%s%s (now %s%s)", name, l->reinject ? " --reinject" : "",
		 now, early ? " --reinject" : "");
	row = add_change(a, l, "use in", detail);
	if (!a->args->dry_run && !kern_has_sched(name))
		ret = fail(EX_FAILED, operation_of(a, l, &p), name, NULL,
			   "it could not be loaded, so it cannot be selected");
	else if (!a->args->dry_run)
		ret = select_in(operation_of(a, l, &p), &ns, name, l->reinject, &done);
	if (done.gone)
		ret = fail(EX_FAILED, operation_of(a, l, &p), name, NULL,
			   "the network namespace has just ended");
	finish_change(a, row, ret);
	return ret;
}

/* --- before anything is changed */

/* What is wrong with the file by itself, and with what it names. */
static enum exit_code check_load(struct apply *a, unsigned int at)
{
	const struct config_line *l = &a->config.line[at];
	char hint[80];
	struct place p;
	struct object o;
	enum exit_code ret = open_line(a, l, &o);
	unsigned int i;

	if (ret != EX_OK)
		return ret;
	snprintf(a->name[at], MPS_NAME_LEN, "%s", o.name);
	object_close(&o);
	for (i = 0; i < at; i++) {
		if (strcmp(a->name[i], a->name[at]))
			continue;
		snprintf(hint, sizeof(hint), "it is in line %u already", a->config.line[i].line);
		return fail(EX_FAILED, operation_of(a, l, &p), l->key, hint,
			    "a second scheduler that registers as %s", a->name[at]);
	}
	return EX_OK;
}

static enum exit_code check_use(struct apply *a, const struct config_line *l)
{
	const char *name = l->word[0];
	struct place p;
	unsigned int i;

	for (i = 0; i < a->config.nr; i++)
		if (!strcmp(a->name[i], name))
			return EX_OK;
	/* what nobody lists in [load] was registered by somebody else, or is the kernel's */
	if (!builtin_find(name) && kern_has_sched(name))
		return EX_OK;
	return fail(EX_FAILED, operation_of(a, l, &p), name, "add it to [load]",
		    "no such scheduler is in [load] or part of the kernel");
}

static enum exit_code check_all(struct apply *a)
{
	enum exit_code ret = EX_OK;
	unsigned int i;

	kern_probe(&a->kern);
	if (!a->kern.mptcp)
		return fail(EX_KERNEL, "apply", a->config.path,
			    "`" PROGRAM " doctor` says what to do",
			    "this kernel has no " SYSCTL_DIR "/scheduler");
	a->name = calloc(a->config.nr + 1, sizeof(*a->name));
	if (!a->name)
		return fail(EX_FAILED, "apply", a->config.path, NULL, "out of memory");
	for (i = 0; ret == EX_OK && i < a->config.nr; i++)
		if (a->config.line[i].kind == CONFIG_LOAD)
			ret = check_load(a, i);
	for (i = 0; ret == EX_OK && i < a->config.nr; i++)
		if (a->config.line[i].kind != CONFIG_LOAD)
			ret = check_use(a, &a->config.line[i]);
	return ret;
}

/* Schedulers first, wherever they stand in the file. */
static enum exit_code apply_all(struct apply *a)
{
	enum exit_code ret = EX_OK, one;
	unsigned int i, kind;

	for (kind = 0; kind < NR_CONFIG_KINDS; kind++) {
		for (i = 0; i < a->config.nr; i++) {
			const struct config_line *l = &a->config.line[i];

			if (l->kind != kind)
				continue;
			one = kind == CONFIG_LOAD ? apply_load(a, l) : apply_use(a, l);
			ret = one == EX_OK ? ret : one;
		}
	}
	return ret;
}

static void tell(const struct apply *a, enum exit_code ret)
{
	out_str(out_root(), "config", "%s", a->config.path);
	out_flag(out_root(), "dry_run", a->args->dry_run);
	out_num(out_root(), "done", a->nr_done);
	if (!a->nr && ret == EX_OK)
		out_line("nothing to do: all is as %s says", a->config.path);
	else if (!a->args->dry_run)
		out_line("%u of %u changes done", a->nr_done, a->nr);
}

enum exit_code cmd_apply(const struct args *args)
{
	struct apply a = { .args = args };
	const char *path = args->config ? args->config : CONFIG_FILE;
	enum exit_code ret = config_read(&a.config, path);

	if (ret == EX_OK && !args->dry_run)
		ret = lock_take("apply", path, args->timeout);
	if (ret == EX_OK)
		ret = check_all(&a);
	if (ret == EX_OK) {
		a.changes = out_list(out_root(), "changes");
		ret = apply_all(&a);
		tell(&a, ret);
	}
	free(a.name);
	config_free(&a.config);
	return ret;
}
