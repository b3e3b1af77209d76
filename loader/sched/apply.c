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
#include "sched/apply.h"
#include "sched/pindir.h"
#include "sched/reinject.h"
#include "sched/select.h"

/* Errors are those of the line, about what it is for where they name nothing else. */
static enum exit_code on_line(struct apply *a, const struct config_line *l,
			      enum exit_code (*call)(struct apply *a, const struct config_line *l))
{
	char place[300], operation[340];

	snprintf(operation, sizeof(operation), "apply %s,",
		 config_place(&a->config, l->line, place, sizeof(place)));
	ERROR_ABOUT(operation, l->key);
	return call(a, l);
}

static const char *subject_of(const struct config_line *l, char *buf, size_t size)
{
	if (l->kind == CONFIG_ROOT)
		snprintf(buf, size, "the root namespace");
	else
		snprintf(buf, size, "%s%s", l->kind == CONFIG_NETNS ? "namespace " : "", l->key);
	return buf;
}

output_t *apply_add_change(struct apply *a, const struct config_line *l, const char *subject,
			   const char *what, const char *detail)
{
	output_t *row = output_item(a->changes);

	a->nr++;
	output_str(row, "change", "%s", what);
	output_str(row, "object", "%s", subject);
	output_str(row, "detail", "%s", detail);
	output_num(row, "line", l->line);
	output_flag(row, "done", false);
	return row;
}

output_t *apply_add_row(struct apply *a, const struct config_line *l, const char *what,
			const char *detail)
{
	char subject[300];

	return apply_add_change(a, l, subject_of(l, subject, sizeof(subject)), what, detail);
}

void apply_finish_row(struct apply *a, output_t *row, enum exit_code ret)
{
	const char *how = a->dry_run ? "would" : ret == EX_OK ? "done:" : "FAILED:";

	a->nr_done += ret == EX_OK && !a->dry_run;
	output_flag(row, "done", ret == EX_OK && !a->dry_run);
	output_line("%s %s %s %s", how, json_object_get_string(output_at(row, "change")),
		    json_object_get_string(output_at(row, "object")),
		    json_object_get_string(output_at(row, "detail")));
}

static bool is_listed(const struct apply *a, const char *name)
{
	unsigned int i;

	for (i = 0; i < a->config.nr; i++)
		if (!strcmp(a->name[i], name))
			return true;
	return false;
}

/* As `use` does it; what [load] lists was tried before. */
enum exit_code apply_load_unlisted(struct apply *a, const struct config_line *l, const char *name)
{
	char key[MPS_NAME_LEN];
	struct config_line load = { .kind = CONFIG_LOAD, .key = key, .line = l->line };
	enum exit_code ret;

	if (kern_has_sched(name) || is_listed(a, name) || !builtin_find(name))
		return EX_OK;
	snprintf(key, sizeof(key), "%s", name);
	ret = apply_change_load(a, &load);
	/* once, also in a dry run, after which it is still not there */
	if (ret == EX_OK)
		snprintf(a->name[l - a->config.line], MPS_NAME_LEN, "%s", name);
	return ret;
}

static enum exit_code find_namespace(const struct apply *a, const struct config_line *l,
				     struct netns *ns)
{
	char path[300];

	if (l->kind == CONFIG_ROOT) {
		enum exit_code ret = netns_resolve(ns, "/proc/1/ns/net");

		snprintf(ns->name, sizeof(ns->name), "(root)");
		return ret;
	}
	if (strchr(l->key, '/') || strlen(l->key) > 200)
		return fail(EX_FAILED, NULL, "not a name of `ip netns list`");
	snprintf(path, sizeof(path), NETNS_DIR "/%s", l->key);
	if (access(path, F_OK))
		return fail(EX_FAILED, "`ip netns add` makes it; then `" PROGRAM " apply` again",
			    "no such network namespace");
	return netns_resolve(ns, path);
}

static enum exit_code apply_use(struct apply *a, const struct config_line *l)
{
	const char *name = l->word[0];
	char now[MPS_NAME_LEN] = "?", detail[200];
	struct mps_reinject_ns counters;
	struct selected done = { .gone = false };
	enum exit_code ret;
	struct netns ns;
	bool early;
	output_t *row;
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
	ret = apply_load_unlisted(a, l, name);
	if (ret != EX_OK)
		return ret;
	snprintf(detail, sizeof(detail), "%s%s (now %s%s)", name, l->reinject ? " --reinject" : "",
		 now, early ? " --reinject" : "");
	row = apply_add_row(a, l, "use in", detail);
	if (!a->dry_run && !kern_has_sched(name))
		ret = fail_on(EX_FAILED, name, NULL,
			      "it could not be loaded, so it cannot be selected");
	else if (!a->dry_run)
		ret = select_in(&ns, name, l->reinject, &done);
	if (done.gone)
		ret = fail_on(EX_FAILED, name, NULL, "the network namespace has just ended");
	apply_finish_row(a, row, ret);
	return ret;
}

/* --- before anything is changed */

/* What is wrong with the file by itself, and with what it names. */
static enum exit_code check_load(struct apply *a, const struct config_line *l)
{
	const unsigned int at = (unsigned int)(l - a->config.line);
	char hint[80];
	struct object o;
	enum exit_code ret = apply_open(a, l, &o);
	unsigned int i;

	if (ret != EX_OK)
		return ret;
	snprintf(a->name[at], MPS_NAME_LEN, "%s", o.name);
	object_close(&o);
	for (i = 0; i < at; i++) {
		if (strcmp(a->name[i], a->name[at]))
			continue;
		snprintf(hint, sizeof(hint), "it is in line %u already", a->config.line[i].line);
		return fail(EX_FAILED, hint, "a second scheduler that registers as %s",
			    a->name[at]);
	}
	return EX_OK;
}

static enum exit_code check_known(struct apply *a, const char *name)
{
	if (is_listed(a, name))
		return EX_OK;
	/* else it was registered by somebody else, or is the kernel's */
	if (builtin_find(name) || kern_has_sched(name))
		return EX_OK;
	return fail_on(EX_FAILED, name, "add it to [load]",
		       "no such scheduler is in [load], comes with this command or is part of the "
		       "kernel");
}

static enum exit_code check_use(struct apply *a, const struct config_line *l)
{
	return check_known(a, l->word[0]);
}

/* What may be asked for may be of [load] or of the kernel, too. */
static enum exit_code check_asked(struct apply *a, const struct config_line *l)
{
	enum exit_code ret = EX_OK;
	unsigned int i;

	for (i = 0; i < l->nr_words && ret == EX_OK; i++)
		if (strcmp(l->word[i], CONFIG_REINJECT))
			ret = check_known(a, l->word[i]);
	return ret;
}

/* Nothing is done about it here, but a slip is to be found before a container does. */
static enum exit_code check_containers(struct apply *a, const struct config_line *l)
{
	unsigned int i;

	if (!strcmp(l->key, CONFIG_MAY_ASK))
		return check_asked(a, l);
	for (i = 0; i < l->nr_words; i++)
		if (strcmp(l->word[i], CONFIG_REINJECT) && !builtin_find(l->word[i]))
			return fail_on(EX_FAILED, l->word[i],
				       "`" PROGRAM " list` shows what there is",
				       "no such scheduler comes with this command");
	return EX_OK;
}

static const struct {
	enum exit_code (*check)(struct apply *a, const struct config_line *l);
	enum exit_code (*apply)(struct apply *a, const struct config_line *l);
} kinds[NR_CONFIG_KINDS] = {
	[CONFIG_LOAD] = { check_load, apply_load },
	[CONFIG_PATHS] = { apply_check_row, apply_row },
	[CONFIG_RULES] = { apply_check_row, apply_row },
	[CONFIG_ROOT] = { check_use, apply_use },
	[CONFIG_NETNS] = { check_use, apply_use },
	[CONFIG_CONTAINERS] = { check_containers, NULL },
};

/* The last error counts; stops: the first one, and ends it. */
static enum exit_code
each_line(struct apply *a, unsigned int kind,
	  enum exit_code (*call)(struct apply *a, const struct config_line *l), bool stops)
{
	enum exit_code ret = EX_OK, one;
	unsigned int i;

	for (i = 0; call && i < a->config.nr && (ret == EX_OK || !stops); i++) {
		if (a->config.line[i].kind != kind)
			continue;
		one = on_line(a, &a->config.line[i], call);
		ret = one == EX_OK ? ret : one;
	}
	return ret;
}

enum exit_code apply_check(struct apply *a)
{
	ERROR_ABOUT("apply", a->config.path);
	enum exit_code ret = EX_OK;
	unsigned int kind;

	kern_probe(&a->kern);
	if (!a->kern.mptcp)
		return fail(EX_KERNEL, "`" PROGRAM " doctor` says what to do",
			    "this kernel has no " SYSCTL_DIR "/scheduler");
	if (pindir_out_of_sight())
		return fail(EX_FAILED, "run it outside of that", "%s", PINS_OUT_OF_SIGHT);
	a->name = calloc(a->config.nr + 1, sizeof(*a->name));
	a->left_out = calloc(a->config.nr + 1, sizeof(*a->left_out));
	if (!a->name || !a->left_out)
		return fail(EX_FAILED, NULL, "out of memory");
	for (kind = 0; ret == EX_OK && kind < NR_CONFIG_KINDS; kind++)
		ret = each_line(a, kind, kinds[kind].check, true);
	return ret;
}

/* Schedulers first, wherever they stand in the file. */
enum exit_code apply_all(struct apply *a)
{
	enum exit_code ret = EX_OK, one;
	unsigned int kind;

	a->changes = output_list(output_root(), "changes");
	for (kind = 0; kind < NR_CONFIG_KINDS; kind++) {
		one = each_line(a, kind, kinds[kind].apply, false);
		ret = one == EX_OK ? ret : one;
		one = kind == CONFIG_RULES ? apply_tables(a) : EX_OK;
		ret = one == EX_OK ? ret : one;
	}
	return ret;
}

void apply_free(struct apply *a)
{
	free(a->name);
	free(a->left_out);
	free(a->tables);
	config_free(&a->config);
}
