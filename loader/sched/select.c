// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include "builtin.h"
#include "caps.h"
#include "cmd.h"
#include "reinject.h"
#include "select.h"

enum exit_code select_prepare(const char *operation, const char *name, const struct args *args,
			      bool *loaded)
{
	char registered[MPS_NAME_LEN];
	struct kern k;

	*loaded = false;
	kern_probe(&k);
	if (!k.mptcp)
		return fail(EX_KERNEL, operation, name, "`" PROGRAM " doctor` says what to do",
			    "this kernel has no " SYSCTL_DIR "/scheduler");
	if (kern_has_sched(name) && args->nr_set)
		return fail(EX_FAILED, operation, name,
			    "leave --set out; `" PROGRAM " set` changes one that is loaded",
			    "it is registered already, and --set is for loading");
	if (kern_has_sched(name))
		return EX_OK;
	if (!builtin_find(name))
		return fail(EX_FAILED, operation, name,
			    "`" PROGRAM " list` shows what there is, `" PROGRAM
			    " load FILE.o` loads another",
			    "no such scheduler is registered");
	*loaded = true;
	return load_sched(operation, name, args, registered);
}

enum exit_code select_check_reinject(const char *operation, const char *name)
{
	if (!strcmp(name, "default"))
		return EX_OK;
	return fail(EX_USAGE, operation, name,
		    "`" PROGRAM " show` says whether a scheduler makes copies",
		    "--reinject is for the kernel's default; other schedulers decide about copies "
		    "themselves");
}

static enum exit_code set_sched(const char *operation, const struct netns *ns, const char *name,
				struct selected *done)
{
	char now[MPS_NAME_LEN] = "";
	int err = netns_get_sched(ns, done->before);

	if (!err)
		err = netns_set_sched(ns, name);
	if (!err)
		err = netns_get_sched(ns, now);
	done->gone = err && netns_is_gone(ns);
	if (done->gone)
		return EX_FAILED;
	if (err)
		return fail(code_of(-err), operation, name, caps_hint(-err, CAP_NEED_ENTER),
			    "setting net.mptcp.scheduler failed: %s", strerror(-err));
	if (strcmp(now, name))
		return fail(EX_FAILED, operation, name, "somebody else may have changed it",
			    "net.mptcp.scheduler reads %s after it was set", now);
	return EX_OK;
}

enum exit_code select_in(const char *operation, const struct netns *ns, const char *name,
			 bool reinject, struct selected *done)
{
	enum exit_code ret = EX_OK;

	memset(done, 0, sizeof(*done));
	done->gone = netns_is_gone(ns);
	if (done->gone)
		return EX_FAILED;
	if (reinject)
		ret = reinject_on(operation, name, ns, &done->was_on);
	if (ret != EX_OK)
		return ret;
	ret = set_sched(operation, ns, name, done);
	if (ret == EX_OK && !reinject)
		done->was_on = reinject_off(ns);
	else if (ret != EX_OK && reinject && !done->was_on)
		reinject_off(ns);
	return ret;
}
