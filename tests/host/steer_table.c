/* SPDX-License-Identifier: GPL-2.0 */
/* Reading steering's tables from a kernel that is all here, for test_steer_table.py. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "../../loader/sched/steer_table.c"

/* What the kernel has: the test changes it. */
unsigned int races; /* so many times the inner map is gone when it is to be opened */
unsigned int looks; /* into the outer map */
int outer_errno;    /* of a look into it */
int open_errno;	    /* of the inner map, for good */
int slots_errno;    /* of a look into the accounts */
unsigned int slot_size = sizeof(struct mps_steer_slot);
unsigned int type = BPF_MAP_TYPE_ARRAY, key_size = 4, value_size = sizeof(struct mps_steer_table);
unsigned int outer_type = BPF_MAP_TYPE_ARRAY_OF_MAPS;
struct mps_steer_table inside;

/* As much as the kernel would write beyond what there is room for. */
unsigned int overflows;

static char said[1000];

enum exit_code fail(enum exit_code code, const char *hint, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vsnprintf(said, sizeof(said), why, args);
	va_end(args);
	return code;
}

enum exit_code code_of(int errnum)
{
	return EX_FAILED;
}

void out_of_memory(void)
{
	abort();
}

static struct sched sched = { .nr_progs = 1 };

enum exit_code steer_accounts_carry(struct steer_table *s)
{
	return EX_OK;
}

void registry_read(struct registry *r)
{
}

void registry_free(struct registry *r)
{
}

bool is_loaded = true;

struct sched *registry_find(struct registry *r, const char *name)
{
	return is_loaded ? &sched : NULL;
}

int bpf_prog_get_fd_by_id(__u32 id)
{
	return dup(0);
}

int bpf_prog_get_info_by_fd(int fd, struct bpf_prog_info *info, __u32 *len)
{
	info->load_time = 77 * NSEC_PER_SEC;
	return 0;
}

int progmaps_open(struct progmaps *m, __u32 prog_id)
{
	m->at = 0;
	return 0;
}

/* The last that was opened before the tables are read. */
static int slots_fd = -1;

int progmaps_next(struct progmaps *m, struct bpf_map_info *info)
{
	if (m->at > 1)
		return -1;
	memset(info, 0, sizeof(*info));
	info->type = m->at ? BPF_MAP_TYPE_ARRAY : outer_type;
	info->value_size = m->at ? slot_size : sizeof(__u32);
	snprintf(info->name, sizeof(info->name), "%s", m->at ? MPS_STEER_SLOTS_MAP : MPS_STEER_MAP);
	slots_fd = dup(0);
	m->at++;
	return slots_fd;
}

static int inner_fd = -1;

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	if (fd == inner_fd) {
		overflows |= value_size > sizeof(inside);
		memcpy(value, &inside, sizeof(inside));
		return 0;
	}
	if (fd == slots_fd) {
		memset(value, 0, sizeof(struct mps_steer_slot));
		((struct mps_steer_slot *)value)->bytes[0] = *(const __u32 *)key + 1000;
		return -slots_errno;
	}
	looks++;
	*(__u32 *)value = 7;
	return -outer_errno;
}

int bpf_map_get_fd_by_id(__u32 id)
{
	errno = races ? ENOENT : open_errno;
	if (races)
		races--;
	if (errno)
		return -1;
	inner_fd = dup(0);
	return inner_fd;
}

int bpf_map_get_info_by_fd(int fd, struct bpf_map_info *info, __u32 *len)
{
	info->type = type;
	info->key_size = key_size;
	info->value_size = value_size;
	return 0;
}

int bpf_map_create(enum bpf_map_type map_type, const char *name, __u32 key, __u32 value, __u32 max,
		   const struct bpf_map_create_opts *opts)
{
	abort();
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	abort();
}

/* How many rules there are, or minus how the command ends. */
int read_rules(void)
{
	struct steer_table s;
	enum exit_code ret;
	int nr;

	said[0] = '\0';
	looks = 0;
	inner_fd = -1;
	ret = steer_table_open(&s);
	nr = ret == EX_OK && s.slot[MPS_STEER_SLOTS - 1].bytes[0] != MPS_STEER_SLOTS + 999
		     ? -99
		     : s.t->nr_rules;
	steer_table_close(&s);
	return ret == EX_OK ? nr : -(int)ret;
}

/* As the commands do that go on without: 0 or a negative errno. */
int look(void)
{
	struct steer_table s;
	int err;

	inner_fd = -1;
	err = steer_table_look(&s);
	if (s.loaded != (is_loaded ? 77 : 0))
		abort();
	steer_table_close(&s);
	return err;
}

const char *look_why(int err)
{
	return steer_table_why(err);
}

const char *why(void)
{
	return said;
}

/* A table of that many rules and paths; each path's name has `name` characters. */
void fill(unsigned int nr_rules, unsigned int nr_paths, unsigned int name, unsigned int mode)
{
	unsigned int i;

	memset(&inside, 0, sizeof(inside));
	inside.nr_rules = (__u16)nr_rules;
	inside.nr_paths = (__u8)nr_paths;
	for (i = 0; i < MPS_STEER_PATHS; i++)
		memset(inside.path[i].name, 'n', name);
	for (i = 0; i < MPS_STEER_RULES; i++)
		inside.rule[i].mode = (__u8)mode;
}
