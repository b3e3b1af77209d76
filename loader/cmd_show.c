// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/utsname.h>
#include "caps.h"
#include "cmd.h"
#include "kern.h"
#include "reinject.h"
#include "world.h"

static const struct out_col sched_cols[] = {
	{ "name", "SCHEDULER", OUT_LEFT },	  { "state", "STATE", OUT_LEFT },
	{ "held_by", "HELD BY", OUT_LEFT },	  { "copies", "COPIES", OUT_LEFT },
	{ "namespaces", "NAMESPACES", OUT_LEFT }, { "connections", "CONNECTIONS", OUT_RIGHT },
	{ "listeners", "LISTENERS", OUT_RIGHT },  { NULL, NULL, OUT_LEFT },
};

static const struct out_col netns_cols[] = {
	{ "netns", "NAMESPACE", OUT_LEFT },
	{ "inode", "INODE", OUT_RIGHT },
	{ "scheduler", "SCHEDULER", OUT_LEFT },
	{ "reinject", "REINJECT", OUT_LEFT },
	{ "connections", "CONNECTIONS", OUT_RIGHT },
	{ "listeners", "LISTENERS", OUT_RIGHT },
	{ NULL, NULL, OUT_LEFT },
};

/* Of the namespaces that opted in, in the order of their table. */
static const struct out_col reinject_cols[] = {
	{ "netns", "NAMESPACE", OUT_LEFT },
#define REINJECT_COL(id, name, text) { "reinject_counters." #name, #name, true },
	MPS_REINJECT_COUNTERS(REINJECT_COL)
#undef REINJECT_COL
		{ NULL, NULL, OUT_LEFT },
};

static void out_kernel(void)
{
	out_t *o = out_obj(out_root(), "kernel");
	struct utsname un;
	struct kern k;

	uname(&un);
	kern_probe(&k);
	out_str(o, "release", "%s", un.release);
	out_str(o, "support", "%s", support_name(k.support));
	if (k.btf)
		out_str(o, "hook", "%s", form_hook(k.form));
	else
		out_null(o, "hook");
	out_line("kernel %s, support for BPF schedulers: %s%s%s", un.release,
		 support_name(k.support), k.btf ? ", hook " : "", k.btf ? form_hook(k.form) : "");
}

static const char *held_by(const struct sched *s)
{
	if (s->pinned)
		return "pin of " PROGRAM;
	if (s->link_id)
		return "another program's link";
	return s->map_id ? "another program's map" : "kernel";
}

/* May data travel twice, and if not, although it could: why not? */
static void out_copies(out_t *item, const struct sched *s)
{
	const enum copies copies = sched_copies(s);
	const char *why = kern_has_retrans() ? "its program for that is not attached"
					     : "the kernel has no " RETRANS_KFUNC;

	out_str(item, "copies", "%s", copies_name(copies));
	if (copies == COPIES_OFF)
		out_str(item, "copies_off_because", "%s", why);
	else
		out_null(item, "copies_off_because");
}

/* Text: what the word "off" in the table means. */
static void print_why_off(out_t *scheds)
{
	size_t i, n = json_object_array_length(scheds);

	for (i = 0; i < n; i++) {
		out_t *item = json_object_array_get_idx(scheds, i);
		out_t *why = json_object_object_get(item, "copies_off_because");

		if (why)
			out_line("%s makes no copies: %s",
				 json_object_get_string(json_object_object_get(item, "name")),
				 json_object_get_string(why));
	}
}

static void out_sched(out_t *item, struct world *w, const struct sched *s)
{
	out_str(item, "name", "%s", s->name);
	/* its map lives on while connections or listeners use it */
	out_str(item, "state", "%s", s->registered ? "registered" : "unregistered, in use");
	out_str(item, "held_by", "%s", s->registered ? held_by(s) : "sockets");
	if (s->map_id)
		out_num(item, "map_id", s->map_id);
	out_flag(item, "statistics", s->conn_map && s->subflow_map);
	out_copies(item, s);
	out_users(out_list(item, "namespaces"), &w->namespaces, s->name);
	out_num(item, "connections", sockets_count(&w->sockets, sock_is_connection, s->name, 0));
	out_num(item, "listeners", sockets_count(&w->sockets, sock_is_listener, s->name, 0));
}

/* Does its default scheduler copy early, and what has come of it? */
static bool out_reinject(out_t *item, int map, const struct netns *ns)
{
	struct mps_reinject_ns value;
	const bool on = reinject_read(map, ns, &value);
	out_t *counters;

	out_flag(item, "reinject", on);
	if (!on)
		return false;
	counters = out_obj(item, "reinject_counters");
#define OUT_REINJECT(id, name, text) out_num(counters, #name, value.counter[MPS_R_##id]);
	MPS_REINJECT_COUNTERS(OUT_REINJECT)
#undef OUT_REINJECT
	return true;
}

static void out_netns(out_t *item, const struct netns *ns, const struct tally *tally)
{
	char label[256];

	out_str(item, "netns", "%s", netns_label(ns, label, sizeof(label)));
	out_num(item, "inode", ns->ino);
	out_flag(item, "self", ns->self);
	if (*ns->sched)
		out_str(item, "scheduler", "%s", ns->sched);
	else
		out_null(item, "scheduler");
	out_num(item, "connections", tally->connections);
	out_num(item, "listeners", tally->listeners);
}

/* All namespaces; text: in a second table what those say that opted in. */
static void out_namespaces(struct world *w)
{
	out_t *namespaces = out_list(out_root(), "namespaces");
	out_t *opted_in = json_object_new_array();
	int map = reinject_map();
	unsigned int i;

	for (i = 0; i < w->namespaces.nr; i++) {
		out_t *item = out_item(namespaces);

		out_netns(item, &w->namespaces.ns[i], &w->tally[i]);
		if (out_reinject(item, map, &w->namespaces.ns[i]))
			json_object_array_add(opted_in, json_object_get(item));
	}
	if (map >= 0)
		close(map);
	out_table(namespaces, netns_cols, "");
	if (json_object_array_length(opted_in)) {
		out_line("\nEarly copies for the default scheduler (`use default --reinject`):");
		out_table(opted_in, reinject_cols, "");
	}
	json_object_put(opted_in);
}

static void out_world(struct world *w)
{
	out_t *scheds = out_list(out_root(), "schedulers");
	out_t *listeners = out_list(out_root(), "listeners");
	unsigned int i;

	for (i = 0; i < w->schedulers.nr; i++)
		out_sched(out_item(scheds), w, &w->schedulers.sched[i]);
	/* "" is no scheduler's name: all of them */
	out_listeners(listeners, w, 0, "", false);
	out_line("%s", "");
	out_table(scheds, sched_cols, "");
	print_why_off(scheds);
	out_line("%s", "");
	out_namespaces(w);
	if (!json_object_array_length(listeners))
		return;
	out_line("\nListening sockets, each with the scheduler that its connections get:");
	out_table(listeners, listener_cols, "");
}

enum exit_code cmd_show(const struct args *args)
{
	struct world w;
	char missing[200];
	enum exit_code ret = world_read(&w, "show");

	if (ret == EX_OK) {
		out_kernel();
		out_world(&w);
	}
	if (ret == EX_OK && caps_missing(CAPS_LOOK, missing, sizeof(missing)))
		out_note("without %s not every namespace and pin is visible", missing);
	world_free(&w);
	return ret;
}
