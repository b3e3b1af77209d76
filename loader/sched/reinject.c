// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bpf/reinject.skel.h"
#include "cli/caps.h"
#include "cli/signals.h"
#include "cli/util.h"
#include "kernel/kern.h"
#include "kernel/pin.h"
#include "kernel/progmaps.h"
#include "kernel/registry.h"
#include "sched/pindir.h"
#include "sched/reinject.h"

#define HINT_STALE "`" PROGRAM " unload --all` removes it"

/* The link, and what hangs on it. */
struct attached {
	int link, map;
	__u32 prog_id;
};

/* The map with the layout of this version among those of the program; -ESTALE: none. */
static int map_of(__u32 prog_id)
{
	struct bpf_map_info map;
	struct progmaps maps;
	int fd, err = progmaps_open(&maps, prog_id);

	if (err)
		return err;
	while ((fd = progmaps_next(&maps, &map)) >= 0) {
		if (!strcmp(map.name, MPS_REINJECT_MAP) &&
		    map.value_size == sizeof(struct mps_reinject_ns))
			return fd;
		close(fd);
	}
	return -ESTALE;
}

static void forget(struct attached *a)
{
	if (a->map >= 0)
		close(a->map);
	if (a->link >= 0)
		close(a->link);
	a->map = a->link = -1;
}

/* 0, -ENOENT where nothing is attached, or another negative errno. */
static int find(struct attached *a)
{
	struct bpf_link_info info = { 0 };
	__u32 len = sizeof(info);

	a->map = -1;
	a->link = bpf_obj_get(REINJECT_PIN);
	if (a->link < 0)
		return -errno;
	a->prog_id = bpf_link_get_info_by_fd(a->link, &info, &len) ? 0
		     : info.type == BPF_LINK_TYPE_STRUCT_OPS
			     ? clock_program(info.struct_ops.map_id)
			     : info.prog_id; /* that of an earlier version */
	if (!a->prog_id) {
		forget(a);
		return -ESTALE;
	}
	a->map = map_of(a->prog_id);
	if (a->map < 0) {
		int err = a->map;

		forget(a);
		return err;
	}
	return 0;
}

static enum exit_code attach_and_pin(struct reinject *skel)
{
	struct bpf_link *link = bpf_map__attach_struct_ops(skel->maps.default_clock);
	enum exit_code ret = EX_OK;

	if (!link)
		return fail(code_of(errno), "run again with -v for the log",
			    "the kernel refused to register the clock that asks for copies: %s%s",
			    strerror(errno), libbpf_reason());
	if (mkdir(PIN_DIR, 0700) && errno != EEXIST)
		ret = fail(code_of(errno), caps_hint(errno, CAP_NEED_PINS),
			   "cannot make " PIN_DIR ": %s", strerror(errno));
	else if (bpf_obj_pin(bpf_link__fd(link), REINJECT_PIN))
		ret = fail(code_of(errno), NULL, "cannot pin it at " REINJECT_PIN ": %s",
			   strerror(errno));
	/* the pin keeps it */
	bpf_link__disconnect(link);
	bpf_link__destroy(link);
	return ret;
}

static enum exit_code attach(void)
{
	struct reinject *skel;
	enum exit_code ret;

	ret = pindir_require();
	if (ret != EX_OK)
		return ret;
	error_watch_libbpf();
	skel = reinject__open_and_load();
	if (!skel)
		return fail(code_of(errno), "run again with -v for the log",
			    "the kernel refused the program that asks for copies (%s)%s",
			    strerror(errno), libbpf_reason());
	ret = attach_and_pin(skel);
	reinject__destroy(skel);
	return ret;
}

/* So that rmmod works right behind: the program holds the bridge. */
static void wait_for_release(__u32 prog_id, int refs_before)
{
	unsigned int ms;
	int fd;

	for (ms = 0; ms < RELEASE_MS; ms += POLL_MS) {
		fd = bpf_prog_get_fd_by_id(prog_id);
		if (fd >= 0)
			close(fd);
		else if (kern_bridge_refs() < refs_before || refs_before <= 0)
			return;
		sleep_ms(POLL_MS);
	}
}

/* Closes a. */
static int detach(struct attached *a)
{
	const int refs = kern_bridge_refs();
	const int err = unlink(REINJECT_PIN) ? -errno : 0;

	forget(a);
	if (err)
		return err;
	wait_for_release(a->prog_id, refs);
	/* may fail: others are in it */
	rmdir(PIN_DIR);
	return 0;
}

static bool is_empty(int map)
{
	__u64 key;

	return bpf_map_get_next_key(map, NULL, &key) != 0;
}

/*
 * Are all namespaces of the machine in sight? Those of other users' processes,
 * and of processes outside a container that has its own process ids, are not.
 */
static bool sees_all(void)
{
	const char *first = "pid:[4026531836]"; /* PROC_PID_INIT_INO, linux/proc_ns.h */
	char self[64] = "", missing[200];
	ssize_t n = readlink("/proc/self/ns/pid", self, sizeof(self) - 1);

	return n > 0 && !strcmp(self, first) &&
	       !caps_missing(CAP_BIT(ENTER) | CAP_BIT(PROCESSES), missing, sizeof(missing));
}

/* A namespace's cookie is never given to another, so what is gone only takes room. */
static void sweep(int map)
{
	__u64 *alive, *dead = NULL, key, *last = NULL;
	unsigned int i, n = 0, nr_dead = 0;
	struct netns_list l;

	if (!sees_all())
		return;
	netns_read(&l);
	alive = calloc(l.nr + 1, sizeof(*alive));
	for (i = 0; alive && i < l.nr; i++)
		n += !netns_cookie(&l.ns[i], &alive[n]);
	/* one that cannot be asked might be any */
	for (; n == l.nr && alive && !bpf_map_get_next_key(map, last, &key); last = &key) {
		for (i = 0; i < n && alive[i] != key; i++)
			;
		if (i < n)
			continue;
		dead = grow(dead, nr_dead, sizeof(*dead));
		dead[nr_dead++] = key;
	}
	for (i = 0; i < nr_dead; i++)
		bpf_map_delete_elem(map, &dead[i]);
	free(alive);
	free(dead);
	netns_free(&l);
}

static enum exit_code require_kfunc(void)
{
	struct kern k;
	enum exit_code ret = kern_require(&k);

	if (ret != EX_OK || kern_want_retrans())
		return ret;
	return fail(EX_KERNEL, kern_retrans_trouble()->todo,
		    "copies take the kfunc " RETRANS_KFUNC " of the bridge module, and %s",
		    kern_retrans_trouble()->why);
}

static enum exit_code opt_in(const struct netns *ns, int map, bool *was_on)
{
	struct mps_reinject_ns zero = { 0 };
	__u64 cookie;
	int err = netns_cookie(ns, &cookie);

	if (err)
		return fail(code_of(-err), NULL, "the namespace's cookie cannot be read: %s",
			    strerror(-err));
	sweep(map);
	*was_on = false;
	if (!bpf_map_update_elem(map, &cookie, &zero, BPF_NOEXIST))
		return EX_OK;
	*was_on = errno == EEXIST;
	if (*was_on)
		return EX_OK;
	return fail(code_of(errno), "`" PROGRAM " use default` turns it off in other namespaces",
		    "no room for another namespace (%s)", strerror(errno));
}

static enum exit_code turn_on(const struct netns *ns, bool *was_on)
{
	enum exit_code ret = EX_OK;
	struct attached a;
	int err = find(&a);

	if (err == -ENOENT) {
		ret = attach();
		err = ret == EX_OK ? find(&a) : 0;
	}
	if (ret == EX_OK && err)
		ret = fail(code_of(-err), HINT_STALE,
			   REINJECT_PIN " is not what this version puts there (%s)",
			   strerror(-err));
	else if (ret == EX_OK)
		ret = opt_in(ns, a.map, was_on);
	if (ret != EX_OK && a.map >= 0 && is_empty(a.map))
		detach(&a);
	forget(&a);
	if (ret != EX_OK)
		rmdir(PIN_DIR);
	return ret;
}

enum exit_code reinject_on(const struct netns *ns, bool *was_on)
{
	enum exit_code ret = require_kfunc();
	sigset_t before;

	if (ret != EX_OK)
		return ret;
	/* a program that no namespace asks for would stay attached */
	signals_hold(&before);
	ret = turn_on(ns, was_on);
	signals_let(&before);
	return ret;
}

bool reinject_off(const struct netns *ns)
{
	struct attached a;
	bool was_on = false;
	__u64 cookie;

	if (pindir_out_of_sight()) {
		output_note("if data was copied early here, it still is: " PINS_OUT_OF_SIGHT
			    "; " HINT_OUTSIDE);
		return false;
	}
	if (!is_there(REINJECT_PIN)) {
		if (caps_hint(errno, CAP_NEED_PINS))
			output_note("if data was copied early here, it still is: %s",
				    caps_hint(errno, CAP_NEED_PINS));
		return false;
	}
	if (!find(&a)) {
		if (!netns_cookie(ns, &cookie))
			was_on = !bpf_map_delete_elem(a.map, &cookie);
		sweep(a.map);
		if (is_empty(a.map))
			detach(&a);
		forget(&a);
	}
	return was_on;
}

bool reinject_remove(enum exit_code *ret)
{
	struct attached a;
	int err;

	*ret = EX_OK;
	if (!is_there(REINJECT_PIN))
		return false;
	err = find(&a);
	/* whatever it is, it is ours */
	if (err)
		a.link = a.map = -1, a.prog_id = 0;
	err = detach(&a);
	if (err)
		*ret = fail_on(code_of(-err), REINJECT_PIN, NULL, "%s", strerror(-err));
	return !err;
}

int reinject_map(void)
{
	struct attached a;
	int err = find(&a);

	if (err)
		return err;
	close(a.link);
	return a.map;
}

int reinject_find_map(const struct registry *r)
{
	unsigned int i;
	int fd;

	for (i = 0; i < r->nr_clocks; i++) {
		fd = map_of(r->clock[i].prog_id);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

bool reinject_read(int map, const struct netns *ns, struct mps_reinject_ns *value)
{
	__u64 cookie;

	return map >= 0 && !netns_cookie(ns, &cookie) && !bpf_map_lookup_elem(map, &cookie, value);
}
