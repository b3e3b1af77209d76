// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include "cli/util.h"
#include "kernel/kern.h"
#include "kernel/pin.h"
#include "kernel/progmaps.h"
#include "kernel/registry.h"
#include "state/stats.h"

/* bpf_struct_ops_common_value.state, enum bpf_struct_ops_state of the kernel */
#define STATE_INUSE 1

/* BTF that holds the map's value struct: vmlinux's, or the module's on top of it. */
static struct btf *value_btf(const struct bpf_map_info *info)
{
	static struct btf *module;
	static __u32 module_id;
	struct btf *base = kern_btf();

	if (!base || info->btf_vmlinux_value_type_id < btf__type_cnt(base))
		return base;
	if (module_id != info->btf_vmlinux_id) {
		btf__free(module);
		module = btf__load_from_kernel_by_id_split(info->btf_vmlinux_id, base);
		module_id = info->btf_vmlinux_id;
	}
	return module;
}

/* The type of the member "data" where the value is of this type, else 0. */
static __u32 data_type(const struct btf *btf, const struct bpf_map_info *info,
		       const char *value_type, size_t *offset)
{
	const struct btf_type *t = btf__type_by_id(btf, info->btf_vmlinux_value_type_id);
	const struct btf_member *data;

	if (!t || strcmp(btf__name_by_offset(btf, t->name_off), value_type))
		return 0;
	data = btf_member(btf, info->btf_vmlinux_value_type_id, "data");
	if (!data)
		return 0;
	*offset = data->offset / 8;
	return data->type;
}

static bool is_hook(const struct btf *btf, __u32 type)
{
	const struct btf_type *t = btf__type_by_id(btf, type);

	return btf_is_ptr(t) && btf_is_func_proto(btf__type_by_id(btf, t->type));
}

/* user space sees the id of a program in place of its address */
static void read_ops(struct sched *s, const struct btf *btf, __u32 type, const char *data,
		     size_t size)
{
	const struct btf_type *t = btf__type_by_id(btf, type);
	const struct btf_member *m = btf_members(t);
	unsigned int i;
	__u64 id;

	for (i = 0; i < btf_vlen(t); i++, m++) {
		size_t at = m->offset / 8;

		if (!strcmp(btf__name_by_offset(btf, m->name_off), "name") &&
		    at + MPS_NAME_LEN <= size)
			snprintf(s->name, sizeof(s->name), "%.*s", MPS_NAME_LEN - 1, data + at);
		if (!is_hook(btf, m->type) || at + sizeof(id) > size || s->nr_progs == MAX_HOOKS)
			continue;
		memcpy(&id, data + at, sizeof(id));
		if (id)
			s->prog_id[s->nr_progs++] = (__u32)id;
	}
}

static void read_prog(struct sched *s, __u32 prog_id)
{
	struct bpf_map_info map;
	struct progmaps maps;
	int fd;

	if (progmaps_open(&maps, prog_id))
		return;
	if (maps.btf_id)
		s->btf_id = maps.btf_id;
	while ((fd = progmaps_next(&maps, &map)) >= 0) {
		if (map.type == BPF_MAP_TYPE_SK_STORAGE && !strcmp(map.name, MPS_CONN_MAP))
			s->conn_map = map.id;
		if (map.type == BPF_MAP_TYPE_SK_STORAGE && !strcmp(map.name, MPS_SUBFLOW_MAP))
			s->subflow_map = map.id;
		close(fd);
	}
}

static struct sched *add(struct registry *r)
{
	r->sched = grow(r->sched, r->nr, sizeof(*r->sched));
	memset(&r->sched[r->nr], 0, sizeof(*r->sched));
	return &r->sched[r->nr++];
}

static void add_sched(struct registry *r, const struct sched *ops)
{
	struct sched *s = add(r);
	unsigned int i;

	*s = *ops;
	for (i = 0; i < s->nr_progs; i++)
		read_prog(s, s->prog_id[i]);
}

static void add_clock(struct registry *r, const struct sched *ops)
{
	r->clock = grow(r->clock, r->nr_clocks, sizeof(*r->clock));
	r->clock[r->nr_clocks++] =
		(struct clock){ .map_id = ops->map_id, .prog_id = ops->prog_id[0] };
}

/* What a struct_ops map is of, by the name of its value's type; NULL: none of ours. */
static const char *read_struct_ops(int fd, struct sched *ops)
{
	static const char *const ours[] = { SCHED_OPS_VALUE, SCHED_CLOCK_VALUE };
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info), type = 0, state, key = 0;
	size_t offset = 0;
	struct btf *btf;
	unsigned int i;
	char *value;
	bool has;

	if (bpf_map_get_info_by_fd(fd, &info, &len) || info.type != BPF_MAP_TYPE_STRUCT_OPS)
		return NULL;
	btf = value_btf(&info);
	for (i = 0; btf && i < 2; i++) {
		type = data_type(btf, &info, ours[i], &offset);
		if (type)
			break;
	}
	if (!type || offset >= info.value_size)
		return NULL;
	value = calloc(1, info.value_size);
	has = value && !bpf_map_lookup_elem(fd, &key, value);
	if (has) {
		memset(ops, 0, sizeof(*ops));
		ops->map_id = info.id;
		/* struct bpf_struct_ops_common_value { refcount_t refcnt; u32 state; } */
		memcpy(&state, value + sizeof(__u32), sizeof(state));
		ops->registered = state == STATE_INUSE;
		read_ops(ops, btf, type, value + offset, info.value_size - offset);
	}
	free(value);
	return has ? ours[i] : NULL;
}

static void read_map(struct registry *r, int fd)
{
	struct sched ops;
	const char *what = read_struct_ops(fd, &ops);

	if (what && !strcmp(what, SCHED_CLOCK_VALUE))
		add_clock(r, &ops);
	else if (what)
		add_sched(r, &ops);
}

__u32 clock_program(__u32 map_id)
{
	int fd = bpf_map_get_fd_by_id(map_id);
	struct sched ops;
	const char *what = fd < 0 ? NULL : read_struct_ops(fd, &ops);

	if (fd >= 0)
		close(fd);
	return what && !strcmp(what, SCHED_CLOCK_VALUE) ? ops.prog_id[0] : 0;
}

static void read_maps(struct registry *r)
{
	__u32 id = 0;

	while (!bpf_map_get_next_id(id, &id)) {
		int fd = bpf_map_get_fd_by_id(id);

		if (fd < 0) {
			r->complete &= errno == ENOENT;
			continue;
		}
		read_map(r, fd);
		close(fd);
	}
	r->complete &= errno == ENOENT;
}

/* A link of another program belongs to the scheduler that came out of the same object. */
static void add_program(struct registry *r, __u32 prog_id, bool is_clock)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int fd = prog_id ? bpf_prog_get_fd_by_id(prog_id) : -1;
	unsigned int i;

	if (fd < 0)
		return;
	if (bpf_prog_get_info_by_fd(fd, &info, &len))
		info.btf_id = 0;
	close(fd);
	for (i = 0; i < r->nr && info.btf_id; i++) {
		struct sched *s = &r->sched[i];

		if (s->btf_id != info.btf_id)
			continue;
		if (is_clock)
			s->clock = prog_id;
		else if (s->nr_aux_progs < MAX_AUX_PROGS)
			s->aux_prog[s->nr_aux_progs++] = prog_id;
	}
}

struct sched *registry_find_map(struct registry *r, __u32 map_id)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		if (r->sched[i].map_id == map_id)
			return &r->sched[i];
	return NULL;
}

/* A link to the map means that it is registered. */
static void add_struct_ops_link(struct registry *r, const struct bpf_link_info *info)
{
	const __u32 map_id = info->struct_ops.map_id;
	struct sched *s = registry_find_map(r, map_id);
	unsigned int i;

	if (s) {
		s->link_id = info->id;
		s->registered = true;
	}
	for (i = 0; i < r->nr_clocks; i++)
		if (r->clock[i].map_id == map_id)
			add_program(r, r->clock[i].prog_id, true);
}

static void read_links(struct registry *r)
{
	__u32 id = 0;

	while (!bpf_link_get_next_id(id, &id)) {
		struct bpf_link_info info = { 0 };
		__u32 len = sizeof(info);
		int fd = bpf_link_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (bpf_link_get_info_by_fd(fd, &info, &len))
			info.prog_id = 0;
		else if (info.type != BPF_LINK_TYPE_STRUCT_OPS)
			add_program(r, info.prog_id, false);
		else
			add_struct_ops_link(r, &info);
		close(fd);
	}
}

/* Names behind which no BPF map was found: the kernel's own, or a module's. */
static void read_available(struct registry *r)
{
	char names[MAX_AVAILABLE][MPS_NAME_LEN];
	unsigned int i, n = kern_available(names);

	for (i = 0; i < n; i++) {
		struct sched *s = registry_find(r, names[i]);

		if (!s) {
			s = add(r);
			memcpy(s->name, names[i], sizeof(s->name));
			s->registered = true;
		}
		s->available = true;
	}
}

static void read_pins(struct registry *r)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		char path[128];

		pin_path(r->sched[i].name, path, sizeof(path));
		r->sched[i].pinned =
			r->sched[i].link_id && pin_link_id(path) == r->sched[i].link_id;
	}
}

void registry_read(struct registry *r)
{
	memset(r, 0, sizeof(*r));
	r->complete = true;
	read_maps(r);
	read_links(r);
	read_available(r);
	read_pins(r);
}

void registry_free(struct registry *r)
{
	free(r->sched);
	free(r->clock);
	memset(r, 0, sizeof(*r));
}

/* An object that asks refers to the kfunc, whether its program is attached or not. */
enum copies sched_copies(const struct sched *s)
{
	struct btf *btf = s->btf_id ? btf__load_from_kernel_by_id(s->btf_id) : NULL;
	bool asks = btf && btf__find_by_name_kind(btf, RETRANS_KFUNC, BTF_KIND_FUNC) > 0;

	btf__free(btf);
	if (!asks)
		return COPIES_NONE;
	return s->clock || s->nr_aux_progs ? COPIES_ON : COPIES_OFF;
}

const char *copies_name(enum copies copies)
{
	static const char *const names[] = { "none", "off", "on" };

	return names[copies];
}

struct sched *registry_find(struct registry *r, const char *name)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		if (r->sched[i].registered && !strcmp(r->sched[i].name, name))
			return &r->sched[i];
	return NULL;
}
