// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "caps.h"
#include "kern.h"
#include "registry.h"
#include "tracers.h"
#include "util.h"

static bool is_tracer(const struct bpf_program *prog)
{
	return bpf_program__type(prog) != BPF_PROG_TYPE_STRUCT_OPS && bpf_program__autoload(prog);
}

bool tracers_choose(const struct object *o)
{
	struct bpf_program *prog;

	if (!o->asks || kern_want_retrans())
		return true;
	bpf_object__for_each_program(prog, o->bpf) if (is_tracer(prog))
		bpf_program__set_autoload(prog, false);
	return false;
}

static void path_of(const struct object *o, const char *program, char *path, size_t size)
{
	snprintf(path, size, PIN_DIR "/%s%c%s", o->name, TRACER_MARK, program);
}

enum exit_code tracers_check_pins(const struct object *o, const char *operation)
{
	struct bpf_program *prog;
	char path[512], hint[300];
	unsigned int nr = 0;

	snprintf(hint, sizeof(hint), "`" PROGRAM " unload %s` removes what is left of an old one",
		 o->name);
	bpf_object__for_each_program(prog, o->bpf)
	{
		if (!is_tracer(prog))
			continue;
		if (++nr > MAX_TRACERS)
			return fail(EX_FAILED, operation, o->what, NULL,
				    "it has more than %d programs to attach", MAX_TRACERS);
		path_of(o, bpf_program__name(prog), path, sizeof(path));
		if (is_there(path))
			return fail(EX_FAILED, operation, o->what, hint, "%s exists already", path);
	}
	return EX_OK;
}

static enum exit_code explain(const struct object *o, const char *operation,
			      const struct bpf_program *prog, int err)
{
	if (err == EOPNOTSUPP)
		return fail(EX_FAILED, operation, o->what,
			    "take it out, or write its section as SEC(\"?...\")",
			    "its program %s (section %s) is of a kind that cannot be attached here",
			    bpf_program__name(prog), bpf_program__section_name(prog));
	return fail(code_of(err), operation, o->what, "run again with -v for the log",
		    "the kernel refused to attach its program %s: %s%s", bpf_program__name(prog),
		    strerror(err), libbpf_reason());
}

static void detach(struct tracers *t)
{
	while (t->nr)
		bpf_link__destroy(t->link[--t->nr]);
}

enum exit_code tracers_attach(struct tracers *t, const struct object *o, const char *operation)
{
	struct bpf_program *prog;

	memset(t, 0, sizeof(*t));
	report_libbpf();
	bpf_object__for_each_program(prog, o->bpf)
	{
		if (!is_tracer(prog))
			continue;
		t->link[t->nr] = bpf_program__attach(prog);
		if (!t->link[t->nr]) {
			enum exit_code ret = explain(o, operation, prog, errno);

			detach(t);
			return ret;
		}
		t->program[t->nr++] = bpf_program__name(prog);
	}
	return EX_OK;
}

static void unpin(const struct tracers *t, const struct object *o, unsigned int nr)
{
	char path[512];

	while (nr--) {
		path_of(o, t->program[nr], path, sizeof(path));
		unlink(path);
	}
}

enum exit_code tracers_pin(struct tracers *t, const struct object *o, const char *operation)
{
	enum exit_code ret;
	char path[512];
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		path_of(o, t->program[i], path, sizeof(path));
		if (!bpf_obj_pin(bpf_link__fd(t->link[i]), path))
			continue;
		ret = fail(code_of(errno), operation, o->what, NULL,
			   "cannot pin its program at %s: %s", path, strerror(errno));
		unpin(t, o, i);
		return ret;
	}
	return EX_OK;
}

void tracers_undo(struct tracers *t, const struct object *o)
{
	unpin(t, o, t->nr);
	detach(t);
}

void tracers_keep(struct tracers *t)
{
	/* libbpf would switch some kinds off, whoever else holds them */
	while (t->nr) {
		bpf_link__disconnect(t->link[--t->nr]);
		bpf_link__destroy(t->link[t->nr]);
	}
}

static bool is_pin_of(const char *file, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(file, name, len) && file[len] == TRACER_MARK;
}

bool tracer_pins_exist(const char *name)
{
	DIR *dir = opendir(PIN_DIR);
	bool found = false;
	struct dirent *e;

	while (dir && !found && (e = readdir(dir)))
		found = is_pin_of(e->d_name, name);
	if (dir)
		closedir(dir);
	return found;
}

/* The link stays attached while this process has it open. */
static int take(struct tracer_pins *p, const char *file)
{
	int fd, err;

	if (p->nr == MAX_TRACERS)
		return -E2BIG;
	snprintf(p->pin[p->nr].path, sizeof(p->pin[p->nr].path), PIN_DIR "/%s", file);
	fd = bpf_obj_get(p->pin[p->nr].path);
	if (fd < 0)
		return -errno;
	if (unlink(p->pin[p->nr].path)) {
		err = -errno;
		close(fd);
		return err;
	}
	p->pin[p->nr++].fd = fd;
	return 0;
}

enum exit_code tracer_pins_take(struct tracer_pins *p, const char *operation, const char *name)
{
	DIR *dir = opendir(PIN_DIR);
	enum exit_code ret = EX_OK;
	struct dirent *e;
	int err;

	p->nr = 0;
	while (dir && ret == EX_OK && (e = readdir(dir))) {
		if (!is_pin_of(e->d_name, name))
			continue;
		err = take(p, e->d_name);
		if (err)
			ret = fail(code_of(-err), operation, name, caps_hint(-err, CAP_NEED_PINS),
				   "cannot remove " PIN_DIR "/%s: %s", e->d_name, strerror(-err));
	}
	if (dir)
		closedir(dir);
	if (ret != EX_OK)
		tracer_pins_restore(p);
	return ret;
}

void tracer_pins_restore(struct tracer_pins *p)
{
	unsigned int i;

	for (i = 0; i < p->nr; i++)
		bpf_obj_pin(p->pin[i].fd, p->pin[i].path);
	tracer_pins_release(p);
}

void tracer_pins_release(struct tracer_pins *p)
{
	while (p->nr)
		close(p->pin[--p->nr].fd);
}
