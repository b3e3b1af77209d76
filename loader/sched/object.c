// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "cli/input.h"
#include "cli/util.h"
#include "sched/elfcheck.h"
#include "sched/object.h"
#include "sched/ops.h"

#define TAG_ABOUT "mps:about:"

const struct builtin *builtin_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_builtins; i++)
		if (!strcmp(builtins[i].name, name))
			return &builtins[i];
	return NULL;
}

/* It ticks for connections of the scheduler of its name, so another name is a mistake. */
static enum exit_code find_clock(struct object *o)
{
	const struct ops_found found = ops_find(o->bpf, SCHED_CLOCK, NR_FORMS);
	char name[MPS_NAME_LEN];

	o->clock = found.map;
	if (!o->clock)
		return EX_OK;
	if (found.nr > 1)
		return fail(EX_FAILED, "leave one of them",
			    "the object has %u variables of struct " SCHED_CLOCK, found.nr);
	ops_name(o->bpf, &found, name);
	if (strcmp(name, o->name))
		return fail(EX_FAILED, "give both the same .name",
			    "its struct " SCHED_CLOCK " %s is for a scheduler named \"%s\", not %s",
			    bpf_map__name(o->clock), name, o->name);
	return EX_OK;
}

static const char *read_about(const struct btf *btf)
{
	const char *about = "";
	unsigned int id;

	for (id = 1; id < btf__type_cnt(btf); id++) {
		const char *tag = btf_type_name(btf, id);

		if (btf_is_decl_tag(btf__type_by_id(btf, id)) &&
		    !strncmp(tag, TAG_ABOUT, strlen(TAG_ABOUT)))
			about = tag + strlen(TAG_ABOUT);
	}
	return about;
}

/* Of its section, as libbpf will load it; NULL: it is not there. */
static void *place_of(const struct object *o, const struct tunable *t)
{
	struct bpf_map *map = bpf_object__find_map_by_name(o->bpf, tunable_section[t->section]);
	size_t size = 0;
	char *data = map ? bpf_map__initial_value(map, &size) : NULL;

	return data && t->offset + sizeof(__u32) <= size ? data + t->offset : NULL;
}

static enum exit_code read_tunables(struct object *o, const struct btf *btf)
{
	enum exit_code ret = tunable_table_read(&o->tunables, btf);
	unsigned int i;

	for (i = 0; i < o->tunables.nr && ret == EX_OK; i++) {
		struct tunable *t = &o->tunables.t[i];
		const void *place = place_of(o, t);

		if (!place)
			return fail(EX_FAILED, NULL, "its tunable %s lies outside of its section",
				    t->name);
		memcpy(&t->def, place, sizeof(t->def));
	}
	return ret;
}

/* None of its forms is this kernel's. */
static enum exit_code no_form(const struct object *o, enum form form)
{
	const enum form other = form == FORM_SEND ? FORM_PRE615 : FORM_SEND;

	if (!ops_find(o->bpf, SCHED_OPS, other).nr)
		return fail(EX_FAILED, NULL, "its struct " SCHED_OPS " has no %s", form_hook(form));
	return fail(EX_FAILED,
		    form == FORM_SEND ? "take the .bpf.o without .pre615"
				      : "take the .pre615.bpf.o",
		    "it has the hook %s of kernels %s, this one wants %s", form_hook(other),
		    form_kernels(other), form_hook(form));
}

/* An object may have one of each form: this kernel's is loaded, and the other left out. */
static enum exit_code find_ops(struct object *o, enum form form)
{
	const struct ops_found any = ops_find(o->bpf, SCHED_OPS, NR_FORMS);
	const struct ops_found found = ops_find(o->bpf, SCHED_OPS, form);

	if (!any.map)
		return fail(EX_FAILED,
			    "a scheduler is a variable of that type in section .struct_ops.link",
			    "the object has no struct " SCHED_OPS);
	if (found.nr > 1)
		return fail(EX_FAILED, "build one object per scheduler",
			    "the object has %u variables of struct " SCHED_OPS " with the hook %s",
			    found.nr, form_hook(form));
	if (!found.map)
		return no_form(o, form);
	o->ops = found.map;
	ops_leave_out(o->bpf, SCHED_OPS, o->ops);
	bpf_map__set_autocreate(o->ops, true);
	ops_name(o->bpf, &found, o->name);
	return *o->name ? EX_OK
			: fail(EX_FAILED, "give its ops variable a .name",
			       "the scheduler has no name");
}

static enum exit_code inspect(struct object *o, enum form form)
{
	const struct btf *btf = bpf_object__btf(o->bpf);
	enum exit_code ret = find_ops(o, form);

	if (ret != EX_OK)
		return ret;
	o->asks = btf__find_by_name_kind(btf, RETRANS_KFUNC, BTF_KIND_FUNC) > 0;
	o->about = read_about(btf);
	ret = find_clock(o);
	return ret == EX_OK ? read_tunables(o, btf) : ret;
}

static enum exit_code finish_open(struct object *o, enum form form, int err)
{
	enum exit_code ret;

	if (!o->bpf && err == ENOMEM)
		return fail(EX_FAILED, NULL, "%s", strerror(err));
	if (!o->bpf)
		return fail(EX_FAILED, "compile one with clang --target=bpf -g",
			    "not a BPF object%s", libbpf_reason());
	ret = inspect(o, form);
	if (ret != EX_OK)
		object_close(o);
	return ret;
}

enum exit_code object_open_builtin(struct object *o, const struct builtin *b, enum form form)
{
	ERROR_ABOUT(NULL, b->name);
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = b->name);
	const char *start = b->object[form].start;

	memset(o, 0, sizeof(*o));
	o->what = b->name;
	error_watch_libbpf();
	o->bpf = bpf_object__open_mem(start, (size_t)(b->object[form].end - start), &opts);
	return finish_open(o, form, errno);
}

/* As libbpf names an object that it opens by its path: maps of sections are called after it. */
static void name_of(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(name, size, "%s", slash ? slash + 1 : path);
	name[strcspn(name, ".")] = '\0';
}

enum exit_code object_open_file(struct object *o, const char *path, enum form form)
{
	ERROR_ABOUT(NULL, path);
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	char name[64], *elf;
	size_t len = 0;
	enum exit_code ret;

	memset(o, 0, sizeof(*o));
	o->what = path;
	ret = input_file(path, NULL, INPUT_OBJECT, &elf, &len);
	if (ret != EX_OK)
		return ret;
	if (elf_is_damaged(elf, len)) {
		free(elf);
		return fail(EX_FAILED, "compile it again",
			    "the file is damaged: it has places far outside of its sections");
	}
	name_of(path, name, sizeof(name));
	opts.object_name = name;
	error_watch_libbpf();
	o->bpf = bpf_object__open_mem(elf, len, &opts);
	ret = finish_open(o, form, errno);
	/* libbpf has copied what it wants of it */
	free(elf);
	return ret;
}

void object_close(struct object *o)
{
	bpf_object__close(o->bpf);
	tunable_table_free(&o->tunables);
	o->bpf = NULL;
}

enum exit_code object_set(struct object *o, const char *setting)
{
	ERROR_ABOUT(NULL, o->what);
	const struct tunable *t;
	__u32 value;
	enum exit_code ret = tunable_table_parse(&o->tunables, setting, &t, &value);

	if (ret == EX_OK)
		memcpy(place_of(o, t), &value, sizeof(value));
	return ret;
}

__u32 object_value(const struct object *o, const struct tunable *t)
{
	__u32 value;

	memcpy(&value, place_of(o, t), sizeof(value));
	return value;
}
