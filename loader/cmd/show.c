// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/utsname.h>
#include "cli/caps.h"
#include "cmd/commands.h"
#include "kernel/kern.h"
#include "sched/aux_progs.h"
#include "sched/leftovers.h"
#include "sched/pindir.h"
#include "sched/reinject.h"
#include "sched/tunable_live.h"
#include "sched/usage.h"

static const struct output_col sched_cols[] = {
	{ "name", "SCHEDULER", OUTPUT_LEFT },	     { "state", "STATE", OUTPUT_LEFT },
	{ "held_by", "HELD BY", OUTPUT_LEFT },	     { "copies", "COPIES", OUTPUT_LEFT },
	{ "namespaces", "NAMESPACES", OUTPUT_LEFT }, { "connections", "CONNECTIONS", OUTPUT_RIGHT },
	{ "listeners", "LISTENERS", OUTPUT_RIGHT },  { NULL, NULL, OUTPUT_LEFT },
};

static const struct output_col netns_cols[] = {
	{ "netns", "NAMESPACE", OUTPUT_LEFT },	    { "inode", "INODE", OUTPUT_RIGHT },
	{ "scheduler", "SCHEDULER", OUTPUT_LEFT },  { "registered", "REGISTERED", OUTPUT_LEFT },
	{ "reinject", "REINJECT", OUTPUT_LEFT },    { "connections", "CONNECTIONS", OUTPUT_RIGHT },
	{ "listeners", "LISTENERS", OUTPUT_RIGHT }, { NULL, NULL, OUTPUT_LEFT },
};

/* Of the namespaces that opted in, in the order of their table. */
static const struct output_col reinject_cols[] = {
	{ "netns", "NAMESPACE", OUTPUT_LEFT },
#define REINJECT_COL(id, name, text) { "reinject_counters." #name, #name, true },
	MPS_REINJECT_COUNTERS(REINJECT_COL)
#undef REINJECT_COL
		{ NULL, NULL, OUTPUT_LEFT },
};

static void output_kernel(void)
{
	const char *bridge = bridge_is_there()	     ? "loaded"
			     : bridge_is_installed() ? "installed"
						     : "missing";
	output_t *o = output_obj(output_root(), "kernel");
	struct utsname un;
	struct kern k;

	uname(&un);
	kern_probe(&k);
	output_str(o, "release", "%s", un.release);
	output_str(o, "support", "%s", support_name(k.support));
	if (k.btf)
		output_str(o, "hook", "%s", form_hook(k.form));
	else
		output_null(o, "hook");
	output_str(o, "bridge", "%s", bridge);
	output_line("kernel %s, support for BPF schedulers: %s%s%s%s", un.release,
		    support_name(k.support), k.btf ? ", hook " : "", k.btf ? form_hook(k.form) : "",
		    k.support == SUPPORT_NONE && !strcmp(bridge, "installed")
			    ? " (the bridge module is installed, `load` loads it)"
			    : "");
}

static const char *held_by(const struct sched *s)
{
	if (s->pinned)
		return "pin of " PROGRAM;
	if (s->link_id && pindir_out_of_sight())
		return "unknown";
	if (s->link_id)
		return "another program's link";
	return s->map_id ? "another program's map" : "kernel";
}

/* Its tunable that is 0, so that nothing asks for copies; "": none. */
static void read_switch(const struct sched *s, char *name, size_t size)
{
	const struct tunable *t;
	struct tunable_live l;
	const char *tag;
	__u32 value;

	*name = '\0';
	if (tunable_live_open_sched(&l, s) == EX_OK) {
		tag = aux_progs_copies_with(l.btf);
		t = tag ? tunable_table_find(&l.tunables, tag, strlen(tag)) : NULL;
		if (t && !tunable_live_value(&l, t, &value) && !value)
			snprintf(name, size, "%s", t->name);
	}
	tunable_live_close(&l);
}

/* May data travel twice, and if not, although it could: why not? */
static void output_copies(output_t *item, const struct sched *s)
{
	enum copies copies = sched_copies(s);
	const char *missing = kern_retrans_missing();
	char off[64] = "";

	if (copies != COPIES_NONE)
		read_switch(s, off, sizeof(off));
	if (*off)
		copies = COPIES_OFF;
	output_str(item, "copies", "%s", copies_name(copies));
	if (copies != COPIES_OFF)
		output_null(item, "copies_off_because");
	else if (*off)
		output_str(item, "copies_off_because", "it was loaded with %s=0", off);
	else
		output_str(item, "copies_off_because", "%s%s",
			   missing ? "the kernel has no " : "its program for that is not attached",
			   missing ? missing : "");
}

/* Text: what the word "off" in the table means. */
static void print_why_off(output_t *scheds)
{
	size_t i, n = json_object_array_length(scheds);

	for (i = 0; i < n; i++) {
		output_t *item = json_object_array_get_idx(scheds, i);
		output_t *why = json_object_object_get(item, "copies_off_because");

		if (why)
			output_line("%s makes no copies: %s",
				    json_object_get_string(json_object_object_get(item, "name")),
				    json_object_get_string(why));
	}
}

static void output_sched(output_t *item, struct usage *u, const struct sched *s)
{
	output_str(item, "name", "%s", s->name);
	/* its map lives on while connections or listeners use it */
	output_str(item, "state", "%s", s->registered ? "registered" : "unregistered, in use");
	output_str(item, "held_by", "%s", s->registered ? held_by(s) : "sockets");
	if (s->map_id)
		output_num(item, "map_id", s->map_id);
	output_flag(item, "statistics", s->conn_map && s->subflow_map);
	output_copies(item, s);
	output_users(output_list(item, "namespaces"), &u->namespaces, s->name);
	output_num(item, "connections",
		   sockets_count(&u->sockets, sock_is_connection, s->name, s->map_id));
	output_num(item, "listeners",
		   sockets_count(&u->sockets, sock_is_listener, s->name, s->map_id));
}

/* Does its default scheduler copy early, and what has come of it? */
static bool output_reinject(output_t *item, int map, const struct netns *ns)
{
	struct mps_reinject_ns value;
	const bool on = reinject_read(map, ns, &value);
	output_t *counters;

	if (pindir_out_of_sight())
		output_null(item, "reinject");
	else
		output_flag(item, "reinject", on);
	if (!on)
		return false;
	counters = output_obj(item, "reinject_counters");
#define OUTPUT_REINJECT(id, name, text) output_num(counters, #name, value.counter[MPS_R_##id]);
	MPS_REINJECT_COUNTERS(OUTPUT_REINJECT)
#undef OUTPUT_REINJECT
	return true;
}

static void output_netns(output_t *item, struct usage *u, const struct netns *ns,
			 const struct tally *tally)
{
	char label[256];

	output_str(item, "netns", "%s", netns_label(ns, label, sizeof(label)));
	output_num(item, "inode", ns->ino);
	output_flag(item, "self", ns->self);
	if (*ns->sched)
		output_str(item, "scheduler", "%s", ns->sched);
	else
		output_null(item, "scheduler");
	output_flag(item, "registered", *ns->sched && registry_find(&u->schedulers, ns->sched));
	output_num(item, "connections", tally->connections);
	output_num(item, "listeners", tally->listeners);
}

/* All namespaces; text: in a second table what those say that opted in. */
static void output_namespaces(struct usage *u)
{
	output_t *namespaces = output_list(output_root(), "namespaces");
	output_t *opted_in = json_object_new_array();
	int map = reinject_map();
	unsigned int i;

	for (i = 0; i < u->namespaces.nr; i++) {
		output_t *item = output_item(namespaces);

		output_netns(item, u, &u->namespaces.ns[i], &u->tally[i]);
		if (output_reinject(item, map, &u->namespaces.ns[i]))
			json_object_array_add(opted_in, json_object_get(item));
	}
	if (map >= 0)
		close(map);
	output_table(namespaces, netns_cols, "");
	if (json_object_array_length(opted_in)) {
		output_line("\nEarly copies for the default scheduler (`use default --reinject`):");
		output_table(opted_in, reinject_cols, "");
	}
	json_object_put(opted_in);
}

static void output_usage(struct usage *u)
{
	output_t *scheds = output_list(output_root(), "schedulers");
	output_t *listeners = output_list(output_root(), "listeners");
	unsigned int i;

	for (i = 0; i < u->schedulers.nr; i++)
		output_sched(output_item(scheds), u, &u->schedulers.sched[i]);
	/* "" is no scheduler's name: all of them */
	output_listeners(listeners, u, 0, "", false);
	output_line("%s", "");
	output_table(scheds, sched_cols, "");
	print_why_off(scheds);
	output_line("%s", "");
	output_namespaces(u);
	if (!json_object_array_length(listeners))
		return;
	output_line("\nListening sockets, each with the scheduler that its connections get:");
	output_table(listeners, listener_cols, "");
}

enum exit_code cmd_show(const struct args *args)
{
	ERROR_ABOUT("show", NULL);
	struct usage u;
	char missing[200];
	enum exit_code ret = usage_read(&u);

	if (ret == EX_OK) {
		output_kernel();
		output_usage(&u);
		leftovers_note(&u.schedulers);
	}
	if (ret == EX_OK && pindir_out_of_sight())
		output_note(PINS_OUT_OF_SIGHT "; " HINT_OUTSIDE);
	if (ret == EX_OK && caps_missing(CAPS_LOOK, missing, sizeof(missing)))
		output_note("without %s not every namespace and pin is visible", missing);
	usage_free(&u);
	return ret;
}
