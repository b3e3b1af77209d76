// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz PROFILE SEED COUNT [FILE]: random states through the headers, judged by
 *	the oracle. Prints what was reached, one line per kind of fault and the
 *	first state of each; writes the states that floating point cannot decide
 *	to FILE. Exit 1 on any fault.
 * fuzz batch: struct host_case on stdin, struct host_answer on stdout.
 * fuzz mul: four u64 a, b, c, d on stdin; hi and lo of a * b and whether
 *	a * b < c * d, as three u64, on stdout.
 * fuzz sizes: the layouts.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

/* --- random numbers: splitmix64 */

static __u64 rng_state;

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

enum profile { WIDE, REAL, SMALL, EDGE, EQUAL, NR_PROFILES };
static const char *const profile_name[] = { "wide", "real", "small", "edge", "equal" };

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

static void draw(enum profile profile, struct host_case *q)
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

/* --- properties that take more than one question */

static bool differ(const struct host_answer *a, const struct host_answer *b)
{
	return memcmp(a, b, sizeof(*a)) != 0;
}

static bool is_faster(const struct host_answer *a)
{
	return a->path == MPS_WAIT && a->reason == MPS_WAIT_FASTER;
}

static enum host_fault relate(enum profile profile, const struct host_case *q,
			      const struct host_answer *a)
{
	struct host_case other = *q;
	struct host_answer b;
	__u32 i;

	sut_answer(q, &b);
	if (differ(a, &b))
		return FAULT_DETERMINISM;
	for (i = 0; i < 8; i++) {
		other.conn.path[i].stale ^= 5;
		if (i >= q->conn.nr_paths)
			memset(&other.conn.path[i], 0, sizeof(other.conn.path[i]));
	}
	sut_answer(&other, &b);
	if (differ(a, &b))
		return FAULT_BEYOND;
	if (!is_faster(a))
		return FAULT_NONE;

	/* whoever would begin to wait goes on waiting */
	if (!q->waiting) {
		other = *q;
		other.waiting = 1;
		sut_answer(&other, &b);
		if (!is_faster(&b))
			return FAULT_HYSTERESIS;
	}
	/* once all is acknowledged there is nothing left to wait for */
	other = *q;
	other.waiting = a->waiting;
	for (i = 0; i < q->conn.nr_paths; i++)
		other.conn.path[i].inflight = other.conn.path[i].unsent = 0;
	sut_answer(&other, &b);
	if (b.path < 0)
		return FAULT_ENDLESS;
	/*
	 * Equal paths: with k / cwnd = x the inequalities ask for
	 * 2 rtt + delta <= x rtt < beta rtt + (1 + beta) delta,
	 * so never before a first wait, and later only with a wild RTT.
	 */
	if (profile == EQUAL) {
		const struct mps_path *p = &q->conn.path[0];
		const __u64 beta = q->waiting ? q->beta : 0;

		if (beta * ((__u64)p->srtt_us + p->mdev_us) <= 2000ULL * p->srtt_us)
			return FAULT_HOMOGENEOUS;
	}
	return FAULT_NONE;
}

/* --- modes */

#define FAULT_NAME(id, name) name,
static const char *const fault_name[] = { HOST_FAULTS(FAULT_NAME) };
static const char *const reached_name[] = { HOST_REACHED(FAULT_NAME) };

static void print_case(const struct host_case *q, const struct host_answer *a)
{
	static const char *const op[] = { "minrtt", "ecf", "window-closed" };
	const struct mps_conn *c = &q->conn;
	__u32 i;

	printf("# %s: beta %u waiting %u pending %" PRIu64 " wnd_left %" PRIu64 " unacked %" PRIu64
	       " unit %u fit %u nr_paths %u\n",
	       op[q->op], q->beta, q->waiting, (uint64_t)c->pending, (uint64_t)c->wnd_left,
	       (uint64_t)c->unacked, c->unit, c->fit, c->nr_paths);
	for (i = 0; i < c->nr_paths; i++) {
		const struct mps_path *p = &c->path[i];

		printf("#   path %u: srtt %u mdev %u cwnd %u inflight %u mss %u unsent %u%s%s%s%s\n",
		       i, p->srtt_us, p->mdev_us, p->cwnd, p->inflight, p->mss, p->unsent,
		       p->flags & MPS_PATH_ACTIVE ? " active" : "",
		       p->flags & MPS_PATH_BACKUP ? " backup" : "",
		       p->flags & MPS_PATH_LOSS ? " loss" : "",
		       p->flags & MPS_PATH_SNDBUF ? " sndbuf" : "");
	}
	printf("#   answer: path %d reason %u bytes %u waiting %u\n", a->path, a->reason, a->bytes,
	       a->waiting);
}

static int run(enum profile profile, __u64 seed, __u64 count, const char *file)
{
	FILE *undecided = file ? fopen(file, "wb") : NULL;
	__u64 faults[NR_FAULTS] = { 0 }, n;
	int i, ret = 0;

	if (file && !undecided) {
		perror(file);
		return 2;
	}
	rng_state = seed;
	for (n = 0; n < count; n++) {
		struct host_case q = { 0 }, kept;
		struct host_answer a;
		enum host_fault fault;
		bool unsure;

		draw(profile, &q);
		kept = q;
		sut_answer(&q, &a);
		fault = memcmp(&q, &kept, sizeof(q)) ? FAULT_SNAPSHOT : FAULT_NONE;
		if (fault == FAULT_NONE)
			fault = oracle_judge(&q, &a, &unsure);
		if (fault == FAULT_NONE && unsure && undecided)
			fwrite(&q, sizeof(q), 1, undecided);
		if (fault == FAULT_NONE)
			fault = relate(profile, &q, &a);
		if (fault == FAULT_NONE)
			continue;
		if (!faults[fault]++) {
			printf("# %s, state %" PRIu64 "\n", fault_name[fault], (uint64_t)n);
			print_case(&q, &a);
		}
	}
	if (undecided && fclose(undecided)) {
		perror(file);
		return 2;
	}
	for (i = 0; i < NR_REACHED; i++)
		printf("reached %s %" PRIu64 "\n", reached_name[i], (uint64_t)host_reached[i]);
	for (i = 0; i < NR_FAULTS; i++) {
		if (!faults[i])
			continue;
		printf("fault %s %" PRIu64 "\n", fault_name[i], (uint64_t)faults[i]);
		ret = 1;
	}
	return ret;
}

static int batch(void)
{
	struct host_answer a;
	struct host_case q;

	while (fread(&q, sizeof(q), 1, stdin) == 1) {
		sut_answer(&q, &a);
		fwrite(&a, sizeof(a), 1, stdout);
	}
	return fflush(stdout) ? 2 : 0;
}

static int mul(void)
{
	__u64 in[4], out[3];

	while (fread(in, sizeof(in), 1, stdin) == 1) {
		sut_mul(in[0], in[1], &out[0], &out[1]);
		out[2] = (__u64)sut_product_less(in[0], in[1], in[2], in[3]);
		fwrite(out, sizeof(out), 1, stdout);
	}
	return fflush(stdout) ? 2 : 0;
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 2 && !strcmp(argv[1], "batch"))
		return batch();
	if (argc == 2 && !strcmp(argv[1], "mul"))
		return mul();
	if (argc == 2 && !strcmp(argv[1], "sizes")) {
		sut_print_sizes();
		return 0;
	}
	for (i = 0; i < NR_PROFILES && (argc == 4 || argc == 5); i++)
		if (!strcmp(argv[1], profile_name[i]))
			return run(i, strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0),
				   argv[4]);
	fprintf(stderr, "usage: fuzz PROFILE SEED COUNT [FILE] | batch | mul | sizes\n");
	return 2;
}
