// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include "cli/caps.h"
#include "sched/builtin.h"
#include "sched/reinject.h"
#include "sched/select.h"

enum exit_code select_prepare(const char *name, const struct settings *settings, bool *loaded)
{
	ERROR_ABOUT(NULL, name);
	char registered[MPS_NAME_LEN];
	struct kern k;

	*loaded = false;
	kern_probe(&k);
	if (!k.mptcp)
		return fail(EX_KERNEL, "`" PROGRAM " doctor` says what to do",
			    "this kernel has no " SYSCTL_DIR "/scheduler");
	if (kern_has_sched(name) && settings->nr)
		return fail(EX_FAILED,
			    "leave --set out; `" PROGRAM " set` changes one that is loaded",
			    "it is registered already, and --set is for loading");
	if (kern_has_sched(name))
		return EX_OK;
	if (!builtin_find(name))
		return fail(EX_FAILED,
			    "`" PROGRAM " list` shows what there is, `" PROGRAM
			    " load FILE.o` loads another",
			    "no such scheduler is registered");
	*loaded = true;
	return load_sched(name, settings, registered);
}

enum exit_code select_check_reinject(const char *name)
{
	ERROR_ABOUT(NULL, name);

	if (!strcmp(name, "default"))
		return EX_OK;
	return fail(EX_USAGE, "`" PROGRAM " show` says whether a scheduler makes copies",
		    "--reinject is for the kernel's default; other schedulers decide about copies "
		    "themselves");
}

static enum exit_code set_sched(const struct netns *ns, const char *name, struct selected *done)
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
		return fail(code_of(-err), caps_hint(-err, CAP_NEED_ENTER),
			    "setting net.mptcp.scheduler failed: %s", strerror(-err));
	if (strcmp(now, name))
		return fail(EX_FAILED, "somebody else may have changed it",
			    "net.mptcp.scheduler reads %s after it was set", now);
	return EX_OK;
}

enum exit_code select_in(const struct netns *ns, const char *name, bool reinject,
			 struct selected *done)
{
	ERROR_ABOUT(NULL, name);
	enum exit_code ret = EX_OK;

	memset(done, 0, sizeof(*done));
	done->gone = netns_is_gone(ns);
	if (done->gone)
		return EX_FAILED;
	if (reinject)
		ret = reinject_on(ns, &done->was_on);
	if (ret != EX_OK)
		return ret;
	ret = set_sched(ns, name, done);
	if (ret == EX_OK && !reinject)
		done->was_on = reinject_off(ns);
	else if (ret != EX_OK && reinject && !done->was_on)
		reinject_off(ns);
	return ret;
}
