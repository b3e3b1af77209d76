// SPDX-License-Identifier: GPL-2.0
/* `mptcp-sched trace`: one line per decision of the schedulers, with what it was made on. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "cli/caps.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cmd/commands.h"
#include "cmd/trace.h"
#include "kernel/container.h"
#include "kernel/sockets.h"
#include "stats/reader.h"
#include "trace/change.h"
#include "trace/observer.h"
#include "trace/print.h"
#include "trace/recording.h"

/* Between two looks for schedulers that came or went; `unload` waits longer (RELEASE_MS). */
#define LOOK_S 1
/* Of one turn, before signals are looked at again. */
#define RECORDS_AT_ONCE 256
/* Connections of which is known that they were introduced, and what they were like. */
#define MET 4096

struct tracing {
	const struct args *args;
	struct observers observers;
	struct ring_buffer *ring;
	struct netns_list namespaces;
	ino_t nameless;		    /* that was looked for in vain */
	double to_real;		    /* seconds of 1970 when the clock of the kernel began */
	__u64 shown;		    /* or recorded */
	struct trace_look met[MET]; /* each at the rest of its token */
	struct recording recording; /* --record */
	struct observer_filter filter;
	struct trace_top top;
	unsigned int cols; /* of the terminal, 0: none */
};

/* --- telling */

static double seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Set once more where someone set the clock or the machine slept; reading two clocks takes less. */
static void set_clock(struct tracing *t)
{
	const double now = seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_MONOTONIC);

	if (fabs(now - t->to_real) > 0.1)
		t->to_real = now;
}

static void begin(enum trace_event event)
{
	static const char *const names[] = {
#define NAME(id, name, text) name,
		TRACE_EVENTS(NAME)
#undef NAME
	};

	output_real(output_root(), "time", seconds_of(CLOCK_REALTIME), 6);
	output_str(output_root(), "event", "%s", names[event]);
}

static void tell_sched(enum observer_news news, const struct observed_sched *s)
{
	static const enum trace_event events[] = {
		[OBSERVER_ATTACHED] = TRACE_TRACED,
		[OBSERVER_REFUSED] = TRACE_NOT_TRACED,
		[OBSERVER_GONE] = TRACE_GONE,
	};

	begin(events[news]);
	output_str(output_root(), "scheduler", "%s", s->name);
	if (news == OBSERVER_REFUSED) {
		output_str(output_root(), "reason", "%s", s->why);
		output_line("%s is not traced: %s", s->name, s->why);
	} else {
		output_line("%s %s", s->name, news == OBSERVER_GONE ? "is gone" : "is traced");
	}
	output_finish();
}

static void tell_end(const struct tracing *t)
{
	__u64 seen, lost;

	observers_count(&t->observers, &seen, &lost);
	begin(TRACE_ENDED);
	output_num(output_root(), "seen", seen);
	output_num(output_root(), t->args->record ? "recorded" : "shown", t->shown);
	output_num(output_root(), "lost", lost);
	output_line("%llu decisions seen, %llu %s, %llu lost%s", (unsigned long long)seen,
		    (unsigned long long)t->shown, t->args->record ? "recorded" : "shown",
		    (unsigned long long)lost,
		    lost ? "; --connection, --port or --sample make it less" : "");
	output_finish();
}

static const char *name_of(struct tracing *t, ino_t inode, char *buf, size_t size)
{
	const struct netns *ns = netns_find(&t->namespaces, inode);

	if (!ns && inode && inode != t->nameless) {
		netns_free(&t->namespaces);
		netns_names(&t->namespaces);
		ns = netns_find(&t->namespaces, inode);
		t->nameless = ns ? t->nameless : inode;
	}
	if (ns)
		return netns_label(ns, buf, size);
	snprintf(buf, size, "(inode %lu)", (unsigned long)inode);
	return buf;
}

/* Its first decision may not be in the sample. Where two share a place, both are told again. */
static bool is_new(struct tracing *t, const struct mps_trace_head *head)
{
	struct trace_look *met = &t->met[head->token % MET];

	if (!head->netns || met->token == head->token)
		return false;
	*met = (struct trace_look){ .token = head->token };
	return true;
}

/* A negative number ends it. */
static int record_it(struct tracing *t, const struct mps_trace_head *head,
		     const struct mps_trace_rec *rec)
{
	trace_record_functions(&t->recording, &t->observers);
	t->shown++;
	return !recording_add(&t->recording, head, rec) || t->shown == t->args->limit ? -ECANCELED
										      : 0;
}

/* The same. */
static int on_record(void *arg, void *data, size_t size)
{
	struct tracing *t = arg;
	const struct mps_trace_head *head = data;
	const struct observer *of;
	struct trace_change changes[CHANGES_MAX];
	struct trace_line l;
	char netns[300];

	if (size < sizeof(*head) || head->target >= t->observers.nr)
		return 0;
	if (t->args->record)
		return record_it(t, head, size >= sizeof(*l.rec) ? data : NULL);
	of = &t->observers.at[head->target];
	l = (struct trace_line){
		.head = head,
		.rec = size >= sizeof(*l.rec) ? data : NULL,
		.what = of->what,
		.sched = t->observers.sched[of->sched].name,
		.policy = of->policy,
		.netns = name_of(t, head->netns, netns, sizeof(netns)),
		.one_of_several = t->observers.sched[of->sched].policies > 1,
		.is_new = is_new(t, head),
		.paths = t->args->each_path,
		.cols = t->cols,
		.time = t->to_real + (double)head->when_ns / 1e9,
	};
	l.change = changes;
	l.nr_changes = trace_changes(&t->met[head->token % MET], head, l.rec, l.what, changes);
	trace_print(&l);
	t->shown += l.what != OBSERVED_PENALTY;
	return ferror(stdout) || t->shown == t->args->limit ? -ECANCELED : 0;
}

/* --- what is meant */

/* The scheduler of a connection that has a socket; false: there is none. */
static enum exit_code find_socket(__u32 token, char *sched, bool *found)
{
	struct sockets s;
	enum exit_code ret = sockets_read(&s);
	unsigned int i;

	for (i = 0; i < s.nr && !*found; i++) {
		*found = s.rec[i].token == token && sock_is_connection(&s.rec[i]);
		if (*found)
			snprintf(sched, MPS_NAME_LEN, "%.*s", MPS_NAME_LEN - 1, s.rec[i].sched);
	}
	sockets_free(&s);
	return ret;
}

/* The same of one that was decided on; its application may have closed it. */
static enum exit_code find_decided(__u32 token, bool *found)
{
	struct stats *skel = reader_open();
	struct reading r;
	enum exit_code ret;
	unsigned int i;

	if (!skel)
		return code_of(errno);
	ret = reader_read(&r, skel);
	for (i = 0; i < r.nr_conns && !*found; i++)
		*found = r.conn[i].token == token;
	reading_free(&r);
	reader_close(skel);
	return ret;
}

static enum exit_code check_token(const struct tracing *t)
{
	char sched[MPS_NAME_LEN] = "", text[16];
	const __u32 token = t->args->token;
	bool decided = false, open = false;
	enum exit_code ret;
	unsigned int i;

	snprintf(text, sizeof(text), "0x%08x", token);
	ret = find_decided(token, &decided);
	if (ret == EX_OK && !decided)
		ret = find_socket(token, sched, &open);
	if (ret != EX_OK || decided)
		return ret;
	if (!open)
		return fail_on(EX_FAILED, text, "`" PROGRAM " stats` and `ss -M` show tokens",
			       "no connection has this token here");
	for (i = 0; i < t->observers.nr_scheds; i++)
		if (!strcmp(t->observers.sched[i].name, sched) && t->observers.sched[i].policies)
			return EX_OK;
	return fail_on(EX_FAILED, text, "`" PROGRAM " show` says who uses what",
		       "its scheduler is %s, which is not traced", sched);
}

static enum exit_code make_filter(struct observer_filter *f, const struct args *args)
{
	enum exit_code ret = EX_OK;
	struct netns ns;

	*f = (struct observer_filter){
		.token = args->token,
		.port = args->port,
		.one_in = args->sample,
		.top = args->top,
		.leave_out = (args->record ? 1U << OBSERVED_PENALTY : 0) |
			     (args->no_glances ? 1U << OBSERVED_GLANCE : 0),
	};
	if (!args->netns && !args->container)
		return EX_OK;
	ret = target_resolve(&ns, args);
	f->netns = (__u32)ns.ino;
	return ret;
}

/* Nothing is told before it is sure that it begins. */
static enum exit_code attach(struct tracing *t)
{
	const struct observers *o = &t->observers;
	enum exit_code ret;
	unsigned int i;

	observers_look(&t->observers, NULL);
	if (!o->nr_scheds)
		return fail(EX_FAILED, "`" PROGRAM " use NAME` loads one and selects it",
			    "no BPF scheduler is loaded");
	if (!observers_any(o))
		return fail_on(code_of(o->sched[0].err), o->sched[0].name,
			       observers_hint(o->sched[0].err), "%s", o->sched[0].why);
	ret = t->args->token ? check_token(t) : EX_OK;
	for (i = 0; ret == EX_OK && i < o->nr_scheds; i++)
		tell_sched(o->sched[i].policies ? OBSERVER_ATTACHED : OBSERVER_REFUSED,
			   &o->sched[i]);
	return ret;
}

static void tell_start(void)
{
	char missing[200];

	begin(TRACE_STARTED);
	if (caps_missing(CAPS_STATS, missing, sizeof(missing)))
		output_note("without %s not every namespace has its name here", missing);
	output_finish();
}

/* --- the loop */

/* What changes from one second to the next. */
static enum exit_code look(struct tracing *t)
{
	set_clock(t);
	t->cols = screen_width();
	observers_look(&t->observers, tell_sched);
	return t->args->top ? trace_top_look(&t->top, &t->observers, &t->filter, t->args->top)
			    : EX_OK;
}

/* Until a signal comes, nobody reads any more, or as much was shown as was asked for. */
static enum exit_code run(struct tracing *t, int signals)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = ring_buffer__epoll_fd(t->ring), .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};
	double next = seconds_of(CLOCK_MONOTONIC) + LOOK_S, left;
	enum exit_code ret = EX_OK;
	int n = 0;

	while (n >= 0 && !fds[0].revents && !fds[2].revents && !ferror(stdout)) {
		left = next - seconds_of(CLOCK_MONOTONIC);
		if (left <= 0) {
			ret = look(t);
			if (ret != EX_OK)
				break;
			next = seconds_of(CLOCK_MONOTONIC) + LOOK_S;
			continue;
		}
		/* where the turn before left some nothing tells of them */
		if (poll(fds, 3, n >= RECORDS_AT_ONCE ? 0 : (int)(left * 1000) + 1) < 0 &&
		    errno != EINTR)
			return fail(EX_FAILED, NULL, "%s", strerror(errno));
		n = ring_buffer__consume_n(t->ring, RECORDS_AT_ONCE);
	}
	observers_detach(&t->observers);
	/* a recording does not end early because the terminal has gone */
	if (n >= 0 && (t->args->record || (!fds[2].revents && !ferror(stdout))))
		ring_buffer__consume(t->ring);
	return ret;
}

static enum exit_code end_recording(struct tracing *t)
{
	struct recording_end end = { .kept = t->shown };

	observers_count(&t->observers, &end.seen, &end.lost);
	return recording_finish(&t->recording, &end);
}

enum exit_code cmd_trace(const struct args *args)
{
	ERROR_ABOUT("trace", NULL);
	struct tracing t = { .args = args };
	enum exit_code ret, recorded;
	int signals;

	if (args->anonymise && !args->record)
		return fail_on(EX_USAGE, "--anonymise", "`" PROGRAM " help trace` shows how",
			       "it is for --record");

	output_setup(args->json, true);
	set_clock(&t);
	t.cols = screen_width();
	ret = make_filter(&t.filter, args);
	/* once it is attached, every signal has it end in order */
	signals = signals_open();
	if (ret == EX_OK)
		ret = observers_open(&t.observers, &t.filter);
	if (ret == EX_OK) {
		t.ring = ring_buffer__new(observers_ring(&t.observers), on_record, &t, NULL);
		if (!t.ring)
			ret = fail(EX_FAILED, NULL, "cannot map the ring: %s", strerror(errno));
	}
	if (ret == EX_OK && args->top)
		ret = trace_top_open(&t.top);
	if (ret == EX_OK && args->top)
		ret = trace_top_look(&t.top, &t.observers, &t.filter, args->top);
	if (ret == EX_OK)
		ret = attach(&t);
	/* now that it is sure that there is something to record */
	if (ret == EX_OK && args->record)
		ret = trace_record_begin(&t.recording, args, t.to_real);
	if (ret == EX_OK) {
		tell_start();
		ret = run(&t, signals);
		tell_end(&t);
		recorded = end_recording(&t);
		ret = ret == EX_OK ? recorded : ret;
	}
	close(signals);
	ring_buffer__free(t.ring);
	observers_close(&t.observers);
	trace_top_close(&t.top);
	netns_free(&t.namespaces);
	return ret;
}
