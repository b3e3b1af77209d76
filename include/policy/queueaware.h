/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QueueAware: send where the packets that already wait in the local device
 * queue will be served first: argmin n_k * S_k among the subflows with room in
 * their window; where both queues are empty, the smaller S_k.
 *
 * Source: queueaware, section 3, equation (3). n_k is the length of the device
 * queue that the subflow sends through, S_k the mean time from leaving it to
 * the acknowledgement (state/service.h). The paper chooses for each packet. Here
 * one choice hands over a burst, so it is bounded to what the policy would
 * choose packet by packet if nothing left a queue meanwhile.
 *
 * Not in the paper, but needed here: until a subflow has a service time of its
 * own its smoothed RTT stands in, and one without either is unknown as in
 * minRTT: it comes last, but for its first sample.
 */
#ifndef MPS_QUEUEAWARE_H
#define MPS_QUEUEAWARE_H

#include "policy/minrtt.h"

/*
 * mps_path.metric of this scheduler: n_k and S_k in one word. n_k: 14 bits, more
 * counts as the most. S_k: 13 bits and 5 of exponent, exact to 8 ms and to one
 * part in 4096 from there on.
 */
#define MPS_QUEUE_MAX ((1U << 14) - 1)
#define MPS_SERVICE_BITS 13

MPS_FN __u32 mps_queue_metric(__u32 packets, __u32 service_us)
{
	const __u32 n = packets < MPS_QUEUE_MAX ? packets : MPS_QUEUE_MAX;
	__u32 i, shift = 0;

	for (i = 0; i < 32 - MPS_SERVICE_BITS; i++) {
		if (!(service_us >> MPS_SERVICE_BITS))
			break;
		service_us >>= 1;
		shift++;
	}
	return n << 18 | shift << MPS_SERVICE_BITS | service_us;
}

static __always_inline __u32 mps_queued(const struct mps_path *p)
{
	return p->metric >> 18;
}

/* S_k in us; 0: unknown */
static __always_inline __u32 mps_service_us(const struct mps_path *p)
{
	const __u32 shift = p->metric >> MPS_SERVICE_BITS & 31;
	const __u32 s = (p->metric & ((1U << MPS_SERVICE_BITS) - 1)) << (shift < 20 ? shift : 19);

	return s ?: p->srtt_us;
}

/* What is compared: n_k * S_k, then S_k. */
struct mps_queue_cost {
	__u64 wait_us;
	__u32 service_us;
};

static __always_inline struct mps_queue_cost mps_queue_cost_of(const struct mps_path *p)
{
	struct mps_queue_cost cost = { .wait_us = ~0ULL, .service_us = mps_service_us(p) };

	if (cost.service_us)
		cost.wait_us = (__u64)mps_queued(p) * cost.service_us;
	return cost;
}

static __always_inline bool mps_queue_less(const struct mps_queue_cost *a,
					   const struct mps_queue_cost *b)
{
	return a->wait_us < b->wait_us ||
	       (a->wait_us == b->wait_us && a->service_us < b->service_us);
}

/*
 * Index of the cheapest available path other than `except`, the first among
 * equals; MPS_WAIT if there is none. first: an unknown one may get its first
 * sample now.
 */
MPS_FN __s32 mps_queueaware_best(const struct mps_conn *c MPS_ARG, __u32 tier, __s32 except,
				 __u32 first)
{
	struct mps_queue_cost cost, least = { .wait_us = ~0ULL, .service_us = ~0U };
	__s32 best = MPS_WAIT;
	__u32 i;

	MPS_UNROLL
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if ((__s32)i == except || !mps_is_usable(p, tier) || !mps_is_available(c, p))
			continue;
		if (first && !mps_service_us(p) && mps_wants_first_sample(c, p))
			return (__s32)i;
		cost = mps_queue_cost_of(p);
		if (best < 0 || mps_queue_less(&cost, &least)) {
			least = cost;
			best = (__s32)i;
		}
	}
	return best;
}

/*
 * Bytes after which path `next` would be the policy's choice: the packets that
 * make n_k * S_k of path p more than the other's, at least one.
 */
MPS_FN __u64 mps_queueaware_turn(const struct mps_path *p MPS_ARG,
				 const struct mps_path *next MPS_ARG)
{
	const struct mps_queue_cost mine = mps_queue_cost_of(p), other = mps_queue_cost_of(next);
	const __u64 n = mps_queued(p);
	__u64 until;

	/* an unknown one takes nothing from a known one, and is left after its sample */
	if (!other.service_us || !mine.service_us)
		return ~0ULL;
	until = other.wait_us / mine.service_us + 1;
	/* as much is enough where the other wins the tie */
	if (other.service_us < mine.service_us && !(other.wait_us % mine.service_us))
		until--;
	return (until > n ? until - n : 1) * p->mss;
}

static __always_inline struct mps_verdict mps_queueaware_pick(const struct mps_conn *c)
{
	const __s32 tier = mps_usable_tier(c);
	struct mps_verdict v;
	__s32 i, next;
	__u64 turn;

	if (tier < 0)
		return mps_wait_for(MPS_WAIT_NO_SUBFLOW);
	i = mps_queueaware_best(c, (__u32)tier, MPS_WAIT, 1);
	if (i < 0)
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	v = mps_send_on(c, (__u32)i);
	next = mps_queueaware_best(c, (__u32)tier, i, 0);
	if (next < 0)
		return v;
	turn = mps_queueaware_turn(&c->path[i & (MPS_MAX_PATHS - 1)],
				   &c->path[next & (MPS_MAX_PATHS - 1)]);
	if (v.bytes > turn)
		v.bytes = (__u32)turn;
	return v;
}

#endif /* MPS_QUEUEAWARE_H */
