// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include <netinet/tcp.h>
#include "cli/steer_mode.h"
#include "policy/match.h"
#include "policy/steer_key.h"
#include "stats/steer.h"

bool stats_is_steered(const struct mps_conn_rec *rec)
{
	return !strncmp(rec->sched, STEER_SCHEDULER, MPS_NAME_LEN);
}

/* Is its rule, and are its subflows' rows, of the tables as they are now? */
static bool is_current(const struct stats_delta *d, const struct conn_delta *c)
{
	return stats_is_steered(c->rec) && d->steer &&
	       d->steer->generation == c->rec->steer.generation;
}

/* NULL: none is known. */
static const struct mps_steer_path *row_of(const struct stats_delta *d, const struct conn_delta *c,
					   const struct mps_subflow_rec *rec)
{
	return is_current(d, c) ? stats_row(d->steer, c->rec, rec) : NULL;
}

static const struct mps_steer_slot *slot_of(const struct stats_delta *d,
					    const struct mps_steer_path *row)
{
	return &d->slot[row->account.slot % MPS_STEER_SLOTS];
}

static __u64 period_bytes(const struct stats_delta *d, const struct mps_steer_path *row)
{
	return mps_account_bytes(&row->account, slot_of(d, row), MPS_STEER_SENT) +
	       mps_account_bytes(&row->account, slot_of(d, row), MPS_STEER_RECEIVED);
}

/* As a decision finds it: with what waits in the subflow's queue (frame/account.h). */
static bool is_over_cap(const struct stats_delta *d, const struct mps_steer_path *row,
			const struct mps_subflow_rec *rec)
{
	return row && mps_account_is_over(&row->account, slot_of(d, row), rec->unsent);
}

static bool is_active(const struct mps_subflow_rec *rec)
{
	const unsigned int sending = 1U << TCP_ESTABLISHED | 1U << TCP_CLOSE_WAIT;

	return !rec->stale && sending >> (rec->state & 31) & 1;
}

/* Recovery after a timeout is not in it: which rank carries then tell the connection's state. */
static __u32 key_of(const struct stats_delta *d, const struct conn_delta *c,
		    const struct mps_subflow_rec *rec)
{
	const struct mps_steer_path *row = row_of(d, c, rec);
	struct mps_path p = { .flags = is_active(rec) * MPS_PATH_ACTIVE };

	/* no decision has looked at it yet */
	if ((rec->store.row & ~MPS_STEER_ROW_OUT) == MPS_STEER_ROW_UNKNOWN)
		return MPS_STEER_NO_KEY;
	p.metric = mps_steer_metric(mps_match_rank(row, rec->backup), 0,
				    row && rec->store.row & MPS_STEER_ROW_OUT);
	p.metric |= (row && rec->store.lossy) * MPS_STEER_OVER_LOSS;
	p.metric |= is_over_cap(d, row, rec) * MPS_STEER_OVER_CAP;
	return mps_steer_key(&p, MPS_STEER_BY_RANK, 0);
}

/* The least from this one on. */
static __u32 least_key(const struct stats_delta *d, const struct conn_delta *c, __u32 from)
{
	__u32 key, found = MPS_STEER_NO_KEY;
	unsigned int i;

	for (i = 0; i < c->nr_subflows; i++) {
		key = key_of(d, c, &c->subflow[i]);
		found = key >= from && key < found ? key : found;
	}
	return found;
}

/* Active-standby: the key in use, where a subflow has it. */
static __u32 in_use(const struct stats_delta *d, const struct conn_delta *c)
{
	const __u32 last = c->rec->steer.last & ~MPS_STEER_KEY_LOSS;

	return c->rec->steer.begun && least_key(d, c, last) == last ? last : least_key(d, c, 0);
}

/* Priority: the greatest key; more ranks than the next may help. */
static __u32 greatest(const struct stats_delta *d, const struct conn_delta *c)
{
	const __u32 first = least_key(d, c, 0), next = least_key(d, c, first + 1);

	if (first == MPS_STEER_NO_KEY || !(c->rec->notes >> MPS_NOTE_OVERFLOW & 1))
		return first;
	return next > c->rec->key ? next : c->rec->key;
}

struct stats_carriers stats_carriers(const struct stats_delta *d, const struct conn_delta *c)
{
	struct stats_carriers all = { .to = MPS_STEER_NO_KEY }, some = { 0 };

	if (!is_current(d, c))
		return all;
	switch (c->rec->steer.mode) {
	case MPS_STEER_STANDBY:
		some.from = some.to = in_use(d, c);
		return some;
	case MPS_STEER_PRIORITY:
		some.to = greatest(d, c);
		return some;
	default:
		return all;
	}
}

static bool stands_by(const struct stats_carriers *carriers, __u32 key)
{
	return key != MPS_STEER_NO_KEY && (key < carriers->from || key > carriers->to);
}

/* 0: none, or not known until its next decision. */
static unsigned int rule_of(const struct stats_delta *d, const struct conn_delta *c)
{
	return is_current(d, c) ? c->rec->steer.rule : 0;
}

void stats_output_rule(output_t *item, const struct stats_delta *d, const struct conn_delta *c)
{
	output_t *steer;

	if (!stats_is_steered(c->rec)) {
		output_null(item, "steer");
		return;
	}
	steer = output_obj(item, "steer");
	if (rule_of(d, c))
		output_num(steer, "rule", rule_of(d, c));
	else
		output_null(steer, "rule");
	output_str(steer, "mode", "%s", steer_mode_name(c->rec->steer.mode));
}

static void output_known(output_t *item, const char *key, bool known, __u64 value)
{
	if (known)
		output_num(item, key, value);
	else
		output_null(item, key);
}

/* Shares are wanted by weights where the mode goes by them. */
static unsigned int weight_of(const struct conn_delta *c, const struct mps_steer_path *row)
{
	return row && c->rec->steer.mode == MPS_STEER_BALANCE ? row->weight ?: 1 : 0;
}

void stats_output_row(output_t *item, const struct stats_delta *d, const struct conn_delta *c,
		      const struct mps_subflow_rec *rec)
{
	const struct mps_steer_path *row = row_of(d, c, rec);
	const bool capped = row && row->account.cap;

	if (row)
		output_str(item, "path", "%s", row->name);
	else
		output_null(item, "path");
	output_known(item, "rank", row, row ? row->rank : 0);
	output_known(item, "weight", weight_of(c, row), weight_of(c, row));
	if (row)
		output_flag(item, "metered", row->flags & MPS_STEER_METERED);
	else
		output_null(item, "metered");
	output_known(item, "period_bytes", capped, capped ? period_bytes(d, row) : 0);
	output_known(item, "cap", capped, capped ? row->account.cap : 0);
}

void stats_output_row_flags(output_t *flags, const struct stats_delta *d,
			    const struct conn_delta *c, const struct mps_subflow_rec *rec,
			    const struct stats_carriers *carriers)
{
	const struct mps_steer_path *row = row_of(d, c, rec);

	if (row && rec->store.row & MPS_STEER_ROW_OUT)
		output_word(flags, "over_rtt");
	if (row && rec->store.lossy)
		output_word(flags, "over_loss");
	if (is_over_cap(d, row, rec))
		output_word(flags, "over_cap");
	if (stands_by(carriers, key_of(d, c, rec)))
		output_word(flags, "standby");
}

static void print_row(const struct stats_delta *d, const struct conn_delta *c,
		      const struct mps_steer_path *row)
{
	char weight[24] = "", cap[64] = "";

	if (weight_of(c, row))
		snprintf(weight, sizeof(weight), ", weight %u", weight_of(c, row));
	if (row->account.cap)
		snprintf(cap, sizeof(cap), ", %llu of %llu bytes",
			 (unsigned long long)period_bytes(d, row),
			 (unsigned long long)row->account.cap);
	output_line("  path %s: rank %u%s%s%s", row->name, row->rank, weight,
		    row->flags & MPS_STEER_METERED ? ", metered" : "", cap);
}

/* Each once, however many subflows have it. */
static void print_rows(const struct stats_delta *d, const struct conn_delta *c)
{
	unsigned int i, j;

	for (i = 0; i < c->nr_subflows; i++) {
		const struct mps_steer_path *row = row_of(d, c, &c->subflow[i]);

		for (j = 0; j < i && row_of(d, c, &c->subflow[j]) != row; j++)
			;
		if (row && j == i)
			print_row(d, c, row);
	}
}

void stats_print_steer(const struct stats_delta *d, const struct conn_delta *c)
{
	const char *mode = steer_mode_name(c->rec->steer.mode);

	if (!stats_is_steered(c->rec))
		return;
	if (rule_of(d, c))
		output_line("  rule %u, mode %s", rule_of(d, c), mode);
	else if (is_current(d, c))
		output_line("  no rule, mode %s", mode);
	else
		output_line("  mode %s until the next decision, by tables of before", mode);
	print_rows(d, c);
}
