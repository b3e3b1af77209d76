// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "cli/util.h"
#include "sched/ops.h"

typedef void (*visit_t)(void *arg, struct bpf_map *map, __u32 type);

/* .struct_ops or .struct_ops.link, with a `?` in front where it is left out by default */
static bool is_ops_section(const char *name)
{
	return !strncmp(name + (*name == '?'), ".struct_ops", 11);
}

static bool is_flavour_of(const char *name, const char *of)
{
	const size_t len = strlen(of);

	return !strncmp(name, of, len) && (!name[len] || !strncmp(name + len, "___", 3));
}

static void each(const struct bpf_object *bpf, const char *struct_name, visit_t visit, void *arg)
{
	const struct btf *btf = bpf_object__btf(bpf);
	unsigned int id, i;

	for (id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *sec = btf__type_by_id(btf, id);
		const struct btf_var_secinfo *info = btf_var_secinfos(sec);

		if (!btf_is_datasec(sec) || !is_ops_section(btf_type_name(btf, id)))
			continue;
		for (i = 0; i < btf_vlen(sec); i++, info++) {
			const struct btf_type *var = btf__type_by_id(btf, info->type);

			if (!btf_is_struct(btf__type_by_id(btf, var->type)) ||
			    !is_flavour_of(btf_type_name(btf, var->type), struct_name))
				continue;
			visit(arg,
			      bpf_object__find_map_by_name(bpf, btf_type_name(btf, info->type)),
			      var->type);
		}
	}
}

struct search {
	const struct btf *btf;
	enum form form;
	struct ops_found found;
};

static void look(void *arg, struct bpf_map *map, __u32 type)
{
	struct search *s = arg;

	if (s->form != NR_FORMS && !struct_has_form(s->btf, type, s->form))
		return;
	s->found.nr++;
	s->found.map = map;
	s->found.type = type;
}

struct ops_found ops_find(const struct bpf_object *bpf, const char *struct_name, enum form form)
{
	struct search s = { .btf = bpf_object__btf(bpf), .form = form };

	each(bpf, struct_name, look, &s);
	return s.found;
}

static void leave_out(void *arg, struct bpf_map *map, __u32 type)
{
	if (map && map != arg)
		bpf_map__set_autocreate(map, false);
}

void ops_leave_out(const struct bpf_object *bpf, const char *struct_name, const struct bpf_map *but)
{
	each(bpf, struct_name, leave_out, (void *)but);
}

void ops_name(const struct bpf_object *bpf, const struct ops_found *f, char *name)
{
	const struct btf_member *m = btf_member(bpf_object__btf(bpf), f->type, "name");
	size_t size = 0;
	const char *data = bpf_map__initial_value(f->map, &size);

	*name = '\0';
	if (data && m && m->offset / 8 + MPS_NAME_LEN <= size)
		snprintf(name, MPS_NAME_LEN, "%.*s", MPS_NAME_LEN - 1, data + m->offset / 8);
}
