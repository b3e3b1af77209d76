// SPDX-License-Identifier: GPL-2.0
/* `monitor`: what bpf_steer does, found by looking. */
#include <stdio.h>
#include <string.h>
#include "cli/output.h"
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
	struct monitor_steer now = { .nr_over = 0 };
	unsigned int i;

	for (i = 0; i < s->t->nr_paths; i++) {
		const struct mps_steer_path *p = &s->t->path[i];
		const bool was = was_over(m, p->name), is = steer_account_is_over(s, p);

		if (is)
			memcpy(now.over[now.nr_over++], p->name, sizeof(now.over[0]));
		if (is != was && p->account.cap)
			tell_cap(is ? MONITOR_OVER_CAP : MONITOR_WITHIN_CAP, s, p);
	}
	*m = now;
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

static void look_at_thresholds(const struct mps_conn_rec *was, const struct mps_conn_rec *now)
{
	const __u64 changed = (was ? was->notes : 0) ^ now->notes;
	unsigned int i;

	for (i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
		if (!(changed >> thresholds[i].note & 1))
			continue;
		monitor_begin(now->notes >> thresholds[i].note & 1 ? thresholds[i].over
								   : thresholds[i].within);
		monitor_with_token(now->token);
		monitor_end();
	}
}

void monitor_steer_look(struct monitor_steer *m, const struct netns *ns, const struct reading *was,
			const struct reading *now)
{
	struct steer_table s;
	unsigned int i;

	/* as a rule: no need to look for its maps each second */
	if (!kern_has_sched(STEER_SCHEDULER)) {
		m->nr_over = 0;
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
		look_at_thresholds(before, conn);
	}
	steer_table_close(&s);
}
