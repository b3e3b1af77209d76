// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>
#include "util.h"
#include "view.h"

__u64 subflow_bytes(const struct mps_subflow_rec *rec)
{
	const __u64 *c = rec->store.counter;

	return c[MPS_S_SENT] + c[MPS_S_RETRANS] + c[MPS_S_COPIED];
}

/* The same subflow in the earlier reading; a socket's memory may be another's by now. */
static const struct mps_subflow_rec *earlier(const struct view *v,
					     const struct mps_subflow_rec *rec)
{
	const struct mps_subflow_rec *s;
	unsigned int i, nr;

	if (!v->before)
		return NULL;
	s = reading_subflows(v->before, rec->conn, &nr);
	for (i = 0; i < nr; i++)
		if (s[i].id == rec->id && s[i].local.port == rec->local.port &&
		    s[i].remote.port == rec->remote.port)
			return &s[i];
	return NULL;
}

/* One that is new in a connection that is not began in between. */
__u64 subflow_fresh(const struct view *v, const struct mps_subflow_rec *rec)
{
	const struct mps_subflow_rec *before = earlier(v, rec);
	const __u64 bytes = subflow_bytes(rec), was = before ? subflow_bytes(before) : 0;

	return bytes > was ? bytes - was : 0;
}

static void add(struct view *v, const struct reading *now, const struct mps_conn_rec *rec)
{
	struct conn_view *c = &v->conn[v->nr++];
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->rec = rec;
	c->before = v->before ? reading_conn(v->before, rec->sk) : NULL;
	if (c->before && c->before->token != rec->token)
		c->before = NULL;
	c->subflow = reading_subflows(now, rec->sk, &c->nr_subflows);
	for (i = 0; i < c->nr_subflows; i++) {
		c->bytes += subflow_bytes(&c->subflow[i]);
		c->fresh += c->before ? subflow_fresh(v, &c->subflow[i]) : 0;
	}
	v->nr_subflows += c->nr_subflows;
	v->fresh += c->fresh;
}

static int busiest_first(const void *a, const void *b)
{
	const struct conn_view *x = a, *y = b;

	if (x->fresh != y->fresh)
		return x->fresh > y->fresh ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->rec->token < y->rec->token ? -1 : x->rec->token > y->rec->token;
}

void view_make(struct view *v, const struct reading *now, const struct reading *before,
	       const struct netns *only)
{
	unsigned int i;

	memset(v, 0, sizeof(*v));
	v->before = before;
	v->seconds = before ? now->when - before->when : 0;
	v->conn = calloc(now->nr_conns + 1, sizeof(*v->conn));
	if (!v->conn)
		out_of_memory();
	for (i = 0; i < now->nr_conns; i++)
		if (!only || now->conn[i].netns == only->ino)
			add(v, now, &now->conn[i]);
	qsort(v->conn, v->nr, sizeof(*v->conn), busiest_first);
}

void view_free(struct view *v)
{
	free(v->conn);
	memset(v, 0, sizeof(*v));
}
