// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "cli/caps.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/util.h"
#include "kernel/pin.h"
#include "kernel/registry.h"
#include "sched/aux_progs.h"
#include "sched/leftovers.h"
#include "sched/load.h"
#include "sched/object.h"
#include "sched/pindir.h"
#include "sched/unload.h"

#define HINT_LIST "`" PROGRAM " list` shows what there is"

static bool is_file(const char *what)
{
	size_t len = strlen(what);

	return strchr(what, '/') || (len > 2 && !strcmp(what + len - 2, ".o"));
}

static enum exit_code open_object(struct object *o, const char *what, enum form form)
{
	const struct builtin *b = builtin_find(what);

	if (b)
		return object_open_builtin(o, b, form);
	if (is_file(what) || is_there(what))
		return object_open_file(o, what, form);
	return fail(EX_FAILED, HINT_LIST, "no such scheduler or file");
}

static enum exit_code check_name(const struct object *o)
{
	/* AUX_MARK stands between a name and what belongs to it */
	if (strpbrk(o->name, "/@ \t\n") || o->name[0] == '.')
		return fail(EX_FAILED, NULL, "\"%s\" cannot be the name of a pin", o->name);
	if (kern_has_sched(o->name))
		return fail(EX_FAILED,
			    "`" PROGRAM " unload` it first, or give the new one another name",
			    "a scheduler named %s is registered already", o->name);
	return EX_OK;
}

/* A pin whose scheduler is gone (its link was detached) would stand in the way. */
static enum exit_code check_pin(const char *path)
{
	if (!is_there(path))
		return EX_OK;
	return fail(EX_FAILED,
		    pin_link_id(path) ? "`" PROGRAM " unload` of that name removes it"
				      : "somebody else put it there: remove it",
		    "%s exists already", path);
}

static enum exit_code explain_load(int err)
{
	if (err == EPERM || err == EACCES) {
		/* the verifier refuses with EACCES as well, privilege was checked before */
		return fail(EX_FAILED, "run again with -v for the log",
			    "the kernel refused its programs%s", libbpf_reason());
	}
	return fail(EX_FAILED, "run again with -v for the log", "%s%s", strerror(err),
		    libbpf_reason());
}

/* The directory is ours alone: a pin in it is a promise that we registered it. */
static enum exit_code pin(const struct object *o, struct aux_progs *aux, struct bpf_link *link,
			  const char *path)
{
	enum exit_code ret;

	if (mkdir(PIN_DIR, 0700) && errno != EEXIST)
		return fail(code_of(errno), caps_hint(errno, CAP_NEED_PINS),
			    "cannot make " PIN_DIR ": %s", strerror(errno));
	ret = aux_progs_pin(aux, o);
	if (ret == EX_OK && bpf_link__pin(link, path))
		ret = fail(code_of(errno), caps_hint(errno, CAP_NEED_PINS),
			   "cannot pin it at %s: %s", path, strerror(errno));
	return ret;
}

/* Registration lives as long as the link: until it is pinned, that is this process. */
static enum exit_code register_and_pin(struct object *o, struct aux_progs *aux, const char *path)
{
	struct bpf_link *link;
	enum exit_code ret;

	error_watch_libbpf();
	link = bpf_map__attach_struct_ops(o->ops);
	if (!link && errno == EEXIST)
		return check_name(o);
	if (!link)
		return fail(code_of(errno), "run again with -v for the log",
			    "the kernel refused to register %s: %s%s", o->name, strerror(errno),
			    libbpf_reason());
	ret = pin(o, aux, link, path);
	/* the pin keeps it; without one it goes at once, not when the kernel finds the time */
	if (ret != EX_OK)
		bpf_link_detach(bpf_link__fd(link));
	bpf_link__disconnect(link);
	bpf_link__destroy(link);
	return ret;
}

/* The clock ticks before the first connection can have the scheduler. */
static enum exit_code start(struct object *o, const char *path, enum copies *copies)
{
	struct aux_progs aux;
	enum exit_code ret = aux_progs_attach(&aux, o);
	sigset_t before;

	if (ret != EX_OK)
		return ret;
	*copies = !o->asks ? COPIES_NONE : aux.nr && !o->silent ? COPIES_ON : COPIES_OFF;
	signals_hold(&before);
	ret = register_and_pin(o, &aux, path);
	signals_let(&before);
	if (ret == EX_OK) {
		aux_progs_keep(&aux);
		return EX_OK;
	}
	aux_progs_undo(&aux, o);
	/* may fail: others are in it */
	rmdir(PIN_DIR);
	return ret;
}

/* What stands where it is to be registered and pinned: nothing, but for leftovers, which go. */
static enum exit_code check_place(const struct object *o, char *path, size_t size)
{
	enum exit_code ret = check_name(o);

	if (ret == EX_OK)
		ret = pindir_require();
	pin_path(o->name, path, size);
	if (ret == EX_OK)
		ret = check_pin(path);
	if (ret != EX_OK)
		return ret;
	leftovers_remove(o->name);
	return aux_progs_check_pins(o);
}

/* The kernel has its programs, and does nothing with them. */
static enum exit_code load_programs(struct object *o)
{
	/* a user's object in section .struct_ops: with a link it can be pinned as well */
	bpf_map__set_map_flags(o->ops, bpf_map__map_flags(o->ops) | BPF_F_LINK);
	if (o->clock)
		bpf_map__set_map_flags(o->clock, bpf_map__map_flags(o->clock) | BPF_F_LINK);
	error_watch_libbpf();
	return bpf_object__load(o->bpf) ? explain_load(errno) : EX_OK;
}

static enum exit_code begin(struct object *o, const char *path)
{
	enum copies copies;
	enum exit_code ret = start(o, path, &copies);

	if (ret == EX_OK)
		output_str(output_root(), "copies", "%s", copies_name(copies));
	return ret;
}

static void note_no_copies(const struct object *o)
{
	output_note("%s makes no copies of data: they take the kfunc " RETRANS_KFUNC
		    " of the bridge module; %s, then unload %s and load it again (%s)",
		    o->name, kern_retrans_trouble()->todo, o->name, kern_retrans_trouble()->why);
}

static enum exit_code load_object(struct object *o)
{
	const bool can_ask = aux_progs_choose(o);
	char path[128];
	enum exit_code ret = check_place(o, path, sizeof(path));

	if (ret == EX_OK)
		ret = load_programs(o);
	if (ret == EX_OK)
		ret = begin(o, path);
	if (ret == EX_OK && !can_ask)
		note_no_copies(o);
	return ret;
}

static enum exit_code reload_object(struct object *o)
{
	const bool can_ask = aux_progs_choose(o);
	enum exit_code ret = load_programs(o);
	sigset_t before;
	char path[128];

	if (ret != EX_OK)
		return ret;
	/* begun is done, or a namespace would be left with the name of none */
	signals_hold(&before);
	ret = unload_sched(o->name, true);
	if (ret == EX_OK)
		ret = check_place(o, path, sizeof(path));
	if (ret == EX_OK)
		ret = begin(o, path);
	signals_let(&before);
	if (ret == EX_OK && !can_ask)
		note_no_copies(o);
	return ret;
}

static enum exit_code open_and_set(struct object *o, const char *what,
				   const struct settings *settings)
{
	enum exit_code ret;
	struct kern k;
	unsigned int i;

	/* what can be wrong with the words is told before the kernel is touched */
	if (!builtin_find(what) && !is_there(what))
		return fail(EX_FAILED, HINT_LIST, "no such scheduler or file");
	ret = kern_require(&k);
	if (ret == EX_OK)
		ret = open_object(o, what, k.form);
	if (ret != EX_OK)
		return ret;
	for (i = 0; ret == EX_OK && i < settings->nr; i++)
		ret = object_set(o, settings->word[i]);
	if (ret != EX_OK)
		object_close(o);
	return ret;
}

enum exit_code load_sched(const char *what, const struct settings *settings, char *name)
{
	ERROR_ABOUT(NULL, what);
	struct object o;
	enum exit_code ret = open_and_set(&o, what, settings);

	if (ret != EX_OK)
		return ret;
	ret = load_object(&o);
	if (ret == EX_OK)
		snprintf(name, MPS_NAME_LEN, "%s", o.name);
	object_close(&o);
	return ret;
}

enum exit_code reload_sched(const char *what, const struct settings *settings)
{
	ERROR_ABOUT(NULL, what);
	struct object o;
	enum exit_code ret = open_and_set(&o, what, settings);

	if (ret != EX_OK)
		return ret;
	ret = reload_object(&o);
	object_close(&o);
	return ret;
}
