// SPDX-License-Identifier: GPL-2.0
/*
 * loader/stats/steer.c for test_stats_steer.py: a decision of bpf_steer is made on some subflows,
 * and what is left of it is what `stats` reads.
 */
#define _GNU_SOURCE
#include "../../loader/bpf/carries.h"
#include "../../loader/cli/json_print.c"
#include "../../loader/cli/output.c"
#include "../../loader/cli/steer_mode.c"
#include "../../loader/cli/text.c"
#include "../../loader/stats/steer.c"
#include "policy/steer.h"

struct row {
	__u32 rank, weight, metered, cap, used;
};

struct subflow {
	__u32 row; /* from 1 on; 0: none */
	__u32 backup, slow, lossy, active, loss, srtt_us;
};

static struct mps_steer_table table = { .generation = 7 };
static struct mps_steer_slot slots[MPS_STEER_SLOTS];
static struct mps_subflow_rec recs[MPS_MAX_PATHS];
static struct mps_priv priv;
static struct mps_conn conn;

void begin(__u32 mode)
{
	memset(&priv, 0, sizeof(priv));
	memset(&conn, 0, sizeof(conn));
	mps_steer_begin(&priv, mode, 1, table.generation);
}

static void put_rows(const struct row *rows, __u32 nr)
{
	__u32 i;

	table.nr_paths = (__u8)nr;
	for (i = 0; i < nr; i++) {
		struct mps_steer_path *p = &table.path[i];

		snprintf(p->name, sizeof(p->name), "p%u", i + 1);
		p->rank = (__u8)rows[i].rank;
		p->weight = (__u8)rows[i].weight;
		p->flags = rows[i].metered ? MPS_STEER_METERED : 0;
		p->account.cap = rows[i].cap;
		p->account.slot = (__u8)i;
		slots[i].bytes[MPS_STEER_SENT] = rows[i].used;
	}
}

/* As the frame sees it, and as the reader does. */
static void put_subflow(const struct subflow *s, __u32 i)
{
	const struct mps_steer_path *row = s->row ? &table.path[s->row - 1] : NULL;
	const __u32 over = row && mps_account_is_over(&row->account, &slots[row->account.slot], 0);

	conn.path[i] = (struct mps_path){
		.srtt_us = s->srtt_us,
		.cwnd = 10,
		.mss = 1000,
		.flags = (__u16)(s->active * (MPS_PATH_ACTIVE | MPS_PATH_SENDS | MPS_PATH_SNDBUF) |
				 s->loss * MPS_PATH_LOSS | s->backup * MPS_PATH_BACKUP),
		.metric = mps_steer_metric(mps_match_rank(row, s->backup), 0, row && s->slow) |
			  (row && s->lossy) * MPS_STEER_OVER_LOSS | over * MPS_STEER_OVER_CAP,
	};
	recs[i] = (struct mps_subflow_rec){
		.state = TCP_ESTABLISHED,
		.stale = !s->active,
		.backup = s->backup,
		.id = i,
		.store.row = (__u8)((s->row ?: MPS_STEER_ROW_NONE) |
				    (row && s->slow) * MPS_STEER_ROW_OUT),
		.store.lossy = row && s->lossy,
	};
}

/* A decision on them; the mask of those that it keeps new data off. */
__u32 decide(const struct row *rows, __u32 nr_rows, const struct subflow *subflows, __u32 nr,
	     __u32 deadline_us, __u32 now_us, __u32 pending)
{
	const struct mps_steer_options o = { .mode = mps_steer_state(&priv)->mode,
					     .deadline_us = deadline_us,
					     .waits = 1 };
	__u32 i, off = 0;

	put_rows(rows, nr_rows);
	for (i = 0; i < nr; i++)
		put_subflow(&subflows[i], i);
	conn.nr_paths = (__u16)nr;
	conn.now_us = now_us;
	conn.pending = pending;
	conn.unacked = 1;
	conn.unit = 1000;
	mps_steer_filter(&conn, &priv, &o);
	for (i = 0; i < nr; i++)
		off |= (mps_is_active(&conn.path[i]) && mps_is_backup(&conn.path[i])) << i;
	return off;
}

__u32 notes(void)
{
	return priv.notes;
}

/* What `stats` says of them then: a line of JSON, or text. generation: of the tables by now. */
void tell(__u32 generation, bool json)
{
	struct mps_conn_rec rec = { .sched = STEER_SCHEDULER, .begun = 1, .notes = priv.notes };
	const struct conn_delta c = { .rec = &rec, .subflow = recs, .nr_subflows = conn.nr_paths };
	const struct stats_delta d = { .steer = &table, .slot = slots };
	struct stats_carriers carriers;
	__u32 i;

	output_setup(json, true);
	table.generation = generation;
	rec.steer = *mps_steer_state(&priv);
	rec.key = mps_greatest_key(&conn);
	carriers = stats_carriers(&d, &c);
	for (i = 0; i < c.nr_subflows; i++) {
		output_t *item = output_item(output_list(output_root(), "subflows"));

		stats_output_row(item, &d, &c, &recs[i]);
		stats_output_row_flags(output_list(item, "flags"), &d, &c, &recs[i], &carriers);
	}
	stats_print_steer(&d, &c);
	output_finish();
	table.generation = rec.steer.generation;
	fflush(stdout);
}
