// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a container on stdin of `oci-hook` (loader/cmd/oci_hook.c). What would change the
 * machine stands in here and says what it was asked for. Claims: nothing is selected but what the
 * annotations ask for, for a process that the state names, in a namespace that is not the host's,
 * where the configuration lets them, and loaded only where it lets that.
 */
#define netns_resolve its_netns
#define netns_is_hosts it_is_the_hosts
#define lock_take take_no_lock
#define select_prepare prepare_nothing
#define select_in select_nothing
#define kern_has_sched is_registered
#define is_there file_is_there
#define is_nowhere file_is_nowhere
#define builtin_find comes_with_it
#define config_read read_config
#define config_lets_load lets_load
#define config_lets_ask lets_ask
#include "../../loader/cmd/oci_hook.c"
#include "said.h"

static uint8_t world;
static unsigned int selected, locked, resolved;
static struct memory in;
static json_object *state;

enum exit_code its_netns(struct netns *ns, const char *text)
{
	char path[64];
	struct json_object *pid;

	claim(json_object_object_get_ex(state, "pid", &pid), "a process that it names");
	snprintf(path, sizeof(path), "/proc/%d/ns/net", json_object_get_int(pid));
	claim(json_object_get_int(pid) > 0 && !strcmp(text, path), "and no other");
	memset(ns, 0, sizeof(*ns));
	ns->ino = 1;
	resolved++;
	return world & 1 ? fail_on(EX_FAILED, text, NULL, "it is gone") : EX_OK;
}

bool it_is_the_hosts(const struct netns *ns)
{
	return world & 2;
}

enum exit_code take_no_lock(double seconds)
{
	locked++;
	return EX_OK;
}

bool is_registered(const char *name)
{
	return world & 4;
}

bool file_is_there(const char *path)
{
	return world & 8;
}

bool file_is_nowhere(const char *path)
{
	return !(world & 8);
}

const struct builtin *comes_with_it(const char *name)
{
	static const struct builtin one;

	return world & 16 ? &one : NULL;
}

enum exit_code read_config(struct config *c, const char *path)
{
	memset(c, 0, sizeof(*c));
	return world & 128 ? fail_on(EX_FAILED, path, NULL, "there is a slip in it") : EX_OK;
}

bool lets_load(const struct config *c, const char *word)
{
	return world & 32;
}

bool lets_ask(const struct config *c, const char *word)
{
	return !(world & 64);
}

static const char *annotation(const char *key)
{
	struct json_object *all, *one;

	if (!json_object_object_get_ex(state, "annotations", &all) ||
	    !json_object_is_type(all, json_type_object) ||
	    !json_object_object_get_ex(all, key, &one))
		return NULL;
	claim(!selected || json_object_is_type(one, json_type_string), "a string asks for it");
	return json_object_get_string(one);
}

enum exit_code prepare_nothing(const char *name, const struct settings *settings, bool *loaded)
{
	claim(!builtin_find(name) || kern_has_sched(name) || (world & 32),
	      "loaded where it is let");
	*loaded = true;
	return EX_OK;
}

enum exit_code select_nothing(const struct netns *ns, const char *name, bool reinject,
			      struct selected *done)
{
	const char *wanted, *copies;

	selected++;
	wanted = annotation("mptcp.sched/name");
	copies = annotation("mptcp.sched/reinject");
	claim(!strcmp(name, wanted ?: "default"), "what was asked for");
	claim(reinject == (copies && !strcmp(copies, "true")), "with copies where they were");
	claim(wanted || reinject, "and something was");
	claim(!(world & 2) && locked && resolved, "not for the host, and one at a time");
	claim(!(world & 64), "and only what may be asked for");
	claim((world & 136) != 136, "by a configuration that could be read");
	snprintf(done->before, sizeof(done->before), "default");
	return EX_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct args args = { 0 };
	const bool json = size > 1 && data[1] & 1;
	enum exit_code ret;
	char *text;

	if (size < 2)
		return 0;
	world = data[0];
	selected = locked = resolved = 0;
	memory_set(&in, data + 2, size - 2);
	dup2(in.fd, STDIN_FILENO);
	text = strndup((const char *)data + 2, size - 2);
	state = json_tokener_parse(text);
	output_setup(true, true);
	said_begin(json);
	ret = cmd_oci_hook(&args);
	said_end(ret);
	output_forget();
	claim(selected <= 1 && (ret == EX_OK || !selected), "selected, or an error");
	if (ret == EX_OK && (annotation(KEY_NAME) || annotation(KEY_REINJECT)))
		claim(selected || !annotation(KEY_NAME), "a wish is granted");
	json_object_put(state);
	free(text);
	return 0;
}
