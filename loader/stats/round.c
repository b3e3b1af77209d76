// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <time.h>
#include "cli/output.h"
#include "stats/print.h"
#include "stats/round.h"

unsigned int stats_round_size(const struct stats_round *r)
{
	return r->top && r->top < r->delta.nr ? r->top : r->delta.nr;
}

static void output_time(const struct stats_round *r)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	output_real(output_root(), "time", (double)now.tv_sec + (double)now.tv_nsec / 1e9, 3);
	if (r->delta.seconds > 0)
		output_real(output_root(), "interval_s", r->delta.seconds, 3);
	else
		output_null(output_root(), "interval_s");
}

static void print_heading(const struct stats_round *r)
{
	char clock[32], rate[32] = "";
	time_t now = time(NULL);

	strftime(clock, sizeof(clock), "%T", localtime(&now));
	if (r->delta.seconds > 0)
		rate_text((double)r->delta.fresh / r->delta.seconds, rate, sizeof(rate));
	output_line("--- %s  every %g s  %u connections, %u subflows%s%s", clock, r->every,
		    r->delta.nr, r->delta.nr_subflows, *rate ? "  " : "", rate);
}

static void output_left_behind(const struct stats_round *r)
{
	const unsigned int left = r->delta.nr - stats_round_size(r);

	if (left)
		output_note("less busy and not shown: %u of %u connections", left, r->delta.nr);
	if (r->now->foreign)
		output_note("%u maps have the name but not the layout of statistics: left out",
			    r->now->foreign);
}

static void output_conn(const struct stats_round *r, const struct conn_delta *c)
{
	const struct netns *ns = netns_find(r->namespaces, c->rec->netns);
	output_t *item = output_is_json() ? json_object_new_object() : NULL;
	char label[256];

	if (ns)
		netns_label(ns, label, sizeof(label));
	else
		snprintf(label, sizeof(label), "(inode %u)", c->rec->netns);
	stats_print_conn(item, &r->delta, c, label);
	output_stream_item(item);
}

void stats_round_print(const struct stats_round *r, unsigned int most)
{
	const unsigned int size = stats_round_size(r);
	unsigned int i;

	output_time(r);
	if (r->every > 0)
		print_heading(r);
	output_stream_begin("connections");
	for (i = 0; i < size && i < most; i++)
		output_conn(r, &r->delta.conn[i]);
	if (!r->delta.nr)
		output_line("no connection uses a scheduler that keeps statistics");
	output_left_behind(r);
	output_stream_end();
}
