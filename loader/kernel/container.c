// SPDX-License-Identifier: GPL-2.0
/*
 * Containers are processes that somebody else keeps book of, so the commands of
 * the runtimes are asked, which find their own sockets and directories. Each can
 * print JSON in a form that is documented. containerd's ctr cannot and promises
 * no form at all; nerdctl or crictl show the same containers.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/input.h"
#include "cli/output.h"
#include "cli/subprocess.h"
#include "kernel/container.h"

#define RUNTIME_MS 10000
#define HINT "give --netns the id of a process in it"

struct runtime {
	const char *name;
	const char *words[4]; /* before the container's name */
	const char *pid;      /* of its first process, by output_at() */
	const char *state;    /* a word for people */
};

static const struct runtime runtimes[] = {
	{ "podman", { "container", "inspect" }, "0.State.Pid", "0.State.Status" },
	{ "docker", { "container", "inspect" }, "0.State.Pid", "0.State.Status" },
	{ "nerdctl", { "container", "inspect" }, "0.State.Pid", "0.State.Status" },
	{ "crictl", { "inspect", "-o", "json" }, "info.pid", "status.state" },
	{ "crun", { "state" }, "pid", "status" },
	{ "runc", { "state" }, "pid", "status" },
};

#define NR_RUNTIMES (sizeof(runtimes) / sizeof(runtimes[0]))

/* What all of them had to say. */
struct search {
	const char *id;
	char said[900];
	unsigned int asked, found;
	const struct runtime *by;
};

static void remember(struct search *s, const struct runtime *r, const char *what)
{
	size_t len = strlen(s->said);

	snprintf(s->said + len, sizeof(s->said) - len, "%s%s: %s", len ? "; " : "", r->name,
		 *what ? what : "no such container");
}

static void no_answer(struct search *s, const struct runtime *r, int err)
{
	char text[100];

	if (err == -ETIME)
		snprintf(text, sizeof(text), "no answer within %d s", RUNTIME_MS / 1000);
	else if (err == -EFBIG)
		snprintf(text, sizeof(text), "its answer has more than %lu MiB",
			 INPUT_ANSWER / MIB);
	else
		snprintf(text, sizeof(text), "%s", strerror(-err));
	remember(s, r, text);
}

/* Its answer, parsed; NULL where it has none, and why is remembered. */
static output_t *ask(struct search *s, const struct runtime *r, const char *path, const char *id)
{
	char *argv[8];
	unsigned int n = 0, i;
	struct subprocess c;
	output_t *answer;
	int err;

	argv[n++] = (char *)r->name;
	for (i = 0; i < 4 && r->words[i]; i++)
		argv[n++] = (char *)r->words[i];
	argv[n++] = (char *)id;
	argv[n] = NULL;
	err = subprocess_run(&c, path, argv, RUNTIME_MS, INPUT_ANSWER);
	if (err) {
		no_answer(s, r, err);
		return NULL;
	}
	answer = c.status ? NULL : json_tokener_parse(c.out);
	if (c.status)
		remember(s, r, c.said);
	else if (!answer)
		remember(s, r, "its answer is no JSON");
	free(c.out);
	return answer;
}

/* The Kubernetes name of a container is for crictl a filter of its list, not a container. */
static bool cri_id(struct search *s, const struct runtime *r, const char *path, char *id,
		   size_t size)
{
	static const struct runtime ps = { .words = { "ps", "-o", "json", "--name" } };
	struct runtime lister = ps;
	output_t *answer, *list;
	size_t i, n, same = 0;

	lister.name = r->name;
	answer = ask(s, &lister, path, s->id);
	list = answer ? output_at(answer, "containers") : NULL;
	/* json-c's functions for lists take nothing else */
	n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	for (i = 0; i < n; i++) {
		output_t *c = json_object_array_get_idx(list, i);
		output_t *name = output_at(c, "metadata.name"), *its_id = output_at(c, "id");

		/* the filter is a pattern, which matches more */
		if (!name || !its_id || strcmp(json_object_get_string(name), s->id))
			continue;
		same++;
		snprintf(id, size, "%s", json_object_get_string(its_id));
	}
	json_object_put(answer);
	if (same > 1)
		remember(s, r, "several containers have this name, give an id");
	return same == 1;
}

static enum exit_code not_running(const struct search *s, const struct runtime *r, output_t *answer)
{
	output_t *state = output_at(answer, r->state);

	return fail(EX_FAILED, "start it first", "the container is not running (%s says: %s)",
		    r->name, state ? json_object_get_string(state) : "no process");
}

/* Two runtimes may know it: podman's containers are crun's as well. */
static enum exit_code take(struct search *s, const struct runtime *r, output_t *answer,
			   struct netns *ns)
{
	output_t *number = output_at(answer, r->pid);
	struct netns its;
	char path[64];
	enum exit_code ret;

	if (!number || json_object_get_int64(number) <= 0)
		return not_running(s, r, answer);
	snprintf(path, sizeof(path), "/proc/%lld/ns/net", (long long)json_object_get_int64(number));
	ret = netns_resolve(&its, path);
	if (ret != EX_OK)
		return ret;
	if (netns_is_hosts(&its))
		return fail(EX_FAILED, "`" PROGRAM " use` without --container is for that one",
			    "the container shares the host's network namespace");
	if (s->found && its.ino != ns->ino)
		return fail(EX_FAILED, "write RUNTIME:NAME",
			    "both %s and %s have a container of this name", s->by->name, r->name);
	if (s->found++)
		return EX_OK;
	s->by = r;
	*ns = its;
	ns->pid = (pid_t)json_object_get_int64(number);
	snprintf(ns->name, sizeof(ns->name), "(container %.200s)", s->id);
	return EX_OK;
}

static enum exit_code search(struct search *s, const struct runtime *r, struct netns *ns)
{
	enum exit_code ret = EX_OK;
	char path[300], id[200];
	output_t *answer;

	if (!find_tool(r->name, path, sizeof(path)))
		return EX_OK;
	s->asked++;
	answer = ask(s, r, path, s->id);
	if (!answer && !strcmp(r->name, "crictl") && cri_id(s, r, path, id, sizeof(id)))
		answer = ask(s, r, path, id);
	if (answer)
		ret = take(s, r, answer, ns);
	json_object_put(answer);
	return ret;
}

/* What runtimes allow; nothing that their commands could take for an option or a pattern. */
static bool is_name(const char *id)
{
	const char *c;

	for (c = id; *c; c++)
		if (!isalnum((unsigned char)*c) && (c == id || !strchr("_.-", *c)))
			return false;
	return c > id && c - id < 200;
}

enum exit_code container_resolve(struct netns *ns, const char *text)
{
	ERROR_ABOUT(NULL, text);
	const char *colon = strchr(text, ':');
	struct search s = { .id = colon ? colon + 1 : text };
	enum exit_code ret = EX_OK;
	bool known = false;
	unsigned int i;

	if (!is_name(s.id))
		return fail_on(EX_USAGE, "--container", HINT,
			       "not the name or id of a container: %s", text);
	for (i = 0; i < NR_RUNTIMES && ret == EX_OK; i++) {
		const struct runtime *r = &runtimes[i];

		if (colon && (strlen(r->name) != (size_t)(colon - text) ||
			      strncmp(r->name, text, (size_t)(colon - text))))
			continue;
		known = true;
		ret = search(&s, r, ns);
	}
	if (ret != EX_OK || s.found)
		return ret;
	if (!known || !s.asked)
		return fail(known ? EX_FAILED : EX_USAGE, HINT,
			    "%s: podman, docker, nerdctl, crictl, crun, runc",
			    known ? "the command of no container runtime that is known is here"
				  : "no such container runtime is known");
	return fail(EX_FAILED, HINT, "no running container of this name (%s)", s.said);
}

enum exit_code target_resolve(struct netns *ns, const struct args *args)
{
	if (args->container)
		return container_resolve(ns, args->container);
	return netns_resolve(ns, args->netns);
}
