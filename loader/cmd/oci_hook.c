// SPDX-License-Identifier: GPL-2.0
/*
 * A hook of container runtimes (OCI runtime specification, "POSIX-platform
 * Hooks"): selects the scheduler that a container's annotations ask for, in its
 * network namespace, before its process starts. At the stage createRuntime the
 * namespace is there and joined, and the hook still runs outside: with this
 * command, bpffs and the rights of the runtime in reach. createContainer and
 * startContainer run inside, prestart is the old name of createRuntime without
 * its promises, and with poststart the process may have opened its sockets.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/config.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/util.h"
#include "cmd/commands.h"
#include "kernel/lock.h"
#include "sched/builtin.h"
#include "sched/reinject.h"
#include "sched/select.h"

#define PREFIX "mptcp.sched/"
#define KEY_NAME PREFIX "name"
#define KEY_REINJECT PREFIX "reinject"
#define HINT_STATE "it is for container runtimes, which give it the container's state"

struct wish {
	const char *id, *name;
	bool reinject, named;
	pid_t pid;
};

static enum exit_code refuse(const char *annotation, const char *hint, const char *why)
{
	return fail_on(EX_FAILED, annotation, hint, "%s", why);
}

static enum exit_code read_annotation(struct wish *w, const char *key, output_t *value)
{
	const char *text = json_object_get_string(value);

	if (strncmp(key, PREFIX, strlen(PREFIX)))
		return EX_OK;
	if (!json_object_is_type(value, json_type_string))
		return refuse(key, NULL, "the annotation is no string");
	if (!strcmp(key, KEY_NAME)) {
		w->name = text;
		return EX_OK;
	}
	if (strcmp(key, KEY_REINJECT))
		return refuse(key, "there are " KEY_NAME " and " KEY_REINJECT,
			      "no such annotation is known");
	w->reinject = !strcmp(text, "true");
	if (!w->reinject && strcmp(text, "false"))
		return refuse(key, NULL, "the annotation is neither true nor false");
	return EX_OK;
}

static enum exit_code read_wish(struct wish *w, output_t *state)
{
	output_t *id = output_at(state, "id"), *pid = output_at(state, "pid");
	output_t *annotations = output_at(state, "annotations");
	enum exit_code ret = EX_OK;

	w->id = id ? json_object_get_string(id) : "?";
	if (json_object_is_type(annotations, json_type_object)) {
		json_object_object_foreach(annotations, key, value) {
			if (ret == EX_OK)
				ret = read_annotation(w, key, value);
		}
	}
	w->named = w->name;
	if (ret == EX_OK && w->reinject && !w->name)
		w->name = "default";
	if (ret != EX_OK || !w->name)
		return ret;
	w->pid = json_object_is_type(pid, json_type_int) ? json_object_get_int(pid) : 0;
	if (w->pid <= 0)
		return refuse("its state", HINT_STATE,
			      "the state on stdin has no process id (stage createRuntime has one)");
	return EX_OK;
}

/* The host's choice is not for a container to make. */
static enum exit_code check_namespace(const struct wish *w, struct netns *ns)
{
	char path[64];
	enum exit_code ret;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)w->pid);
	ret = netns_resolve(ns, path);
	if (ret == EX_OK && netns_is_hosts(ns))
		ret = refuse(w->name, "give the container a network namespace, or no annotation",
			     "it shares the host's network namespace, whose scheduler is not its "
			     "to choose");
	return ret;
}

static enum exit_code not_listed(const char *what, const char *how)
{
	return fail_on(EX_FAILED, what, how, CONFIG_FILE " does not let a container ask for it");
}

/* Early copies are the default scheduler's, so who may have these may have that. */
static enum exit_code check_listed(const struct wish *w, const struct config *c)
{
	if (w->named && !config_lets_ask(c, w->name))
		return not_listed(w->name,
				  "name it there: [containers] " CONFIG_MAY_ASK " = SCHEDULER ...");
	if (w->reinject && !config_lets_ask(c, CONFIG_REINJECT))
		return not_listed(KEY_REINJECT, "name it there: [containers] " CONFIG_MAY_ASK
						" = " CONFIG_REINJECT);
	return EX_OK;
}

/* A pod's annotation is its author's, who has no say in what runs on the host. */
static enum exit_code not_allowed(const char *what, const char *how)
{
	return fail_on(EX_FAILED, what, how,
		       "it is not loaded, and " CONFIG_FILE
		       " does not let a container have it loaded");
}

static enum exit_code check_allowed(const struct wish *w, const struct config *c)
{
	if (builtin_find(w->name) && !kern_has_sched(w->name) && !config_lets_load(c, w->name))
		return not_allowed(w->name, "`" PROGRAM " load` it on the host, or name it there: "
					    "[containers] load = SCHEDULER");
	if (w->reinject && !is_there(REINJECT_PIN) && !config_lets_load(c, CONFIG_REINJECT))
		return not_allowed(KEY_REINJECT,
				   "name it there: [containers] load = " CONFIG_REINJECT);
	return EX_OK;
}

/* With the tunables that the host's own line for it has. */
static void take_tunables(struct settings *to, const struct config *c, const char *name)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		const struct config_line *l = &c->line[i];

		if (l->kind != CONFIG_LOAD || strcmp(l->key, name))
			continue;
		to->word = (const char *const *)l->word;
		to->nr = l->nr_words;
	}
}

/* Loads what is not there, where the host's configuration has it so. */
static enum exit_code provide(const struct wish *w, const struct config *c)
{
	struct settings settings = { 0 };
	enum exit_code ret = check_allowed(w, c);
	bool loaded;

	if (ret == EX_OK && !kern_has_sched(w->name))
		take_tunables(&settings, c, w->name);
	return ret == EX_OK ? select_prepare(w->name, &settings, &loaded) : ret;
}

static bool is_all_there(const struct wish *w)
{
	return kern_has_sched(w->name) && (!w->reinject || is_there(REINJECT_PIN));
}

/*
 * By the host's configuration. Where that has a slip nothing is granted: it may be in the list of
 * what may be asked for.
 */
static enum exit_code allow(const struct wish *w)
{
	struct config config = { 0 };
	enum exit_code ret = EX_OK;

	/* one that cannot be reached is one with a slip */
	if (!is_nowhere(CONFIG_FILE))
		ret = config_read(&config, CONFIG_FILE);
	if (ret == EX_OK)
		ret = check_listed(w, &config);
	if (ret == EX_OK && !is_all_there(w))
		ret = provide(w, &config);
	config_free(&config);
	return ret;
}

static enum exit_code grant(const struct wish *w, const struct args *args)
{
	ERROR_ABOUT(NULL, w->name);
	struct selected done = { .gone = false };
	struct netns ns;
	enum exit_code ret = EX_OK;

	if (w->reinject)
		ret = select_check_reinject(w->name);
	if (ret == EX_OK)
		ret = check_namespace(w, &ns);
	if (ret == EX_OK)
		ret = lock_take(args->timeout);
	if (ret == EX_OK)
		ret = allow(w);
	if (ret == EX_OK)
		ret = select_in(&ns, w->name, w->reinject, &done);
	if (done.gone)
		return refuse(w->name, NULL, "its network namespace has just ended");
	if (ret != EX_OK)
		return ret;
	output_str(output_root(), "container", "%s", w->id);
	output_str(output_root(), "scheduler", "%s", w->name);
	output_str(output_root(), "before", "%s", done.before);
	output_num(output_root(), "netns_inode", ns.ino);
	output_flag(output_root(), "reinject", w->reinject);
	return EX_OK;
}

enum exit_code cmd_oci_hook(const struct args *args)
{
	ERROR_ABOUT("start a container with", "its state on stdin");
	struct wish w = { 0 };
	size_t len = 0;
	char *text;
	output_t *state;
	enum exit_code ret;

	ret = input_read(HINT_STATE, STDIN_FILENO, INPUT_STATE, &text, &len);
	if (ret != EX_OK)
		return ret;
	state = json_tokener_parse(text);
	if (!json_object_is_type(state, json_type_object))
		ret = refuse("its state", HINT_STATE, "stdin has no JSON object");
	else
		ret = read_wish(&w, state);
	if (ret == EX_OK && w.name)
		ret = grant(&w, args);
	json_object_put(state);
	free(text);
	return ret;
}
