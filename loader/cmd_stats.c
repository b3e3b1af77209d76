// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include "caps.h"
#include "cmd.h"
#include "out.h"
#include "netns.h"
#include "sockets.h"
#include "reader.h"
#include "target.h"
#include "util.h"

static const struct out_col subflow_cols[] = {
	{ "id", "SUBFLOW", true },
	{ "local", "LOCAL", false },
	{ "remote", "REMOTE", false },
	{ "flags", "FLAGS", false },
	{ "srtt_us", "SRTT us", true },
	{ "cwnd", "CWND", true },
	{ "inflight", "IN FLIGHT", true },
	{ "unsent", "UNSENT B", true },
	{ "counters.picks", "PICKS", true },
	{ "counters.bytes_sent", "SENT B", true },
	{ "counters.bytes_retrans", "RE-SENT B", true },
	{ NULL, NULL, false },
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

	out_str(item, "local", "%s", addr_text(local, addr, sizeof(addr)));
	out_str(item, "remote", "%s", addr_text(remote, addr, sizeof(addr)));
}

static void out_subflow(out_t *item, const struct mps_subflow_rec *rec)
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
	counters = out_obj(item, "counters");
#define OUT_SUBFLOW(id, name, text) out_num(counters, #name, rec->store.counter[MPS_S_##id]);
	MPS_SUBFLOW_COUNTERS(OUT_SUBFLOW)
#undef OUT_SUBFLOW
	counters = out_obj(item, "tcp");
	out_num(counters, "bytes_sent", rec->bytes_sent);
	out_num(counters, "bytes_acked", rec->bytes_acked);
}

static void print_counter(char *line, size_t size, const char *name, unsigned long long value)
{
	size_t len = strlen(line);

	if (value)
		snprintf(line + len, size - len, "  %s %llu", name, value);
}

/* Text: the counters that are not 0, in the order of their table. */
static void print_conn_counters(const struct mps_conn_rec *rec)
{
	char line[600] = "";

#define PRINT_CONN(id, name, text) \
	print_counter(line, sizeof(line), #name, rec->counter[MPS_C_##id]);
#define PRINT_WAIT(id, name, text) \
	print_counter(line, sizeof(line), "wait:" #name, rec->counter[MPS_C_WAIT_##id]);
	MPS_CONN_COUNTERS(PRINT_CONN)
	MPS_WAIT_REASONS(PRINT_WAIT)
#undef PRINT_CONN
#undef PRINT_WAIT
	out_line("%s", line);
}

/* What the scheduler says about the connection: a word each in JSON, a line in text. */
static void out_notes(out_t *item, const struct mps_conn_rec *rec)
{
	out_t *notes = out_list(item, "notes");

#define OUT_NOTE(id, name, text)                     \
	if (rec->notes & 1ULL << MPS_NOTE_##id) {    \
		out_word(notes, #name);              \
		out_line("  note %s: " text, #name); \
	}
	MPS_NOTES(OUT_NOTE)
#undef OUT_NOTE
}

static void out_conn(out_t *item, const struct reading *s, const struct mps_conn_rec *rec,
		     const char *netns)
{
	char local[64], remote[64];
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
	subflows = out_list(item, "subflows");
	for (i = 0; i < s->nr_subflows; i++)
		if (s->subflow[i].conn == rec->sk)
			out_subflow(out_item(subflows), &s->subflow[i]);

	out_line("%08x %s  %s %s > %s  %s%s  pending %llu  in flight %llu", rec->token, netns,
		 rec->sched, addr_text(&rec->local, local, sizeof(local)),
		 addr_text(&rec->remote, remote, sizeof(remote)), state_name(rec->state),
		 rec->fallback ? ", fell back to TCP" : "", (unsigned long long)rec->pending,
		 (unsigned long long)rec->inflight);
	print_conn_counters(rec);
	out_notes(item, rec);
	out_table(subflows, subflow_cols, "  ");
}

static void print_heading(void)
{
	char text[32];
	time_t now = time(NULL);

	if (isatty(STDOUT_FILENO) && !out_is_json())
		printf("\033[H\033[2J");
	strftime(text, sizeof(text), "%T", localtime(&now));
	out_line("--- %s", text);
}

static void out_stats(const struct reading *s, struct netns_list *l, const struct netns *only)
{
	out_t *list = out_list(out_root(), "connections");
	char label[256];
	unsigned int i;

	for (i = 0; i < s->nr_conns; i++) {
		const struct mps_conn_rec *rec = &s->conn[i];
		struct netns *ns = netns_find(l, rec->netns);

		if (only && rec->netns != only->ino)
			continue;
		if (ns)
			netns_label(ns, label, sizeof(label));
		else
			snprintf(label, sizeof(label), "(inode %u)", rec->netns);
		out_conn(out_item(list), s, rec, label);
	}
	if (!json_object_array_length(list))
		out_line("no connection uses a scheduler that keeps statistics");
}

static enum exit_code print_once(struct stats *skel, const struct netns *only)
{
	struct netns_list l;
	struct reading r;
	enum exit_code ret = reader_read(&r, skel);

	if (ret == EX_OK) {
		netns_read(&l);
		out_stats(&r, &l, only);
		netns_free(&l);
	}
	reading_free(&r);
	return ret;
}

static enum exit_code watch(struct stats *skel, const struct netns *only, double seconds)
{
	enum exit_code ret;

	for (;;) {
		print_heading();
		ret = print_once(skel, only);
		if (ret != EX_OK)
			return ret;
		out_finish();
		/* whoever read it has gone */
		if (ferror(stdout))
			return EX_OK;
		sleep_ms((unsigned int)(seconds * 1000));
	}
}

enum exit_code cmd_stats(const struct args *args)
{
	struct netns ns, *only = NULL;
	struct stats *skel;
	char missing[200];
	enum exit_code ret;

	if (args->netns || args->container) {
		ret = target_resolve(&ns, "read statistics of", args);
		if (ret != EX_OK)
			return ret;
		only = &ns;
	}
	skel = reader_open();
	if (!skel)
		return code_of(errno);
	if (caps_missing(CAPS_STATS, missing, sizeof(missing)))
		out_note("without %s not every namespace has its name here", missing);
	ret = args->watch > 0 ? watch(skel, only, args->watch) : print_once(skel, only);
	reader_close(skel);
	return ret;
}
