/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many packets wait between a socket and the wire of its route's device:
 * what `tc -s qdisc` says of the queue that the socket sends through, and what
 * the driver holds where it counts bytes (byte queue limits).
 *
 * Limits: an unsegmented packet (GSO) counts as one, as in tc. On a virtual
 * device without a queue it is the socket's own data that TCP has not sent; the
 * queues of devices below are not seen.
 */
#ifndef MPS_BPF_QUEUE_H
#define MPS_BPF_QUEUE_H

#include "kernel/compat.h"
#include "kernel/kfuncs.h"

/* net/sch_generic.h: lengths are per CPU, as with pfifo_fast */
#define TCQ_F_CPUSTATS 0x20
/* net/sock.h: the socket has not sent yet, or its device has one queue */
#define NO_QUEUE_MAPPING 0xffff
#define MPS_MAX_CPUS 8192 /* the kernel's own limit, CONFIG_NR_CPUS */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gnet_stats_queue {
	__u32 qlen;
};

struct qdisc_skb_head {
	__u32 qlen;
};

struct Qdisc {
	void *enqueue; /* NULL: noqueue */
	unsigned int flags;
	struct gnet_stats_queue *cpu_qstats;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};

struct dql {
	unsigned int num_queued, num_completed;
};

struct netdev_queue {
	struct Qdisc *qdisc;
	struct dql dql;
};

struct net_device {
	struct netdev_queue *_tx;
	unsigned int num_tx_queues;
};

struct dst_entry {
	struct net_device *dev;
};

struct rq {
	unsigned int nr_running;
};

#pragma clang attribute pop

/* Any per-CPU variable of the kernel that its BTF names: it tells the offsets. */
extern const struct rq runqueues __ksym;

/*
 * The sum over all CPUs; stats: a per-CPU pointer. Only a difference of two
 * pointers is a number to the verifier, so the barrier keeps it one.
 */
MPS_FN __u32 mps_percpu_qlen(__u64 stats)
{
	__u32 cpu, sum = 0;

	bpf_for(cpu, 0, MPS_MAX_CPUS)
	{
		const void *copy = bpf_per_cpu_ptr(&runqueues, cpu);
		__u64 offset;

		if (!copy)
			break;
		offset = copy - (const void *)&runqueues;
		barrier_var(offset);
		sum += bpf_core_cast((void *)(stats + offset), struct gnet_stats_queue)->qlen;
	}
	return sum;
}

/* qdisc_qlen_sum(), net/sch_generic.h */
static __always_inline __u32 mps_qdisc_len(const struct Qdisc *q)
{
	__u64 stats = 0;

	if (!(q->flags & TCQ_F_CPUSTATS))
		return q->qstats.qlen + q->q.qlen;
	bpf_core_read(&stats, sizeof(stats), &q->cpu_qstats);
	return q->qstats.qlen + mps_percpu_qlen(stats);
}

static __always_inline struct netdev_queue *mps_tx_queue(struct net_device *dev, __u32 i)
{
	const __u64 size = bpf_core_type_size(struct netdev_queue);

	if (i >= dev->num_tx_queues)
		i = 0;
	return bpf_core_cast((void *)dev->_tx + (i & 0xffff) * size, struct netdev_queue);
}

/*
 * n_k. route: the socket's dst_entry, an address or 0; mapping: its transmit
 * queue; mss: bytes per packet; unsent: bytes that TCP has not handed down.
 */
MPS_FN __u32 mps_route_queue(__u64 route, __u32 mapping, __u32 mss, __u32 unsent)
{
	const __u32 own = (unsent + mss - 1) / (mss ?: 1);
	struct dst_entry *dst = bpf_core_cast((void *)route, struct dst_entry);
	struct netdev_queue *txq;
	struct Qdisc *q;
	__s32 held = 0;

	if (!route)
		return own;
	txq = mps_tx_queue(dst->dev, mapping == NO_QUEUE_MAPPING ? 0 : mapping);
	q = txq->qdisc;
	if (!q || !q->enqueue)
		return own;
	if (bpf_core_field_exists(txq->dql))
		held = (__s32)(txq->dql.num_queued - txq->dql.num_completed);
	/* without the queue's lock: what was completed meanwhile may be more */
	return mps_qdisc_len(q) + (held > 0 ? ((__u32)held + mss - 1) / (mss ?: 1) : 0);
}

static __always_inline __u32 mps_socket_queue(struct sock *sk, const struct tcp_sock *tp)
{
	__u64 route = 0;

	bpf_core_read(&route, sizeof(route), &sk->sk_dst_cache);
	return mps_route_queue(route, sk->__sk_common.skc_tx_queue_mapping, tp->mss_cache,
			       tp->write_seq - tp->snd_nxt);
}

#endif /* MPS_BPF_QUEUE_H */
