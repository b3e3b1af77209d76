// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/btf.h>
#include <json-c/json.h>
#include "tunables.h"
#include "util.h"

#define TAG_TUNABLE "mps:tunable:"
#define HINT_MACRO "MPS_TUNABLE() of bpf/tunable.h makes one"

const char *const tunable_section[NR_TUNABLE_SECTIONS] = { ".rodata", ".data" };

static const char *name_of(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	return t ? btf__name_by_offset(btf, t->name_off) : "";
}

/* Where the variable lies; false: in none of these sections, or it is no number. */
static bool find_place(const struct btf *btf, __u32 var, struct tunable *t)
{
	unsigned int s, i;

	for (s = 0; s < NR_TUNABLE_SECTIONS; s++) {
		int id = btf__find_by_name_kind(btf, tunable_section[s], BTF_KIND_DATASEC);
		const struct btf_type *sec = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
		const struct btf_var_secinfo *info = sec ? btf_var_secinfos(sec) : NULL;

		for (i = 0; sec && i < btf_vlen(sec); i++, info++) {
			if (info->type != var || info->size != sizeof(__u32))
				continue;
			t->section = (enum tunable_section)s;
			t->datasec = (__u32)id;
			t->offset = info->offset;
			return true;
		}
	}
	return false;
}

enum exit_code tunables_read(struct tunables *ts, const char *operation, const char *what,
			     const struct btf *btf)
{
	unsigned int id;

	memset(ts, 0, sizeof(*ts));
	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *tag = name_of(btf, id);
		struct tunable t = { 0 };

		if (!btf_is_decl_tag(type) || btf_decl_tag(type)->component_idx != -1 ||
		    strncmp(tag, TAG_TUNABLE, strlen(TAG_TUNABLE)))
			continue;
		t.name = name_of(btf, type->type);
		if (!find_place(btf, type->type, &t))
			return fail(EX_FAILED, operation, what, HINT_MACRO,
				    "its tunable %s is no 32-bit variable in .rodata or .data",
				    t.name);
		if (tunable_parse_tag(&t, tag + strlen(TAG_TUNABLE)))
			return fail(EX_FAILED, operation, what, HINT_MACRO,
				    "its tunable %s has a tag that is not MIN:MAX:SCALE:TEXT",
				    t.name);
		ts->t = grow(ts->t, ts->nr, sizeof(t));
		ts->t[ts->nr++] = t;
	}
	return EX_OK;
}

void tunables_free(struct tunables *ts)
{
	free(ts->t);
	memset(ts, 0, sizeof(*ts));
}

const struct tunable *tunables_find(const struct tunables *ts, const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < ts->nr; i++)
		if (strlen(ts->t[i].name) == len && !strncmp(ts->t[i].name, name, len))
			return &ts->t[i];
	return NULL;
}

void tunables_describe(const struct tunables *ts, char *buf, size_t size)
{
	size_t at = 0;
	unsigned int i;

	snprintf(buf, size, "it has no tunables");
	for (i = 0; i < ts->nr && at < size; i++) {
		const struct tunable *t = &ts->t[i];
		char min[32], max[32];

		tunable_format(t, t->min, min, sizeof(min));
		tunable_format(t, t->max, max, sizeof(max));
		at += (size_t)snprintf(buf + at, size - at, "%s%s (%s to %s)", i ? ", " : "it has ",
				       t->name, min, max);
	}
}

enum exit_code tunables_parse(const struct tunables *ts, const char *operation, const char *what,
			      const char *setting, const struct tunable **t, __u32 *value)
{
	const char *eq = strchr(setting, '='), *why;
	char hint[512];

	tunables_describe(ts, hint, sizeof(hint));
	if (!eq || eq == setting)
		return fail(EX_USAGE, operation, what, hint, "%s is not NAME=VALUE", setting);
	*t = tunables_find(ts, setting, (size_t)(eq - setting));
	if (!*t)
		return fail(EX_FAILED, operation, what, hint, "no tunable %.*s",
			    (int)(eq - setting), setting);
	why = tunable_parse_value(*t, eq + 1, value);
	if (why)
		return fail(EX_FAILED, operation, what, hint, "%s: %s", setting, why);
	return EX_OK;
}

void out_tunable(struct json_object *obj, const char *key, const struct tunable *t, __u32 value)
{
	char text[32];

	tunable_format(t, value, text, sizeof(text));
	json_object_object_add(obj, key, json_object_new_double_s((double)value / t->scale, text));
}
