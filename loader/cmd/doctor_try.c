// SPDX-License-Identifier: GPL-2.0
/*
 * What `doctor` tries: a check that only looked would say "ready" of a module that the kernel
 * refuses and of a file system that takes no pin.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <bpf/libbpf.h>
#include "cli/caps.h"
#include "cli/util.h"
#include "cmd/doctor.h"
#include "kernel/bridge.h"
#include "kernel/lock.h"
#include "kernel/netns.h"
#include "kernel/pin.h"
#include "kernel/registry.h"
#include "sched/aux_progs.h"
#include "sched/builtin.h"
#include "sched/leftovers.h"
#include "sched/object.h"
#include "sched/pindir.h"
#include "sched/steer_saver.h"

#define SCHEDULERS "BPF schedulers"
#define TRIAL_DIR BPFFS "/mptcp-sched-doctor"
#define MAX_REMAINS 16

/* There the bridge is no requirement, so that without it nothing is wrong. */
static void tell_native(const struct bridge *b)
{
	doctor_row(GRADE_OK, SCHEDULERS, NULL, "%s: the kernel has the API itself",
		   support_name(SUPPORT_NATIVE));
	if (b->works)
		doctor_row(GRADE_OK, "copies of data", NULL, "bridge module " BRIDGE " %s",
			   b->brought ? "can be loaded: tried" : "loaded");
	else
		doctor_row(GRADE_WARN, "copies of data", b->todo,
			   "none, which only those schedulers miss that send them: %s", b->why);
}

static void tell_bridge(const struct bridge *b)
{
	if (b->works)
		doctor_row(GRADE_OK, SCHEDULERS, NULL, "bridge module " BRIDGE " %s",
			   b->brought ? "can be loaded: tried" : "loaded");
	else
		doctor_row(GRADE_FAIL, SCHEDULERS, b->todo, "none by the kernel itself, and %s",
			   b->why);
}

/* The verifier and the struct_ops type have their say, but nothing is registered. */
static void try_programs(const struct kern *k)
{
	const struct builtin *b = builtin_find("bpf_minrtt") ?: &builtins[0];
	const char *todo = "`" PROGRAM " -v load NAME` shows the kernel's log";
	struct object o;

	if (object_open_builtin(&o, b, k->form) != EX_OK) {
		doctor_row(GRADE_FAIL, "a scheduler's programs", todo, "%s cannot be opened",
			   b->name);
		return;
	}
	aux_progs_choose(&o);
	error_watch_libbpf();
	if (bpf_object__load(o.bpf))
		doctor_row(GRADE_FAIL, "a scheduler's programs", todo,
			   "the kernel refuses those of %s: %s%s", b->name, strerror(errno),
			   libbpf_reason());
	else
		doctor_row(GRADE_OK, "a scheduler's programs", NULL,
			   "the kernel takes those of %s: tried", b->name);
	object_close(&o);
}

static bool may_load_programs(void)
{
	char missing[200];

	return !caps_missing(CAP_BIT(LOOKUP) | CAP_BIT(PROGRAM) | CAP_BIT(TRACE), missing,
			     sizeof(missing));
}

void doctor_try_kernel(struct kern *k, double timeout)
{
	ERROR_ABOUT("check", BRIDGE);
	struct bridge b = { .works = false };

	/* nobody who is loading a scheduler shall lose the bridge again */
	if (!bridge_is_there() && may_load_programs() && lock_take(timeout) != EX_OK) {
		doctor_row(GRADE_FAIL, SCHEDULERS, "do what the error above says, then again",
			   "not tried: the lock " LOCK_FILE " cannot be had");
		return;
	}
	bridge_bring(&b);
	kern_probe(k);
	if (k->support == SUPPORT_NATIVE)
		tell_native(&b);
	else
		tell_bridge(&b);
	if (k->support != SUPPORT_NONE && k->btf && may_load_programs())
		try_programs(k);
	bridge_take_back(&b);
}

void doctor_try_pins(void)
{
	struct trouble t;

	if (!pindir_usable(&t)) {
		doctor_row(GRADE_FAIL, BPFFS, t.todo, "%s", t.why);
		return;
	}
	if (mkdir(TRIAL_DIR, 0700) && errno != EEXIST) {
		doctor_row(GRADE_FAIL, BPFFS,
			   caps_hint(errno, CAP_NEED_PINS) ?: "see who may write there",
			   "a bpffs in which nothing can be made: %s", strerror(errno));
		return;
	}
	rmdir(TRIAL_DIR);
	doctor_row(GRADE_OK, BPFFS, NULL, "a bpffs that takes pins: tried");
}

static void look_for_leftovers(struct registry *r)
{
	char names[MAX_REMAINS][MPS_NAME_LEN], todo[400];
	unsigned int i, n = leftovers(r, names, MAX_REMAINS);

	for (i = 0; i < n; i++) {
		snprintf(todo, sizeof(todo), "`" PROGRAM " unload %s` removes it", names[i]);
		doctor_row(GRADE_WARN, "an interrupted load", todo,
			   "a program of %s is attached without its scheduler", names[i]);
	}
}

static void look_at_namespaces(struct registry *r)
{
	struct netns_list l;
	unsigned int i, lost = 0;
	char label[256], todo[500];

	netns_read(&l);
	for (i = 0; i < l.nr; i++) {
		const struct netns *ns = &l.ns[i];

		if (!*ns->sched || registry_find(r, ns->sched))
			continue;
		lost++;
		netns_label(ns, label, sizeof(label));
		snprintf(todo, sizeof(todo),
			 "`" PROGRAM " load %s` brings it back; or select another there: "
			 "`" PROGRAM " use default`",
			 ns->sched);
		doctor_row(GRADE_FAIL, "selected scheduler", todo,
			   "namespace %s selects %s, which is not registered: new sockets there "
			   "get the kernel's own",
			   label, ns->sched);
	}
	if (!lost)
		doctor_row(GRADE_OK, "selected schedulers", NULL,
			   "registered in all of %u namespace%s", l.nr, l.nr == 1 ? "" : "s");
	netns_free(&l);
}

/* Where a path has a cap: somebody has to end its periods. */
static void look_at_accounts(void)
{
	const struct mps_steer_path *p;
	struct steer_table s;

	if (!steer_table_look(&s) && steer_capped(&s)) {
		p = steer_saver_misses(&s);
		if (p)
			doctor_row(GRADE_WARN, "accounts of paths", HINT_SAVER " each minute",
				   "path %s has a cap, and nobody ends its period", p->name);
		else
			doctor_row(GRADE_OK, "accounts of paths", NULL,
				   "saved each minute, as far as can be told");
	}
	steer_table_close(&s);
}

void doctor_look_for_remains(void)
{
	struct registry r;

	registry_read(&r);
	look_for_leftovers(&r);
	look_at_namespaces(&r);
	registry_free(&r);
	look_at_accounts();
}
