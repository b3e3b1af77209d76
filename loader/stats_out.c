// SPDX-License-Identifier: GPL-2.0
/* One connection as `stats` shows it; docs/stats.schema.json describes the JSON. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "sockets.h"
#include "stats_out.h"

static const struct out_col subflow_cols[] = {
	{ "id", "SUBFLOW", OUT_RIGHT },
	{ "share", "SHARE", OUT_BAR },
	{ "bytes_per_s", "RATE", OUT_RATE },
	{ "local", "LOCAL", OUT_LEFT },
	{ "remote", "REMOTE", OUT_LEFT },
	{ "flags", "FLAGS", OUT_LEFT },
	{ "srtt_us", "SRTT us", OUT_RIGHT },
	{ "cwnd", "CWND", OUT_RIGHT },
	{ "inflight", "IN FLIGHT", OUT_RIGHT },
	{ "unsent", "UNSENT B", OUT_RIGHT },
	{ "counters.picks", "PICKS", OUT_RIGHT },
	{ "counters.bytes_sent", "SENT B", OUT_RIGHT },
	{ "counters.bytes_retrans", "RE-SENT B", OUT_RIGHT },
	{ NULL, NULL, OUT_LEFT },
};

static void out_conn_counters(out_t *item, const struct mps_conn_rec *rec)
{
	out_t *counters = out_obj(item, "counters"), *waits = out_obj(item, "waits");

#define OUT_CONN(id, name, text) out_num(counters, #name, rec->counter[MPS_C_##id]);
#define OUT_WAIT(id, name, text) out_num(waits, #name, rec->counter[MPS_C_WAIT_##id]);
	MPS_CONN_COUNTERS(OUT_CONN)
	MPS_WAIT_REASONS(OUT_WAIT)
#undef OUT_CONN
#undef OUT_WAIT
}

static void out_ends(out_t *item, const struct mps_addr *local, const struct mps_addr *remote)
{
	char addr[64];

	if (!item)
		return;
	out_str(item, "local", "%s", addr_text(local, addr, sizeof(addr)));
	out_str(item, "remote", "%s", addr_text(remote, addr, sizeof(addr)));
}

/*
 * Since the reading before, where there is one; its part of the connection's bytes then, and
 * where there is none, of all that the connection ever sent.
 */
static void out_progress(out_t *item, const struct view *v, const struct conn_view *c,
			 const struct mps_subflow_rec *rec)
{
	const __u64 whole = c->before ? c->fresh : c->bytes;
	const __u64 part = c->before ? subflow_fresh(v, rec) : subflow_bytes(rec);

	if (c->before && v->seconds > 0)
		out_real(item, "bytes_per_s", (double)part / v->seconds, 1);
	else
		out_null(item, "bytes_per_s");
	if (whole)
		out_real(item, "share", (double)part / (double)whole, 4);
	else
		out_null(item, "share");
}

static void out_subflow(out_t *item, const struct view *v, const struct conn_view *c,
			const struct mps_subflow_rec *rec)
{
	out_t *flags, *counters;

	out_num(item, "id", rec->id);
	out_ends(item, &rec->local, &rec->remote);
	out_str(item, "state", "%s", state_name(rec->state));
	flags = out_list(item, "flags");
	if (rec->backup)
		out_word(flags, "backup");
	if (rec->stale)
		out_word(flags, "stale");
	if (rec->srtt_us)
		out_num(item, "srtt_us", rec->srtt_us);
	else
		out_null(item, "srtt_us");
	out_num(item, "cwnd", rec->cwnd);
	out_num(item, "inflight", rec->inflight);
	out_num(item, "mss", rec->mss);
	out_num(item, "queued", rec->queued);
	out_num(item, "unsent", rec->unsent);
	out_progress(item, v, c, rec);
	counters = out_obj(item, "counters");
#define OUT_SUBFLOW(id, name, text) out_num(counters, #name, rec->store.counter[MPS_S_##id]);
	MPS_SUBFLOW_COUNTERS(OUT_SUBFLOW)
#undef OUT_SUBFLOW
	counters = out_obj(item, "tcp");
	out_num(counters, "bytes_sent", rec->bytes_sent);
	out_num(counters, "bytes_acked", rec->bytes_acked);
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
		out_line("%s", line);
}

/* What the scheduler says about the connection: a word each in JSON, a line in text. */
static void out_notes(out_t *item, const struct mps_conn_rec *rec)
{
	out_t *notes = out_list(item, "notes");

#define OUT_NOTE(id, name, text)                \
	if (rec->notes & 1ULL << MPS_NOTE_##id) \
		out_word(notes, #name);
	MPS_NOTES(OUT_NOTE)
#undef OUT_NOTE
}

static void print_notes(const struct mps_conn_rec *rec)
{
#define PRINT_NOTE(id, name, text)              \
	if (rec->notes & 1ULL << MPS_NOTE_##id) \
		out_line("  note %s: " text, #name);
	MPS_NOTES(PRINT_NOTE)
#undef PRINT_NOTE
}

/* Per second since the reading before; NULL where there is none. */
static void out_rates(out_t *item, const struct view *v, const struct conn_view *c)
{
	out_t *rates, *waits;

	if (!c->before || v->seconds <= 0) {
		out_null(item, "rates");
		return;
	}
	rates = out_obj(item, "rates");
	out_real(rates, "bytes_per_s", (double)c->fresh / v->seconds, 1);
#define RATE(to, id, name) \
	out_real(to, name, (double)(c->rec->counter[id] - c->before->counter[id]) / v->seconds, 1);
	RATE(rates, MPS_C_DECISIONS, "decisions_per_s")
	RATE(rates, MPS_C_PICKS, "picks_per_s")
	waits = out_obj(rates, "waits_per_s");
#define RATE_WAIT(id, name, text) RATE(waits, MPS_C_WAIT_##id, #name)
	MPS_WAIT_REASONS(RATE_WAIT)
#undef RATE_WAIT
#undef RATE
}

static void print_conn(out_t *subflows, const struct view *v, const struct conn_view *c,
		       const char *netns)
{
	const struct mps_conn_rec *rec = c->rec;
	char local[64], remote[64], rate[32] = "";

	if (out_is_json())
		return;
	if (c->before && v->seconds > 0)
		rate_text((double)c->fresh / v->seconds, rate, sizeof(rate));
	out_line("%08x %s  %s  %s%s%s > %s  %s%s  pending %llu  in flight %llu", rec->token, netns,
		 rec->sched, rate, *rate ? "  " : "", addr_text(&rec->local, local, sizeof(local)),
		 addr_text(&rec->remote, remote, sizeof(remote)), state_name(rec->state),
		 rec->fallback ? ", fell back to TCP" : "", (unsigned long long)rec->pending,
		 (unsigned long long)rec->inflight);
	print_conn_counters(rec, v->seconds > 0 ? c->before : NULL, v->seconds);
	print_notes(rec);
	out_table(subflows, subflow_cols, "  ");
}

void out_conn(out_t *item, const struct view *v, const struct conn_view *c, const char *netns)
{
	const struct mps_conn_rec *rec = c->rec;
	out_t *subflows;
	unsigned int i;

	out_str(item, "token", "0x%08x", rec->token);
	out_str(item, "scheduler", "%.*s", MPS_NAME_LEN, rec->sched);
	out_str(item, "netns", "%s", netns);
	out_num(item, "netns_inode", rec->netns);
	out_str(item, "state", "%s", state_name(rec->state));
	out_flag(item, "fallback", rec->fallback);
	out_str(item, "family", "%s", rec->local.family == AF_INET6 ? "ipv6" : "ipv4");
	out_ends(item, &rec->local, &rec->remote);
	out_num(item, "pending", rec->pending);
	out_num(item, "inflight", rec->inflight);
	out_conn_counters(item, rec);
	out_rates(item, v, c);
	out_notes(item, rec);
	/* the text has a table of them */
	subflows = json_object_new_array();
	for (i = 0; i < c->nr_subflows; i++)
		out_subflow(out_item(subflows), v, c, &c->subflow[i]);
	print_conn(subflows, v, c, netns);
	if (item)
		json_object_object_add(item, "subflows", subflows);
	else
		json_object_put(subflows);
}
