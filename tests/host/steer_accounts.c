// SPDX-License-Identifier: GPL-2.0
/*
 * Steering's accounts and their file without a kernel, for test_steer_accounts.py: what the tables
 * are and what was counted the test says.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

time_t now;
/* The machine's local time, for the test to change. */
char zone[64];

static time_t its_time(time_t *at)
{
	return now;
}

#define time(at) its_time(at)
#define LOCAL_TIME zone

#include "../../loader/cli/steer_mode.c"
#include "../../loader/sched/steer_state.c"
#include "../../loader/sched/steer_account.c"

static char said[1000], noted[1000];

static void keep(char *where, const char *fmt, va_list args)
{
	const size_t at = strlen(where);

	vsnprintf(where + at, sizeof(said) - at, fmt, args);
}

enum exit_code fail(enum exit_code code, const char *hint, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	keep(said, why, args);
	va_end(args);
	return code;
}

enum exit_code fail_on(enum exit_code code, const char *object, const char *hint, const char *why,
		       ...)
{
	va_list args;

	snprintf(said, sizeof(said), "%s: ", object);
	va_start(args, why);
	keep(said, why, args);
	va_end(args);
	return code;
}

void output_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	keep(noted, fmt, args);
	va_end(args);
}

enum exit_code code_of(int errnum)
{
	return EX_FAILED;
}

void out_of_memory(void)
{
	abort();
}

char *read_most(int fd, size_t limit, size_t *len)
{
	char *text = calloc(1, limit + 1);
	const ssize_t got = read(fd, text, limit);

	*len = got < 0 ? 0 : (size_t)got;
	if (got >= 0)
		return text;
	free(text);
	return NULL;
}

static struct mps_steer_table tables[2];
static struct steer_table s = { .t = &tables[0], .was = &tables[1] };

/* What steer_table_look() says, for the test to change. */
int look_err;

int steer_table_look(struct steer_table *look)
{
	*look = s;
	return look_err;
}

const char *steer_table_why(int err)
{
	return strerror(-err);
}

void steer_table_close(struct steer_table *look)
{
}

static void begin(void)
{
	said[0] = noted[0] = '\0';
}

const char *why(void)
{
	return said;
}

const char *note(void)
{
	return noted;
}

/* The scheduler is loaded anew: no rows, nothing counted. */
void load(void)
{
	memset(tables, 0, sizeof(tables));
	memset(s.slot, 0, sizeof(s.slot));
}

void drop(void)
{
	s.t->nr_paths = 0;
}

void add(const char *name, __u32 period, __u32 day, __u64 cap)
{
	struct mps_steer_path *p = &s.t->path[s.t->nr_paths++];

	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->account.cap = cap;
	p->account.period = (__u8)period;
	p->account.day = (__u8)day;
	p->account.slot = MPS_STEER_SLOTS;
}

/* As steer_table_put() does it. */
int put(void)
{
	enum exit_code ret;

	begin();
	ret = steer_accounts_carry(&s);
	s.t->generation++;
	if (ret == EX_OK)
		*s.was = *s.t;
	else
		*s.t = *s.was;
	return ret;
}

int save_all(void)
{
	begin();
	steer_accounts_look(&s);
	*s.was = *s.t;
	return steer_accounts_save(&s);
}

void save_at_unload(void)
{
	begin();
	steer_accounts_save_loaded();
}

int reset(const char *name)
{
	enum exit_code ret;

	begin();
	ret = steer_accounts_reset(&s, *name ? name : NULL);
	ret = ret == EX_OK ? steer_accounts_save(&s) : ret;
	if (ret == EX_OK)
		return put();
	*s.t = *s.was;
	return (int)ret;
}

void count(const char *name, __u64 sent, __u64 received)
{
	struct mps_steer_slot *slot = &s.slot[find(s.t, name)->account.slot];

	slot->bytes[MPS_STEER_SENT] += sent;
	slot->bytes[MPS_STEER_RECEIVED] += received;
}

__u64 bytes(const char *name, __u32 way)
{
	return steer_account_bytes(&s, find(s.t, name), way);
}

int is_over(const char *name)
{
	return steer_account_is_over(&s, find(s.t, name));
}

int slot_of(const char *name)
{
	return find(s.t, name)->account.slot;
}

void since(const char *name, char *buf, size_t size)
{
	steer_account_since(find(s.t, name), buf, size);
}
