// SPDX-License-Identifier: GPL-2.0
/* Metrics of steering: of the rows of bpf_steer's tables, where it is loaded. */
#include <stdio.h>
#include <stdlib.h>
#include "cli/steer_mode.h"
#include "cli/util.h"
#include "exporter/metrics.h"
#include "exporter/out.h"
#include "sched/steer_account.h"
#include "stats/steer.h"

/* So many rules have a label of their own. */
#define MAX_RULES 64

static void steered(const struct out *o, const char *name, const struct mps_steer_path *p)
{
	out_begin(o, GAUGE, name);
	out_label(o, "name", p->name, true);
}

static void accounts(const struct out *o, const struct steer_table *s, unsigned int nr)
{
	static const char *const ways[MPS_NR_STEER_WAYS] = { "sent", "received" };
	const struct mps_steer_path *p, *last = s->t->path + nr;
	unsigned int way;

	out_family(o, GAUGE, "steer_period_bytes", "bytes of the path's account in this period");
	for (p = s->t->path; p < last; p++) {
		for (way = 0; way < MPS_NR_STEER_WAYS; way++) {
			steered(o, "steer_period_bytes", p);
			out_label(o, "direction", ways[way], false);
			out_end(o, steer_account_bytes(s, p, way));
		}
	}
	out_family(o, GAUGE, "steer_cap_bytes", "the path's cap, sent and received together");
	for (p = s->t->path; p < last; p++) {
		if (!p->account.cap)
			continue;
		steered(o, "steer_cap_bytes", p);
		out_end(o, p->account.cap);
	}
	out_family(o, GAUGE, "steer_over_cap", "1: the path is over its cap");
	for (p = s->t->path; p < last; p++) {
		if (!p->account.cap)
			continue;
		steered(o, "steer_over_cap", p);
		out_end(o, steer_account_is_over(s, p));
	}
}

/* How many connections there are of each mode, and of each rule; 0: of none. */
struct steered {
	unsigned int mode[MPS_NR_STEER_MODES], rule[MPS_STEER_RULES + 1];
};

/* What a connection's rule was in other tables is no rule of these. */
static void count(struct steered *n, const struct reading *r, __u32 generation)
{
	unsigned int i;

	for (i = 0; i < r->nr_conns; i++) {
		const struct mps_conn_rec *rec = &r->conn[i];

		if (!stats_is_steered(rec) || !rec->begun || !rec->token)
			continue;
		if (rec->steer.mode < MPS_NR_STEER_MODES)
			n->mode[rec->steer.mode]++;
		if (rec->steer.generation == generation && rec->steer.rule <= MPS_STEER_RULES)
			n->rule[rec->steer.rule]++;
	}
}

static void modes(const struct out *o, const struct steered *n, bool loaded)
{
	unsigned int i;

	out_family(o, GAUGE, "steer_connections", "connections of bpf_steer, by their mode");
	for (i = 0; loaded && i < MPS_NR_STEER_MODES; i++) {
		out_begin(o, GAUGE, "steer_connections");
		out_label(o, "mode", steer_mode_name(i), true);
		out_end(o, n->mode[i]);
	}
}

static void rule(const struct out *o, const char *name, unsigned int connections)
{
	out_begin(o, GAUGE, "steer_rule_connections");
	out_label(o, "rule", name, true);
	out_end(o, connections);
}

static void rules(const struct out *o, const struct steered *n, unsigned int nr, bool loaded)
{
	unsigned int i, others = 0;
	char name[16];

	out_family(o, GAUGE, "steer_rule_connections",
		   "connections of bpf_steer, by the number of their rule");
	if (!loaded)
		return;
	rule(o, "none", n->rule[0]);
	for (i = 1; i <= nr && i <= MAX_RULES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		rule(o, name, n->rule[i]);
	}
	for (; i <= nr; i++)
		others += n->rule[i];
	if (nr > MAX_RULES)
		rule(o, OTHER, others);
}

void metrics_steering(const struct out *o, const struct reading *r)
{
	struct steered *n = calloc(1, sizeof(*n));
	struct steer_table s;
	const bool loaded = !steer_table_look(&s);

	if (!n)
		out_of_memory();
	if (loaded)
		count(n, r, s.t->generation);
	accounts(o, &s, loaded ? s.t->nr_paths : 0);
	modes(o, n, loaded);
	rules(o, n, loaded ? s.t->nr_rules : 0, loaded);
	steer_table_close(&s);
	free(n);
}
