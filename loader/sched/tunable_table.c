// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/btf.h>
#include <json-c/json.h>
#include "cli/util.h"
#include "sched/tunable_table.h"

#define TAG_TUNABLE "mps:tunable:"
#define TAG_WAS "mps:was:"
#define HINT_MACRO "MPS_TUNABLE() of bpf/frame/tunables.h makes one"

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

/* What a tag of a variable says behind this prefix; NULL: it is not one of those. */
static const char *tag_text(const struct btf *btf, __u32 id, const char *prefix)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const char *tag = name_of(btf, id);

	if (!btf_is_decl_tag(type) || btf_decl_tag(type)->component_idx != -1 ||
	    strncmp(tag, prefix, strlen(prefix)))
		return NULL;
	return tag + strlen(prefix);
}

/* The name that the variable had, by MPS_WAS(). */
static const char *former_name(const struct btf *btf, __u32 var)
{
	const char *was;
	unsigned int id;

	for (id = 1; id < btf__type_cnt(btf); id++) {
		was = tag_text(btf, id, TAG_WAS);
		if (was && btf__type_by_id(btf, id)->type == var)
			return was;
	}
	return NULL;
}

enum exit_code tunable_table_read(struct tunable_table *ts, const struct btf *btf)
{
	unsigned int id;

	memset(ts, 0, sizeof(*ts));
	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *tag = tag_text(btf, id, TAG_TUNABLE);
		struct tunable t = { 0 };

		if (!tag)
			continue;
		t.name = name_of(btf, type->type);
		t.was = former_name(btf, type->type);
		if (!find_place(btf, type->type, &t))
			return fail(EX_FAILED, HINT_MACRO,
				    "its tunable %s is no 32-bit variable in .rodata or .data",
				    t.name);
		if (tunable_value_parse_tag(&t, tag))
			return fail(EX_FAILED, HINT_MACRO,
				    "its tunable %s has a tag that is not MIN:MAX:SCALE:TEXT",
				    t.name);
		ts->t = grow(ts->t, ts->nr, sizeof(t));
		ts->t[ts->nr++] = t;
	}
	return EX_OK;
}

void tunable_table_free(struct tunable_table *ts)
{
	free(ts->t);
	memset(ts, 0, sizeof(*ts));
}

const struct tunable *tunable_table_find(const struct tunable_table *ts, const char *name,
					 size_t len)
{
	unsigned int i;

	for (i = 0; i < ts->nr; i++)
		if (strlen(ts->t[i].name) == len && !strncmp(ts->t[i].name, name, len))
			return &ts->t[i];
	return NULL;
}

static const char *with_range(const struct tunable *t, char *buf, size_t size)
{
	char min[32], max[32];

	tunable_value_format(t, t->min, min, sizeof(min));
	tunable_value_format(t, t->max, max, sizeof(max));
	snprintf(buf, size, "%s (%s to %s)", t->name, min, max);
	return buf;
}

void tunable_table_describe(const struct tunable_table *ts, char *buf, size_t size)
{
	char one[200];
	size_t at = 0;
	unsigned int i;

	snprintf(buf, size, "it has no tunables");
	for (i = 0; i < ts->nr && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", " : "it has ",
				       with_range(&ts->t[i], one, sizeof(one)));
}

enum exit_code tunable_table_unknown(const struct tunable_table *ts, const char *name, size_t len)
{
	char hint[512];
	unsigned int i;

	for (i = 0; i < ts->nr; i++) {
		const struct tunable *t = &ts->t[i];

		if (!t->was || strlen(t->was) != len || strncmp(t->was, name, len))
			continue;
		snprintf(hint, sizeof(hint), "write %s: %s", t->name, t->text);
		return fail(EX_FAILED, hint, "no tunable %s: it is called %s now", t->was, t->name);
	}
	tunable_table_describe(ts, hint, sizeof(hint));
	return fail(EX_FAILED, hint, "no tunable %.*s", (int)len, name);
}

static enum exit_code check_word(enum exit_code code, const char *setting)
{
	const char *why = tunable_value_check_form(setting);

	if (!why)
		return EX_OK;
	return fail(code, "`" PROGRAM " list --verbose` shows tunables", "%s%s%s", setting,
		    strncmp(why, "not", 3) ? ": " : " is ", why);
}

enum exit_code tunable_table_check_words(enum exit_code code, const char *const *settings,
					 unsigned int nr)
{
	enum exit_code ret = EX_OK;
	unsigned int i, j;

	for (i = 0; i < nr && ret == EX_OK; i++) {
		const size_t len = strcspn(settings[i], "=") + 1;

		ret = check_word(code, settings[i]);
		for (j = 0; j < i && ret == EX_OK; j++)
			if (!strncmp(settings[i], settings[j], len))
				ret = fail(code, "leave one of them out",
					   "%.*s is given twice: %s and %s", (int)len - 1,
					   settings[i], settings[j], settings[i]);
	}
	return ret;
}

enum exit_code tunable_table_parse(const struct tunable_table *ts, const char *setting,
				   const struct tunable **t, __u32 *value)
{
	const size_t len = strcspn(setting, "=");
	char hint[512], one[200];
	const char *why;

	*t = tunable_table_find(ts, setting, len);
	if (!*t)
		return tunable_table_unknown(ts, setting, len);
	why = tunable_value_parse(*t, setting[len] ? setting + len + 1 : "", value);
	if (!why)
		return EX_OK;
	snprintf(hint, sizeof(hint), "it has %s", with_range(*t, one, sizeof(one)));
	return fail(EX_FAILED, hint, "%s: %s", setting, why);
}

void output_tunable(struct json_object *obj, const char *key, const struct tunable *t, __u32 value)
{
	char text[32];

	tunable_value_format(t, value, text, sizeof(text));
	json_object_object_add(obj, key, json_object_new_double_s((double)value / t->scale, text));
}
