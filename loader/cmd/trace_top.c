// SPDX-License-Identifier: GPL-2.0
/* `trace --top`: which connections the kernel is to tell of, by what each of them has sent. */
#include <errno.h>
#include <string.h>
#include "cmd/trace.h"
#include "stats/delta.h"

_Static_assert(MAX_TOP == MPS_TRACE_TOP, "room for all that can be asked for");

enum exit_code trace_top_open(struct trace_top *top)
{
	top->skel = reader_open();
	return top->skel ? EX_OK : code_of(errno);
}

static bool is_meant(const struct mps_conn_rec *rec, const struct observer_filter *f)
{
	return rec->token && (!f->token || rec->token == f->token) &&
	       (!f->port || rec->local.port == f->port || rec->remote.port == f->port);
}

static bool is_among(const __u32 *token, unsigned int nr, __u32 wanted)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (token[i] == wanted)
			return true;
	return false;
}

/* Those that stay are not taken out in between: nothing of them would be told meanwhile. */
static void replace(struct trace_top *top, const struct observers *o, const __u32 *token,
		    unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < top->nr; i++)
		if (!is_among(token, nr, top->token[i]))
			observers_want(o, top->token[i], false);
	for (i = 0; i < nr; i++)
		if (!is_among(top->token, top->nr, token[i]))
			observers_want(o, token[i], true);
	memcpy(top->token, token, nr * sizeof(*token));
	top->nr = nr;
}

enum exit_code trace_top_look(struct trace_top *top, const struct observers *o,
			      const struct observer_filter *f, unsigned int number)
{
	const struct netns only = { .ino = f->netns };
	__u32 token[MPS_TRACE_TOP];
	struct stats_delta d;
	struct reading now;
	unsigned int i, nr = 0;
	enum exit_code ret = reader_read(&now, top->skel);

	if (ret != EX_OK) {
		reading_free(&now);
		return ret;
	}
	stats_delta_make(&d, &now, top->before.when > 0 ? &top->before : NULL,
			 f->netns ? &only : NULL);
	for (i = 0; i < d.nr && nr < number; i++)
		if (is_meant(d.conn[i].rec, f))
			token[nr++] = d.conn[i].rec->token;
	replace(top, o, token, nr);
	stats_delta_free(&d);
	reading_free(&top->before);
	top->before = now;
	return EX_OK;
}

void trace_top_close(struct trace_top *top)
{
	if (top->skel)
		reader_close(top->skel);
	reading_free(&top->before);
}
