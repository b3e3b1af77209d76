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
#include "cmd.h"
#include "lock.h"
#include "out.h"
#include "select.h"
#include "util.h"

#define PREFIX "mptcp.sched/"
#define KEY_NAME PREFIX "name"
#define KEY_REINJECT PREFIX "reinject"
#define OPERATION "start a container with"
#define HINT_STATE "it is for container runtimes, which give it the container's state"

struct wish {
	const char *id, *name;
	bool reinject;
	pid_t pid;
};

static enum exit_code refuse(const char *annotation, const char *hint, const char *why)
{
	return fail(EX_FAILED, OPERATION, annotation, hint, "%s", why);
}

static enum exit_code read_annotation(struct wish *w, const char *key, out_t *value)
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

static enum exit_code read_wish(struct wish *w, out_t *state)
{
	out_t *id = out_at(state, "id"), *pid = out_at(state, "pid");
	out_t *annotations = out_at(state, "annotations");
	enum exit_code ret = EX_OK;

	w->id = id ? json_object_get_string(id) : "?";
	if (json_object_is_type(annotations, json_type_object)) {
		json_object_object_foreach(annotations, key, value) {
			if (ret == EX_OK)
				ret = read_annotation(w, key, value);
		}
	}
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
	ret = netns_resolve(ns, OPERATION, path);
	if (ret == EX_OK && netns_is_hosts(ns))
		ret = refuse(w->name, "give the container a network namespace, or no annotation",
			     "it shares the host's network namespace, whose scheduler is not its "
			     "to choose");
	return ret;
}

static enum exit_code grant(const struct wish *w, const struct args *args)
{
	struct selected done = { .gone = false };
	struct netns ns;
	bool loaded;
	enum exit_code ret = EX_OK;

	if (w->reinject)
		ret = select_check_reinject(OPERATION, w->name);
	if (ret == EX_OK)
		ret = check_namespace(w, &ns);
	if (ret == EX_OK)
		ret = lock_take(OPERATION, w->name, args->timeout);
	if (ret == EX_OK)
		ret = select_prepare(OPERATION, w->name, args, &loaded);
	if (ret == EX_OK)
		ret = select_in(OPERATION, &ns, w->name, w->reinject, &done);
	if (done.gone)
		return refuse(w->name, NULL, "its network namespace has just ended");
	if (ret != EX_OK)
		return ret;
	out_str(out_root(), "container", "%s", w->id);
	out_str(out_root(), "scheduler", "%s", w->name);
	out_str(out_root(), "before", "%s", done.before);
	out_num(out_root(), "netns_inode", ns.ino);
	out_flag(out_root(), "reinject", w->reinject);
	return EX_OK;
}

enum exit_code cmd_oci_hook(const struct args *args)
{
	struct wish w = { 0 };
	size_t len = 0;
	char *text = read_all(STDIN_FILENO, &len);
	out_t *state;
	enum exit_code ret;

	if (!text)
		return fail(code_of(errno), OPERATION, "its state", NULL, "cannot read stdin: %s",
			    strerror(errno));
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
