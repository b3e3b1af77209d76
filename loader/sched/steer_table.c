// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "cli/util.h"
#include "kernel/progmaps.h"
#include "kernel/registry.h"
#include "sched/steer_account.h"
#include "sched/steer_table.h"

#define HINT_LOAD "`" PROGRAM " load " STEER_SCHEDULER "` loads it, or `use` in its place"
#define HINT_VERSION "unload it, and load that of this command"

/* A reader that is slower than so many writers in a row will not get there. */
#define MAX_LOOKS 100

#define NSEC_PER_SEC 1000000000ULL

static int find_map(const struct sched *s, __u32 type, __u32 value_size, const char *name)
{
	struct bpf_map_info info;
	struct progmaps maps;
	unsigned int i;
	int fd;

	for (i = 0; i < s->nr_progs; i++) {
		if (progmaps_open(&maps, s->prog_id[i]))
			continue;
		while ((fd = progmaps_next(&maps, &info)) >= 0) {
			if (info.type == type && info.value_size == value_size &&
			    !strcmp(info.name, name))
				return fd;
			close(fd);
		}
	}
	return -1;
}

/* The kernel writes as many bytes as the map's values have. */
static bool has_layout(int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	return !bpf_map_get_info_by_fd(fd, &info, &len) && info.type == BPF_MAP_TYPE_ARRAY &&
	       info.key_size == sizeof(__u32) && info.value_size == sizeof(struct mps_steer_table);
}

static bool is_sound(const struct mps_steer_table *t)
{
	unsigned int i;

	if (t->nr_rules > MPS_STEER_RULES || t->nr_paths > MPS_STEER_PATHS)
		return false;
	for (i = 0; i < t->nr_paths; i++)
		if (!memchr(t->path[i].name, '\0', sizeof(t->path[i].name)) ||
		    t->path[i].account.slot >= MPS_STEER_SLOTS ||
		    t->path[i].account.period >= MPS_NR_STEER_PERIODS)
			return false;
	for (i = 0; i < t->nr_rules; i++)
		if (t->rule[i].mode >= MPS_NR_STEER_MODES)
			return false;
	return true;
}

/* 0 or a negative errno; -EPROTO: not such a table. */
static int read_inner(int fd, struct mps_steer_table *t)
{
	__u32 zero = 0;
	int err;

	if (!has_layout(fd))
		return -EPROTO;
	err = bpf_map_lookup_elem(fd, &zero, t);
	return err || is_sound(t) ? err : -EPROTO;
}

/* What is in place now. Nothing in the outer map: nobody has written any, so it is empty. */
static int read_table(struct steer_table *s)
{
	unsigned int look;

	for (look = 0; look < MAX_LOOKS; look++) {
		__u32 zero = 0, id;
		int err = bpf_map_lookup_elem(s->map, &zero, &id), fd;

		if (err)
			return err == -ENOENT ? 0 : err;
		fd = bpf_map_get_fd_by_id(id);
		if (fd < 0 && errno == ENOENT)
			continue; /* another one has taken its place */
		if (fd < 0)
			return -errno;
		err = read_inner(fd, s->t);
		close(fd);
		return err;
	}
	return -EBUSY;
}

/* What was counted until now. Before the tables: they have nothing that is not counted yet. */
static int read_slots(struct steer_table *s)
{
	int err = s->slots < 0 ? -EPROTO : 0;
	__u32 i;

	for (i = 0; !err && i < MPS_STEER_SLOTS; i++)
		err = bpf_map_lookup_elem(s->slots, &i, &s->slot[i]);
	return err;
}

static int read_both(struct steer_table *s)
{
	int err = read_slots(s);

	err = err ?: read_table(s);
	if (!err)
		*s->was = *s->t;
	return err;
}

/* 0: nobody can tell. */
static long long load_time(__u32 prog_id)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(prog_id);

	if (fd < 0)
		return 0;
	if (bpf_prog_get_info_by_fd(fd, &info, &len))
		info.load_time = 0;
	close(fd);
	return (long long)(info.load_time / NSEC_PER_SEC);
}

/* Is the scheduler loaded? */
static bool find(struct steer_table *s)
{
	struct registry r;
	struct sched *sched;

	s->t = calloc(1, sizeof(*s->t));
	s->was = calloc(1, sizeof(*s->was));
	if (!s->t || !s->was)
		out_of_memory();
	registry_read(&r);
	sched = registry_find(&r, STEER_SCHEDULER);
	s->map = s->slots = -1;
	s->loaded = 0;
	if (sched) {
		s->loaded = load_time(sched->prog_id[0]);
		s->map = find_map(sched, BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(__u32), MPS_STEER_MAP);
		s->slots = find_map(sched, BPF_MAP_TYPE_ARRAY, sizeof(s->slot[0]),
				    MPS_STEER_SLOTS_MAP);
	}
	registry_free(&r);
	return sched;
}

int steer_map(const char *name, __u32 type, __u32 value_size)
{
	const struct sched *sched;
	struct registry r;
	int fd;

	registry_read(&r);
	sched = registry_find(&r, STEER_SCHEDULER);
	fd = sched ? find_map(sched, type, value_size, name) : -1;
	registry_free(&r);
	return fd;
}

int steer_table_look(struct steer_table *s)
{
	if (!find(s))
		return -ENOENT;
	return s->map < 0 ? -EPROTO : read_both(s);
}

const char *steer_table_why(int err)
{
	return err == -EPROTO ? "what is loaded is of another version" : strerror(-err);
}

enum exit_code steer_table_open(struct steer_table *s)
{
	int err;

	if (!find(s))
		return fail(EX_FAILED, HINT_LOAD,
			    STEER_SCHEDULER " is not loaded, and has no tables");
	if (s->map < 0)
		return fail(EX_FAILED, HINT_VERSION,
			    STEER_SCHEDULER " is of another version: it has no map " MPS_STEER_MAP);
	err = read_both(s);
	if (err == -EPROTO)
		return fail(EX_FAILED, HINT_VERSION,
			    STEER_SCHEDULER " is of another version: its tables are not as here");
	if (err)
		return fail(code_of(-err), err == -EBUSY ? "try again" : NULL,
			    "the tables cannot be read: %s", strerror(-err));
	return EX_OK;
}

void steer_table_close(struct steer_table *s)
{
	if (s->map >= 0)
		close(s->map);
	if (s->slots >= 0)
		close(s->slots);
	free(s->t);
	free(s->was);
}

enum exit_code steer_table_put(struct steer_table *s)
{
	enum exit_code ret = steer_accounts_carry(s);
	__u32 zero = 0;
	int fd, err;

	if (ret != EX_OK)
		return ret;
	s->t->generation = s->t->generation + 1 ?: 1;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "mps_steer_table", sizeof(zero), sizeof(*s->t), 1,
			    NULL);
	if (fd < 0)
		return fail(code_of(errno), NULL, "no map for the tables: %s", strerror(errno));
	err = bpf_map_update_elem(fd, &zero, s->t, BPF_ANY);
	if (!err)
		err = bpf_map_update_elem(s->map, &zero, &fd, BPF_ANY);
	close(fd);
	if (err)
		return fail(code_of(-err), NULL, "the tables cannot be written: %s",
			    strerror(-err));
	*s->was = *s->t;
	return EX_OK;
}
