// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/output.h"
#include "cli/util.h"
#include "sched/steer_account.h"
#include "sched/steer_state.h"
#include "state/steer_period.h"

#define HINT_FOREIGN "it is written by this command alone: move it away to begin anew"
#define LOST "what the paths' accounts have counted since they were saved is lost: "
#define HINT_DISK "see to it that it can be written; what is counted stays in the kernel"

/* The machine's, not that of whoever runs the command: a period is the same for all of them. */
#ifndef LOCAL_TIME
#define LOCAL_TIME ":/etc/localtime"
#endif

static __s32 today(void)
{
	const time_t now = time(NULL);
	struct tm tm;

	setenv("TZ", LOCAL_TIME, 1);
	tzset();
	if (!localtime_r(&now, &tm))
		return 0;
	return mps_date_days((struct mps_date){ tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday });
}

static const struct mps_steer_path *find(const struct mps_steer_table *t, const char *name)
{
	unsigned int i;

	for (i = 0; i < t->nr_paths; i++)
		if (!strcmp(t->path[i].name, name))
			return &t->path[i];
	return NULL;
}

static bool is_in_use(const struct mps_steer_table *t, unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < t->nr_paths; i++)
		if (t->path[i].account.slot == slot)
			return true;
	return false;
}

/*
 * One that neither table uses. From another place on each time: subflows that have not been looked
 * at since the last change still count for the slot that they had.
 */
static __u8 free_slot(const struct steer_table *s)
{
	unsigned int i, slot = 0;

	for (i = 0; i < MPS_STEER_SLOTS; i++) {
		slot = (s->was->generation + i) % MPS_STEER_SLOTS;
		if (!is_in_use(s->t, slot) && !is_in_use(s->was, slot))
			break;
	}
	return (__u8)slot;
}

/* What it has counted goes on; its period does where it is the same one. */
static void take_over(struct mps_steer_account *to, const struct mps_steer_account *from)
{
	memcpy(to->base, from->base, sizeof(to->base));
	to->slot = from->slot;
	if (to->period != from->period || to->day != from->day)
		return;
	memcpy(to->before, from->before, sizeof(to->before));
	to->start = from->start;
	to->before_start = from->before_start;
	to->seen = from->seen;
}

/* saved: or NULL */
static void open_account(const struct steer_table *s, struct mps_steer_account *a,
			 const struct steer_saved *saved)
{
	const __u8 slot = free_slot(s);
	__u32 way;

	if (saved)
		take_over(a, &saved->account);
	a->slot = slot;
	for (way = 0; way < MPS_NR_STEER_WAYS; way++)
		a->base[way] = s->slot[slot].bytes[way] - (saved ? saved->account.base[way] : 0);
}

static void save_row(const struct steer_table *s, const struct mps_steer_path *p,
		     struct steer_state *st)
{
	struct steer_saved saved = { .account = p->account };
	unsigned int way;

	memcpy(saved.name, p->name, sizeof(saved.name));
	for (way = 0; way < MPS_NR_STEER_WAYS; way++)
		saved.account.base[way] = steer_account_bytes(s, p, way);
	steer_state_set(st, &saved);
}

static enum exit_code unreadable(int err)
{
	char place[sizeof(STEER_STATE_FILE) + 16];

	if (err == -EPROTO || err == -ENODATA)
		return fail_on(EX_FAILED, STEER_STATE_FILE, HINT_FOREIGN, "%s",
			       err == -EPROTO ? "its accounts are of another version"
					      : "it is cut off: it has no end");
	if (err < 0)
		return fail_on(code_of(-err), STEER_STATE_FILE, HINT_FOREIGN, "%s", strerror(-err));
	snprintf(place, sizeof(place), STEER_STATE_FILE ":%d", err);
	return fail_on(EX_FAILED, place, HINT_FOREIGN, "the line is no account");
}

static struct steer_state *new_state(void)
{
	struct steer_state *st = calloc(1, sizeof(*st));

	if (!st)
		out_of_memory();
	return st;
}

/* Rows of s->was that s->t has no more; is there any? */
static bool save_gone(const struct steer_table *s, struct steer_state *st)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < s->was->nr_paths; i++) {
		if (find(s->t, s->was->path[i].name))
			continue;
		save_row(s, &s->was->path[i], st);
		any = true;
	}
	return any;
}

static void open_accounts(struct steer_table *s, const struct steer_state *st)
{
	unsigned int i;

	for (i = 0; i < s->t->nr_paths; i++) {
		struct mps_steer_path *p = &s->t->path[i];
		const struct mps_steer_path *was = find(s->was, p->name);

		if (p->account.slot < MPS_STEER_SLOTS)
			continue;
		if (was)
			take_over(&p->account, &was->account);
		else
			open_account(s, &p->account, steer_state_find(st, p->name));
	}
}

/* Is there a row that the tables in place have not? */
static bool has_new_rows(const struct steer_table *s)
{
	unsigned int i;

	for (i = 0; i < s->t->nr_paths; i++)
		if (!find(s->was, s->t->path[i].name))
			return true;
	return false;
}

enum exit_code steer_accounts_carry(struct steer_table *s)
{
	struct steer_state *st = new_state();
	int err = 0;

	if (has_new_rows(s) || s->was->nr_paths)
		err = steer_state_read(st);
	/* who opens none may go on: what is in the file is in nobody's way */
	if (!err || !has_new_rows(s)) {
		if (save_gone(s, st) && (err || steer_state_write(st)))
			output_note("the accounts of the paths that go are lost: " STEER_STATE_FILE
				    " cannot be read or written");
		open_accounts(s, st);
		steer_accounts_look(s);
		err = 0;
	}
	free(st);
	return err ? unreadable(err) : EX_OK;
}

bool steer_accounts_look(struct steer_table *s)
{
	const __s32 day = today();
	bool changed = false;
	unsigned int i;

	for (i = 0; i < s->t->nr_paths; i++) {
		struct mps_steer_account *a = &s->t->path[i].account;

		if (a->period)
			changed |= mps_period_look(a, &s->slot[a->slot], day);
	}
	return changed;
}

/* Each minute, on machines whose disks wear: not where nothing has been counted. */
static int write_what_changed(const struct steer_table *s, struct steer_state *st)
{
	char *before = steer_state_text(st), *after;
	unsigned int i;
	int err = 0;

	for (i = 0; i < s->t->nr_paths; i++)
		save_row(s, &s->t->path[i], st);
	after = steer_state_text(st);
	if (!before || !after || strcmp(before, after))
		err = steer_state_write(st);
	free(before);
	free(after);
	return err;
}

static int save(const struct steer_table *s)
{
	struct steer_state *st = new_state();
	int err = steer_state_read(st);

	if (!err)
		err = write_what_changed(s, st);
	free(st);
	return err;
}

enum exit_code steer_accounts_save(const struct steer_table *s)
{
	const int err = save(s);

	if (err < 0)
		return fail_on(code_of(-err), STEER_STATE_FILE, HINT_DISK, "%s", strerror(-err));
	return err ? unreadable(err) : EX_OK;
}

void steer_accounts_save_loaded(void)
{
	struct steer_table *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		out_of_memory();
	err = steer_table_look(s);
	if (err && err != -ENOENT)
		output_note(LOST "%s%s", steer_table_why(err),
			    err == -EPROTO ? ". `" PROGRAM " steer account save` before an update "
					     "keeps them"
					   : "");
	else if (!err && s->t->nr_paths && save(s))
		output_note(LOST STEER_STATE_FILE " cannot be read or written");
	steer_table_close(s);
	free(s);
}

enum exit_code steer_accounts_reset(struct steer_table *s, const char *name)
{
	unsigned int i;

	if (name && !find(s->t, name))
		return fail(EX_FAILED, "`" PROGRAM " steer list` shows the names",
			    "there is no path %s", name);
	for (i = 0; i < s->t->nr_paths; i++) {
		struct mps_steer_account *a = &s->t->path[i].account;

		if (name && strcmp(name, s->t->path[i].name))
			continue;
		memcpy(a->base, s->slot[a->slot].bytes, sizeof(a->base));
		memset(a->before, 0, sizeof(a->before));
		a->start = a->before_start = a->seen = 0;
	}
	steer_accounts_look(s);
	return EX_OK;
}

__u64 steer_account_bytes(const struct steer_table *s, const struct mps_steer_path *p,
			  unsigned int way)
{
	return mps_account_bytes(&p->account, &s->slot[p->account.slot % MPS_STEER_SLOTS], way);
}

__u64 steer_account_total(const struct steer_table *s, const struct mps_steer_path *p)
{
	return steer_account_bytes(s, p, MPS_STEER_SENT) +
	       steer_account_bytes(s, p, MPS_STEER_RECEIVED);
}

bool steer_account_is_over(const struct steer_table *s, const struct mps_steer_path *p)
{
	return mps_account_is_over(&p->account, &s->slot[p->account.slot % MPS_STEER_SLOTS], 0);
}

void steer_account_since(const struct mps_steer_path *p, char *buf, size_t size)
{
	const struct mps_date d = mps_date_of(p->account.start);

	*buf = '\0';
	if (p->account.start)
		snprintf(buf, size, "%04d-%02d-%02d", d.year, d.month, d.day);
}
