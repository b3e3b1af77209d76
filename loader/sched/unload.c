// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "caps.h"
#include "cmd.h"
#include "holders.h"
#include "kern.h"
#include "lock.h"
#include "reinject.h"
#include "tracers.h"
#include "util.h"
#include "world.h"

static enum exit_code not_ours(const char *name, const struct sched *s)
{
	char holders[600], hint[700];

	if (!s->map_id)
		return fail(EX_FAILED, "unload", name, NULL,
			    "it is part of the kernel or of a kernel module, not a BPF scheduler");
	if (!s->link_id) {
		snprintf(hint, sizeof(hint), "`bpftool struct_ops unregister id %u` removes it",
			 s->map_id);
		return fail(EX_FAILED, "unload", name, hint,
			    "it was registered by another program, without a link (map id %u)",
			    s->map_id);
	}
	link_holders(s->link_id, holders, sizeof(holders));
	return fail(EX_FAILED, "unload", name, "remove that to unregister it",
		    "it was registered by another program; its link (id %u) is held by %s",
		    s->link_id, *holders ? holders : "something out of sight");
}

/* Registered, and not by a pin of ours: or by one that this user may not look at? */
static enum exit_code not_visibly_ours(const char *name, const struct sched *s, const char *path)
{
	const char *hint;

	errno = 0;
	if (pin_link_id(path) == s->link_id)
		return not_ours(name, s);
	hint = caps_hint(errno, CAP_NEED_PINS);
	if (!hint)
		return not_ours(name, s);
	return fail(EX_PERMISSION, "unload", name, hint, "cannot look at %s", path);
}

static enum exit_code check_unused(struct world *w, const char *name)
{
	char users[500], hint[200];

	if (!world_users(w, name, users, sizeof(users)))
		return EX_OK;
	snprintf(hint, sizeof(hint),
		 "`" PROGRAM " use default --netns ...` there first, or unload with --force");
	return fail(EX_FAILED, "unload", name, hint, "in use: selected in %s", users);
}

/* The map goes when its last user goes: a program, a link or a connection. */
static bool map_is_gone(__u32 id)
{
	int fd = bpf_map_get_fd_by_id(id);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static bool tracers_are_gone(const struct sched *s)
{
	unsigned int i;
	int fd;

	for (i = 0; i < s->nr_tracers; i++) {
		fd = bpf_prog_get_fd_by_id(s->tracer[i]);
		if (fd < 0)
			continue;
		close(fd);
		return false;
	}
	return true;
}

/*
 * So that rmmod works right behind: the last scheduler frees the bridge as a
 * whole. On a kernel with an API of its own only those that ask for copies
 * hold it, which their maps do not tell.
 */
static bool bridge_is_released(const struct world *w, __u32 map_id, int refs_before)
{
	unsigned int i;

	if (refs_before <= 0)
		return true;
	if (is_there(REINJECT_PIN))
		return kern_bridge_refs() < refs_before;
	for (i = 0; i < w->schedulers.nr; i++)
		if (w->schedulers.sched[i].map_id && w->schedulers.sched[i].map_id != map_id &&
		    !map_is_gone(w->schedulers.sched[i].map_id))
			return kern_bridge_refs() < refs_before;
	return kern_bridge_refs() <= 0;
}

static int refs_to_wait_for(const struct sched *s)
{
	struct kern k;

	kern_probe(&k);
	return k.support == SUPPORT_NATIVE && !s->nr_tracers ? 0 : kern_bridge_refs();
}

/* Sockets keep the hooks of the scheduler, but not its other programs. */
static void wait_for_release(const struct world *w, const struct sched *s, bool in_use,
			     int refs_before)
{
	unsigned int ms;

	for (ms = 0; ms < RELEASE_MS; ms += POLL_MS) {
		if (tracers_are_gone(s) &&
		    (in_use ||
		     (map_is_gone(s->map_id) && bridge_is_released(w, s->map_id, refs_before))))
			return;
		sleep_ms(POLL_MS);
	}
}

/*
 * Unregisters at once, also where another pin or process holds the link. It
 * stays as it was where that fails, pin and all.
 */
static enum exit_code remove_pin(const char *name)
{
	enum exit_code ret = EX_OK;
	char path[128];
	int fd;

	pin_path(name, path, sizeof(path));
	fd = bpf_obj_get(path);
	if (fd < 0 && errno == ENOENT)
		return EX_OK;
	if (fd < 0 || unlink(path)) {
		ret = fail(code_of(errno), "unload", name, caps_hint(errno, CAP_NEED_PINS),
			   "cannot remove %s: %s", path, strerror(errno));
	} else if (bpf_link_detach(fd) && errno != EOPNOTSUPP && errno != EINVAL) {
		ret = fail(code_of(errno), "unload", name, NULL, "cannot detach %s: %s", path,
			   strerror(errno));
		bpf_obj_pin(fd, path);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

/* The clock's pins first, but it goes on until the scheduler is gone for sure. */
static enum exit_code remove_pins(const char *name)
{
	struct tracer_pins tracers;
	enum exit_code ret = tracer_pins_take(&tracers, "unload", name);

	if (ret != EX_OK)
		return ret;
	ret = remove_pin(name);
	if (ret != EX_OK) {
		tracer_pins_restore(&tracers);
		return ret;
	}
	tracer_pins_release(&tracers);
	/* may fail: others are in it */
	rmdir(PIN_DIR);
	return EX_OK;
}

static void report_live(const char *name, unsigned int conns, unsigned int listeners)
{
	if (conns == 1)
		out_note("1 live connection of %s keeps it until it ends", name);
	else if (conns)
		out_note("%u live connections of %s keep it until they end", conns, name);
	if (listeners == 1)
		out_note("1 listening socket of %s keeps it, for new connections too, until closed",
			 name);
	else if (listeners)
		out_note(
			"%u listening sockets of %s keep it, for new connections too, until closed",
			listeners, name);
}

/* With --force: the setting stays, the kernel's own scheduler serves it. */
static void report_namespaces(struct world *w, const char *name)
{
	char users[500];

	if (world_users(w, name, users, sizeof(users)))
		out_note("still selected in %s: new sockets there get the default scheduler",
			 users);
}

static enum exit_code unload_pinned(struct world *w, const struct sched *s, const char *name)
{
	unsigned int conns = sockets_count(&w->sockets, sock_is_connection, name, 0);
	unsigned int listeners = sockets_count(&w->sockets, sock_is_listener, name, 0);
	int refs = s ? refs_to_wait_for(s) : 0;
	enum exit_code ret = remove_pins(name);
	out_t *item;

	if (ret != EX_OK)
		return ret;
	if (s)
		wait_for_release(w, s, conns || listeners, refs);
	if (s && kern_has_sched(name))
		return fail(EX_FAILED, "unload", name, NULL,
			    "the pin is removed, but the kernel still has it registered");
	item = out_item(out_list(out_root(), "unloaded"));
	out_str(item, "name", "%s", name);
	out_num(item, "connections", conns);
	out_num(item, "listeners", listeners);
	out_line("%s is unregistered", name);
	report_namespaces(w, name);
	report_live(name, conns, listeners);
	if (s && !tracers_are_gone(s))
		out_note("a program of %s is still attached: another pin or process holds its link",
			 name);
	return EX_OK;
}

static enum exit_code unload_one(struct world *w, const char *name, bool force)
{
	struct sched *s = registry_find(&w->schedulers, name);
	char path[128];

	pin_path(name, path, sizeof(path));
	if (strchr(name, '/') || (!s && !pin_link_id(path) && !tracer_pins_exist(name)))
		return fail(EX_FAILED, "unload", name, "`" PROGRAM " list` shows what there is",
			    "no such scheduler is loaded");
	if (s && !s->pinned)
		return not_visibly_ours(name, s, path);
	if (!force) {
		enum exit_code ret = check_unused(w, name);

		if (ret != EX_OK)
			return ret;
	}
	return unload_pinned(w, s, name);
}

/* Where the default asks for copies it goes on without: nothing depends on that. */
static bool unload_reinject(struct world *w, enum exit_code *ret)
{
	int map = reinject_map();
	struct mps_reinject_ns value;
	char label[256];
	unsigned int i;

	for (i = 0; i < w->namespaces.nr; i++)
		if (reinject_read(map, &w->namespaces.ns[i], &value))
			out_note("new data in namespace %s is no longer copied early: `" PROGRAM
				 " use default --reinject` turns that on again",
				 netns_label(&w->namespaces.ns[i], label, sizeof(label)));
	if (map >= 0)
		close(map);
	if (!reinject_remove("unload", ret))
		return false;
	out_flag(out_root(), "reinject_removed", true);
	out_line("the program that asks for copies for the default scheduler is detached");
	return true;
}

/* The scheduler that a pin belongs to, unless another pin has told it; how many. */
static unsigned int add_name(char (*names)[MPS_NAME_LEN], unsigned int n, const char *pin)
{
	const size_t len = strcspn(pin, (char[]){ TRACER_MARK, '\0' });
	unsigned int i;

	if (pin[0] == '.' || !len || len >= MPS_NAME_LEN)
		return 0;
	snprintf(names[n], MPS_NAME_LEN, "%.*s", (int)len, pin);
	for (i = 0; i < n; i++)
		if (!strcmp(names[i], names[n]))
			return 0;
	return 1;
}

static enum exit_code unload_all(struct world *w, bool force)
{
	enum exit_code ret = EX_OK, one;
	bool reinject = unload_reinject(w, &ret);
	DIR *dir = opendir(PIN_DIR);
	char names[MAX_AVAILABLE][MPS_NAME_LEN];
	unsigned int i, n = 0;
	struct dirent *e;

	if (!dir && caps_hint(errno, CAP_NEED_PINS))
		return fail(EX_PERMISSION, "unload", PIN_DIR, caps_hint(errno, CAP_NEED_PINS), "%s",
			    strerror(errno));
	out_list(out_root(), "unloaded");
	while (dir && n < MAX_AVAILABLE && (e = readdir(dir)))
		n += add_name(names, n, e->d_name);
	if (dir)
		closedir(dir);
	for (i = 0; i < n; i++) {
		one = unload_one(w, names[i], force);
		ret = one == EX_OK ? ret : one;
	}
	if (!n && !reinject)
		out_line("nothing is loaded");
	return ret;
}

/* The world, and what of it is out of sight: somebody there may select what is unloaded. */
static enum exit_code look_around(struct world *w, bool force)
{
	char missing[200];

	if (!force && caps_missing(CAP_BIT(PROCESSES), missing, sizeof(missing)))
		out_note("without %s only namespaces with a name, and of this user's processes, "
			 "were asked whether they select it",
			 missing);
	return world_read(w, "unload");
}

enum exit_code unload_sched(const char *name, bool force)
{
	struct world w;
	enum exit_code ret = look_around(&w, force);

	if (ret == EX_OK)
		ret = unload_one(&w, name, force);
	world_free(&w);
	return ret;
}

enum exit_code cmd_unload(const struct args *args)
{
	struct world w;
	enum exit_code ret =
		lock_take("unload", args->all ? "--all" : args->word[0], args->timeout);

	if (ret != EX_OK)
		return ret;
	ret = look_around(&w, args->force);
	if (ret == EX_OK)
		ret = args->all ? unload_all(&w, args->force)
				: unload_one(&w, args->word[0], args->force);
	world_free(&w);
	return ret;
}
