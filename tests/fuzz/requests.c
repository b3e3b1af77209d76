// SPDX-License-Identifier: GPL-2.0
/*
 * Requests to the exporter, as bytes of a connection (libmicrohttpd reads them, exporter.c and
 * clients.c answer), and names of namespaces and schedulers in what it tells. Claims: an answer is
 * one of HTTP, its text is plain, and who has hung up is known to nobody.
 */
#define registry_read read_schedulers
#define netns_read read_namespaces
#define reader_read read_counters
#define sockets_walk read_sockets
#define reinject_find_map no_map
#include "../../loader/exporter/exporter.c"
#include "../../loader/exporter/clients.c"
#include "../../loader/exporter/host.c"
#include "../../loader/exporter/known.c"
#define describe describe_socket
#include "../../loader/exporter/listen.c"
#undef describe
#include "../../loader/exporter/metrics.c"
#include "../../loader/exporter/metrics_steer.c"
#include "../../loader/exporter/out.c"
#define add add_total
#include "../../loader/exporter/totals.c"
#include "../../loader/exporter/ui.c"
#include "exporter/page.c"
#include <sys/socket.h>
#include "said.h"

static char name[64];

void read_schedulers(struct registry *r)
{
	memset(r, 0, sizeof(*r));
	r->complete = true;
	r->sched = calloc(1, sizeof(*r->sched));
	r->nr = 1;
	r->sched->registered = true;
	snprintf(r->sched->name, sizeof(r->sched->name), "%s", name);
}

void read_namespaces(struct netns_list *l)
{
	memset(l, 0, sizeof(*l));
	l->ns = calloc(1, sizeof(*l->ns));
	l->nr = 1;
	snprintf(l->ns->name, sizeof(l->ns->name), "%s", name);
	snprintf(l->ns->sched, sizeof(l->ns->sched), "%s", name);
}

enum exit_code read_counters(struct reading *r, struct stats *skel)
{
	memset(r, 0, sizeof(*r));
	return EX_OK;
}

enum exit_code read_sockets(struct sockets *s, struct inventory *skel)
{
	memset(s, 0, sizeof(*s));
	return EX_OK;
}

int no_map(const struct registry *r)
{
	return -1;
}

static struct MHD_Daemon *daemon_of(struct exporter *e)
{
	static struct MHD_Daemon *daemon;

	if (daemon)
		return daemon;
	clients_init(&e->clients);
	daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
				  on_request, e, MHD_OPTION_NOTIFY_CONNECTION, clients_notify,
				  &e->clients, MHD_OPTION_END);
	if (!daemon)
		abort();
	return daemon;
}

/* get: to that, so that a body follows. What libmicrohttpd says of what is none is its own. */
static void check_answer(const char *text, bool get)
{
	const char *length = strstr(text, "Content-Length: "), *body = strstr(text, "\r\n\r\n");
	unsigned int status, i, bytes = 0;

	if (!*text)
		return;
	claim(sscanf(text, "HTTP/1.%*1[01] %3u ", &status) == 1, "an answer is one of HTTP");
	claim(status >= 100 && status <= 505 && status != 500 && status != 503, "nothing failed");
	if (!get || status != 200 || !body || !length || sscanf(length + 16, "%u", &bytes) != 1)
		return;
	for (i = 4; i < bytes + 4 && body[i]; i++)
		claim(body[i] == '\n' || (body[i] >= ' ' && body[i] <= '~'), "of plain text");
}

/* One connection from its beginning to its end. */
static void talk(struct exporter *e, const uint8_t *data, size_t size)
{
	static char answer[1 << 18];
	struct MHD_Daemon *daemon = daemon_of(e);
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t at = 0;
	ssize_t n = 0;
	int ends[2], turns;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends))
		abort();
	if (write(ends[0], data, size) != (ssize_t)size)
		abort();
	shutdown(ends[0], SHUT_WR);
	if (MHD_add_connection(daemon, ends[1], (struct sockaddr *)&un, sizeof(un)) != MHD_YES)
		abort();
	for (turns = 0; turns < 50 && (turns < 2 || e->clients.nr); turns++) {
		MHD_run(daemon);
		n = read(ends[0], answer + at, sizeof(answer) - at - 1);
		at += n > 0 ? (size_t)n : 0;
	}
	answer[at] = '\0';
	close(ends[0]);
	MHD_run(daemon);
	MHD_run(daemon);
	claim(!e->clients.nr && TAILQ_EMPTY(&e->clients.queue), "who has hung up is gone");
	check_answer(answer, size > 4 && !memcmp(data, "GET ", 4));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct args args = {
		.namespaces = 1,
		.paths = 1,
		.ui = true,
		.host = { "x", "a", "ab" }, /* of the seeds */
		.nr_hosts = 3,
	};
	static struct exporter e = { .args = &args };
	static struct MHD_Response *page;
	const size_t len = strnlen((const char *)data, size < 32 ? size : 32);

	snprintf(name, sizeof(name), "%.*s", (int)len, (const char *)data);
	page = page ?: ui_make_page();
	/* with --ui, and without */
	e.page = size % 2 ? page : NULL;
	if (len < size)
		talk(&e, data + len + 1, size - len - 1);
	forget(&e);
	totals_free(&e.totals);
	e.until = 0;
	return 0;
}
