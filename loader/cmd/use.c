// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include "cmd/commands.h"
#include "kernel/container.h"
#include "kernel/lock.h"
#include "sched/builtin.h"
#include "sched/select.h"
#include "sched/tunable_table.h"
#include "sched/unload.h"
#include "sched/usage.h"

static const struct output_col all_cols[] = {
	{ "netns", "NAMESPACE", OUTPUT_LEFT },
	{ "netns_inode", "INODE", OUTPUT_RIGHT },
	{ "before", "BEFORE", OUTPUT_LEFT },
	{ NULL, NULL, OUTPUT_LEFT },
};

/* Where it is selected, not being able to list sockets is no failure of that. */
static void tell_listeners(struct usage *u, const struct netns *ns, const char *name)
{
	ERROR_ABOUT("list", NULL);
	output_t *list;
	size_t n;

	if (sockets_read(&u->sockets) != EX_OK)
		return;
	list = output_list(output_root(), "listeners_keeping_another");
	output_listeners(list, u, ns->ino, name, false);
	n = json_object_array_length(list);
	output_note(
		"existing connections and listening sockets keep their scheduler; a server takes "
		"the new one when it opens its listening socket again");
	if (!n)
		return;
	output_line("%zu listening socket%s here keep%s another scheduler:", n, n == 1 ? "" : "s",
		    n == 1 ? "s" : "");
	output_table(list, listener_cols, "  ");
}

static void tell_reinject(const char *label, bool reinject, bool was_on)
{
	output_flag(output_root(), "reinject", reinject);
	if (reinject)
		output_line(
			"data of namespace %s that a slow subflow holds up is copied early, of live "
			"connections with default too",
			label);
	else if (was_on)
		output_line("data of namespace %s is no longer copied early", label);
}

static enum exit_code use_one(const struct netns *ns, const char *name, const struct args *args)
{
	struct selected done;
	enum exit_code ret = select_in(ns, name, args->reinject, &done);
	char label[256];

	netns_label(ns, label, sizeof(label));
	if (done.gone)
		return fail(EX_FAILED, NULL, "network namespace %s has just ended", label);
	if (ret != EX_OK)
		return ret;
	output_str(output_root(), "before", "%s", done.before);
	output_str(output_root(), "netns", "%s", label);
	output_num(output_root(), "netns_inode", ns->ino);
	output_line("new MPTCP sockets of namespace %s use %s (before: %s)", label, name,
		    done.before);
	tell_reinject(label, args->reinject, done.was_on);
	return EX_OK;
}

/* As many as can be; those that end meanwhile want no scheduler any more. */
static enum exit_code use_all(const struct netns_list *l, const char *name, const struct args *args)
{
	output_t *list = output_list(output_root(), "namespaces");
	enum exit_code ret = EX_OK, one;
	struct selected done;
	unsigned int i, gone = 0;
	char label[256];
	output_t *row;

	for (i = 0; i < l->nr; i++) {
		one = select_in(&l->ns[i], name, args->reinject, &done);
		gone += done.gone;
		if (done.gone)
			continue;
		if (one != EX_OK) {
			ret = one;
			continue;
		}
		row = output_item(list);
		output_str(row, "netns", "%s", netns_label(&l->ns[i], label, sizeof(label)));
		output_num(row, "netns_inode", l->ns[i].ino);
		output_str(row, "before", "%s", done.before);
		output_flag(row, "reinject_before", done.was_on);
	}
	output_flag(output_root(), "reinject", args->reinject);
	output_num(output_root(), "ended_meanwhile", gone);
	output_line("new MPTCP sockets of these namespaces use %s:", name);
	output_table(list, all_cols, "  ");
	return ret;
}

enum exit_code cmd_use(const struct args *args)
{
	const char *name = args->nr_words ? args->word[0] : BUILTIN_AUTO;
	ERROR_ABOUT("use", name);
	const struct settings settings = { args->set, args->nr_set };
	struct usage u = { 0 };
	struct netns ns = { 0 };
	bool loaded = false;
	enum exit_code ret = tunable_table_check_words(EX_USAGE, args->set, args->nr_set);

	if (ret == EX_OK && args->reinject)
		ret = select_check_reinject(name);
	/* before the lock: a runtime that is asked may itself be waiting for our hook */
	if (ret == EX_OK && !args->all_netns)
		ret = target_resolve(&ns, args);
	if (ret == EX_OK)
		ret = lock_take(args->timeout);
	if (ret == EX_OK)
		ret = select_prepare(name, &settings, &loaded);
	if (ret != EX_OK)
		return ret;
	netns_read(&u.namespaces);
	ret = args->all_netns ? use_all(&u.namespaces, name, args) : use_one(&ns, name, args);
	/* nobody has it: what it was loaded for has not come about */
	if (ret != EX_OK && loaded && !args->all_netns)
		unload_sched(name, false);
	if (ret == EX_OK || args->all_netns) {
		output_str(output_root(), "scheduler", "%s", name);
		output_flag(output_root(), "loaded", loaded);
	}
	if (ret == EX_OK)
		tell_listeners(&u, &ns, name);
	usage_free(&u);
	return ret;
}
