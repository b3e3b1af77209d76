// SPDX-License-Identifier: GPL-2.0
/*
 * Who sends old data again: copies where they pay, CFS's tail, redundant's batches, thin's probes,
 * what the receiver dropped, the timer's repair. Claims: the paths are there and may carry it, none
 * gets what it has, a copy delays no fresh data, and paths beyond nr_paths do not matter.
 */
#include "snapshot.h"
#include "policy/cfs.h"
#include "common/copy.h"
#include "policy/redundant.h"
#include "common/retrans.h"
#include "policy/thin.h"

struct answers {
	__u32 pays, cfs, redundant, thin, repair, lost;
	__s32 timer;
};

static struct answers ask(const struct mps_conn *c, struct mps_redundant_state *st,
			  unsigned int windows, unsigned int length)
{
	return (struct answers){
		.pays = mps_copy_if_it_pays(c),
		.cfs = mps_cfs_copies(c),
		.redundant = mps_redundant_copies(c, st, windows),
		.thin = mps_thin_probes(c, length),
		.repair = mps_repair_first(c),
		.lost = mps_lost_behind(c),
		.timer = mps_default_retrans(c),
	};
}

static bool is_single(__u32 mask)
{
	return !(mask & (mask - 1));
}

/* Anything that could be assigned now goes first. */
static bool may_copy(const struct mps_conn *c)
{
	return c->unacked && c->unit && c->age_us != UINT32_MAX && (!c->pending || !c->wnd_left);
}

/* queue: into its own queue, too */
static void check_mask(const struct mps_conn *c, __u32 mask, bool queue)
{
	unsigned int i;

	claim(!(mask >> c->nr_paths), "paths that there are");
	for (i = 0; i < c->nr_paths; i++) {
		const struct mps_path *p = &c->path[i];

		if (!(mask >> i & 1))
			continue;
		claim(is_usable(c, p), "a copy goes where data may go");
		claim(!(p->flags & MPS_PATH_CARRIED), "nobody sends again what it was given");
		claim(queue || has_room(c, p), "copies take free window alone");
		claim(takes_data(p), "nor more than its send buffer takes");
	}
}

static void check_known(const struct mps_conn *c, __u32 mask)
{
	unsigned int i;

	for (i = 0; i < c->nr_paths; i++)
		if (mask >> i & 1)
			claim(c->path[i].srtt_us, "its time is known");
}

static void check_pays(const struct mps_conn *c, __u32 mask)
{
	claim(is_single(mask), "one copy");
	if (!mask)
		return;
	claim(may_copy(c), "copies delay no fresh data");
	check_mask(c, mask, false);
	check_known(c, mask);
}

static void check_cfs(const struct mps_conn *c, __u32 mask)
{
	unsigned int i, carriers = 0;

	claim(is_single(mask), "one copy");
	if (!mask)
		return;
	claim(may_copy(c) && !c->pending, "the tail alone");
	check_mask(c, mask, false);
	check_known(c, mask);
	for (i = 0; i < c->nr_paths; i++)
		carriers += (c->path[i].flags & (MPS_PATH_CARRIED | MPS_PATH_DROPPED)) ==
			    MPS_PATH_CARRIED;
	claim(carriers, "somebody has it");
}

static void check_thin(const struct mps_conn *c, __u32 mask, unsigned int length)
{
	unsigned int i;

	if (!mask)
		return;
	claim(may_copy(c) && !c->pending, "the end of a burst alone");
	check_mask(c, mask, false);
	for (i = 0; i < c->nr_paths; i++) {
		if (!(mask >> i & 1))
			continue;
		claim(c->path[i].flags & MPS_PATH_DUE && c->path[i].flags & MPS_PATH_IDLE,
		      "who was not used for long, and is not used now");
		claim(c->unit <= length * c->path[i].mss, "a short one");
	}
}

static void check_lost(const struct mps_conn *c, __u32 lost, __u32 repair)
{
	unsigned int i, carriers = 0;

	for (i = 0; i < c->nr_paths; i++)
		carriers += (c->path[i].flags & (MPS_PATH_CARRIED | MPS_PATH_DROPPED)) ==
			    MPS_PATH_CARRIED;
	if (lost)
		claim(!carriers && c->unacked && c->unit, "nobody has it any more");
	claim(is_single(repair), "one repair");
	claim(!(repair >> c->nr_paths), "a path that there is");
	for (i = 0; i < c->nr_paths; i++)
		if (repair >> i & 1)
			claim(is_usable(c, &c->path[i]) && !(c->path[i].flags & MPS_PATH_CARRIED),
			      "who may send it");
}

/* The rules of the kernel's own scheduler. */
static void check_timer(const struct mps_conn *c, __s32 path)
{
	unsigned int i, idle = 0, progress = 0;

	for (i = 0; i < c->nr_paths; i++) {
		const struct mps_path *p = &c->path[i];

		idle += p->flags & MPS_PATH_IDLE && !is_backup(p);
		progress += !(p->flags & MPS_PATH_IDLE) && p->stale <= 1;
	}
	claim(path < c->nr_paths, "a path that there is");
	if (path < 0) {
		claim(!idle, "whoever is idle repairs");
		return;
	}
	claim(c->path[path].flags & MPS_PATH_IDLE, "who owes nothing");
	claim(c->path[path].flags & MPS_PATH_SENDS, "who can send");
	claim(!is_backup(&c->path[path]) || (!idle && !progress), "a backup is the last resort");
}

static void step(struct draw *d, struct mps_conn *c, struct mps_redundant_state *st)
{
	const unsigned int windows = (unsigned int)draw_between(d, 1, 64);
	const unsigned int length = (unsigned int)draw_between(d, 1, 45);
	struct mps_redundant_state its;
	struct mps_conn other;
	struct answers a, b;

	draw_conn(d, c, 0);
	/* of an older fragment, so it is no part of what is to be assigned */
	c->unit = (__u32)draw_up_to(d, FRAGMENT_MAX);
	st->along = (__u8)draw_byte(d);
	other = *c;
	its = *st;
	spoil_beyond(c, true);
	spoil_beyond(&other, false);
	a = ask(c, st, windows, length);
	b = ask(&other, &its, windows, length);
	claim(!memcmp(&a, &b, sizeof(a)), "paths that are not there do not matter");
	check_pays(c, a.pays);
	check_cfs(c, a.cfs);
	check_mask(c, a.redundant, true);
	claim(!a.redundant || (c->unacked && c->unit), "there is something to copy");
	check_thin(c, a.thin, length);
	check_lost(c, a.lost, a.repair);
	check_timer(c, a.timer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct draw d = { data, data + size };
	struct mps_redundant_state st = { 0 };
	struct mps_conn c = { 0 };

	while (draw_more(&d))
		step(&d, &c, &st);
	return 0;
}
