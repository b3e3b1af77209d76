// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include "cmd.h"
#include "lock.h"
#include "select.h"
#include "target.h"
#include "world.h"

static const struct out_col all_cols[] = {
	{ "netns", "NAMESPACE", OUT_LEFT },
	{ "netns_inode", "INODE", OUT_RIGHT },
	{ "before", "BEFORE", OUT_LEFT },
	{ NULL, NULL, OUT_LEFT },
};

static void tell_listeners(struct world *w, const struct netns *ns, const char *name)
{
	out_t *list = out_list(out_root(), "listeners_keeping_another");
	size_t n;

	out_listeners(list, w, ns->ino, name, false);
	n = json_object_array_length(list);
	out_note("existing connections and listening sockets keep their scheduler; a server takes "
		 "the new one when it opens its listening socket again");
	if (!n)
		return;
	out_line("%zu listening socket%s here keep%s another scheduler:", n, n == 1 ? "" : "s",
		 n == 1 ? "s" : "");
	out_table(list, listener_cols, "  ");
}

static void tell_reinject(const char *label, bool reinject, bool was_on)
{
	out_flag(out_root(), "reinject", reinject);
	if (reinject)
		out_line(
			"data of namespace %s that a slow subflow holds up is copied early, of live "
			"connections with default too",
			label);
	else if (was_on)
		out_line("data of namespace %s is no longer copied early", label);
}

static enum exit_code use_one(const struct netns *ns, const char *name, const struct args *args)
{
	struct selected done;
	enum exit_code ret = select_in("use", ns, name, args->reinject, &done);
	char label[256];

	netns_label(ns, label, sizeof(label));
	if (done.gone)
		return fail(EX_FAILED, "use", name, NULL, "network namespace %s has just ended",
			    label);
	if (ret != EX_OK)
		return ret;
	out_str(out_root(), "before", "%s", done.before);
	out_str(out_root(), "netns", "%s", label);
	out_num(out_root(), "netns_inode", ns->ino);
	out_line("new MPTCP sockets of namespace %s use %s (before: %s)", label, name, done.before);
	tell_reinject(label, args->reinject, done.was_on);
	return EX_OK;
}

/* As many as can be; those that end meanwhile want no scheduler any more. */
static enum exit_code use_all(const struct netns_list *l, const char *name, const struct args *args)
{
	out_t *list = out_list(out_root(), "namespaces");
	enum exit_code ret = EX_OK, one;
	struct selected done;
	unsigned int i, gone = 0;
	char label[256];
	out_t *row;

	for (i = 0; i < l->nr; i++) {
		one = select_in("use", &l->ns[i], name, args->reinject, &done);
		gone += done.gone;
		if (done.gone)
			continue;
		if (one != EX_OK) {
			ret = one;
			continue;
		}
		row = out_item(list);
		out_str(row, "netns", "%s", netns_label(&l->ns[i], label, sizeof(label)));
		out_num(row, "netns_inode", l->ns[i].ino);
		out_str(row, "before", "%s", done.before);
		out_flag(row, "reinject_before", done.was_on);
	}
	out_flag(out_root(), "reinject", args->reinject);
	out_num(out_root(), "ended_meanwhile", gone);
	out_line("new MPTCP sockets of these namespaces use %s:", name);
	out_table(list, all_cols, "  ");
	return ret;
}

enum exit_code cmd_use(const struct args *args)
{
	const char *name = args->word[0];
	struct world w = { 0 };
	struct netns ns = { 0 };
	bool loaded = false;
	enum exit_code ret = EX_OK;

	if (args->reinject)
		ret = select_check_reinject("use", name);
	/* before the lock: a runtime that is asked may itself be waiting for our hook */
	if (ret == EX_OK && !args->all_netns)
		ret = target_resolve(&ns, "use", args);
	if (ret == EX_OK)
		ret = lock_take("use", name, args->timeout);
	if (ret == EX_OK)
		ret = select_prepare("use", name, args, &loaded);
	if (ret != EX_OK)
		return ret;
	netns_read(&w.namespaces);
	ret = args->all_netns ? use_all(&w.namespaces, name, args) : use_one(&ns, name, args);
	/* where it is selected, not being able to list sockets is no failure of that */
	if (ret == EX_OK || args->all_netns) {
		out_str(out_root(), "scheduler", "%s", name);
		out_flag(out_root(), "loaded", loaded);
	}
	if (ret == EX_OK && sockets_read(&w.sockets, "list") == EX_OK)
		tell_listeners(&w, &ns, name);
	world_free(&w);
	return ret;
}
