// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/util.h"
#include "exporter/metrics.h"
#include "exporter/out.h"
#include "sched/reinject.h"
#include "stats/delta.h"

/* X(name, description, member of struct series) */
#define SERIES_GAUGES(X)                                                           \
	X(connections, "MPTCP connections that processes have open", connections)  \
	X(fallback_connections, "of these, those that fell back to TCP", fallback) \
	X(listeners, "listening MPTCP sockets, whose connections get this scheduler", listeners)

/* X(name, description, expression of struct path_sum *p) */
#define PATH_GAUGES(X)                                                                 \
	X(path_subflows, "subflows that were ever chosen or looked at", p->subflows)   \
	X(path_stale_subflows, "of these, those given up until they answer", p->stale) \
	X(path_unsent_bytes, "bytes given to TCP that it has not sent yet", p->unsent)

static void labels(const struct out *o, const struct space *space, const struct series *s)
{
	out_label(o, "netns", space->label, true);
	out_label(o, "scheduler", s->sched, false);
}

/* For each series in turn. */
#define for_each_series(t, i, space, s)                                  \
	for (i = 0; i < NR_BUCKETS; i++)                                 \
		for (space = (t)->bucket[i]; space; space = space->next) \
			for (s = space->series; s; s = s->next)

static void series_gauges(const struct out *o, const struct totals *t)
{
	const struct space *space;
	const struct series *s;
	unsigned int i;

#define GAUGE_OF(name, text, member)        \
	out_family(o, GAUGE, #name, text);  \
	for_each_series(t, i, space, s)     \
	{                                   \
		out_begin(o, GAUGE, #name); \
		labels(o, space, s);        \
		out_end(o, s->member);      \
	}
	SERIES_GAUGES(GAUGE_OF)
#undef GAUGE_OF
}

static void seen(const struct out *o, const struct totals *t)
{
	const struct space *space;
	const struct series *s;
	unsigned int i;

	out_family(o, COUNTER, "connections_begun",
		   "connections that began since the exporter did, as far as a look came by");
	for_each_series(t, i, space, s)
	{
		if (!s->counts)
			continue;
		out_begin(o, COUNTER, "connections_begun");
		labels(o, space, s);
		out_end(o, s->seen);
	}
}

static void conn_counter(const struct out *o, const struct totals *t, const char *name,
			 const char *text, unsigned int id)
{
	const struct space *space;
	const struct series *s;
	unsigned int i;

	out_family(o, COUNTER, name, text);
	for_each_series(t, i, space, s)
	{
		if (!s->counts)
			continue;
		out_begin(o, COUNTER, name);
		labels(o, space, s);
		out_end(o, s->counter[id]);
	}
}

static void waits(const struct out *o, const struct totals *t)
{
	static const char *const reasons[] = {
#define REASON(id, name, text) #name,
		MPS_WAIT_REASONS(REASON)
#undef REASON
	};
	const struct space *space;
	const struct series *s;
	unsigned int i, r;

	out_family(o, COUNTER, "waits", "decisions not to send now, by reason");
	for_each_series(t, i, space, s)
	{
		for (r = 0; s->counts && r < MPS_NR_WAIT_REASONS; r++) {
			out_begin(o, COUNTER, "waits");
			labels(o, space, s);
			out_label(o, "reason", reasons[r], false);
			out_end(o, s->counter[MPS_C_FIRST_WAIT + r]);
		}
	}
}

/* For each path of each series in turn. */
#define for_each_path(t, i, space, s, p) \
	for_each_series(t, i, space, s) for (p = s->path; p < s->path + s->nr_paths; p++)

static void path_labels(const struct out *o, const struct space *space, const struct series *s,
			const struct path_sum *p)
{
	char id[16];

	labels(o, space, s);
	out_label(o, "path", p->label, false);
	snprintf(id, sizeof(id), "%u", p->remote_id);
	out_label(o, "remote_id", strcmp(p->label, OTHER) ? id : OTHER, false);
}

static void paths(const struct out *o, const struct totals *t)
{
	const struct path_sum *p;
	const struct space *space;
	const struct series *s;
	unsigned int i;

#define PATH_SAMPLES(kind, name, value)      \
	for_each_path(t, i, space, s, p)     \
	{                                    \
		out_begin(o, kind, name);    \
		path_labels(o, space, s, p); \
		out_end(o, value);           \
	}
#define PATH_COUNTER(id, name, text)                 \
	out_family(o, COUNTER, "path_" #name, text); \
	PATH_SAMPLES(COUNTER, "path_" #name, p->counter[MPS_S_##id])
#define PATH_GAUGE(name, text, value)      \
	out_family(o, GAUGE, #name, text); \
	PATH_SAMPLES(GAUGE, #name, value)
	MPS_SUBFLOW_COUNTERS(PATH_COUNTER)
	PATH_GAUGES(PATH_GAUGE)
#undef PATH_GAUGE
#undef PATH_COUNTER
#undef PATH_SAMPLES
	out_family(o, GAUGE, "path_srtt_seconds", "smoothed RTT, the mean of those that have one");
	for_each_path(t, i, space, s, p)
	{
		if (!p->measured)
			continue;
		out_begin(o, GAUGE, "path_srtt_seconds");
		path_labels(o, space, s, p);
		fprintf(o->f, "} %.6f\n", (double)p->srtt_us / p->measured / 1e6);
	}
}

/* How many namespaces select each of the schedulers, whatever their number. */
static void schedulers(const struct out *o, const struct metrics *m)
{
	unsigned int i, j;

	out_family(o, GAUGE, "namespaces", "network namespaces that select the scheduler");
	for (i = 0; i < m->schedulers->nr; i++) {
		const struct sched *s = &m->schedulers->sched[i];
		unsigned int n = 0;

		if (!s->registered)
			continue;
		for (j = 0; j < m->namespaces->nr; j++)
			n += !strcmp(m->namespaces->ns[j].sched, s->name);
		out_begin(o, GAUGE, "namespaces");
		out_label(o, "scheduler", s->name, true);
		out_end(o, n);
	}
}

/* Kept by the kernel, for namespaces that opted in. */
static void reinject(const struct out *o, const struct metrics *m)
{
	const int map = reinject_find_map(m->schedulers);
	struct mps_reinject_ns *value;
	char name[256];
	unsigned int i;

	if (map < 0)
		return;
	value = calloc(m->namespaces->nr + 1, sizeof(*value));
	if (!value)
		out_of_memory();
	for (i = 0; i < m->namespaces->nr; i++)
		if (!reinject_read(map, &m->namespaces->ns[i], &value[i]))
			value[i].counter[0] = ~0ULL;
	close(map);
#define REINJECT(id, counter_name, text)                                                           \
	out_family(o, COUNTER, "reinject_" #counter_name,                                          \
		   "early copies for the kernel's default: " text);                                \
	for (i = 0; i < m->namespaces->nr && i < m->totals->max_namespaces; i++) {                 \
		if (value[i].counter[0] == ~0ULL)                                                  \
			continue;                                                                  \
		out_begin(o, COUNTER, "reinject_" #counter_name);                                  \
		totals_label(&m->namespaces->ns[i], m->namespaces->ns[i].ino, name, sizeof(name)); \
		out_label(o, "netns", name, true);                                                 \
		out_end(o, value[i].counter[MPS_R_##id]);                                          \
	}
	MPS_REINJECT_COUNTERS(REINJECT)
#undef REINJECT
	free(value);
}

static void subflow_labels(const struct out *o, const struct mps_conn_rec *conn,
			   const struct mps_subflow_rec *s)
{
	char text[64];

	snprintf(text, sizeof(text), "%u", conn->netns);
	out_label(o, "netns_inode", text, true);
	snprintf(text, sizeof(text), "%.*s", MPS_NAME_LEN - 1, conn->sched);
	out_label(o, "scheduler", text, false);
	snprintf(text, sizeof(text), "0x%08x", conn->token);
	out_label(o, "connection", text, false);
	snprintf(text, sizeof(text), "%u", s->id);
	out_label(o, "subflow", text, false);
	out_label(o, "local", addr_text(&s->local, text, sizeof(text)), false);
	out_label(o, "remote", addr_text(&s->remote, text, sizeof(text)), false);
}

/* One series per live subflow, for those who ask for it. */
static void connections(const struct out *o, const struct reading *r)
{
	const struct mps_subflow_rec *s;
	unsigned int i, nr;

#define SUBFLOW(id, name, text)                                                    \
	out_family(o, COUNTER, "subflow_" #name, text);                            \
	for (i = 0; i < r->nr_conns; i++) {                                        \
		for (s = reading_subflows(r, r->conn[i].sk, &nr); nr; nr--, s++) { \
			out_begin(o, COUNTER, "subflow_" #name);                   \
			subflow_labels(o, &r->conn[i], s);                         \
			out_end(o, s->store.counter[MPS_S_##id]);                  \
		}                                                                  \
	}
	MPS_SUBFLOW_COUNTERS(SUBFLOW)
#undef SUBFLOW
}

static void about(const struct out *o, const struct self *self)
{
	out_family(o, GAUGE, "build_info", "1, with the version of the exporter");
	out_begin(o, GAUGE, "build_info");
	out_label(o, "version", MPS_VERSION, true);
	out_end(o, 1);
	out_family(o, COUNTER, "exporter_reads", "looks at the kernel's counters");
	fprintf(o->f, PREFIX "exporter_reads_total %llu\n", (unsigned long long)self->reads);
	out_family(o, COUNTER, "exporter_read_failures", "of these, those that failed");
	fprintf(o->f, PREFIX "exporter_read_failures_total %llu\n",
		(unsigned long long)self->failures);
	out_family(o, GAUGE, "exporter_read_seconds", "how long the last look took");
	fprintf(o->f, PREFIX "exporter_read_seconds %.6f\n", self->read_s);
}

char *metrics_text(const struct metrics *m, size_t *len)
{
	struct out o = { .openmetrics = m->openmetrics };
	char *text = NULL;

	o.f = open_memstream(&text, len);
	if (!o.f)
		out_of_memory();
#define CONN(id, name, text) conn_counter(&o, m->totals, #name, text, MPS_C_##id);
	MPS_CONN_COUNTERS(CONN)
#undef CONN
	waits(&o, m->totals);
	seen(&o, m->totals);
	paths(&o, m->totals);
	series_gauges(&o, m->totals);
	schedulers(&o, m);
	reinject(&o, m);
	metrics_steering(&o, m->reading);
	if (m->per_connection)
		connections(&o, m->reading);
	about(&o, m->self);
	if (m->openmetrics)
		fputs("# EOF\n", o.f);
	fclose(o.f);
	return text;
}
