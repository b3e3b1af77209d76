// SPDX-License-Identifier: GPL-2.0
/*
 * What a scheduler ought to answer, written from the papers' formulas (ECF:
 * ecf-conext17, Algorithm 1) in floating point and with divisions, as printed
 * there. Where the papers leave a choice (equal RTTs), every choice is right.
 */
#include <math.h>

#include "host.h"

/* The limits by themselves: a header that changes them must fail here. */
#define PATHS 8
#define BURST (64 * 1024 - 108) /* MPTCP_SEND_BURST_SIZE, net/mptcp/protocol.h */

/* None of the code under test may help here. */
#pragma GCC poison mps_cwnd_room mps_is_active mps_is_backup mps_is_available
#pragma GCC poison mps_has_inflight mps_usable_tier mps_is_usable mps_send_on
#pragma GCC poison mps_window_closed mps_wait_for

__u64 host_reached[NR_REACHED];

/* Sets of paths, one bit each. */
struct view {
	unsigned active, backup, usable, available, known, queued;
	unsigned first;	   /* unknown and idle: must get a first sample now */
	unsigned fastest;  /* x_f, with its equals */
	unsigned smallest; /* smallest known RTT among the available */
	__s64 room[PATHS];
};

static void look(const struct mps_conn *c, struct view *v)
{
	const struct mps_path *p;
	unsigned ok = 0, i;
	__u32 rtt_f = 0, rtt_s = 0;

	*v = (struct view){ 0 };
	for (i = 0; i < c->nr_paths; i++) {
		const unsigned bit = 1u << i;

		p = &c->path[i];
		v->room[i] = ((__s64)p->cwnd - p->inflight) * p->mss - p->unsent;
		if (p->flags & MPS_PATH_ACTIVE)
			v->active |= bit;
		if (p->flags & MPS_PATH_BACKUP)
			v->backup |= bit;
		if (!(p->flags & MPS_PATH_LOSS))
			ok |= bit;
		if (p->flags & MPS_PATH_SNDBUF && v->room[i] >= p->mss &&
		    (v->room[i] >= c->fit || v->room[i] >= (double)p->cwnd * p->mss / 8))
			v->available |= bit;
		if (p->srtt_us)
			v->known |= bit;
		if (p->inflight || p->unsent)
			v->queued |= bit;
	}
	v->usable = v->active & ~v->backup ? v->active & ~v->backup : v->active;
	v->available &= v->usable & ok;
	if (c->pending > c->unit)
		v->first = v->available & ~v->known & ~v->queued;

	for (i = 0; i < c->nr_paths; i++) {
		const unsigned bit = 1u << i;

		p = &c->path[i];
		if (!(v->known & v->usable & ok & bit))
			continue;
		if (!v->fastest || p->srtt_us < rtt_f) {
			rtt_f = p->srtt_us;
			v->fastest = 0;
		}
		if (p->srtt_us == rtt_f)
			v->fastest |= bit;
		if (!(v->available & bit))
			continue;
		if (!v->smallest || p->srtt_us < rtt_s) {
			rtt_s = p->srtt_us;
			v->smallest = 0;
		}
		if (p->srtt_us == rtt_s)
			v->smallest |= bit;
	}
}

enum truth { FALSE, TRUE, UNSURE };

/*
 * Doubles have 53 bits and each side takes less than 10 roundings, so further
 * apart than this the order is certain. On x86 long double leaves 11 bits more.
 */
static enum truth is_less(long double a, long double b)
{
	if (fabsl(a - b) <= 1e-14L * (fabsl(a) + fabsl(b)))
		return UNSURE;
	return a < b;
}

/* Outcomes of Algorithm 1 for x_f without room */
#define OUT_WAIT 1	 /* wait, waiting = 1 */
#define OUT_SEND_CLEAR 2 /* send on x_s, waiting = 0 */
#define OUT_SEND_KEEP 4	 /* send on x_s, waiting as it was */

static unsigned algorithm1(const struct host_case *q, unsigned f, unsigned s)
{
	const struct mps_path *xf = &q->conn.path[f], *xs = &q->conn.path[s];
	const long double k = (long double)q->conn.pending / xf->mss;
	const long double beta = q->beta / 1000.0L;
	const long double rtt_f = xf->srtt_us, rtt_s = xs->srtt_us;
	const long double delta = fmaxl(xf->mdev_us, xs->mdev_us);
	const long double n = 1 + k / xf->cwnd;
	const enum truth first =
		is_less(n * rtt_f, (1 + (q->waiting ? beta : 0)) * (rtt_s + delta));
	const enum truth not_second = is_less(k / xs->cwnd * rtt_s, 2 * rtt_f + delta);
	unsigned out = 0;

	if (first != TRUE)
		out |= OUT_SEND_CLEAR;
	if (first != FALSE && not_second != FALSE)
		out |= OUT_SEND_KEEP;
	if (first != FALSE && not_second != TRUE)
		out |= OUT_WAIT;
	host_reached[REACHED_ECF_JUDGED]++;
	if (first == UNSURE || (first == TRUE && not_second == UNSURE)) {
		host_reached[REACHED_ECF_UNSURE]++;
	} else if (out == OUT_WAIT) {
		host_reached[REACHED_ECF_WAIT]++;
		if (q->waiting && is_less(n * rtt_f, rtt_s + delta) == FALSE)
			host_reached[REACHED_ECF_WAIT_BY_BETA]++;
	} else if (out == OUT_SEND_CLEAR) {
		host_reached[REACHED_ECF_FIRST_FALSE]++;
		host_reached[REACHED_ECF_CLEARED] += !!q->waiting;
	} else {
		host_reached[REACHED_ECF_SECOND_FALSE]++;
		host_reached[REACHED_ECF_SECOND_FALSE_W] += !!q->waiting;
	}
	return out;
}

/* Rules for every pick of every scheduler. */
static enum host_fault judge_pick(const struct host_case *q, const struct host_answer *a,
				  const struct view *v)
{
	const struct mps_conn *c = &q->conn;
	const unsigned bit = 1u << (a->path & 31);
	__u64 most;

	if (a->path < 0 || (__u32)a->path >= c->nr_paths)
		return FAULT_RANGE;
	if (!(v->active & bit))
		return FAULT_INACTIVE;
	if (v->backup & bit) {
		if (v->active & ~v->backup)
			return FAULT_BACKUP;
		host_reached[REACHED_PICK_BACKUP]++;
	}
	if (c->path[a->path].flags & MPS_PATH_LOSS)
		return FAULT_LOSS;
	if (!(c->path[a->path].flags & MPS_PATH_SNDBUF))
		return FAULT_SNDBUF;
	if (v->room[a->path] < c->path[a->path].mss)
		return FAULT_ROOM;
	if (v->first && !(v->first & bit))
		return FAULT_FIRST_SAMPLE;
	if (!v->first && !(v->known & bit) && v->available & v->known)
		return FAULT_FIRST_SAMPLE;

	most = (__u64)v->room[a->path] < c->wnd_left ? (__u64)v->room[a->path] : c->wnd_left;
	if (most > BURST)
		most = BURST;
	/* an unmeasured path gets no more than the head fragment */
	if (!(v->known & bit) && c->unit && most > c->unit)
		most = c->unit;
	if (!a->bytes || a->bytes != most)
		return FAULT_BYTES;
	if (v->first)
		host_reached[REACHED_PICK_FIRST]++;
	else if (!(v->known & bit))
		host_reached[REACHED_PICK_UNKNOWN]++;
	return FAULT_NONE;
}

static enum host_fault judge_ecf(const struct host_case *q, const struct host_answer *a,
				 const struct view *v, bool *undecided)
{
	const bool waits = a->path < 0;
	const unsigned bit = 1u << (a->path & 31);
	bool decision = false, state = false;
	unsigned f, s;

	/* no estimate without samples on both sides */
	if (v->first || !v->smallest)
		return a->waiting == q->waiting ? FAULT_NONE : FAULT_ECF_STATE;

	for (f = 0; f < q->conn.nr_paths; f++) {
		if (!(v->fastest & 1u << f))
			continue;
		for (s = 0; s < q->conn.nr_paths; s++) {
			unsigned out = OUT_SEND_KEEP, to = s;

			if (!(v->smallest & 1u << s))
				continue;
			if (v->available & 1u << f) {
				to = f;
				host_reached[REACHED_ECF_FAST]++;
			} else if (!(v->queued & 1u << f)) {
				host_reached[REACHED_ECF_GUARD]++;
			} else {
				out = algorithm1(q, f, s);
			}
			if (out & (out - 1))
				*undecided = true;
			if (waits) {
				decision |= !!(out & OUT_WAIT);
				state |= out & OUT_WAIT && a->waiting == 1;
			} else if (bit == 1u << to && out & ~OUT_WAIT) {
				decision = true;
				state |= out & OUT_SEND_KEEP && a->waiting == q->waiting;
				state |= out & OUT_SEND_CLEAR && !a->waiting;
			}
		}
	}
	if (!decision)
		return FAULT_ECF;
	return state ? FAULT_NONE : FAULT_ECF_STATE;
}

/* The fastest path: full, alive and sure to be heard of; and a choice besides. */
static enum host_fault judge_faster(const struct host_case *q, const struct view *v)
{
	if (q->op != HOST_ECF)
		return FAULT_REASON;
	if (!(v->fastest & ~v->available & v->queued) || !(v->available & v->known))
		return FAULT_FASTER;
	return v->first ? FAULT_FIRST_SAMPLE : FAULT_NONE;
}

static enum host_fault judge_closed(const struct host_case *q, const struct host_answer *a,
				    const struct view *v)
{
	if (q->conn.unacked || !v->active) {
		const __u32 why = q->conn.unacked ? MPS_WAIT_PEER_WINDOW : MPS_WAIT_NO_SUBFLOW;

		host_reached[REACHED_CLOSED_WAIT]++;
		return a->path == MPS_WAIT && a->reason == why && !a->bytes ? FAULT_NONE
									    : FAULT_CLOSED;
	}
	host_reached[REACHED_CLOSED_PROBE]++;
	if (a->path < 0 || (__u32)a->path >= q->conn.nr_paths)
		return FAULT_CLOSED;
	return v->usable & 1u << a->path && !a->bytes ? FAULT_NONE : FAULT_CLOSED;
}

enum host_fault oracle_judge(const struct host_case *q, const struct host_answer *a,
			     bool *undecided)
{
	enum host_fault fault = FAULT_NONE;
	struct view v;

	*undecided = false;
	look(&q->conn, &v);
	if (q->op == HOST_CLOSED)
		return judge_closed(q, a, &v);

	if (!v.available) {
		const __u32 why = v.active ? MPS_WAIT_NO_ROOM : MPS_WAIT_NO_SUBFLOW;

		host_reached[v.active ? REACHED_NO_ROOM : REACHED_NO_SUBFLOW]++;
		/* by its own rule where it has one: which is broken says more */
		if (a->path >= 0)
			fault = judge_pick(q, a, &v);
		else if (a->reason != why || a->bytes)
			fault = FAULT_REASON;
		if (fault == FAULT_NONE && a->waiting != q->waiting)
			fault = FAULT_ECF_STATE;
		return fault;
	}
	if (a->path == MPS_WAIT) {
		if (a->bytes || a->reason != MPS_WAIT_FASTER)
			return FAULT_REASON;
		fault = judge_faster(q, &v);
	} else {
		fault = judge_pick(q, a, &v);
	}
	if (fault != FAULT_NONE)
		return fault;
	if (q->op == HOST_ECF)
		return judge_ecf(q, a, &v, undecided);
	if (!v.first && v.smallest) {
		host_reached[REACHED_PICK_MINRTT]++;
		if (!(v.smallest & 1u << a->path))
			return FAULT_MIN_RTT;
	}
	return FAULT_NONE;
}
