// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "cli/util.h"
#include "exporter/known.h"
#include "exporter/totals.h"

/* One reading on its way into the totals. */
struct adding {
	struct totals *t;
	const struct netns_list *l;
	struct space **of; /* of each namespace of the list, as soon as it is asked for */
};

static struct space **bucket_of(struct totals *t, const char *label)
{
	unsigned int hash = 5381;

	for (; *label; label++)
		hash = hash * 33 + (unsigned char)*label;
	return &t->bucket[hash % NR_BUCKETS];
}

static struct space *find_space(struct totals *t, const char *label)
{
	struct space *s = *bucket_of(t, label);

	while (s && strcmp(s->label, label))
		s = s->next;
	return s;
}

static struct space *space_named(struct totals *t, const char *label)
{
	struct space *s = find_space(t, label), **bucket;

	if (!s && t->nr_spaces >= t->max_namespaces) {
		label = OTHER;
		s = find_space(t, label);
	}
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		out_of_memory();
	snprintf(s->label, sizeof(s->label), "%s", label);
	bucket = bucket_of(t, label);
	s->next = *bucket;
	*bucket = s;
	s->alive = true;
	t->nr_spaces += strcmp(label, OTHER) != 0;
	return s;
}

void totals_label(const struct netns *ns, ino_t ino, char *label, size_t size)
{
	if (ns && (*ns->name || ns->self))
		netns_label(ns, label, size);
	else
		snprintf(label, size, "(inode %lu)", (unsigned long)ino);
}

static struct space *space_of(struct adding *a, ino_t ino)
{
	const struct netns *ns = netns_find(a->l, ino);
	struct space **known = ns ? &a->of[ns - a->l->ns] : NULL, *s;
	char label[256];

	if (known && *known)
		return *known;
	totals_label(ns, ino, label, sizeof(label));
	s = space_named(a->t, label);
	if (known)
		*known = s;
	return s;
}

static struct series *series_of(struct adding *a, ino_t ino, const char *sched)
{
	struct space *space = space_of(a, ino);
	struct series *s;

	for (s = space->series; s; s = s->next)
		if (!strncmp(s->sched, sched, MPS_NAME_LEN))
			return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		out_of_memory();
	snprintf(s->sched, sizeof(s->sched), "%.*s", MPS_NAME_LEN - 1, sched);
	s->next = space->series;
	space->series = s;
	return s;
}

static void ip_text(const struct mps_addr *a, char *buf, size_t size)
{
	struct mps_addr without_port = *a;
	char text[64];
	char *end;

	addr_text(&without_port, text, sizeof(text));
	end = strrchr(text, ':');
	*end = '\0';
	if (*text == '[')
		snprintf(buf, size, "%.*s", (int)strlen(text) - 2, text + 1);
	else
		snprintf(buf, size, "%s", text);
}

/* Where it is, or the number of paths. */
static unsigned int find_path(const struct series *s, const char *label, unsigned int remote_id)
{
	unsigned int i;

	for (i = 0; i < s->nr_paths; i++)
		if (s->path[i].remote_id == remote_id && !strcmp(s->path[i].label, label))
			break;
	return i;
}

/*
 * Both ends tell paths apart: a server has one address where its clients have several, and numbers
 * of these, which each peer gives its own addresses, are few where the addresses are not.
 */
static unsigned int path_of(const struct totals *t, struct series *s,
			    const struct mps_subflow_rec *rec)
{
	unsigned int remote_id = rec->remote_id, i;
	char label[64];

	ip_text(&rec->local, label, sizeof(label));
	i = find_path(s, label, remote_id);
	if (i == s->nr_paths && s->nr_paths >= t->max_paths) {
		snprintf(label, sizeof(label), OTHER);
		remote_id = 0;
		i = find_path(s, label, remote_id);
	}
	if (i < s->nr_paths)
		return i;
	s->path = grow(s->path, s->nr_paths, sizeof(*s->path));
	memset(&s->path[i], 0, sizeof(*s->path));
	snprintf(s->path[i].label, sizeof(s->path[i].label), "%s", label);
	s->path[i].remote_id = remote_id;
	return s->nr_paths++;
}

/* What has been added since is not taken back where a reader attributes bytes anew. */
static void add_counters(__u64 *sum, __u64 *last, const __u64 *now, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (now[i] <= last[i])
			continue;
		sum[i] += now[i] - last[i];
		last[i] = now[i];
	}
}

/* One on its way out has lost its token, but not what it counted. */
static struct known *conns_of(const struct totals *t, const struct reading *r, unsigned int *nr)
{
	struct known *now = calloc(r->nr_conns + 1, sizeof(*now));
	unsigned int i, n = 0;

	if (!now)
		out_of_memory();
	for (i = 0; i < r->nr_conns; i++) {
		now[n].sk = r->conn[i].sk;
		now[n].id = r->conn[i].token ?: known_token(t->conn, t->nr_conns, r->conn[i].sk);
		now[n].path = i;
		n += !!now[n].id;
	}
	*nr = n;
	return now;
}

static void add_conn(struct adding *a, struct known *k, const struct mps_conn_rec *rec)
{
	struct totals *t = a->t;

	if (!k->series) {
		k->series = series_of(a, rec->netns, rec->sched);
		k->series->refs++;
		k->series->counts = true;
		k->series->seen += t->begun;
		if (!t->begun)
			memcpy(k->counter, rec->counter, sizeof(rec->counter));
	}
	add_counters(k->series->counter, k->counter, rec->counter, MPS_NR_CONN_COUNTERS);
}

static void add_conns(struct adding *a, const struct reading *r)
{
	struct totals *t = a->t;
	unsigned int i, j = 0, nr;
	struct known *now = conns_of(t, r, &nr);
	unsigned int *index = known_index(now, nr);

	known_join(&t->conn, &t->nr_conns, now, nr);
	free(now);
	for (i = 0; i < t->nr_conns; i++)
		if (!t->conn[i].absent)
			add_conn(a, &t->conn[i], &r->conn[index[j++]]);
	free(index);
}

static __u64 subflow_identity(const struct mps_subflow_rec *rec)
{
	return (__u64)rec->id << 32 | (__u64)rec->local.port << 16 | rec->remote.port;
}

static void look_at_path(struct path_sum *p, const struct mps_subflow_rec *rec)
{
	p->subflows++;
	p->stale += !!rec->stale;
	p->measured += !!rec->srtt_us;
	p->srtt_us += rec->srtt_us;
	p->unsent += rec->unsent;
}

/* Only those of connections that are in the reading as well: these tell namespace and scheduler. */
static struct known *subflows_of(const struct totals *t, const struct reading *r, unsigned int *nr)
{
	struct known *now = calloc(r->nr_subflows + 1, sizeof(*now));
	unsigned int i, n = 0;

	if (!now)
		out_of_memory();
	for (i = 0; i < r->nr_subflows; i++) {
		const struct mps_conn_rec *conn = reading_conn(r, r->subflow[i].conn);

		if (!conn)
			continue;
		now[n].sk = conn->sk;
		now[n].token = conn->token ?: (__u32)known_token(t->conn, t->nr_conns, conn->sk);
		now[n].id = subflow_identity(&r->subflow[i]);
		now[n++].path = i;
	}
	/* what has the same id and ports is told apart by addresses only: one stands for both */
	qsort(now, n, sizeof(*now), known_order);
	*nr = n;
	return now;
}

static void add_subflow(struct adding *a, const struct reading *r, struct known *k,
			const struct mps_subflow_rec *rec)
{
	struct totals *t = a->t;

	if (!k->series) {
		const struct mps_conn_rec *conn = reading_conn(r, rec->conn);

		k->series = series_of(a, conn->netns, conn->sched);
		k->series->refs++;
		k->path = path_of(t, k->series, rec);
		if (!t->begun)
			memcpy(k->counter, rec->store.counter, sizeof(rec->store.counter));
	}
	add_counters(k->series->path[k->path].counter, k->counter, rec->store.counter,
		     MPS_NR_SUBFLOW_COUNTERS);
	look_at_path(&k->series->path[k->path], rec);
}

static void add_subflows(struct adding *a, const struct reading *r)
{
	struct totals *t = a->t;
	unsigned int i, j = 0, nr;
	struct known *now = subflows_of(t, r, &nr);
	unsigned int *index = known_index(now, nr);

	known_join(&t->subflow, &t->nr_subflows, now, nr);
	free(now);
	for (i = 0; i < t->nr_subflows; i++)
		if (!t->subflow[i].absent)
			add_subflow(a, r, &t->subflow[i], &r->subflow[index[j++]]);
	free(index);
}

static void add_sockets(struct adding *a, const struct sockets *s)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		const struct mps_sock_rec *rec = &s->rec[i];
		struct series *series = series_of(a, rec->netns, rec->sched);

		series->listeners += sock_is_listener(rec);
		series->connections += sock_is_connection(rec);
		series->fallback += sock_is_connection(rec) && rec->fallback;
	}
}

static void forget_now(struct space *space)
{
	struct series *s;
	unsigned int i;

	space->alive = !strcmp(space->label, OTHER);
	for (s = space->series; s; s = s->next) {
		s->connections = s->fallback = s->listeners = 0;
		for (i = 0; i < s->nr_paths; i++) {
			struct path_sum *p = &s->path[i];

			p->subflows = p->stale = p->measured = 0;
			p->srtt_us = p->unsent = 0;
		}
	}
}

static void free_space(struct space *space)
{
	struct series *s;

	while ((s = space->series)) {
		space->series = s->next;
		free(s->path);
		free(s);
	}
	free(space);
}

static bool is_in_use(const struct space *space)
{
	const struct series *s;
	unsigned int users = space->alive;

	for (s = space->series; s; s = s->next)
		users += s->refs + s->connections + s->listeners;
	return users;
}

/* Namespaces that are gone make room for others; each space is seen once. */
static void sweep(struct totals *t, bool all)
{
	unsigned int i;

	for (i = 0; i < NR_BUCKETS; i++) {
		struct space **at = &t->bucket[i], *space;

		while ((space = *at)) {
			if (!all && is_in_use(space)) {
				at = &space->next;
				continue;
			}
			*at = space->next;
			t->nr_spaces -= strcmp(space->label, OTHER) != 0;
			free_space(space);
		}
	}
}

static void mark_alive(struct totals *t, const struct netns_list *l)
{
	char label[256];
	struct space *s;
	unsigned int i;

	for (i = 0; i < NR_BUCKETS; i++)
		for (s = t->bucket[i]; s; s = s->next)
			forget_now(s);
	for (i = 0; i < l->nr; i++) {
		totals_label(&l->ns[i], l->ns[i].ino, label, sizeof(label));
		s = find_space(t, label);
		if (s)
			s->alive = true;
	}
}

void totals_add(struct totals *t, const struct reading *r, const struct sockets *s,
		const struct netns_list *l)
{
	struct adding a = { .t = t, .l = l, .of = calloc(l->nr + 1, sizeof(*a.of)) };

	if (!a.of)
		out_of_memory();
	mark_alive(t, l);
	add_conns(&a, r);
	add_subflows(&a, r);
	add_sockets(&a, s);
	sweep(t, false);
	t->begun = true;
	free(a.of);
}

void totals_free(struct totals *t)
{
	sweep(t, true);
	free(t->conn);
	free(t->subflow);
	memset(t, 0, sizeof(*t));
}
