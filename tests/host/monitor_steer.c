// SPDX-License-Identifier: GPL-2.0
/* loader/cmd/monitor_steer.c for test_monitor_steer.py, which says what is read at each look. */
#define _GNU_SOURCE
#include "../../loader/cli/json_print.c"
#include "../../loader/cli/output.c"
#include "../../loader/cli/steer_mode.c"
#include "../../loader/cli/text.c"
#include "../../loader/cmd/monitor_steer.c"
#include "../../loader/stats/steer.c"

#define MOST 8

static struct mps_steer_table table;
static struct mps_conn_rec conn;
static struct mps_subflow_rec subflows[MOST];
static struct monitor_steer state;
static bool loaded;

bool kern_has_sched(const char *name)
{
	return loaded;
}

int steer_table_look(struct steer_table *s)
{
	memset(s, 0, sizeof(*s));
	s->t = &table;
	return 0;
}

void steer_table_close(struct steer_table *s)
{
}

__u64 steer_account_total(const struct steer_table *s, const struct mps_steer_path *p)
{
	return 0;
}

bool steer_account_is_over(const struct steer_table *s, const struct mps_steer_path *p)
{
	return false;
}

const struct mps_conn_rec *reading_conn(const struct reading *r, __u64 sk)
{
	return r->nr_conns && r->conn->sk == sk ? r->conn : NULL;
}

void monitor_begin(enum monitor_event event)
{
	static const char *const names[] = {
#define NAME(id, name, by, text) name,
		MONITOR_EVENTS(NAME)
#undef NAME
	};

	output_str(output_root(), "event", "%s", names[event]);
}

void monitor_with(const char *key, const char *value)
{
	output_str(output_root(), key, "%s", value);
}

void monitor_with_token(__u32 token)
{
	output_num(output_root(), "token", token);
}

void monitor_with_ends(const struct mps_addr *local, const struct mps_addr *remote)
{
	output_num(output_root(), "local", local->port);
	output_num(output_root(), "remote", remote->port);
}

void monitor_end(void)
{
	output_finish();
}

/* Paths p1, p2, ... of that generation, the names of which begin at this number. */
void tables(__u32 generation, __u32 nr, __u32 first)
{
	__u32 i;

	table.generation = generation;
	table.nr_paths = (__u8)nr;
	for (i = 0; i < nr; i++)
		snprintf(table.path[i].name, sizeof(table.path[i].name), "p%u", first + i);
}

/* The connection, and of each of its subflows the row as it is kept, and whether it loses much. */
void look(bool is_loaded, __u32 token, __u32 generation, const __u32 *rows, const __u32 *lossy,
	  __u32 nr)
{
	const struct netns ns = { .ino = 5 };
	const struct reading was = { 0 };
	const struct reading now = {
		.conn = &conn, .nr_conns = 1, .subflow = subflows, .nr_subflows = nr
	};
	__u32 i;

	loaded = is_loaded;
	conn = (struct mps_conn_rec){ .sk = 9,
				      .netns = 5,
				      .token = token,
				      .begun = 1,
				      .steer.generation = generation,
				      .sched = STEER_SCHEDULER };
	for (i = 0; i < nr; i++)
		subflows[i] = (struct mps_subflow_rec){ .conn = 9,
							.id = i,
							.local.port = (__u16)(100 + i),
							.remote.port = 200,
							.store.row = (__u8)rows[i],
							.store.lossy = lossy[i] & 1 };
	output_setup(true, true);
	monitor_steer_look(&state, &ns, &was, &now);
	fflush(stdout);
}

void forget(void)
{
	monitor_steer_forget(&state);
}
