// SPDX-License-Identifier: GPL-2.0
/* `monitor`: what bpf_steer does, found by looking. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/output.h"
#include "cli/util.h"
#include "cmd/monitor.h"
#include "kernel/kern.h"
#include "policy/match.h"
#include "sched/steer_account.h"
#include "stats/steer.h"

/* --- caps */

static bool was_over(const struct monitor_steer *m, const char *name)
{
	unsigned int i;

	for (i = 0; i < m->nr_over; i++)
		if (!strcmp(m->over[i], name))
			return true;
	return false;
}

static void tell_cap(enum monitor_event event, const struct steer_table *s,
		     const struct mps_steer_path *p)
{
	const __u64 bytes = steer_account_total(s, p);

	monitor_begin(event);
	monitor_with("path", p->name);
	output_num(output_root(), "bytes", bytes);
	output_num(output_root(), "cap", p->account.cap);
	output_text("  %llu of %llu bytes", (unsigned long long)bytes,
		    (unsigned long long)p->account.cap);
	monitor_end();
}

static void look_at_caps(struct monitor_steer *m, const struct steer_table *s)
{
	char over[MPS_STEER_PATHS][MPS_STEER_NAME];
	unsigned int i, nr = 0;

	for (i = 0; i < s->t->nr_paths; i++) {
		const struct mps_steer_path *p = &s->t->path[i];
		const bool was = was_over(m, p->name), is = steer_account_is_over(s, p);

		if (is)
			memcpy(over[nr++], p->name, sizeof(over[0]));
		if (is != was && p->account.cap)
			tell_cap(is ? MONITOR_OVER_CAP : MONITOR_WITHIN_CAP, s, p);
	}
	memcpy(m->over, over, nr * sizeof(over[0]));
	m->nr_over = nr;
}

/* --- connections */

/* Names of the rows that have the rank of a key in use; none where no row has. */
static void with_paths(const char *key, const struct mps_steer_table *t, __u32 last)
{
	output_t *list = output_list(output_root(), key);
	unsigned int i;

	for (i = 0; i < t->nr_paths; i++) {
		if (mps_match_rank(&t->path[i], false) != (last & 0xff))
			continue;
		output_word(list, t->path[i].name);
		output_text(" %s", t->path[i].name);
	}
}

static bool on_standby(const struct mps_conn_rec *conn)
{
	return stats_is_steered(conn) && conn->steer.mode == MPS_STEER_STANDBY && conn->steer.begun;
}

static void look_at_standby(const struct mps_steer_table *t, const struct mps_conn_rec *was,
			    const struct mps_conn_rec *now)
{
	if (!on_standby(was) || !on_standby(now) ||
	    (was->steer.last & 0xff) == (now->steer.last & 0xff))
		return;
	monitor_begin(MONITOR_STANDBY);
	monitor_with_token(now->token);
	output_text(" ");
	with_paths("paths", t, now->steer.last);
	output_text(", before");
	with_paths("before", t, was->steer.last);
	monitor_end();
}

static const struct {
	enum mps_note note;
	enum monitor_event over, within;
} thresholds[] = {
	{ MPS_NOTE_OVER_RTT, MONITOR_OVER_RTT, MONITOR_WITHIN_RTT },
	{ MPS_NOTE_OVER_LOSS, MONITOR_OVER_LOSS, MONITOR_WITHIN_LOSS },
};

/* --- subflows */

static struct monitor_out *find_out(struct monitor_out *out, unsigned int nr,
				    const struct mps_conn_rec *conn,
				    const struct mps_subflow_rec *rec)
{
	for (; nr; nr--, out++)
		if (out->conn == conn->sk && out->token == conn->token && out->id == rec->id &&
		    out->local.port == rec->local.port && out->remote.port == rec->remote.port)
			return out;
	return NULL;
}

/* 1 << enum mps_note. Until its row is looked up nothing is known: as before. */
static unsigned int over_of(const struct mps_subflow_rec *rec, const struct monitor_out *was)
{
	const unsigned int row = rec->store.row & ~MPS_STEER_ROW_OUT;

	if (row == MPS_STEER_ROW_UNKNOWN)
		return was ? was->over : 0;
	if (row == MPS_STEER_ROW_NONE)
		return 0;
	return (unsigned int)!!(rec->store.row & MPS_STEER_ROW_OUT) << MPS_NOTE_OVER_RTT |
	       (unsigned int)rec->store.lossy << MPS_NOTE_OVER_LOSS;
}

static void name_path(struct monitor_out *o, const struct mps_steer_table *t,
		      const struct mps_conn_rec *conn, const struct mps_subflow_rec *rec)
{
	const struct mps_steer_path *row = stats_row(t, conn, rec);

	if (row)
		memcpy(o->path, row->name, sizeof(o->path));
}

static void tell_threshold(enum monitor_event event, const struct monitor_out *o)
{
	monitor_begin(event);
	monitor_with_token(o->token);
	monitor_with_ends(&o->local, &o->remote);
	if (*o->path)
		monitor_with("path", o->path);
	else
		output_null(output_root(), "path");
	monitor_end();
}

static void tell_thresholds(const struct monitor_out *o, unsigned int was)
{
	unsigned int i;

	for (i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
		const bool over = o->over >> thresholds[i].note & 1;

		if (over != (was >> thresholds[i].note & 1))
			tell_threshold(over ? thresholds[i].over : thresholds[i].within, o);
	}
}

/* Into *now where it is over one. */
static void look_at_subflow(const struct monitor_steer *m, struct monitor_steer *now,
			    const struct mps_steer_table *t, const struct mps_conn_rec *conn,
			    const struct mps_subflow_rec *rec)
{
	const struct monitor_out *was = find_out(m->out, m->nr_out, conn, rec);
	struct monitor_out o = { .conn = conn->sk,
				 .token = conn->token,
				 .id = rec->id,
				 .local = rec->local,
				 .remote = rec->remote,
				 .over = over_of(rec, was) };

	/* what it was over may have left the tables */
	if (was)
		memcpy(o.path, was->path, sizeof(o.path));
	if (o.over)
		name_path(&o, t, conn, rec);
	tell_thresholds(&o, was ? was->over : 0);
	if (!o.over)
		return;
	now->out = grow(now->out, now->nr_out, sizeof(*now->out));
	now->out[now->nr_out++] = o;
}

/* One on its way out has lost its token. */
static bool is_watched(const struct mps_conn_rec *conn, const struct netns *ns)
{
	return conn && conn->netns == ns->ino && conn->begun && conn->token &&
	       stats_is_steered(conn);
}

static void look_at_thresholds(struct monitor_steer *m, const struct mps_steer_table *t,
			       const struct netns *ns, const struct reading *now)
{
	struct monitor_steer found = { 0 };
	unsigned int i;

	for (i = 0; i < now->nr_subflows; i++) {
		const struct mps_conn_rec *conn = reading_conn(now, now->subflow[i].conn);

		if (is_watched(conn, ns))
			look_at_subflow(m, &found, t, conn, &now->subflow[i]);
	}
	free(m->out);
	m->out = found.out;
	m->nr_out = found.nr_out;
}

void monitor_steer_forget(struct monitor_steer *m)
{
	free(m->out);
	memset(m, 0, sizeof(*m));
}

void monitor_steer_look(struct monitor_steer *m, const struct netns *ns, const struct reading *was,
			const struct reading *now)
{
	struct steer_table s;
	unsigned int i;

	/* as a rule: no need to look for its maps each second */
	if (!kern_has_sched(STEER_SCHEDULER)) {
		monitor_steer_forget(m);
		return;
	}
	if (steer_table_look(&s)) {
		steer_table_close(&s);
		return;
	}
	look_at_caps(m, &s);
	for (i = 0; i < now->nr_conns; i++) {
		const struct mps_conn_rec *conn = &now->conn[i];
		const struct mps_conn_rec *before = reading_conn(was, conn->sk);

		if (conn->netns != ns->ino || !stats_is_steered(conn))
			continue;
		if (before && (before->token != conn->token || !stats_is_steered(before)))
			before = NULL;
		if (before)
			look_at_standby(s.t, before, conn);
	}
	look_at_thresholds(m, s.t, ns, now);
	steer_table_close(&s);
}
