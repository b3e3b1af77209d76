/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Snapshots of connections as bpf/frame/snapshot.h can make them, and what is true of a path.
 * Written from the headers' comments: none of the code under test helps to judge it.
 */
#ifndef MPS_TESTS_SNAPSHOT_H
#define MPS_TESTS_SNAPSHOT_H

#include "draw.h"
#include "model/decision.h"

#define PATHS 8
#define BURST (64 * 1024 - 108)	 /* MPTCP_SEND_BURST_SIZE, net/mptcp/protocol.h */
#define FRAGMENT_MAX (32U << 10) /* a page fragment's data */
#define RTT_MAX ((1U << 29) - 1) /* what tcp_sock.srtt_us can hold */
#define BYTES_MAX (1ULL << 62)

/* --- what is true of a path */

static inline bool is_active(const struct mps_path *p)
{
	return p->flags & MPS_PATH_ACTIVE;
}

static inline bool is_backup(const struct mps_path *p)
{
	return p->flags & MPS_PATH_BACKUP;
}

static inline bool any_active(const struct mps_conn *c)
{
	unsigned int i, n = 0;

	for (i = 0; i < c->nr_paths; i++)
		n += is_active(&c->path[i]);
	return n;
}

/* RFC 8684, 3.3.8: a backup carries data only while no other subflow can. */
static inline bool is_usable(const struct mps_conn *c, const struct mps_path *p)
{
	unsigned int i;

	if (!is_active(p))
		return false;
	for (i = 0; is_backup(p) && i < c->nr_paths; i++)
		if (is_active(&c->path[i]) && !is_backup(&c->path[i]))
			return false;
	return true;
}

static inline bool takes_data(const struct mps_path *p)
{
	return is_active(p) && p->flags & MPS_PATH_SNDBUF && !(p->flags & MPS_PATH_LOSS);
}

static inline uint64_t room(const struct mps_path *p)
{
	const uint64_t window = (uint64_t)p->cwnd * p->mss;
	const uint64_t owed = (uint64_t)p->inflight * p->mss + p->unsent;

	return window > owed ? window - owed : 0;
}

/* Room for a segment, and for what is wanted of the fragment or an eighth of the window. */
static inline bool has_room(const struct mps_conn *c, const struct mps_path *p)
{
	return takes_data(p) && room(p) >= p->mss &&
	       (room(p) >= c->fit || room(p) >= ((uint64_t)p->cwnd * p->mss + 7) / 8);
}

/* TCP has something of it that will be acknowledged, or sent again when a timer fires. */
static inline bool owes(const struct mps_path *p)
{
	return p->inflight || p->unsent || !(p->flags & MPS_PATH_IDLE);
}

/* --- making them */

/* Full, empty, a segment either side of it, or anything. */
static inline void draw_fill(struct draw *d, struct mps_path *p)
{
	const uint8_t how = draw_byte(d);

	p->inflight = p->unsent = 0;
	if (how & 1)
		p->inflight = (uint32_t)draw_up_to(d, (uint64_t)p->cwnd + 2);
	else if (how & 2)
		p->inflight = p->cwnd - (how >> 5 & 1);
	if (how & 4)
		p->unsent = (uint32_t)draw_up_to(d, (how & 8) ? 2U * p->mss : UINT32_MAX);
	else if (how & 16)
		p->unsent = room(p) < UINT32_MAX ? (uint32_t)room(p) : 0;
}

/*
 * What bpf/frame/snapshot.h sees to: only who can send has a place, with a window and a segment
 * size. Who has nothing to acknowledge has an empty send buffer, and is in no recovery.
 */
static inline void make_sound(struct mps_path *p)
{
	p->cwnd = p->cwnd ?: 1;
	p->mss = p->mss ?: 1;
	p->flags |= MPS_PATH_SENDS;
	if (p->inflight || p->unsent)
		p->flags &= 0xfff & ~MPS_PATH_IDLE;
	if (!(p->flags & MPS_PATH_IDLE))
		return;
	p->flags |= MPS_PATH_SNDBUF;
	p->flags &= 0xfff & ~MPS_PATH_LOSS;
}

static inline void draw_path(struct draw *d, struct mps_path *p)
{
	memset(p, 0, sizeof(*p));
	p->srtt_us = (uint32_t)draw_up_to(d, RTT_MAX);
	p->mdev_us = (uint32_t)draw_up_to(d, RTT_MAX);
	p->cwnd = (uint32_t)draw_between(d, 1, INT32_MAX);
	p->ssthresh = draw_bit(d) ? UINT32_MAX : (uint32_t)draw_up_to(d, INT32_MAX);
	p->mss = (uint16_t)draw_between(d, 1, UINT16_MAX);
	p->rate = (uint32_t)draw_up_to(d, UINT32_MAX);
	p->metric = (uint32_t)draw_up_to(d, UINT32_MAX);
	p->min_rtt_us = (uint32_t)draw_up_to(d, UINT32_MAX);
	p->stale = draw_byte(d) & 15;
	p->flags = (uint16_t)(draw_word(d, 2) & 0xfff);
	draw_fill(d, p);
}

/* What lies behind the last path: the best there is, or anything. */
static inline void spoil_beyond(struct mps_conn *c, bool best)
{
	unsigned int i;

	for (i = c->nr_paths; i < PATHS; i++)
		c->path[i] = (struct mps_path){
			.srtt_us = best ? 1 : 0x1fffffff,
			.cwnd = best ? 1000 : 1,
			.mss = best ? 1428 : 1,
			.rate = best ? UINT32_MAX : 0,
			.inflight = best ? 0 : 7,
			.unsent = best ? 0 : 70000,
			.metric = best ? 1 : 0xdeadbeef,
			.flags = best ? 0xfff & ~(MPS_PATH_LOSS | MPS_PATH_BACKUP |
						  MPS_PATH_CARRIED | MPS_PATH_NO_TS)
				      : 0x0d7,
			.stale = best ? 0 : 9,
		};
}

/* All of the paths, or some of those before. */
static inline void draw_paths(struct draw *d, struct mps_conn *c)
{
	const uint8_t which = draw_byte(d);
	unsigned int i;

	if (!c->nr_paths || which & 1)
		c->nr_paths = (uint16_t)(draw_byte(d) % (PATHS + 1));
	for (i = 0; i < c->nr_paths; i++)
		if (which & 1 || draw_bit(d))
			draw_path(d, &c->path[i]);
		else if (which & 2)
			draw_fill(d, &c->path[i]);
	for (i = 0; i < c->nr_paths; i++)
		make_sound(&c->path[i]);
}

/* part: of the fragment that is to find room, in thousandths */
static inline void draw_conn(struct draw *d, struct mps_conn *c, unsigned int part)
{
	const uint8_t how = draw_byte(d);

	draw_paths(d, c);
	c->pending = draw_up_to(d, BYTES_MAX);
	c->wnd_left = how & 1 ? draw_up_to(d, BYTES_MAX) : how & 2 ? 0 : 1 << 20;
	c->unacked = how & 4 ? draw_up_to(d, BYTES_MAX) : 0;
	c->now_us += (uint32_t)draw_up_to(d, UINT32_MAX);
	c->unit = (uint32_t)draw_up_to(d, c->pending < FRAGMENT_MAX ? c->pending : FRAGMENT_MAX);
	c->age_us = how & 8 ? (uint32_t)draw_up_to(d, UINT32_MAX) : UINT32_MAX;
	c->blocked += how & 16;
	c->fit = (uint16_t)(c->unit * part / 1000);
}

#endif /* MPS_TESTS_SNAPSHOT_H */
