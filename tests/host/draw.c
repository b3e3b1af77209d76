// SPDX-License-Identifier: GPL-2.0
/* Random states for fuzz.c: see draw.h. */
#include "draw.h"

/* --- random numbers: splitmix64 */

static __u64 rng_state;

void draw_from(__u64 seed)
{
	rng_state = seed;
}

static __u64 rng(void)
{
	__u64 z = (rng_state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* lo to hi, both included */
static __u64 between(__u64 lo, __u64 hi)
{
	return lo + rng() % (hi - lo + 1);
}

static bool chance(unsigned percent)
{
	return rng() % 100 < percent;
}

/* Every order of magnitude alike, the ends often. 1 to max. */
static __u64 magnitude(__u64 max)
{
	__u64 v;

	if (chance(5))
		return max;
	v = rng() >> (rng() % 64);
	return v % max + 1;
}

/* --- profiles: the ranges that numbers are drawn from */

const char *const profile_name[] = { "wide", "real", "small", "edge", "equal" };

static __u32 draw_rtt(enum profile profile)
{
	switch (profile) {
	case WIDE:
		return (__u32)magnitude(0xffffffff);
	case SMALL:
		return (__u32)between(1, 6);
	default:
		return (__u32)between(1000, chance(50) ? 60000 : 3000000);
	}
}

static void draw_path(enum profile profile, struct mps_path *p)
{
	p->srtt_us = draw_rtt(profile);
	switch (profile) {
	case WIDE:
		p->mdev_us = chance(30) ? 0 : (__u32)magnitude(0xffffffff);
		p->cwnd = (__u32)magnitude(1ULL << 31);
		p->mss = (__u16)magnitude(65535);
		break;
	case SMALL:
		p->mdev_us = (__u32)between(0, 5);
		p->cwnd = (__u32)between(1, 4);
		p->mss = (__u16)between(1, 3);
		break;
	default:
		p->mdev_us = (__u32)between(0, p->srtt_us / 2);
		p->cwnd = (__u32)between(1, chance(50) ? 20 : 1000);
		p->mss = chance(70) ? 1428 : (__u16)between(500, 9000);
		break;
	}
}

/* Full, empty, one segment either side, or anything. */
static void draw_fill(struct mps_path *p, unsigned full)
{
	__u64 free;

	if (chance(full))
		p->inflight = p->cwnd + (chance(20) ? (__u32)between(0, 10) : 0);
	else
		p->inflight = chance(30) ? p->cwnd - 1 : (__u32)between(0, p->cwnd - 1);
	p->unsent = 0;
	if (chance(70))
		return;
	free = p->inflight < p->cwnd ? (__u64)(p->cwnd - p->inflight) * p->mss : 0;
	if (free > p->mss + 1U && free < 0xfffffff0 && chance(60))
		p->unsent =
			(__u32)(free - p->mss - 2 + between(0, 3)); /* a segment's room, or not */
	else
		p->unsent = (__u32)magnitude(chance(50) ? 0xffffffff : 200000);
	if (chance(10))
		p->inflight = 0; /* held by its queue alone */
}

static __u32 draw_flags(unsigned active, unsigned backup, unsigned loss, unsigned sndbuf)
{
	__u32 flags = 0;

	flags |= chance(active) ? MPS_PATH_ACTIVE : 0;
	flags |= chance(backup) ? MPS_PATH_BACKUP : 0;
	flags |= chance(loss) ? MPS_PATH_LOSS : 0;
	flags |= chance(sndbuf) ? MPS_PATH_SNDBUF : 0;
	return flags;
}

static __u64 draw_pending(enum profile profile)
{
	switch (profile) {
	case WIDE:
		return magnitude(1ULL << 63);
	case SMALL:
		return between(0, 24);
	default:
		return chance(50) ? between(1, 100000) : between(1, 8 << 20);
	}
}

static void draw_any(enum profile profile, struct host_case *q)
{
	struct mps_conn *c = &q->conn;
	const unsigned full = (unsigned)between(0, 100);
	const unsigned active = chance(60) ? 100 : (unsigned)between(0, 100);
	const unsigned backup = chance(50) ? 0 : (unsigned)between(0, 100);
	const unsigned loss = chance(50) ? 0 : (unsigned)between(0, 60);
	const unsigned sndbuf = chance(50) ? 100 : (unsigned)between(30, 100);
	const unsigned unknown = chance(60) ? 0 : (unsigned)between(0, 100);
	__u32 i;

	c->nr_paths = chance(5) ? 0 : (__u16)between(1, 8);
	for (i = 0; i < c->nr_paths; i++) {
		struct mps_path *p = &c->path[i];

		draw_path(profile, p);
		draw_fill(p, full);
		p->flags = (__u16)draw_flags(active, backup, loss, sndbuf);
		if (chance(unknown))
			p->srtt_us = 0;
		if (!p->srtt_us && chance(60))
			p->inflight = p->unsent = 0;
		if (chance(2))
			p->inflight = p->unsent = 0;
		if (i && chance(5))
			p->srtt_us = c->path[i - 1].srtt_us;
	}
}

/* Two paths that matter, x_f full, and a backlog close to where ECF turns. */
static void draw_edge(struct host_case *q)
{
	static const double eps[] = { 1e-13, 1e-12, 1e-9, 1e-6, 1e-3, 0.1 };
	const enum profile profile = chance(40) ? WIDE : REAL;
	struct mps_conn *c = &q->conn;
	long double delta, k, gain;
	struct mps_path *f, *s;
	__u32 i, rtt[2];

	c->nr_paths = (__u16)between(2, 8);
	for (i = 0; i < c->nr_paths; i++) {
		draw_path(profile, &c->path[i]);
		draw_fill(&c->path[i], 50);
		c->path[i].flags = MPS_PATH_ACTIVE | MPS_PATH_SNDBUF;
	}
	f = &c->path[rng() % c->nr_paths];
	do {
		s = &c->path[rng() % c->nr_paths];
	} while (s == f);
	rtt[0] = f->srtt_us < s->srtt_us ? f->srtt_us : s->srtt_us;
	rtt[1] = f->srtt_us < s->srtt_us ? s->srtt_us : f->srtt_us;
	f->srtt_us = rtt[0];
	s->srtt_us = rtt[1];
	for (i = 0; i < c->nr_paths; i++) {
		struct mps_path *p = &c->path[i];

		if (p == f || p == s)
			continue;
		if (p->srtt_us < rtt[1])
			p->flags &= (chance(50) ? ~MPS_PATH_ACTIVE : ~MPS_PATH_LOSS) & 0xfff;
		if (p->srtt_us < rtt[1] && p->flags & MPS_PATH_ACTIVE)
			p->srtt_us = rtt[1] < 0xfffffff0 ? rtt[1] + (__u32)between(0, 9) : rtt[1];
	}
	f->inflight = f->cwnd;
	s->inflight = (__u32)between(0, s->cwnd - 1);
	s->unsent = 0;

	delta = f->mdev_us > s->mdev_us ? f->mdev_us : s->mdev_us;
	gain = q->waiting ? 1 + q->beta / 1000.0L : 1;
	if (chance(50))
		k = (gain * (s->srtt_us + delta) / f->srtt_us - 1) * f->cwnd;
	else
		k = (2.0L * f->srtt_us + delta) / s->srtt_us * s->cwnd;
	k *= f->mss * (1 + (chance(50) ? 1 : -1) * eps[rng() % 6]);
	c->pending = k < 1 ? 1 : k > 0x1p63L ? 1ULL << 63 : (__u64)k;
}

/* Paths alike in all that ECF reads, some full: the homogeneous case. */
static void draw_equal(struct host_case *q)
{
	struct mps_conn *c = &q->conn;
	struct mps_path like = { 0 };
	__u32 i;

	draw_path(chance(20) ? SMALL : REAL, &like);
	like.flags = MPS_PATH_ACTIVE | MPS_PATH_SNDBUF;
	c->nr_paths = (__u16)between(1, 8);
	for (i = 0; i < c->nr_paths; i++) {
		c->path[i] = like;
		draw_fill(&c->path[i], 60);
	}
}

void draw_case(enum profile profile, struct host_case *q)
{
	struct mps_conn *c = &q->conn;
	__u32 i;

	/* what lies behind the last path looks like the best path there is */
	for (i = 0; i < 8; i++)
		c->path[i] = (struct mps_path){ .srtt_us = 1,
						.cwnd = 1000,
						.mss = 1428,
						.flags = MPS_PATH_ACTIVE | MPS_PATH_SNDBUF,
						.stale = rng() & 15 };
	q->op = chance(75) ? HOST_ECF : chance(80) ? HOST_MINRTT : HOST_CLOSED;
	q->beta = chance(40) ? 250 : (__u32)between(0, 10000);
	q->waiting = (__u32)between(0, 1);
	c->pending = draw_pending(profile);
	switch (profile) {
	case EDGE:
		draw_edge(q);
		break;
	case EQUAL:
		draw_equal(q);
		break;
	default:
		draw_any(profile, q);
		break;
	}
	if (chance(40))
		c->unit = (__u32)(c->pending < 32768 ? c->pending : 32768);
	else
		c->unit = (__u32)between(0, chance(50) ? 8 : 32768);
	c->fit = chance(50) ? 0 : (__u16)between(0, c->unit);
	c->wnd_left = chance(20) ? between(1, 3000) : magnitude(~0ULL);
	c->unacked = chance(50) ? 0 : magnitude(~0ULL);
	if (q->op == HOST_CLOSED)
		c->wnd_left = 0;
}
