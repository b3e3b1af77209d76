// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include "kernel/progmaps.h"
#include "sched/tunable_live.h"

/* libbpf names the section's type in its map, so nothing hangs on names. */
static void find_sections(struct tunable_live *l, const struct sched *s, const __u32 *datasec)
{
	struct bpf_map_info info;
	struct progmaps maps;
	unsigned int i, at;
	int fd;

	for (i = 0; i < s->nr_progs; i++) {
		if (progmaps_open(&maps, s->prog_id[i]))
			continue;
		while ((fd = progmaps_next(&maps, &info)) >= 0) {
			for (at = 0; at < NR_TUNABLE_SECTIONS; at++)
				if (l->section[at].map < 0 && datasec[at] &&
				    info.btf_id == s->btf_id &&
				    info.btf_value_type_id == datasec[at])
					break;
			if (at == NR_TUNABLE_SECTIONS) {
				close(fd);
				continue;
			}
			l->section[at].map = fd;
			l->section[at].size = info.value_size;
		}
	}
}

enum exit_code tunable_live_open_sched(struct tunable_live *l, const struct sched *s)
{
	ERROR_ABOUT(NULL, s->name);
	__u32 datasec[NR_TUNABLE_SECTIONS] = { 0 };
	enum exit_code ret;
	unsigned int i;

	memset(l, 0, sizeof(*l));
	l->name = s->name;
	for (i = 0; i < NR_TUNABLE_SECTIONS; i++)
		l->section[i].map = -1;
	if (!s->map_id)
		return fail(EX_FAILED, "`" PROGRAM " list` shows what there is",
			    "it is part of the kernel or of a kernel module and has no tunables");
	l->btf = s->btf_id ? btf__load_from_kernel_by_id(s->btf_id) : NULL;
	if (!l->btf)
		return fail(EX_FAILED, NULL,
			    "it was loaded without the types (BTF) that describe its tunables");
	ret = tunable_table_read(&l->tunables, l->btf);
	for (i = 0; i < l->tunables.nr; i++)
		datasec[l->tunables.t[i].section] = l->tunables.t[i].datasec;
	if (ret == EX_OK)
		find_sections(l, s, datasec);
	return ret;
}

enum exit_code tunable_live_open(struct tunable_live *l, const char *name)
{
	ERROR_ABOUT(NULL, name);
	struct registry r;
	struct sched *s;
	enum exit_code ret;
	char hint[80];

	snprintf(hint, sizeof(hint), "`" PROGRAM " load %.32s` loads it", name);
	memset(l, 0, sizeof(*l));
	l->section[TUNABLE_FIXED].map = l->section[TUNABLE_LIVE].map = -1;
	registry_read(&r);
	s = registry_find(&r, name);
	ret = s ? tunable_live_open_sched(l, s)
		: fail(EX_FAILED, hint, "no such scheduler is loaded");
	l->name = name;
	registry_free(&r);
	return ret;
}

void tunable_live_close(struct tunable_live *l)
{
	unsigned int i;

	for (i = 0; i < NR_TUNABLE_SECTIONS; i++)
		if (l->section[i].map >= 0)
			close(l->section[i].map);
	tunable_table_free(&l->tunables);
	btf__free(l->btf);
	l->btf = NULL;
}

int tunable_live_value(const struct tunable_live *l, const struct tunable *t, __u32 *value)
{
	const size_t size = l->section[t->section].size;
	char *data = malloc(size ?: 1);
	__u32 key = 0;
	int err = -ENOMEM;

	if (data && t->offset + sizeof(*value) > size)
		err = -ENOENT;
	else if (data)
		err = bpf_map_lookup_elem(l->section[t->section].map, &key, data);
	if (!err)
		memcpy(value, data + t->offset, sizeof(*value));
	free(data);
	return err;
}

enum exit_code tunable_live_check(const struct tunable_live *l, const struct tunable *t)
{
	ERROR_ABOUT(NULL, l->name);
	char hint[200];

	if (t->section == TUNABLE_LIVE)
		return EX_OK;
	snprintf(hint, sizeof(hint), "unload %s and load it with --set %s=...", l->name, t->name);
	return fail(EX_FAILED, hint,
		    "%s is fixed at load: code that it switches off is not in the kernel", t->name);
}

enum exit_code tunable_live_set(const struct tunable_live *l, const struct tunable *t, __u32 value)
{
	ERROR_ABOUT(NULL, l->name);
	const size_t size = l->section[t->section].size;
	void *data = MAP_FAILED;

	errno = ENOENT;
	if (t->offset + sizeof(value) <= size)
		data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    l->section[t->section].map, 0);
	if (data == MAP_FAILED)
		return fail(code_of(errno), NULL,
			    "the map with its tunables cannot be written in place: %s",
			    strerror(errno));
	__atomic_store_n((__u32 *)((char *)data + t->offset), value, __ATOMIC_RELEASE);
	munmap(data, size);
	return EX_OK;
}
