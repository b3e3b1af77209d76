// SPDX-License-Identifier: GPL-2.0
/*
 * `mptcp-sched monitor`: one line per event. Connections and subflows are the kernel's own
 * events; what it has none for is found by looking at it again and again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/mptcp_pm.h>
#include "cli/output.h"
#include "cli/signals.h"
#include "cmd/commands.h"
#include "cmd/monitor.h"
#include "kernel/kern.h"
#include "kernel/netns.h"
#include "kernel/pm_events.h"
#include "kernel/sockets.h"
#include "stats/reader.h"

struct schedulers {
	char name[MAX_AVAILABLE][MPS_NAME_LEN];
	unsigned int nr;
};

struct monitor {
	struct monitor_netns ns;
	char label[256];
	struct stats *stats;
	struct inventory *inventory;
	struct mnl_socket *nl;
	/* as they were at the last look */
	struct schedulers schedulers;
	char chosen[MPS_NAME_LEN];
	struct sockets sockets;
	struct reading reading;
	struct monitor_steer steer;
	bool looked;
};

/* --- telling */

void monitor_begin(enum monitor_event event)
{
	static const char *const names[] = {
#define NAME(id, name, by, text) name,
		MONITOR_EVENTS(NAME)
#undef NAME
	};
	struct timespec now;
	char text[64];
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	output_real(output_root(), "time", (double)now.tv_sec + (double)now.tv_nsec / 1e9, 3);
	output_str(output_root(), "event", "%s", names[event]);
	strftime(text, sizeof(text), "%FT%T", gmtime_r(&now.tv_sec, &tm));
	output_text("%s.%03ldZ  %-21s", text, now.tv_nsec / 1000000, names[event]);
}

void monitor_with(const char *key, const char *value)
{
	output_str(output_root(), key, "%s", value);
	output_text("  %s", value);
}

void monitor_with_token(__u32 token)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08x", token);
	monitor_with("token", text);
}

void monitor_with_ends(const struct mps_addr *local, const struct mps_addr *remote)
{
	char text[64];

	monitor_with("local", addr_text(local, text, sizeof(text)));
	output_text(" >");
	output_str(output_root(), "remote", "%s", addr_text(remote, text, sizeof(text)));
	output_text(" %s", text);
}

void monitor_end(void)
{
	output_line("%s", "");
	output_finish();
}

static void tell_sched(const struct monitor *m, enum monitor_event event, const char *name,
		       const char *before)
{
	monitor_begin(event);
	monitor_with("scheduler", name);
	if (before) {
		output_str(output_root(), "before", "%s", before);
		output_text(" (before: %s)", before);
	}
	if (event == MONITOR_CHOSEN || event == MONITOR_STARTED)
		monitor_with("netns", m->label);
	monitor_end();
}

/* --- what the kernel tells */

static void tell_path(const struct pm_event *e, enum monitor_event event)
{
	monitor_begin(event);
	monitor_with_token(e->token);
	if (e->has_ends)
		monitor_with_ends(&e->local, &e->remote);
	if (e->backup)
		output_text("  backup");
	output_flag(output_root(), "backup", e->backup);
	if (event == MONITOR_PATH_CLOSED && e->error) {
		output_str(output_root(), "error", "%s", strerror((int)e->error));
		output_text("  %s", strerror((int)e->error));
	}
	if (event == MONITOR_PATH_CLOSED && e->has_reset) {
		output_num(output_root(), "reset_reason", e->reset_reason);
		output_text("  reset, reason %u", e->reset_reason);
	}
	monitor_end();
}

static void on_pm_event(const struct pm_event *e, void *arg)
{
	switch (e->type) {
	case MPTCP_EVENT_CREATED:
		monitor_begin(MONITOR_OPENED);
		monitor_with_token(e->token);
		if (e->has_ends)
			monitor_with_ends(&e->local, &e->remote);
		monitor_with("side", e->server ? "server" : "client");
		monitor_end();
		break;
	case MPTCP_EVENT_CLOSED:
		monitor_begin(MONITOR_CLOSED);
		monitor_with_token(e->token);
		monitor_end();
		break;
	case MPTCP_EVENT_SUB_ESTABLISHED:
		/* one that could not be made has an error, and no event of its own */
		if (!e->error)
			tell_path(e, MONITOR_PATH_OPENED);
		break;
	case MPTCP_EVENT_SUB_CLOSED:
		tell_path(e, MONITOR_PATH_CLOSED);
		break;
	default:
		break;
	}
}

static enum exit_code read_events(struct monitor *m)
{
	int err = pm_read(m->nl, on_pm_event, m);

	if (err == -ENOBUFS) {
		monitor_begin(MONITOR_LOST);
		monitor_end();
		return EX_OK;
	}
	return err ? fail_on(EX_FAILED, m->label, NULL, "reading events failed: %s", strerror(-err))
		   : EX_OK;
}

/* --- what has to be looked at */

static bool has(const struct schedulers *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if (!strcmp(s->name[i], name))
			return true;
	return false;
}

static void look_at_schedulers(struct monitor *m)
{
	struct schedulers now;
	unsigned int i;

	now.nr = kern_available(now.name);
	for (i = 0; m->looked && i < now.nr; i++)
		if (!has(&m->schedulers, now.name[i]))
			tell_sched(m, MONITOR_LOADED, now.name[i], NULL);
	for (i = 0; m->looked && i < m->schedulers.nr; i++)
		if (!has(&now, m->schedulers.name[i]))
			tell_sched(m, MONITOR_UNLOADED, m->schedulers.name[i], NULL);
	m->schedulers = now;
}

static void look_at_choice(struct monitor *m)
{
	char now[MPS_NAME_LEN] = "";

	if (netns_get_sched(&m->ns.held, now))
		return;
	if (!m->looked)
		tell_sched(m, MONITOR_STARTED, now, NULL);
	else if (strcmp(now, m->chosen))
		tell_sched(m, MONITOR_CHOSEN, now, m->chosen);
	memcpy(m->chosen, now, sizeof(now));
}

/* Had it fallen back before? Both lists are in the order of the sockets' identities. */
static bool fell_back_before(const struct sockets *s, const struct mps_sock_rec *rec,
			     unsigned int *at)
{
	const struct mps_sock_rec *was;

	while (*at < s->nr && s->rec[*at].sk < rec->sk)
		(*at)++;
	was = *at < s->nr ? &s->rec[*at] : NULL;
	return was && was->sk == rec->sk && was->fallback && was->token == rec->token &&
	       !memcmp(&was->remote, &rec->remote, sizeof(was->remote));
}

static void tell_fallback(const struct mps_sock_rec *rec)
{
	monitor_begin(MONITOR_FALLBACK);
	monitor_with_token(rec->token);
	monitor_with_ends(&rec->local, &rec->remote);
	output_num(output_root(), "pid", rec->pid);
	output_text("  pid %u", rec->pid);
	monitor_end();
}

static enum exit_code look_at_sockets(struct monitor *m)
{
	struct sockets now;
	unsigned int i, at = 0;
	enum exit_code ret = sockets_walk(&now, m->inventory);

	if (ret != EX_OK)
		return ret;
	for (i = 0; m->looked && i < now.nr; i++)
		if (now.rec[i].netns == m->ns.held.ino && now.rec[i].fallback &&
		    sock_is_connection(&now.rec[i]) &&
		    !fell_back_before(&m->sockets, &now.rec[i], &at))
			tell_fallback(&now.rec[i]);
	sockets_free(&m->sockets);
	m->sockets = now;
	return EX_OK;
}

/* The same subflow at the last look; NULL: it is new. */
static const struct mps_subflow_rec *before(const struct monitor *m,
					    const struct mps_subflow_rec *rec)
{
	const struct mps_subflow_rec *s;
	unsigned int nr;

	for (s = reading_subflows(&m->reading, rec->conn, &nr); nr; nr--, s++)
		if (s->id == rec->id && s->local.port == rec->local.port &&
		    s->remote.port == rec->remote.port)
			return s;
	return NULL;
}

static void look_at_path(const struct monitor *m, const struct mps_conn_rec *conn,
			 const struct mps_subflow_rec *rec)
{
	const struct mps_subflow_rec *was = before(m, rec);

	if (!!rec->stale == (was && was->stale))
		return;
	monitor_begin(rec->stale ? MONITOR_STALE : MONITOR_RECOVERED);
	monitor_with_token(conn->token);
	monitor_with_ends(&rec->local, &rec->remote);
	monitor_end();
}

static enum exit_code look_at_paths(struct monitor *m)
{
	struct reading now;
	enum exit_code ret = reader_read(&now, m->stats);
	unsigned int i;

	for (i = 0; ret == EX_OK && i < now.nr_subflows; i++) {
		const struct mps_conn_rec *conn = reading_conn(&now, now.subflow[i].conn);

		if (conn && conn->netns == m->ns.held.ino)
			look_at_path(m, conn, &now.subflow[i]);
	}
	if (ret == EX_OK)
		monitor_steer_look(&m->steer, &m->ns.held, &m->reading, &now);
	reading_free(ret == EX_OK ? &m->reading : &now);
	if (ret == EX_OK)
		m->reading = now;
	return ret;
}

static enum exit_code look(struct monitor *m)
{
	enum exit_code ret;

	look_at_schedulers(m);
	look_at_choice(m);
	ret = look_at_sockets(m);
	if (ret == EX_OK)
		ret = look_at_paths(m);
	m->looked = true;
	return ret;
}

/* --- both */

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What the kernel told before comes first. */
static enum exit_code tell_gone(struct monitor *m)
{
	enum exit_code ret = read_events(m);

	monitor_begin(MONITOR_GONE);
	monitor_with("netns", m->label);
	monitor_end();
	return ret;
}

/* Until a signal comes, nobody reads any more, or nobody has the namespace. */
static enum exit_code run(struct monitor *m, double interval)
{
	struct pollfd fds[] = {
		{ .fd = signals_open(), .events = POLLIN },
		{ .fd = pm_fd(m->nl), .events = POLLIN },
	};
	double next = now_s();
	enum exit_code ret = EX_OK;

	while (ret == EX_OK && !ferror(stdout)) {
		if (now_s() >= next) {
			if (!monitor_netns_lives(&m->ns)) {
				ret = tell_gone(m);
				break;
			}
			ret = look(m);
			next = now_s() + interval;
			continue;
		}
		if (poll(fds, 2, (int)((next - now_s()) * 1000) + 1) < 0 && errno != EINTR)
			ret = fail_on(EX_FAILED, m->label, NULL, "%s", strerror(errno));
		if (fds[0].revents)
			break;
		if (ret == EX_OK && fds[1].revents)
			ret = read_events(m);
	}
	close(fds[0].fd);
	return ret;
}

enum exit_code cmd_monitor(const struct args *args)
{
	ERROR_ABOUT("monitor", NULL);
	const double interval = args->interval > 0 ? args->interval : MONITOR_INTERVAL_S;
	struct monitor m = { .ns.fd = -1 };
	enum exit_code ret = monitor_netns_open(&m.ns, args->netns);

	output_setup(args->json, true);
	if (ret == EX_OK)
		ret = pm_open(&m.nl, &m.ns.held);
	if (ret == EX_OK)
		ret = sockets_open(&m.inventory);
	if (ret == EX_OK) {
		m.stats = reader_open();
		ret = m.stats ? EX_OK : EX_FAILED;
	}
	netns_label(&m.ns.found, m.label, sizeof(m.label));
	if (ret == EX_OK)
		ret = run(&m, interval);
	if (m.stats)
		reader_close(m.stats);
	if (m.inventory)
		sockets_close(m.inventory);
	if (m.nl)
		pm_close(m.nl);
	monitor_netns_close(&m.ns);
	sockets_free(&m.sockets);
	reading_free(&m.reading);
	monitor_steer_forget(&m.steer);
	return ret;
}
