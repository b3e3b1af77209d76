// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "cli/caps.h"
#include "cli/signals.h"
#include "cli/util.h"
#include "kernel/kern.h"
#include "kernel/pin.h"
#include "sched/aux_progs.h"
#include "sched/link_holders.h"
#include "sched/pindir.h"
#include "sched/reinject.h"
#include "sched/release.h"
#include "sched/steer_account.h"
#include "sched/unload.h"
#include "sched/usage.h"

static enum exit_code not_ours(const char *name, const struct sched *s)
{
	char holders[600], hint[700];

	if (!s->map_id)
		return fail(EX_FAILED,
			    "`" PROGRAM " use` selects another; nothing has to be unloaded",
			    "it is part of the kernel or of a kernel module, not a BPF scheduler");
	if (!s->link_id) {
		snprintf(hint, sizeof(hint), "`bpftool struct_ops unregister id %u` removes it",
			 s->map_id);
		return fail(EX_FAILED, hint,
			    "it was registered by another program, without a link (map id %u)",
			    s->map_id);
	}
	link_holders(s->link_id, holders, sizeof(holders));
	return fail(EX_FAILED, "remove that to unregister it",
		    "it was registered by another program; its link (id %u) is held by %s",
		    s->link_id, *holders ? holders : "something out of sight");
}

/* Registered, and not by a pin of ours: or by one that this user may not look at? */
static enum exit_code not_visibly_ours(const char *name, const struct sched *s, const char *path)
{
	const char *hint;

	if (s->link_id && pindir_out_of_sight())
		return fail(EX_FAILED, HINT_OUTSIDE, "%s", PINS_OUT_OF_SIGHT);
	errno = 0;
	if (pin_link_id(path) == s->link_id)
		return not_ours(name, s);
	hint = caps_hint(errno, CAP_NEED_PINS);
	if (!hint)
		return not_ours(name, s);
	return fail(EX_PERMISSION, hint, "cannot look at %s", path);
}

static enum exit_code check_unused(struct usage *u, const char *name)
{
	char users[500], hint[200];

	if (!usage_selected_in(u, name, users, sizeof(users)))
		return EX_OK;
	snprintf(hint, sizeof(hint),
		 "`" PROGRAM " use default --netns ...` there first, or unload with --force");
	return fail(EX_FAILED, hint, "in use: selected in %s", users);
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
		ret = fail(code_of(errno), caps_hint(errno, CAP_NEED_PINS), "cannot remove %s: %s",
			   path, strerror(errno));
	} else if (bpf_link_detach(fd) && errno != EOPNOTSUPP && errno != EINVAL) {
		ret = fail(code_of(errno), NULL, "cannot detach %s: %s", path, strerror(errno));
		bpf_obj_pin(fd, path);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

/* The clock's pins first, but it goes on until the scheduler is gone for sure. */
static enum exit_code remove_all_pins(const char *name)
{
	struct aux_pins aux;
	enum exit_code ret = aux_pins_take(&aux, name);

	if (ret != EX_OK)
		return ret;
	ret = remove_pin(name);
	if (ret != EX_OK) {
		aux_pins_restore(&aux);
		return ret;
	}
	aux_pins_release(&aux);
	/* may fail: others are in it */
	rmdir(PIN_DIR);
	return EX_OK;
}

static enum exit_code remove_pins(const char *name)
{
	enum exit_code ret;
	sigset_t before;

	signals_hold(&before);
	ret = remove_all_pins(name);
	signals_let(&before);
	return ret;
}

static void note_live(const char *name, unsigned int conns, unsigned int listeners)
{
	if (conns == 1)
		output_note("1 live connection of %s keeps it until it ends", name);
	else if (conns)
		output_note("%u live connections of %s keep it until they end", conns, name);
	if (listeners == 1)
		output_note(
			"1 listening socket of %s keeps it, for new connections too, until closed",
			name);
	else if (listeners)
		output_note(
			"%u listening sockets of %s keep it, for new connections too, until closed",
			listeners, name);
}

/* With --force: the setting stays, the kernel's own scheduler serves it. */
static void note_namespaces(struct usage *u, const char *name)
{
	char users[500];

	if (usage_selected_in(u, name, users, sizeof(users)))
		output_note("still selected in %s: new sockets there get the default scheduler",
			    users);
}

static enum exit_code unload_pinned(struct usage *u, const struct sched *s, const char *name)
{
	const __u32 map = s ? s->map_id : 0;
	unsigned int conns = sockets_count(&u->sockets, sock_is_connection, name, map);
	unsigned int listeners = sockets_count(&u->sockets, sock_is_listener, name, map);
	int refs = s ? release_refs(s) : 0;
	enum exit_code ret;
	output_t *item;

	/* as far as they are counted: what live connections send afterwards is not */
	if (!strcmp(name, STEER_SCHEDULER))
		steer_accounts_save_loaded();
	ret = remove_pins(name);

	if (ret != EX_OK)
		return ret;
	if (s)
		release_wait(u, s, conns || listeners, refs);
	if (s && kern_has_sched(name))
		return fail(EX_FAILED, NULL,
			    "the pin is removed, but the kernel still has it registered");
	item = output_item(output_list(output_root(), "unloaded"));
	output_str(item, "name", "%s", name);
	output_num(item, "connections", conns);
	output_num(item, "listeners", listeners);
	output_line("%s is unregistered", name);
	note_namespaces(u, name);
	note_live(name, conns, listeners);
	if (s && !released_aux_progs(s))
		output_note(
			"a program of %s is still attached: another pin or process holds its link",
			name);
	return EX_OK;
}

/* Or one of ours that this user may not look at. */
static enum exit_code foreign_pin(const char *name, const char *path)
{
	const char *caps;
	char hint[200];

	errno = 0;
	pin_link_id(path);
	caps = caps_hint(errno, CAP_NEED_PINS);
	if (caps)
		return fail(EX_PERMISSION, caps, "cannot look at %s", path);
	snprintf(hint, sizeof(hint), "`rm %s` removes it, if nobody needs it", path);
	return fail(EX_FAILED, hint, "no such scheduler is loaded, and %s is no pin of a scheduler",
		    path);
}

static enum exit_code unload_one(struct usage *u, const char *name, bool force)
{
	ERROR_ABOUT("unload", name);
	struct sched *s = registry_find(&u->schedulers, name);
	char path[128];

	pin_path(name, path, sizeof(path));
	if (!strchr(name, '/') && !s && is_there(path) && !pin_link_id(path))
		return foreign_pin(name, path);
	if (strchr(name, '/') || (!s && !is_there(path) && !aux_pins_exist(name)))
		return fail(EX_FAILED, "`" PROGRAM " list` shows what there is",
			    "no such scheduler is loaded");
	if (s && !s->pinned)
		return not_visibly_ours(name, s, path);
	if (!force) {
		enum exit_code ret = check_unused(u, name);

		if (ret != EX_OK)
			return ret;
	}
	return unload_pinned(u, s, name);
}

/* Where the default asks for copies it goes on without: nothing depends on that. */
static bool unload_reinject(struct usage *u, enum exit_code *ret)
{
	int map = reinject_map();
	struct mps_reinject_ns value;
	char label[256];
	unsigned int i;

	for (i = 0; i < u->namespaces.nr; i++)
		if (reinject_read(map, &u->namespaces.ns[i], &value))
			output_note("new data in namespace %s is no longer copied early: `" PROGRAM
				    " use default --reinject` turns that on again",
				    netns_label(&u->namespaces.ns[i], label, sizeof(label)));
	if (map >= 0)
		close(map);
	if (!reinject_remove(ret))
		return false;
	output_flag(output_root(), "reinject_removed", true);
	output_line("the program that asks for copies for the default scheduler is detached");
	return true;
}

/* The scheduler that a pin belongs to, unless another pin has told it; how many. */
static unsigned int add_name(char (*names)[MPS_NAME_LEN], unsigned int n, const char *pin)
{
	const size_t len = strcspn(pin, (char[]){ AUX_MARK, '\0' });
	unsigned int i;

	if (pin[0] == '.' || !len || len >= MPS_NAME_LEN)
		return 0;
	snprintf(names[n], MPS_NAME_LEN, "%.*s", (int)len, pin);
	for (i = 0; i < n; i++)
		if (!strcmp(names[i], names[n]))
			return 0;
	return 1;
}

static enum exit_code unload_each(struct usage *u, bool force)
{
	enum exit_code ret = EX_OK, one;
	bool reinject = !pindir_out_of_sight() && unload_reinject(u, &ret);
	DIR *dir = opendir(PIN_DIR);
	char names[MAX_AVAILABLE][MPS_NAME_LEN];
	unsigned int i, n = 0;
	struct dirent *e;

	if (pindir_out_of_sight())
		return fail(EX_FAILED, HINT_OUTSIDE, "%s", PINS_OUT_OF_SIGHT);
	if (!dir && caps_hint(errno, CAP_NEED_PINS))
		return fail(EX_PERMISSION, caps_hint(errno, CAP_NEED_PINS), "%s", strerror(errno));
	output_list(output_root(), "unloaded");
	while (dir && n < MAX_AVAILABLE && (e = readdir(dir)))
		n += add_name(names, n, e->d_name);
	if (dir)
		closedir(dir);
	for (i = 0; i < n; i++) {
		one = unload_one(u, names[i], force);
		ret = one == EX_OK ? ret : one;
	}
	if (!n && !reinject)
		output_line("nothing is loaded");
	return ret;
}

/* Who uses what, and what of it is out of sight: somebody there may select what is unloaded. */
static enum exit_code look_around(struct usage *u, bool force)
{
	char missing[200];

	if (!force && caps_missing(CAP_BIT(PROCESSES), missing, sizeof(missing)))
		output_note("without %s only namespaces with a name, and of this user's processes, "
			    "were asked whether they select it",
			    missing);
	return usage_read(u);
}

enum exit_code unload_sched(const char *name, bool force)
{
	ERROR_ABOUT("unload", name);
	struct usage u;
	enum exit_code ret = look_around(&u, force);

	if (ret == EX_OK)
		ret = unload_one(&u, name, force);
	usage_free(&u);
	return ret;
}

enum exit_code unload_all(bool force)
{
	ERROR_ABOUT("unload", PIN_DIR);
	struct usage u;
	enum exit_code ret = look_around(&u, force);

	if (ret == EX_OK)
		ret = unload_each(&u, force);
	usage_free(&u);
	return ret;
}
