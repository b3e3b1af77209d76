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

#define TAG_ABOUT "mps:about:"

const struct builtin *builtin_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_builtins; i++)
		if (!strcmp(builtins[i].name, name))
			return &builtins[i];
	return NULL;
}

static const char *type_name(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	return t ? btf__name_by_offset(btf, t->name_off) : "";
}

/* .struct_ops or .struct_ops.link, with a `?` in front where it is left out by default */
static bool is_ops_section(const char *name, bool optional)
{
	return !strncmp(name + (optional && *name == '?'), ".struct_ops", 11);
}

/* How many variables of a struct_ops type there are; the map of the last one. */
static unsigned int find_ops(const struct object *o, const struct btf *btf, const char *struct_name,
			     bool optional, struct bpf_map **map)
{
	unsigned int id, i, found = 0;

	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *sec = btf__type_by_id(btf, id);
		const struct btf_var_secinfo *info = btf_var_secinfos(sec);

		if (!btf_is_datasec(sec) || !is_ops_section(type_name(btf, id), optional))
			continue;
		for (i = 0; i < btf_vlen(sec); i++, info++) {
			const struct btf_type *var = btf__type_by_id(btf, info->type);

			if (strcmp(type_name(btf, var->type), struct_name))
				continue;
			*map = bpf_object__find_map_by_name(o->bpf, type_name(btf, info->type));
			found++;
		}
	}
	return found;
}

/* The member "name" of a struct_ops variable. */
static void read_name(const struct btf *btf, const char *struct_name, const struct bpf_map *map,
		      char *name)
{
	int id = btf__find_by_name_kind(btf, struct_name, BTF_KIND_STRUCT);
	const struct btf_member *m = id > 0 ? btf_member(btf, (__u32)id, "name") : NULL;
	size_t size = 0;
	const char *data = bpf_map__initial_value(map, &size);

	*name = '\0';
	if (data && m && m->offset / 8 + MPS_NAME_LEN <= size)
		snprintf(name, MPS_NAME_LEN, "%.*s", MPS_NAME_LEN - 1, data + m->offset / 8);
}

/* It ticks for connections of the scheduler of its name, so another name is a mistake. */
static enum exit_code find_clock(struct object *o, const struct btf *btf)
{
	unsigned int found = find_ops(o, btf, SCHED_CLOCK, true, &o->clock);
	char name[MPS_NAME_LEN];

	if (!found || !o->clock)
		return EX_OK;
	if (found > 1)
		return fail(EX_FAILED, "leave one of them",
			    "the object has %u variables of struct " SCHED_CLOCK, found);
	read_name(btf, SCHED_CLOCK, o->clock, name);
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
		const char *tag = type_name(btf, id);

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

static enum exit_code inspect(struct object *o)
{
	const struct btf *btf = bpf_object__btf(o->bpf);
	unsigned int found = btf ? find_ops(o, btf, SCHED_OPS, false, &o->ops) : 0;
	enum exit_code ret;

	if (!found || !o->ops)
		return fail(EX_FAILED,
			    "a scheduler is a variable of that type in section .struct_ops.link",
			    "the object has no struct " SCHED_OPS);
	if (found > 1)
		return fail(EX_FAILED, "build one object per scheduler",
			    "the object has %u variables of struct " SCHED_OPS, found);
	read_name(btf, SCHED_OPS, o->ops, o->name);
	if (!*o->name)
		return fail(EX_FAILED, "give its ops variable a .name",
			    "the scheduler has no name");
	o->asks = btf__find_by_name_kind(btf, RETRANS_KFUNC, BTF_KIND_FUNC) > 0;
	o->about = read_about(btf);
	ret = find_clock(o, btf);
	return ret == EX_OK ? read_tunables(o, btf) : ret;
}

static enum exit_code check_form(const struct object *o, enum form form)
{
	const struct btf *btf = bpf_object__btf(o->bpf);
	enum form other = form == FORM_SEND ? FORM_PRE615 : FORM_SEND;

	if (btf_has_form(btf, form))
		return EX_OK;
	if (!btf_has_form(btf, other))
		return fail(EX_FAILED, NULL, "its struct " SCHED_OPS " has no %s", form_hook(form));
	return fail(EX_FAILED,
		    form == FORM_SEND ? "take the .bpf.o without .pre615"
				      : "take the .pre615.bpf.o",
		    "it has the hook %s of kernels %s, this one wants %s", form_hook(other),
		    form_kernels(other), form_hook(form));
}

static enum exit_code finish_open(struct object *o, int err)
{
	enum exit_code ret;

	if (!o->bpf && err == ENOMEM)
		return fail(EX_FAILED, NULL, "%s", strerror(err));
	if (!o->bpf)
		return fail(EX_FAILED, "compile one with clang --target=bpf -g",
			    "not a BPF object%s", libbpf_reason());
	ret = inspect(o);
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
	return finish_open(o, errno);
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
	ret = finish_open(o, errno);
	/* libbpf has copied what it wants of it */
	free(elf);
	if (ret != EX_OK)
		return ret;
	ret = check_form(o, form);
	if (ret != EX_OK)
		object_close(o);
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
