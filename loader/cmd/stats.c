// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/caps.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "cmd/commands.h"
#include "kernel/container.h"
#include "kernel/netns.h"
#include "sched/steer_table.h"
#include "stats/reader.h"
#include "stats/round.h"
#include "stats/steer.h"

/* What is read at once. */
struct look {
	struct reading reading;
	struct steer_table steer; /* where some connection is steered */
	bool steered, has_tables;
};

static enum exit_code look_take(struct look *l, struct stats *skel)
{
	enum exit_code ret;
	unsigned int i;

	memset(l, 0, sizeof(*l));
	ret = reader_read(&l->reading, skel);
	for (i = 0; i < l->reading.nr_conns && !l->steered; i++)
		l->steered = stats_is_steered(&l->reading.conn[i]);
	l->has_tables = l->steered && !steer_table_look(&l->steer);
	return ret;
}

static void look_free(struct look *l)
{
	if (l->steered)
		steer_table_close(&l->steer);
	reading_free(&l->reading);
	memset(l, 0, sizeof(*l));
}

/* On a page no more than is seen of it. */
static void draw_round(const struct stats_round *r)
{
	/* each has three lines at least */
	const unsigned int most = screen_lines() / 3 + 1;
	char *text = NULL, left_out[200];
	struct screen_text t;
	size_t len = 0;
	FILE *page;

	page = open_memstream(&text, &len);
	if (!page)
		return;
	output_into(page);
	output_fit(screen_cols(), screen_sheet());
	stats_round_print(r, most);
	output_into(NULL);
	fclose(page);
	t.text = text;
	t.whole = stats_round_size(r) <= most;
	t.left_out = output_left_out(left_out, sizeof(left_out), &t.sheets);
	screen_draw(&t);
	free(text);
}

static void show(const struct look *now, const struct look *before, const struct netns *only,
		 const struct args *args)
{
	struct netns_list namespaces;
	struct stats_round r = { .now = &now->reading,
				 .namespaces = &namespaces,
				 .every = args->watch,
				 .top = args->top };

	stats_delta_make(&r.delta, r.now, before ? &before->reading : NULL, only);
	netns_names(&namespaces);
	if (now->has_tables) {
		r.delta.steer = now->steer.t;
		r.delta.slot = now->steer.slot;
	}
	if (screen_is_on())
		draw_round(&r);
	else
		stats_round_print(&r, r.delta.nr);
	netns_free(&namespaces);
	stats_delta_free(&r.delta);
}

static enum exit_code print_once(struct stats *skel, const struct netns *only,
				 const struct args *args)
{
	struct look now;
	enum exit_code ret = look_take(&now, skel);

	if (ret == EX_OK)
		show(&now, NULL, only, args);
	look_free(&now);
	return ret;
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static enum screen_event wait_until(double when)
{
	const double left = when - now_s();
	const enum screen_event event = screen_wait(left > 0 ? left : 0);

	/* where drawing takes as long as until the next key, there is always one */
	return event == SCREEN_CHANGED && now_s() >= when ? SCREEN_TIME : event;
}

static enum exit_code watch(struct stats *skel, const struct netns *only, const struct args *args)
{
	struct look now = { 0 }, before = { 0 };
	enum screen_event event = SCREEN_TIME;
	enum exit_code ret = EX_OK;
	double next = 0;

	screen_open(!output_is_json());
	/* until whoever reads it has gone */
	for (; event != SCREEN_END && !ferror(stdout); event = wait_until(next)) {
		if (event == SCREEN_TIME) {
			look_free(&before);
			before = now;
			ret = look_take(&now, skel);
		}
		if (ret != EX_OK)
			break;
		show(&now, before.reading.when > 0 ? &before : NULL, only, args);
		/* which a key that is held down does not put off */
		if (event == SCREEN_TIME)
			next = now_s() + args->watch;
	}
	screen_close();
	look_free(&before);
	look_free(&now);
	return ret;
}

enum exit_code cmd_stats(const struct args *args)
{
	ERROR_ABOUT("read statistics of", NULL);
	struct netns ns, *only = NULL;
	struct stats *skel;
	char missing[200];
	enum exit_code ret;

	if (args->netns || args->container) {
		ret = target_resolve(&ns, args);
		if (ret != EX_OK)
			return ret;
		only = &ns;
	}
	skel = reader_open();
	if (!skel)
		return code_of(errno);
	if (caps_missing(CAPS_STATS, missing, sizeof(missing)))
		output_note("without %s not every namespace has its name here", missing);
	ret = args->watch > 0 ? watch(skel, only, args) : print_once(skel, only, args);
	reader_close(skel);
	return ret;
}
