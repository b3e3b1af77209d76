// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "caps.h"
#include "cmd.h"
#include "netns.h"
#include "out.h"
#include "reader.h"
#include "screen.h"
#include "stats_out.h"
#include "target.h"

/* What one round of output needs. */
struct round {
	const struct reading *now;
	struct view view;
	struct netns_list namespaces;
	double every; /* seconds, 0: once */
};

static void out_time(const struct round *r)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	out_real(out_root(), "time", (double)now.tv_sec + (double)now.tv_nsec / 1e9, 3);
	if (r->view.seconds > 0)
		out_real(out_root(), "interval_s", r->view.seconds, 3);
	else
		out_null(out_root(), "interval_s");
}

static void print_heading(const struct round *r)
{
	char clock[32], rate[32] = "";
	time_t now = time(NULL);

	strftime(clock, sizeof(clock), "%T", localtime(&now));
	if (r->view.seconds > 0)
		rate_text((double)r->view.fresh / r->view.seconds, rate, sizeof(rate));
	out_line("--- %s  every %g s  %u connections, %u subflows%s%s", clock, r->every, r->view.nr,
		 r->view.nr_subflows, *rate ? "  " : "", rate);
}

static void out_foreign(const struct reading *now)
{
	if (now->foreign)
		out_note("%u maps have the name but not the layout of statistics: left out",
			 now->foreign);
}

static void out_round(const struct round *r, unsigned int most)
{
	char label[256];
	unsigned int i;

	out_time(r);
	if (r->every > 0)
		print_heading(r);
	out_stream_begin("connections");
	for (i = 0; i < r->view.nr && i < most; i++) {
		const struct conn_view *c = &r->view.conn[i];
		const struct netns *ns = netns_find(&r->namespaces, c->rec->netns);
		out_t *item = out_is_json() ? json_object_new_object() : NULL;

		if (ns)
			netns_label(ns, label, sizeof(label));
		else
			snprintf(label, sizeof(label), "(inode %u)", c->rec->netns);
		out_conn(item, &r->view, c, label);
		out_stream_item(item);
	}
	if (!r->view.nr)
		out_line("no connection uses a scheduler that keeps statistics");
	out_foreign(r->now);
	out_stream_end();
}

/* On a page no more than fits. */
static void draw_round(const struct round *r)
{
	unsigned int rows, cols;
	char more[64];
	char *text = NULL;
	size_t len = 0;
	FILE *page;

	screen_size(&rows, &cols);
	page = open_memstream(&text, &len);
	if (!page)
		return;
	out_into(page);
	/* each has three lines at least */
	out_round(r, rows / 3 + 1);
	out_into(NULL);
	fclose(page);
	snprintf(more, sizeof(more), "(more: %u connections, the busiest first)", r->view.nr);
	screen_draw(text, more);
	free(text);
}

static void show(const struct reading *now, const struct reading *before, const struct netns *only,
		 double every)
{
	struct round r = { .now = now, .every = every };

	view_make(&r.view, now, before, only);
	netns_names(&r.namespaces);
	if (screen_is_on())
		draw_round(&r);
	else
		out_round(&r, r.view.nr);
	netns_free(&r.namespaces);
	view_free(&r.view);
}

static enum exit_code print_once(struct stats *skel, const struct netns *only)
{
	struct reading now;
	enum exit_code ret = reader_read(&now, skel);

	if (ret == EX_OK)
		show(&now, NULL, only, 0);
	reading_free(&now);
	return ret;
}

static enum exit_code watch(struct stats *skel, const struct netns *only, double seconds)
{
	struct reading now = { 0 }, before = { 0 };
	enum screen_event event = SCREEN_TIME;
	enum exit_code ret = EX_OK;

	screen_open(!out_is_json());
	/* until whoever reads it has gone */
	for (; event != SCREEN_END && !ferror(stdout); event = screen_wait(seconds)) {
		if (event == SCREEN_TIME) {
			reading_free(&before);
			before = now;
			ret = reader_read(&now, skel);
		}
		if (ret != EX_OK)
			break;
		show(&now, before.when > 0 ? &before : NULL, only, seconds);
	}
	screen_close();
	reading_free(&before);
	reading_free(&now);
	return ret;
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
