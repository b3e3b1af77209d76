// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>
#include "cli/util.h"
#include "stats/delta.h"

__u64 subflow_bytes(const struct mps_subflow_rec *rec)
{
	const __u64 *c = rec->store.counter;

	return c[MPS_S_SENT] + c[MPS_S_RETRANS] + c[MPS_S_COPIED];
}

/* The same subflow in the earlier reading; a socket's memory may be another's by now. */
static const struct mps_subflow_rec *earlier(const struct stats_delta *d,
					     const struct mps_subflow_rec *rec)
{
	const struct mps_subflow_rec *s;
	unsigned int i, nr;

	if (!d->before)
		return NULL;
	s = reading_subflows(d->before, rec->conn, &nr);
	for (i = 0; i < nr; i++)
		if (s[i].id == rec->id && s[i].local.port == rec->local.port &&
		    s[i].remote.port == rec->remote.port)
			return &s[i];
	return NULL;
}

/* One that is new in a connection that is not began in between. */
__u64 subflow_fresh(const struct stats_delta *d, const struct mps_subflow_rec *rec)
{
	const struct mps_subflow_rec *before = earlier(d, rec);
	const __u64 bytes = subflow_bytes(rec), was = before ? subflow_bytes(before) : 0;

	return bytes > was ? bytes - was : 0;
}

static void add(struct stats_delta *d, const struct reading *now, const struct mps_conn_rec *rec)
{
	struct conn_delta *c = &d->conn[d->nr++];
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->rec = rec;
	c->before = d->before ? reading_conn(d->before, rec->sk) : NULL;
	if (c->before && c->before->token != rec->token)
		c->before = NULL;
	c->subflow = reading_subflows(now, rec->sk, &c->nr_subflows);
	for (i = 0; i < c->nr_subflows; i++) {
		c->bytes += subflow_bytes(&c->subflow[i]);
		c->fresh += c->before ? subflow_fresh(d, &c->subflow[i]) : 0;
	}
	d->nr_subflows += c->nr_subflows;
	d->fresh += c->fresh;
}

static int busiest_first(const void *a, const void *b)
{
	const struct conn_delta *x = a, *y = b;

	if (x->fresh != y->fresh)
		return x->fresh > y->fresh ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->rec->token < y->rec->token ? -1 : x->rec->token > y->rec->token;
}

void stats_delta_make(struct stats_delta *d, const struct reading *now,
		      const struct reading *before, const struct netns *only)
{
	unsigned int i;

	memset(d, 0, sizeof(*d));
	d->before = before;
	d->seconds = before ? now->when - before->when : 0;
	d->conn = calloc(now->nr_conns + 1, sizeof(*d->conn));
	if (!d->conn)
		out_of_memory();
	for (i = 0; i < now->nr_conns; i++)
		if (!only || now->conn[i].netns == only->ino)
			add(d, now, &now->conn[i]);
	qsort(d->conn, d->nr, sizeof(*d->conn), busiest_first);
}

void stats_delta_free(struct stats_delta *d)
{
	free(d->conn);
	memset(d, 0, sizeof(*d));
}
