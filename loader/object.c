// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "object.h"
#include "util.h"

#define TAG_TUNABLE "mps:tunable:"
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

/* The ops variable is of a section .struct_ops or .struct_ops.link. */
static unsigned int find_ops(struct object *o, const struct btf *btf)
{
	unsigned int id, i, found = 0;

	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *sec = btf__type_by_id(btf, id);
		const struct btf_var_secinfo *info = btf_var_secinfos(sec);

		if (!btf_is_datasec(sec) || strncmp(type_name(btf, id), ".struct_ops", 11))
			continue;
		for (i = 0; i < btf_vlen(sec); i++, info++) {
			const struct btf_type *var = btf__type_by_id(btf, info->type);

			if (strcmp(type_name(btf, var->type), SCHED_OPS))
				continue;
			o->ops = bpf_object__find_map_by_name(o->bpf, type_name(btf, info->type));
			found++;
		}
	}
	return found;
}

static void read_sched_name(struct object *o, const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, SCHED_OPS, BTF_KIND_STRUCT);
	const struct btf_member *m = id > 0 ? btf_member(btf, (__u32)id, "name") : NULL;
	size_t size = 0;
	const char *data = bpf_map__initial_value(o->ops, &size);

	if (data && m && m->offset / 8 + MPS_NAME_LEN <= size)
		snprintf(o->name, sizeof(o->name), "%.*s", MPS_NAME_LEN - 1, data + m->offset / 8);
}

/* Where the variable lies in .rodata; false: elsewhere, or it is no number. */
static bool rodata_offset(const struct btf *btf, __u32 var, size_t *offset)
{
	int sec = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *t = sec > 0 ? btf__type_by_id(btf, (__u32)sec) : NULL;
	const struct btf_var_secinfo *info = t ? btf_var_secinfos(t) : NULL;
	unsigned int i;

	for (i = 0; t && i < btf_vlen(t); i++, info++) {
		if (info->type != var || info->size != sizeof(__u32))
			continue;
		*offset = info->offset;
		return true;
	}
	return false;
}

static enum exit_code add_tunable(struct object *o, const char *operation, const struct btf *btf,
				  __u32 var, const char *tag)
{
	struct tunable t = { .name = type_name(btf, var) };
	const char *data;
	size_t size = 0;

	data = o->rodata ? bpf_map__initial_value(o->rodata, &size) : NULL;
	if (!data || !rodata_offset(btf, var, &t.offset) || t.offset + sizeof(t.def) > size)
		return fail(EX_FAILED, operation, o->what, "MPS_TUNABLE() of bpf/frame.h makes one",
			    "its tunable %s is no 32-bit constant", t.name);
	if (tunable_parse_tag(&t, tag))
		return fail(EX_FAILED, operation, o->what, "MPS_TUNABLE() of bpf/frame.h makes one",
			    "its tunable %s has a tag that is not MIN:MAX:SCALE:TEXT", t.name);
	memcpy(&t.def, data + t.offset, sizeof(t.def));
	o->tunable = grow(o->tunable, o->nr_tunables, sizeof(t));
	o->tunable[o->nr_tunables++] = t;
	return EX_OK;
}

static enum exit_code read_tags(struct object *o, const char *operation, const struct btf *btf)
{
	enum exit_code ret = EX_OK;
	unsigned int id;

	o->about = "";
	o->rodata = bpf_object__find_map_by_name(o->bpf, ".rodata");
	for (id = 1; id < btf__type_cnt(btf) && ret == EX_OK; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *tag = type_name(btf, id);

		if (!btf_is_decl_tag(t) || btf_decl_tag(t)->component_idx != -1)
			continue;
		if (!strncmp(tag, TAG_TUNABLE, strlen(TAG_TUNABLE)))
			ret = add_tunable(o, operation, btf, t->type, tag + strlen(TAG_TUNABLE));
		else if (!strncmp(tag, TAG_ABOUT, strlen(TAG_ABOUT)))
			o->about = tag + strlen(TAG_ABOUT);
	}
	return ret;
}

static enum exit_code inspect(struct object *o, const char *operation)
{
	const struct btf *btf = bpf_object__btf(o->bpf);
	unsigned int found = btf ? find_ops(o, btf) : 0;

	if (!found || !o->ops)
		return fail(EX_FAILED, operation, o->what,
			    "a scheduler is a variable of that type in section .struct_ops.link",
			    "the object has no struct " SCHED_OPS);
	if (found > 1)
		return fail(EX_FAILED, operation, o->what, "build one object per scheduler",
			    "the object has %u variables of struct " SCHED_OPS, found);
	read_sched_name(o, btf);
	if (!*o->name)
		return fail(EX_FAILED, operation, o->what, "give its ops variable a .name",
			    "the scheduler has no name");
	o->asks = btf__find_by_name_kind(btf, RETRANS_KFUNC, BTF_KIND_FUNC) > 0;
	return read_tags(o, operation, btf);
}

static enum exit_code check_form(const struct object *o, const char *operation, enum form form)
{
	const struct btf *btf = bpf_object__btf(o->bpf);
	enum form other = form == FORM_SEND ? FORM_PRE615 : FORM_SEND;

	if (btf_has_form(btf, form))
		return EX_OK;
	if (!btf_has_form(btf, other))
		return fail(EX_FAILED, operation, o->what, NULL,
			    "its struct " SCHED_OPS " has no %s", form_hook(form));
	return fail(EX_FAILED, operation, o->what,
		    form == FORM_SEND ? "take the .bpf.o without .pre615"
				      : "take the .pre615.bpf.o",
		    "it has the hook %s of kernels %s, this one wants %s", form_hook(other),
		    form_kernels(other), form_hook(form));
}

static enum exit_code finish_open(struct object *o, const char *operation, int err)
{
	enum exit_code ret;

	if (!o->bpf && (err == ENOENT || err == EACCES || err == EPERM || err == EISDIR))
		return fail(code_of(err), operation, o->what, NULL, "%s", strerror(err));
	if (!o->bpf)
		return fail(EX_FAILED, operation, o->what, "compile one with clang --target=bpf -g",
			    "not a BPF object%s", libbpf_reason());
	ret = inspect(o, operation);
	if (ret != EX_OK)
		object_close(o);
	return ret;
}

enum exit_code object_open_builtin(struct object *o, const char *operation, const struct builtin *b,
				   enum form form)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = b->name);
	const char *start = b->object[form].start;

	memset(o, 0, sizeof(*o));
	o->what = b->name;
	report_libbpf();
	o->bpf = bpf_object__open_mem(start, (size_t)(b->object[form].end - start), &opts);
	return finish_open(o, operation, errno);
}

enum exit_code object_open_file(struct object *o, const char *operation, const char *path,
				enum form form)
{
	enum exit_code ret;

	memset(o, 0, sizeof(*o));
	o->what = path;
	report_libbpf();
	o->bpf = bpf_object__open_file(path, NULL);
	ret = finish_open(o, operation, errno);
	if (ret != EX_OK)
		return ret;
	ret = check_form(o, operation, form);
	if (ret != EX_OK)
		object_close(o);
	return ret;
}

void object_close(struct object *o)
{
	bpf_object__close(o->bpf);
	free(o->tunable);
	o->bpf = NULL;
	o->tunable = NULL;
}

static void describe(const struct object *o, char *buf, size_t size)
{
	size_t at = 0;
	unsigned int i;

	snprintf(buf, size, "it has no tunables");
	for (i = 0; i < o->nr_tunables && at < size; i++) {
		const struct tunable *t = &o->tunable[i];
		char min[32], max[32];

		tunable_format(t, t->min, min, sizeof(min));
		tunable_format(t, t->max, max, sizeof(max));
		at += (size_t)snprintf(buf + at, size - at, "%s%s (%s to %s)", i ? ", " : "it has ",
				       t->name, min, max);
	}
}

enum exit_code object_set(struct object *o, const char *operation, const char *setting)
{
	const char *eq = strchr(setting, '='), *why;
	const struct tunable *t = NULL;
	char hint[512], *data;
	size_t size;
	unsigned int i;
	__u32 value = 0;

	describe(o, hint, sizeof(hint));
	if (!eq || eq == setting)
		return fail(EX_USAGE, operation, o->what, hint, "--set %s is not NAME=VALUE",
			    setting);
	for (i = 0; i < o->nr_tunables && !t; i++)
		if (strlen(o->tunable[i].name) == (size_t)(eq - setting) &&
		    !strncmp(o->tunable[i].name, setting, (size_t)(eq - setting)))
			t = &o->tunable[i];
	if (!t)
		return fail(EX_FAILED, operation, o->what, hint, "no tunable %.*s",
			    (int)(eq - setting), setting);
	why = tunable_parse_value(t, eq + 1, &value);
	if (why)
		return fail(EX_FAILED, operation, o->what, hint, "%s: %s", setting, why);
	data = bpf_map__initial_value(o->rodata, &size);
	memcpy(data + t->offset, &value, sizeof(value));
	return EX_OK;
}
