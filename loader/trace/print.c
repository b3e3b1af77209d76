// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/output.h"
#include "cli/util.h"
#include "cli/wrap.h"
#include "kernel/sockets.h"
#include "trace/print.h"

#define UNKNOWN (~0U)

static const struct {
	__u16 bit;
	const char *name, *of_copies; /* NULL: the same */
} flags[] = {
	{ MPS_PATH_ACTIVE, "active", NULL },	  { MPS_PATH_BACKUP, "backup", NULL },
	{ MPS_PATH_LOSS, "loss", NULL },	  { MPS_PATH_SNDBUF, "sndbuf", NULL },
	{ MPS_PATH_SENDS, "sends", NULL },	  { MPS_PATH_IDLE, "idle", NULL },
	{ MPS_PATH_CARRIED, "began", "carried" }, { MPS_PATH_REPAIRS, "repairs", NULL },
	{ MPS_PATH_DROPPED, "dropped", NULL },	  { MPS_PATH_NO_TS, "no_timestamps", NULL },
	{ MPS_PATH_DELAY, "delay", NULL },	  { MPS_PATH_DUE, "due", NULL },
};

static const char *flag_name(unsigned int i, const struct mps_path *p, enum observed what)
{
	if (!(p->flags & flags[i].bit))
		return NULL;
	return what == OBSERVED_COPIES && flags[i].of_copies ? flags[i].of_copies : flags[i].name;
}

#define NR_FLAGS (sizeof(flags) / sizeof(flags[0]))

static const char *reason_name(__u32 reason)
{
	static const char *const names[] = {
#define REASON(id, name, text) #name,
		MPS_WAIT_REASONS(REASON)
#undef REASON
	};

	return reason < MPS_NR_WAIT_REASONS ? names[reason] : "unknown";
}

enum verdict {
#define VERDICT_ENUM(id, name, text) VERDICT_##id,
	TRACE_VERDICTS(VERDICT_ENUM)
#undef VERDICT_ENUM
};

static const char *const verdict_name[] = {
#define VERDICT_NAME(id, name, text) name,
	TRACE_VERDICTS(VERDICT_NAME)
#undef VERDICT_NAME
};

/* mps_pack() of bpf/frame/send.h */
static struct mps_verdict verdict_of(enum observed what, __u64 answer)
{
	struct mps_verdict v = { .path = (__s32)(answer >> 32) };

	if (what == OBSERVED_GLANCE)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	v.bytes = v.reason = (__u32)answer;
	return v;
}

/* --- JSON */

static void output_known(output_t *o, const char *key, __u32 value, __u32 unknown)
{
	if (value == unknown)
		output_null(o, key);
	else
		output_num(o, key, value);
}

static void output_path(output_t *o, const struct mps_path *p, enum observed what)
{
	output_t *list;
	const char *name;
	unsigned int i;

	output_known(o, "srtt_us", p->srtt_us, 0);
	output_num(o, "mdev_us", p->mdev_us);
	output_num(o, "cwnd", p->cwnd);
	output_known(o, "ssthresh", p->ssthresh, UNKNOWN);
	output_num(o, "inflight", p->inflight);
	output_num(o, "unsent", p->unsent);
	output_known(o, "rate", p->rate, 0);
	output_num(o, "metric", p->metric);
	if (what == OBSERVED_COPIES)
		output_num(o, "behind", p->behind);
	else
		output_known(o, "min_rtt_us", p->min_rtt_us, UNKNOWN);
	output_num(o, "mss", p->mss);
	output_num(o, "stale", p->stale);
	list = output_list(o, "flags");
	for (i = 0; i < NR_FLAGS; i++) {
		name = flag_name(i, p, what);
		if (name)
			output_word(list, name);
	}
}

static unsigned int nr_paths(const struct mps_conn *c)
{
	return c->nr_paths < MPS_MAX_PATHS ? c->nr_paths : MPS_MAX_PATHS;
}

static void output_inputs(output_t *o, const struct mps_conn *c, enum observed what)
{
	output_t *paths;
	unsigned int i;

	output_num(o, "pending", c->pending);
	output_num(o, "wnd_left", c->wnd_left);
	output_num(o, "unacked", c->unacked);
	output_num(o, "now_us", c->now_us);
	output_num(o, "unit", c->unit);
	output_known(o, "age_us", c->age_us, UNKNOWN);
	output_num(o, "fit", c->fit);
	output_num(o, "blocked", c->blocked);
	paths = output_list(o, "paths");
	for (i = 0; i < nr_paths(c); i++)
		output_path(output_item(paths), &c->path[i], what);
}

static void output_state(output_t *o, const struct mps_trace_rec *rec)
{
	const __u8 *byte = (const __u8 *)&rec->priv;
	char text[2 * sizeof(rec->priv) + 1];
	unsigned int i;

	for (i = 0; i < sizeof(rec->priv); i++)
		snprintf(text + 2 * i, 3, "%02x", byte[i]);
	output_str(o, "state", "%s", text);
}

static void output_verdict(output_t *o, const struct trace_line *l)
{
	const struct mps_verdict v = verdict_of(l->what, l->head->answer);
	output_t *paths;
	unsigned int i;

	if (l->what == OBSERVED_COPIES) {
		output_str(o, "verdict", "%s",
			   verdict_name[l->head->answer ? VERDICT_COPY : VERDICT_NONE]);
		paths = output_list(o, "paths");
		for (i = 0; i < MPS_MAX_PATHS; i++)
			if (l->head->answer >> i & 1)
				output_count(paths, i);
	} else if (v.path < 0) {
		output_str(o, "verdict", "%s", verdict_name[VERDICT_WAIT]);
		output_str(o, "reason", "%s", reason_name(v.reason));
		output_flag(o, "glance", l->what == OBSERVED_GLANCE);
	} else {
		output_str(o, "verdict", "%s", verdict_name[VERDICT_SEND]);
		output_num(o, "path", (__u32)v.path);
		output_num(o, "bytes", v.bytes);
	}
}

static void output_whose(output_t *o, const struct trace_line *l)
{
	char addr[64];

	output_str(o, "token", "0x%08x", l->head->token);
	output_str(o, "scheduler", "%.*s", MPS_NAME_LEN, l->sched);
	if (*l->policy)
		output_str(o, "policy", "%s", l->policy);
	else
		output_null(o, "policy");
	if (!l->head->netns) {
		output_null(o, "netns");
		output_null(o, "netns_inode");
		output_null(o, "local");
		output_null(o, "remote");
		return;
	}
	output_str(o, "netns", "%s", l->netns);
	output_num(o, "netns_inode", l->head->netns);
	output_str(o, "local", "%s", addr_text(&l->head->local, addr, sizeof(addr)));
	output_str(o, "remote", "%s", addr_text(&l->head->remote, addr, sizeof(addr)));
}

static void output_all(const struct trace_line *l)
{
	output_t *o = output_root();

	output_real(o, "time", l->time, 6);
	output_str(o, "event", "%s", l->what == OBSERVED_COPIES ? "copies" : "decision");
	if (l->head->since_ns == MPS_TRACE_FIRST)
		output_null(o, "since_us");
	else
		output_num(o, "since_us", l->head->since_ns / 1000);
	output_whose(o, l);
	output_verdict(o, l);
	if (l->rec)
		output_inputs(output_obj(o, "inputs"), &l->rec->conn, l->what);
	else
		output_null(o, "inputs");
	if (l->rec && l->head->has_state)
		output_state(o, l->rec);
	else
		output_null(o, "state");
}

static void print_json(const struct trace_line *l)
{
	trace_output_changes(l);
	if (l->what == OBSERVED_PENALTY)
		return;
	output_all(l);
	output_finish();
}

/* --- text */

static void paths_text(__u64 mask, char *buf, size_t size)
{
	const char *gap = "";
	unsigned int i;
	size_t at = 0;

	*buf = '\0';
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (!(mask >> i & 1) || at >= size)
			continue;
		at += (size_t)snprintf(buf + at, size - at, "%s%u", gap, i);
		gap = ",";
	}
}

void trace_verdict(enum observed what, __u64 answer, char *buf, size_t size)
{
	const struct mps_verdict v = verdict_of(what, answer);
	char paths[32];

	paths_text(answer, paths, sizeof(paths));
	if (what == OBSERVED_COPIES && !answer)
		snprintf(buf, size, "no copy");
	else if (what == OBSERVED_COPIES)
		snprintf(buf, size, "copy to path %s", paths);
	else if (what == OBSERVED_GLANCE)
		snprintf(buf, size, "wait %s (glance)", reason_name(v.reason));
	else if (v.path < 0)
		snprintf(buf, size, "wait %s", reason_name(v.reason));
	else
		snprintf(buf, size, "send %u B to path %d", v.bytes, v.path);
}

/* Whose its token is. */
static void print_connection(const struct trace_line *l)
{
	char local[64], remote[64];

	if (l->is_new)
		output_line("0x%08x is %s > %s in %s", l->head->token,
			    addr_text(&l->head->local, local, sizeof(local)),
			    addr_text(&l->head->remote, remote, sizeof(remote)), l->netns);
}

static void print_path(const struct mps_path *p, unsigned int i, enum observed what)
{
	char rate[32] = "unknown", metric[32] = "", names[160] = "";
	unsigned int f;
	size_t at = 0;

	if (p->rate)
		rate_text(p->rate, rate, sizeof(rate));
	/* of most policies there is none */
	if (p->metric)
		snprintf(metric, sizeof(metric), "metric %u  ", p->metric);
	for (f = 0; f < NR_FLAGS; f++) {
		const char *name = flag_name(f, p, what);

		if (name && at < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? "," : "", name);
	}
	output_line("    path %u  srtt %u us  cwnd %u  in flight %u  unsent %u B  rate %s  %s%s", i,
		    p->srtt_us, p->cwnd, p->inflight, p->unsent, rate, metric, names);
}

static void print_inputs(const struct trace_line *l)
{
	const struct mps_conn *c = &l->rec->conn;
	unsigned int i;

	output_line("  pending %llu  window %llu  unacked %llu  unit %u",
		    (unsigned long long)c->pending, (unsigned long long)c->wnd_left,
		    (unsigned long long)c->unacked, c->unit);
	for (i = 0; l->paths && i < nr_paths(c); i++)
		print_path(&c->path[i], i, l->what);
}

void trace_clock(double time, char *buf, size_t size)
{
	const time_t seconds = (time_t)time;
	char clock[16];
	struct tm tm;

	strftime(clock, sizeof(clock), "%T", localtime_r(&seconds, &tm));
	snprintf(buf, size, "%s.%06u", clock, (unsigned int)((time - (double)seconds) * 1e6));
}

static void print_line(const struct trace_line *l)
{
	char clock[32], since[32] = "-", verdict[64];

	print_connection(l);
	trace_print_changes(l);
	if (l->what == OBSERVED_PENALTY)
		return;
	trace_clock(l->time, clock, sizeof(clock));
	if (l->head->since_ns != MPS_TRACE_FIRST)
		snprintf(since, sizeof(since), "+%.6f", (double)l->head->since_ns / 1e9);
	trace_verdict(l->what, l->head->answer, verdict, sizeof(verdict));
	output_text("%s  %10s  0x%08x  %.*s%s%s  %-25s", clock, since, l->head->token, MPS_NAME_LEN,
		    l->sched, l->one_of_several && *l->policy ? " " : "",
		    l->one_of_several ? l->policy : "", verdict);
	if (l->rec)
		print_inputs(l);
	else
		output_line("%s", "");
}

/* A number that a terminal breaks in two is read as another. */
static void print_wrapped(const struct trace_line *l)
{
	char *text = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&text, &len);
	struct wrapped w;
	unsigned int i;

	if (!file)
		out_of_memory();
	output_into(file);
	print_line(l);
	output_into(NULL);
	fclose(file);
	wrap(&w, text, l->cols);
	for (i = 0; i < w.nr; i++) {
		wrap_print(&w, i, stdout);
		putchar('\n');
	}
	wrap_free(&w);
	free(text);
}

void trace_print(const struct trace_line *l)
{
	if (output_is_json()) {
		print_json(l);
		return;
	}
	if (l->cols > 1)
		print_wrapped(l);
	else
		print_line(l);
	output_finish();
}
