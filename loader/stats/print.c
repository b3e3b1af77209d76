// SPDX-License-Identifier: GPL-2.0
/* One connection as `stats` shows it; docs/reference/stats.schema.json describes the JSON. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "kernel/sockets.h"
#include "stats/print.h"
#include "stats/steer.h"

/* Ranks: in a narrow terminal what it does now is worth more than what it did. */
#define SUBFLOW_COLS                                                                      \
	{ "share", "SHARE", OUTPUT_BAR | OUTPUT_RANK(1) },                                \
		{ "bytes_per_s", "RATE", OUTPUT_RATE | OUTPUT_RANK(1) },                  \
		{ "local", "LOCAL", OUTPUT_LEFT | OUTPUT_RANK(2) },                       \
		{ "remote", "REMOTE", OUTPUT_LEFT | OUTPUT_RANK(3) },                     \
		{ "flags", "FLAGS", OUTPUT_LEFT | OUTPUT_RANK(6) },                       \
		{ "srtt_us", "SRTT us", OUTPUT_RIGHT | OUTPUT_RANK(4) },                  \
		{ "cwnd", "CWND", OUTPUT_RIGHT | OUTPUT_RANK(5) },                        \
		{ "inflight", "IN FLIGHT", OUTPUT_RIGHT | OUTPUT_RANK(7) },               \
		{ "unsent", "UNSENT B", OUTPUT_RIGHT | OUTPUT_RANK(8) },                  \
		{ "counters.picks", "PICKS", OUTPUT_RIGHT | OUTPUT_RANK(9) },             \
		{ "counters.bytes_sent", "SENT B", OUTPUT_RIGHT | OUTPUT_RANK(9) },       \
		{ "counters.bytes_retrans", "RE-SENT B", OUTPUT_RIGHT | OUTPUT_RANK(9) }, \
	{                                                                                 \
		NULL, NULL, OUTPUT_LEFT                                                   \
	}

static const struct output_col subflow_cols[] = {
	{ "id", "SUBFLOW", OUTPUT_RIGHT },
	SUBFLOW_COLS,
};

/* With the names of steering's paths. */
static const struct output_col steered_cols[] = {
	{ "id", "SUBFLOW", OUTPUT_RIGHT },
	{ "path", "PATH", OUTPUT_LEFT | OUTPUT_RANK(1) },
	SUBFLOW_COLS,
};

static void output_conn_counters(output_t *item, const struct mps_conn_rec *rec)
{
	output_t *counters = output_obj(item, "counters"), *waits = output_obj(item, "waits");

#define OUTPUT_CONN(id, name, text) output_num(counters, #name, rec->counter[MPS_C_##id]);
#define OUTPUT_WAIT(id, name, text) output_num(waits, #name, rec->counter[MPS_C_WAIT_##id]);
	MPS_CONN_COUNTERS(OUTPUT_CONN)
	MPS_WAIT_REASONS(OUTPUT_WAIT)
#undef OUTPUT_CONN
#undef OUTPUT_WAIT
}

static void output_ends(output_t *item, const struct mps_addr *local, const struct mps_addr *remote)
{
	char addr[64];

	if (!item)
		return;
	output_str(item, "local", "%s", addr_text(local, addr, sizeof(addr)));
	output_str(item, "remote", "%s", addr_text(remote, addr, sizeof(addr)));
}

/*
 * Since the reading before, where there is one; its part of the connection's bytes then, and
 * where there is none, of all that the connection ever sent.
 */
static void output_progress(output_t *item, const struct stats_delta *d, const struct conn_delta *c,
			    const struct mps_subflow_rec *rec)
{
	const __u64 whole = c->before ? c->fresh : c->bytes;
	const __u64 part = c->before ? subflow_fresh(d, rec) : subflow_bytes(rec);

	if (c->before && d->seconds > 0)
		output_real(item, "bytes_per_s", (double)part / d->seconds, 1);
	else
		output_null(item, "bytes_per_s");
	if (whole)
		output_real(item, "share", (double)part / (double)whole, 4);
	else
		output_null(item, "share");
}

static void output_subflow(output_t *item, const struct stats_delta *d, const struct conn_delta *c,
			   const struct mps_subflow_rec *rec, const struct stats_carriers *carriers)
{
	output_t *flags, *counters;

	output_num(item, "id", rec->id);
	stats_output_row(item, d, c, rec);
	output_num(item, "remote_id", rec->remote_id);
	output_ends(item, &rec->local, &rec->remote);
	output_str(item, "state", "%s", state_name(rec->state));
	flags = output_list(item, "flags");
	if (rec->backup)
		output_word(flags, "backup");
	if (rec->stale)
		output_word(flags, "stale");
	stats_output_row_flags(flags, d, c, rec, carriers);
	if (rec->srtt_us)
		output_num(item, "srtt_us", rec->srtt_us);
	else
		output_null(item, "srtt_us");
	output_num(item, "cwnd", rec->cwnd);
	output_num(item, "inflight", rec->inflight);
	output_num(item, "mss", rec->mss);
	output_num(item, "queued", rec->queued);
	output_num(item, "unsent", rec->unsent);
	output_progress(item, d, c, rec);
	counters = output_obj(item, "counters");
#define OUTPUT_SUBFLOW(id, name, text) output_num(counters, #name, rec->store.counter[MPS_S_##id]);
	MPS_SUBFLOW_COUNTERS(OUTPUT_SUBFLOW)
#undef OUTPUT_SUBFLOW
	counters = output_obj(item, "tcp");
	output_num(counters, "bytes_sent", rec->bytes_sent);
	output_num(counters, "bytes_acked", rec->bytes_acked);
}

static void print_counter(char *line, size_t size, const char *name, __u64 value, double rate)
{
	size_t len = strlen(line);

	if (!value)
		return;
	snprintf(line + len, size - len, "  %s %llu", name, (unsigned long long)value);
	len = strlen(line);
	if (rate > 0)
		snprintf(line + len, size - len, " (+%.*f/s)", rate < 10 ? 1 : 0, rate);
}

/* Text: the counters that are not 0, in the order of their table, and how fast they grow. */
static void print_conn_counters(const struct mps_conn_rec *rec, const struct mps_conn_rec *before,
				double seconds)
{
	char line[1000] = "";

#define RATE(id) (before ? (double)(rec->counter[id] - before->counter[id]) / seconds : 0)
#define PRINT_CONN(id, name, text) \
	print_counter(line, sizeof(line), #name, rec->counter[MPS_C_##id], RATE(MPS_C_##id));
#define PRINT_WAIT(id, name, text)                                                      \
	print_counter(line, sizeof(line), "wait:" #name, rec->counter[MPS_C_WAIT_##id], \
		      RATE(MPS_C_WAIT_##id));
	MPS_CONN_COUNTERS(PRINT_CONN)
	MPS_WAIT_REASONS(PRINT_WAIT)
#undef PRINT_CONN
#undef PRINT_WAIT
#undef RATE
	if (*line)
		output_line("%s", line);
}

/* What the scheduler says about the connection: a word each in JSON, a line in text. */
static void output_notes(output_t *item, const struct mps_conn_rec *rec)
{
	output_t *notes = output_list(item, "notes");

#define OUTPUT_NOTE(id, name, text)             \
	if (rec->notes & 1ULL << MPS_NOTE_##id) \
		output_word(notes, #name);
	MPS_NOTES(OUTPUT_NOTE)
#undef OUTPUT_NOTE
}

static void print_notes(const struct mps_conn_rec *rec)
{
#define PRINT_NOTE(id, name, text)              \
	if (rec->notes & 1ULL << MPS_NOTE_##id) \
		output_line("  note %s: " text, #name);
	MPS_NOTES(PRINT_NOTE)
#undef PRINT_NOTE
}

/* Per second since the reading before; NULL where there is none. */
static void output_rates(output_t *item, const struct stats_delta *d, const struct conn_delta *c)
{
	output_t *rates, *waits;

	if (!c->before || d->seconds <= 0) {
		output_null(item, "rates");
		return;
	}
	rates = output_obj(item, "rates");
	output_real(rates, "bytes_per_s", (double)c->fresh / d->seconds, 1);
#define RATE(to, id, name)                                                                         \
	output_real(to, name, (double)(c->rec->counter[id] - c->before->counter[id]) / d->seconds, \
		    1);
	RATE(rates, MPS_C_DECISIONS, "decisions_per_s")
	RATE(rates, MPS_C_PICKS, "picks_per_s")
	waits = output_obj(rates, "waits_per_s");
#define RATE_WAIT(id, name, text) RATE(waits, MPS_C_WAIT_##id, #name)
	MPS_WAIT_REASONS(RATE_WAIT)
#undef RATE_WAIT
#undef RATE
}

static void print_conn(output_t *subflows, const struct stats_delta *d, const struct conn_delta *c,
		       const char *netns)
{
	const struct mps_conn_rec *rec = c->rec;
	char local[64], remote[64], rate[32] = "";

	if (output_is_json())
		return;
	if (c->before && d->seconds > 0)
		rate_text((double)c->fresh / d->seconds, rate, sizeof(rate));
	output_line("%08x %s  %s  %s%s%s > %s  %s%s  pending %llu  in flight %llu", rec->token,
		    netns, rec->sched, rate, *rate ? "  " : "",
		    addr_text(&rec->local, local, sizeof(local)),
		    addr_text(&rec->remote, remote, sizeof(remote)), state_name(rec->state),
		    rec->fallback ? ", fell back to TCP" : "", (unsigned long long)rec->pending,
		    (unsigned long long)rec->inflight);
	print_conn_counters(rec, d->seconds > 0 ? c->before : NULL, d->seconds);
	stats_print_steer(d, c);
	print_notes(rec);
	output_table(subflows, stats_is_steered(rec) ? steered_cols : subflow_cols, "  ");
}

void stats_print_conn(output_t *item, const struct stats_delta *d, const struct conn_delta *c,
		      const char *netns)
{
	const struct stats_carriers carriers = stats_carriers(d, c);
	const struct mps_conn_rec *rec = c->rec;
	output_t *subflows;
	unsigned int i;

	output_str(item, "token", "0x%08x", rec->token);
	output_str(item, "scheduler", "%.*s", MPS_NAME_LEN, rec->sched);
	output_str(item, "netns", "%s", netns);
	output_num(item, "netns_inode", rec->netns);
	output_str(item, "state", "%s", state_name(rec->state));
	output_flag(item, "fallback", rec->fallback);
	output_str(item, "family", "%s", rec->local.family == AF_INET6 ? "ipv6" : "ipv4");
	output_ends(item, &rec->local, &rec->remote);
	stats_output_rule(item, d, c);
	output_num(item, "pending", rec->pending);
	output_num(item, "inflight", rec->inflight);
	output_conn_counters(item, rec);
	output_rates(item, d, c);
	output_notes(item, rec);
	/* the text has a table of them */
	subflows = json_object_new_array();
	for (i = 0; i < c->nr_subflows; i++)
		output_subflow(output_item(subflows), d, c, &c->subflow[i], &carriers);
	print_conn(subflows, d, c, netns);
	if (item)
		json_object_object_add(item, "subflows", subflows);
	else
		json_object_put(subflows);
}
