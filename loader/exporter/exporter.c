// SPDX-License-Identifier: GPL-2.0
/*
 * `mptcp-sched exporter`: one thread that waits for requests, for the next look at the counters
 * and for the signal to end.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <microhttpd.h>
#include "cli/caps.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/util.h"
#include "cmd/commands.h"
#include "exporter/clients.h"
#include "exporter/host.h"
#include "exporter/listen.h"
#include "exporter/metrics.h"
#include "exporter/ui.h"

#define INTERVAL_S 5
/* So long one look answers all requests: what clients can make it cost has a limit. */
#define FRESH_S 1.0

/* Connections of the page: more nobody looks through. */
#define UI_TOP 100

#define UNKNOWN_HOST                                                                            \
	"The exporter does not go by that name: ask by an IP address, or start it with --host " \
	"NAME.\n"

#define METRICS "/metrics"
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define OPENMETRICS "application/openmetrics-text"
#define OPENMETRICS_TYPE OPENMETRICS "; version=1.0.0; charset=utf-8"

struct exporter {
	const struct args *args;
	bool is_unix; /* no browser asks there by a name */
	struct stats *stats;
	struct inventory *inventory;
	struct totals totals;
	struct self self;
	/* the last look, and for the page the reading before it */
	struct reading reading, before;
	struct netns_list namespaces;
	struct registry schedulers;
	double when, until; /* it began and ended */
	bool good;
	/* made of it, one for each of the two formats and of the documents, when first asked for */
	struct MHD_Response *answer[2], *document[NR_UI_DOCUMENTS];
	struct MHD_Response *page; /* NULL: without --ui */
	struct clients clients;
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void destroy(struct MHD_Response **response, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (response[i])
			MHD_destroy_response(response[i]);
		response[i] = NULL;
	}
}

/* Rates are since the reading before. */
static void keep(struct exporter *e)
{
	if (!e->page || !e->good)
		return;
	reading_free(&e->before);
	e->before = e->reading;
	memset(&e->reading, 0, sizeof(e->reading));
}

static void forget(struct exporter *e)
{
	destroy(e->answer, 2);
	destroy(e->document, NR_UI_DOCUMENTS);
	reading_free(&e->reading);
	netns_free(&e->namespaces);
	registry_free(&e->schedulers);
}

/* What a failed look cannot tell stays as it was: sums do not fall. */
static void look(struct exporter *e)
{
	ERROR_ABOUT("read", NULL);
	struct sockets sockets = { 0 };
	enum exit_code ret;

	keep(e);
	forget(e);
	e->when = now_s();
	e->self.reads++;
	registry_read(&e->schedulers);
	netns_read(&e->namespaces);
	ret = reader_read(&e->reading, e->stats);
	if (ret == EX_OK)
		ret = sockets_walk(&sockets, e->inventory);
	e->good = ret == EX_OK;
	if (e->good)
		totals_add(&e->totals, &e->reading, &sockets, &e->namespaces);
	else
		e->self.failures++;
	sockets_free(&sockets);
	e->until = now_s();
	e->self.read_s = e->until - e->when;
}

static enum MHD_Result answer_text(struct MHD_Connection *c, unsigned int status, const char *text)
{
	enum MHD_Result ret = MHD_NO;
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);

	if (!response)
		return ret;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				"text/plain; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	ret = MHD_queue_response(c, status, response);
	MHD_destroy_response(response);
	return ret;
}

static struct MHD_Response *make_metrics(const struct exporter *e, bool openmetrics)
{
	struct metrics m = {
		.totals = &e->totals,
		.reading = &e->reading,
		.namespaces = &e->namespaces,
		.schedulers = &e->schedulers,
		.self = &e->self,
		.per_connection = e->args->per_connection,
		.openmetrics = openmetrics,
	};
	struct MHD_Response *response;
	size_t len = 0;
	char *text = metrics_text(&m, &len);

	response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (response)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
					openmetrics ? OPENMETRICS_TYPE : TEXT_TYPE);
	return response;
}

static bool is_fresh(struct exporter *e)
{
	if (now_s() - e->until > FRESH_S)
		look(e);
	return e->good;
}

static enum MHD_Result answer_unread(struct MHD_Connection *c)
{
	return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE,
			   "The kernel's counters could not be read; the exporter's "
			   "stderr says why.\n");
}

/* libmicrohttpd keeps it for those that are still being sent */
static enum MHD_Result answer_with(struct MHD_Connection *c, struct MHD_Response *response)
{
	return response ? MHD_queue_response(c, MHD_HTTP_OK, response) : MHD_NO;
}

static enum MHD_Result answer_metrics(struct MHD_Connection *c, struct exporter *e)
{
	const char *accepts = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
	const bool openmetrics = accepts && strstr(accepts, OPENMETRICS);

	if (!is_fresh(e))
		return answer_unread(c);
	if (!e->answer[openmetrics])
		e->answer[openmetrics] = make_metrics(e, openmetrics);
	return answer_with(c, e->answer[openmetrics]);
}

static enum MHD_Result answer_document(struct MHD_Connection *c, struct exporter *e,
				       enum ui_document which)
{
	struct ui_look look = { .now = &e->reading,
				.namespaces = &e->namespaces,
				.top = e->args->top ?: UI_TOP };

	if (!is_fresh(e))
		return answer_unread(c);
	look.before = e->before.when > 0 ? &e->before : NULL;
	if (!e->document[which])
		e->document[which] = ui_make_document(which, &look);
	return answer_with(c, e->document[which]);
}

static enum MHD_Result answer_ui(struct MHD_Connection *c, struct exporter *e, const char *url)
{
	const enum ui_document which = ui_find(url);

	if (!strcmp(url, "/"))
		return answer_with(c, e->page);
	if (which < NR_UI_DOCUMENTS)
		return answer_document(c, e, which);
#define AND(id, path) ", " path
	return answer_text(c, MHD_HTTP_NOT_FOUND, "There are /, /metrics" UI_DOCUMENTS(AND) ".\n");
#undef AND
}

static bool has_unknown_host(const struct exporter *e, struct MHD_Connection *c)
{
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	return !e->is_unix && !host_is_ours(host, e->args->host, e->args->nr_hosts);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	struct exporter *e = cls;
	static int seen;

	/* once for the headers; what comes with the request is thrown away */
	if (!*state) {
		*state = &seen;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	clients_asked(&e->clients, c);
	if (has_unknown_host(e, c))
		return answer_text(c, MHD_HTTP_FORBIDDEN, UNKNOWN_HOST);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD.\n");
	if (!strcmp(url, METRICS))
		return answer_metrics(c, e);
	if (e->page)
		return answer_ui(c, e, url);
	if (!strcmp(url, "/"))
		return answer_text(c, MHD_HTTP_OK, PROGRAM " " MPS_VERSION ": see /metrics\n");
	return answer_text(c, MHD_HTTP_NOT_FOUND, "There is /metrics.\n");
}

/* Until the signal comes; true: the loop cannot go on. */
static bool serve(struct exporter *e, struct MHD_Daemon *daemon, int signals)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
	const double interval = e->args->interval > 0 ? e->args->interval : INTERVAL_S;
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = info ? info->epoll_fd : -1, .events = POLLIN },
	};

	for (;;) {
		const double left = e->when + interval - now_s();
		double wait_ms = left > 0 ? ceil(left * 1000) : 0;
		MHD_UNSIGNED_LONG_LONG theirs;

		if (MHD_get_timeout(daemon, &theirs) == MHD_YES && (double)theirs < wait_ms)
			wait_ms = (double)theirs;
		if (poll(fds, 2, (int)wait_ms) < 0 && errno != EINTR)
			return true;
		if (fds[0].revents)
			return false;
		if (e->when + interval <= now_s())
			look(e);
		MHD_run(daemon);
	}
}

/* where: the address of the metrics, by which the page is. */
static void tell_where(const struct exporter *e, const char *where)
{
	const char *end = strstr(where, METRICS);

	output_str(output_root(), "listening", "%s", where);
	output_line("listening at %s", where);
	if (e->page && end) {
		output_str(output_root(), "page", "%.*s/", (int)(end - where), where);
		output_line("the page is %.*s/", (int)(end - where), where);
	}
	output_finish();
}

/* Takes the socket over. */
static enum exit_code run(struct exporter *e, int listener, const char *where)
{
	ERROR_ABOUT("serve", where);
	const int signals = signals_open();
	struct MHD_Daemon *daemon;
	bool broken;

	if (e->args->ui) {
		e->page = ui_make_page();
		if (!e->page)
			out_of_memory();
	}
	look(e);
	clients_init(&e->clients);
	daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, e,
				  MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
				  (unsigned int)CLIENTS_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT,
				  (unsigned int)CLIENT_TIMEOUT_S, MHD_OPTION_NOTIFY_CONNECTION,
				  clients_notify, &e->clients, MHD_OPTION_END);
	if (!daemon || signals < 0)
		return fail(EX_FAILED, NULL, "libmicrohttpd could not start: %s", strerror(errno));
	tell_where(e, where);
	broken = serve(e, daemon, signals);
	MHD_stop_daemon(daemon);
	close(signals);
	if (broken)
		return fail(EX_FAILED, NULL, "%s", strerror(errno));
	return EX_OK;
}

static enum exit_code refuse(const char *option, const char *why, const char *detail)
{
	ERROR_ABOUT("run", option);

	return fail(EX_USAGE, "`" PROGRAM " help exporter` shows how", "%s%s", why, detail);
}

static enum exit_code check_options(const struct args *args, bool is_unix)
{
	unsigned int i;

	if (args->top && !args->ui)
		return refuse("--top", "it is for --ui", "");
	if (args->nr_hosts && is_unix)
		return refuse("--host", "it is for an address and a port", "");
	for (i = 0; i < args->nr_hosts; i++)
		if (!host_is_name(args->host[i]))
			return refuse("--host", "not the name of a host: ", args->host[i]);
	return EX_OK;
}

enum exit_code cmd_exporter(const struct args *args)
{
	ERROR_ABOUT("read", NULL);
	const char *address = args->listen ? args->listen : DEFAULT_LISTEN;
	struct exporter e = { .args = args, .is_unix = listen_is_unix(address) };
	char where[160];
	int listener = -1;
	enum exit_code ret;

	ret = check_options(args, e.is_unix);
	if (ret != EX_OK)
		return ret;
	e.totals.max_namespaces = args->namespaces;
	e.totals.max_paths = args->paths;
	/* with all privileges, for a low port; everything behind it with as few as it takes */
	ret = listen_at(address, args->socket_group, &listener, where, sizeof(where));
	if (ret != EX_OK)
		return ret;
	ret = caps_confine("exporter", CAPS_LOOK);
	if (ret == EX_OK)
		ret = sockets_open(&e.inventory);
	if (ret == EX_OK) {
		e.stats = reader_open();
		ret = e.stats ? EX_OK : EX_FAILED;
	}
	if (ret == EX_OK)
		ret = run(&e, listener, where);
	else
		close(listener);
	listen_done(address);
	if (e.stats)
		reader_close(e.stats);
	if (e.inventory)
		sockets_close(e.inventory);
	forget(&e);
	destroy(&e.page, 1);
	reading_free(&e.before);
	totals_free(&e.totals);
	return ret;
}
