// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include "cli/output.h"
#include "cli/util.h"
#include "cmd/steer.h"
#include "exporter/ui.h"
#include "stats/round.h"
#include "stats/steer.h"

enum ui_document ui_find(const char *path)
{
	static const char *const paths[] = {
#define UI_PATH(id, path) path,
		UI_DOCUMENTS(UI_PATH)
#undef UI_PATH
	};
	unsigned int i;

	for (i = 0; i < NR_UI_DOCUMENTS; i++)
		if (!strcmp(path, paths[i]))
			break;
	return i;
}

/* Neither may be taken for what it is not, nor be kept. */
static struct MHD_Response *with_headers(struct MHD_Response *response, const char *type)
{
	if (!response)
		return NULL;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	return response;
}

struct MHD_Response *ui_make_page(void)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(ui_page), (void *)ui_page, MHD_RESPMEM_PERSISTENT);

	if (response)
		MHD_add_response_header(response, "Content-Security-Policy", ui_policy);
	return with_headers(response, "text/html; charset=utf-8");
}

/* Names of paths are of the tables, which only bpf_steer has. */
static bool any_is_steered(const struct reading *r)
{
	unsigned int i;

	for (i = 0; i < r->nr_conns; i++)
		if (stats_is_steered(&r->conn[i]))
			return true;
	return false;
}

static void print_stats(const struct ui_look *l)
{
	const bool steered = any_is_steered(l->now);
	struct stats_round r = { .now = l->now, .namespaces = l->namespaces, .top = l->top };
	struct steer_table s;

	stats_delta_make(&r.delta, l->now, l->before, NULL);
	if (steered && !steer_table_look(&s)) {
		r.delta.steer = s.t;
		r.delta.slot = s.slot;
	}
	stats_round_print(&r, r.delta.nr);
	if (steered)
		steer_table_close(&s);
	stats_delta_free(&r.delta);
}

static void print_accounts(void)
{
	struct steer_table s;

	if (!steer_table_look(&s)) {
		show_accounts(&s);
		output_num(output_root(), "generation", s.t->generation);
	} else {
		output_list(output_root(), "accounts");
	}
	steer_table_close(&s);
	output_finish();
}

/* What a command prints with --json, into memory. */
struct MHD_Response *ui_make_document(enum ui_document which, const struct ui_look *look)
{
	const bool json = output_is_json();
	char *text = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&text, &len);

	if (!file)
		out_of_memory();
	output_setup(true, true);
	output_into(file);
	if (which == UI_STATS)
		print_stats(look);
	else
		print_accounts();
	output_into(NULL);
	output_setup(json, false);
	fclose(file);
	return with_headers(MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE),
			    "application/json");
}
