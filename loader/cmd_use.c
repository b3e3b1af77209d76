// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include "builtin.h"
#include "caps.h"
#include "cmd.h"
#include "reinject.h"
#include "world.h"

/* A scheduler of ours is loaded where it is wanted; others must be there. */
static enum exit_code ensure_registered(const char *name, const struct args *args, bool *loaded)
{
	char registered[MPS_NAME_LEN];
	struct kern k;

	*loaded = false;
	kern_probe(&k);
	if (!k.mptcp)
		return fail(EX_KERNEL, "use", name, "`" PROGRAM " doctor` says what to do",
			    "this kernel has no " SYSCTL_DIR "/scheduler");
	if (kern_has_sched(name) && args->nr_set)
		return fail(EX_FAILED, "use", name, "unload it first, or leave --set out",
			    "it is registered already, and tunables are set at load time only");
	if (kern_has_sched(name))
		return EX_OK;
	if (!builtin_find(name))
		return fail(EX_FAILED, "use", name,
			    "`" PROGRAM " list` shows what there is, `" PROGRAM
			    " load FILE.o` loads another",
			    "no such scheduler is registered");
	*loaded = true;
	return load_sched("use", name, args, registered);
}

static enum exit_code check_reinject(const char *name)
{
	if (!strcmp(name, "default"))
		return EX_OK;
	return fail(EX_USAGE, "use", name,
		    "`" PROGRAM " show` says whether a scheduler makes copies",
		    "--reinject is for the kernel's default; other schedulers decide about copies "
		    "themselves");
}

static enum exit_code select_sched(const struct netns *ns, const char *name, char *before)
{
	char now[MPS_NAME_LEN] = "";
	int err = netns_get_sched(ns, before);

	if (!err)
		err = netns_set_sched(ns, name);
	if (!err)
		err = netns_get_sched(ns, now);
	if (err)
		return fail(code_of(-err), "use", name, caps_hint(-err, CAP_NEED_ENTER),
			    "setting net.mptcp.scheduler failed: %s", strerror(-err));
	if (strcmp(now, name))
		return fail(EX_FAILED, "use", name, "somebody else may have changed it",
			    "net.mptcp.scheduler reads %s after it was set", now);
	return EX_OK;
}

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

/* Selects it, with early copies or without; nothing has changed where that fails. */
static enum exit_code apply(const struct netns *ns, const char *name, bool reinject, char *before,
			    bool *was_on)
{
	enum exit_code ret = EX_OK;

	if (reinject)
		ret = reinject_on("use", name, ns, was_on);
	if (ret != EX_OK)
		return ret;
	ret = select_sched(ns, name, before);
	if (ret == EX_OK && !reinject)
		*was_on = reinject_off(ns);
	else if (ret != EX_OK && reinject && !*was_on)
		reinject_off(ns);
	return ret;
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

enum exit_code cmd_use(const struct args *args)
{
	const char *name = args->word[0];
	char before[MPS_NAME_LEN] = "", label[256];
	struct world w = { 0 };
	struct netns ns;
	bool loaded, was_on = false;
	enum exit_code ret = EX_OK;

	if (args->reinject)
		ret = check_reinject(name);
	if (ret == EX_OK)
		ret = netns_resolve(&ns, "use", args->netns);
	if (ret == EX_OK)
		ret = ensure_registered(name, args, &loaded);
	if (ret == EX_OK)
		ret = apply(&ns, name, args->reinject, before, &was_on);
	if (ret != EX_OK)
		return ret;

	netns_label(&ns, label, sizeof(label));
	out_str(out_root(), "scheduler", "%s", name);
	out_str(out_root(), "before", "%s", before);
	out_str(out_root(), "netns", "%s", label);
	out_num(out_root(), "netns_inode", ns.ino);
	out_flag(out_root(), "loaded", loaded);
	out_line("new MPTCP sockets of namespace %s use %s (before: %s)", label, name, before);
	tell_reinject(label, args->reinject, was_on);
	/* the scheduler is selected: not being able to list sockets is no failure of that */
	netns_read(&w.namespaces);
	if (sockets_read(&w.sockets, "list") == EX_OK)
		tell_listeners(&w, &ns, name);
	world_free(&w);
	return EX_OK;
}
