// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "caps.h"
#include "cmd.h"
#include "lock.h"
#include "object.h"
#include "out.h"
#include "registry.h"
#include "tracers.h"
#include "util.h"

#define HINT_LIST "`" PROGRAM " list` shows what there is"

static bool is_file(const char *what)
{
	size_t len = strlen(what);

	return strchr(what, '/') || (len > 2 && !strcmp(what + len - 2, ".o"));
}

static enum exit_code open_object(struct object *o, const char *operation, const char *what,
				  enum form form)
{
	const struct builtin *b = builtin_find(what);

	if (b)
		return object_open_builtin(o, operation, b, form);
	if (is_file(what) || is_there(what))
		return object_open_file(o, operation, what, form);
	return fail(EX_FAILED, operation, what, HINT_LIST, "no such scheduler or file");
}

static enum exit_code check_name(const struct object *o, const char *operation)
{
	/* TRACER_MARK stands between a name and what belongs to it */
	if (strpbrk(o->name, "/@ \t\n") || o->name[0] == '.')
		return fail(EX_FAILED, operation, o->what, NULL,
			    "\"%s\" cannot be the name of a pin", o->name);
	if (kern_has_sched(o->name))
		return fail(EX_FAILED, operation, o->what,
			    "`" PROGRAM " unload` it first, or give the new one another name",
			    "a scheduler named %s is registered already", o->name);
	return EX_OK;
}

static enum exit_code check_bpffs(const char *operation, const char *object)
{
	struct stat st;

	if (!is_bpffs(BPFFS))
		return fail(EX_FAILED, operation, object, "`mount -t bpf bpf " BPFFS "` mounts it",
			    BPFFS " is not a bpffs");
	if (is_there(PIN_DIR) && !is_bpffs(PIN_DIR))
		return fail(EX_FAILED, operation, object, "unmount what lies over it",
			    PIN_DIR " is not in a bpffs");
	if (!stat(PIN_DIR, &st) && st.st_mode & 077)
		return fail(EX_FAILED, operation, object, "`chmod 700 " PIN_DIR "` closes it",
			    PIN_DIR " is open to other users (mode %o)", st.st_mode & 07777);
	return EX_OK;
}

/* A pin whose scheduler is gone (its link was detached) would stand in the way. */
static enum exit_code check_pin(const struct object *o, const char *operation, const char *path)
{
	if (!is_there(path))
		return EX_OK;
	return fail(EX_FAILED, operation, o->what,
		    pin_link_id(path) ? "`" PROGRAM " unload` of that name removes it"
				      : "somebody else put it there: remove it",
		    "%s exists already", path);
}

static enum exit_code explain_load(const struct object *o, const char *operation, int err)
{
	if (err == EPERM || err == EACCES) {
		/* the verifier refuses with EACCES as well, privilege was checked before */
		return fail(EX_FAILED, operation, o->what, "run again with -v for the log",
			    "the kernel refused its programs%s", libbpf_reason());
	}
	return fail(EX_FAILED, operation, o->what, "run again with -v for the log", "%s%s",
		    strerror(err), libbpf_reason());
}

/* The directory is ours alone: a pin in it is a promise that we registered it. */
static enum exit_code pin(const struct object *o, const char *operation, struct tracers *tracers,
			  struct bpf_link *link, const char *path)
{
	enum exit_code ret;

	if (mkdir(PIN_DIR, 0700) && errno != EEXIST)
		return fail(code_of(errno), operation, o->what, caps_hint(errno, CAP_NEED_PINS),
			    "cannot make " PIN_DIR ": %s", strerror(errno));
	ret = tracers_pin(tracers, o, operation);
	if (ret == EX_OK && bpf_link__pin(link, path))
		ret = fail(code_of(errno), operation, o->what, caps_hint(errno, CAP_NEED_PINS),
			   "cannot pin it at %s: %s", path, strerror(errno));
	return ret;
}

/* Registration lives as long as the link: until it is pinned, that is this process. */
static enum exit_code register_and_pin(struct object *o, const char *operation,
				       struct tracers *tracers, const char *path)
{
	struct bpf_link *link;
	enum exit_code ret;

	report_libbpf();
	link = bpf_map__attach_struct_ops(o->ops);
	if (!link && errno == EEXIST)
		return check_name(o, operation);
	if (!link)
		return fail(code_of(errno), operation, o->what, "run again with -v for the log",
			    "the kernel refused to register %s: %s%s", o->name, strerror(errno),
			    libbpf_reason());
	ret = pin(o, operation, tracers, link, path);
	/* the pin keeps it; without one it goes at once, not when the kernel finds the time */
	if (ret != EX_OK)
		bpf_link_detach(bpf_link__fd(link));
	bpf_link__disconnect(link);
	bpf_link__destroy(link);
	return ret;
}

/* The clock ticks before the first connection can have the scheduler. */
static enum exit_code start(struct object *o, const char *operation, const char *path,
			    enum copies *copies)
{
	struct tracers tracers;
	enum exit_code ret = tracers_attach(&tracers, o, operation);

	if (ret != EX_OK)
		return ret;
	*copies = !o->asks ? COPIES_NONE : tracers.nr ? COPIES_ON : COPIES_OFF;
	ret = register_and_pin(o, operation, &tracers, path);
	if (ret == EX_OK) {
		tracers_keep(&tracers);
		return EX_OK;
	}
	tracers_undo(&tracers, o);
	/* may fail: others are in it */
	rmdir(PIN_DIR);
	return ret;
}

static enum exit_code load_object(struct object *o, const char *operation, const struct args *args)
{
	char path[128];
	enum copies copies;
	enum exit_code ret;
	unsigned int i;
	bool can_ask;

	for (i = 0; i < args->nr_set; i++) {
		ret = object_set(o, operation, args->set[i]);
		if (ret != EX_OK)
			return ret;
	}
	ret = check_name(o, operation);
	if (ret == EX_OK)
		ret = check_bpffs(operation, o->what);
	pin_path(o->name, path, sizeof(path));
	if (ret == EX_OK)
		ret = check_pin(o, operation, path);
	if (ret != EX_OK)
		return ret;
	can_ask = tracers_choose(o);
	ret = tracers_check_pins(o, operation);
	if (ret != EX_OK)
		return ret;
	/* a user's object in section .struct_ops: with a link it can be pinned as well */
	bpf_map__set_map_flags(o->ops, bpf_map__map_flags(o->ops) | BPF_F_LINK);
	report_libbpf();
	if (bpf_object__load(o->bpf))
		return explain_load(o, operation, errno);
	ret = start(o, operation, path, &copies);
	if (ret != EX_OK)
		return ret;
	out_str(out_root(), "copies", "%s", copies_name(copies));
	if (!can_ask)
		out_note("%s makes no copies of data: they take the kfunc " RETRANS_KFUNC
			 " of the bridge module " BRIDGE "; install it with DKMS or `make kmod "
			 "kmod-install`, then unload %s and load it again",
			 o->name, o->name);
	return EX_OK;
}

enum exit_code load_sched(const char *operation, const char *what, const struct args *args,
			  char *name)
{
	struct object o;
	struct kern k;
	enum exit_code ret;

	/* what can be wrong with the words is told before the kernel is touched */
	if (!builtin_find(what) && !is_there(what))
		return fail(EX_FAILED, operation, what, HINT_LIST, "no such scheduler or file");
	ret = kern_require(operation, what, &k);
	if (ret == EX_OK)
		ret = open_object(&o, operation, what, k.form);
	if (ret != EX_OK)
		return ret;
	ret = load_object(&o, operation, args);
	if (ret == EX_OK)
		snprintf(name, MPS_NAME_LEN, "%s", o.name);
	object_close(&o);
	return ret;
}

enum exit_code cmd_load(const struct args *args)
{
	char name[MPS_NAME_LEN], path[128];
	enum exit_code ret = lock_take("load", args->word[0], args->timeout);

	if (ret == EX_OK)
		ret = load_sched("load", args->word[0], args, name);
	if (ret != EX_OK)
		return ret;
	pin_path(name, path, sizeof(path));
	out_str(out_root(), "loaded", "%s", name);
	out_str(out_root(), "pin", "%s", path);
	out_line("%s is registered and pinned at %s", name, path);
	out_line("`" PROGRAM " use %s` selects it in a network namespace", name);
	return EX_OK;
}
