/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Measures how long a subflow's packets wait in the local device queue, and how
 * long they are in service after that (state/service.h): at the ACK clock, where an
 * acknowledgement arrives, and by a program where a packet is given to the driver. That
 * sees all traffic of the machine, so first it leaves alone what is not a subflow, then what
 * has no state here.
 *
 * TCP stamps each packet with the time at which it hands it down
 * (skb_mstamp_ns, from which its own RTT samples count too); qdiscs leave that
 * alone, but for fq where it lies behind its horizon of 10 s.
 */
#ifndef MPS_BPF_SERVICE_H
#define MPS_BPF_SERVICE_H

#include "kernel/queue.h"
#include "state/service.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sk_buff {
	struct sock *sk;
	unsigned int len;
	__u64 skb_mstamp_ns;
	__u16 transport_header;
	unsigned char *head, *data;
	char cb[48];
};

struct tcphdr {
	__be32 seq;
	__u16 res1 : 4, doff : 4;
};

struct tcp_skb_cb {
	__u32 ack_seq;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mps_service);
} mps_service_v1 SEC(".maps");

static __always_inline __u32 mps_measured_service(struct sock *ssk)
{
	struct mps_service *v =
		bpf_sk_storage_get(&mps_service_v1, ssk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	return v ? v->service_us : 0;
}

/* The socket's next connection counts from another sequence number. */
static __always_inline void mps_forget_service(struct sock *ssk)
{
	struct mps_service *v = bpf_sk_storage_get(&mps_service_v1, ssk, NULL, 0);

	if (v)
		__builtin_memset(v, 0, sizeof(*v));
}

static __always_inline bool mps_is_subflow(struct sock *sk)
{
	const __u32 state = 1U << (sk->__sk_common.skc_state & 31);

	/* a full socket, so that the rest of it is there */
	return state & (1U << TCP_ESTABLISHED | 1U << TCP_CLOSE_WAIT) &&
	       sk->sk_protocol == IPPROTO_TCP && bpf_core_cast(sk, struct tcp_sock)->is_mptcp;
}

static __always_inline int mps_service_xmit(const struct sk_buff *skb, const struct net_device *dev)
{
	struct sock *sk = skb->sk;
	struct mps_departure d;
	struct mps_service *v;
	struct tcp_sock *tp;
	struct tcphdr *th;
	__u64 at, payload;

	if (!sk || !mps_is_subflow(sk) || sk->sk_dst_cache->dev != dev)
		return 0;
	v = bpf_sk_storage_get(&mps_service_v1, sk, NULL, 0);
	if (!v)
		return 0;
	tp = bpf_core_cast(sk, struct tcp_sock);
	at = (__u64)skb->head + skb->transport_header;
	th = bpf_core_cast((void *)at, struct tcphdr);
	payload = skb->len - (at - (__u64)skb->data) -
		  4 * (__u64)BPF_CORE_READ_BITFIELD_PROBED(th, doff);
	if ((__s64)payload <= 0)
		return 0;
	d.end = __builtin_bswap32(th->seq) + (__u32)payload;
	d.now_us = (__u32)(bpf_ktime_get_ns() / 1000);
	d.handed_us = (__u32)(skb->skb_mstamp_ns / 1000);
	d.spacing = (tp->snd_nxt - tp->snd_una) / MPS_DEPARTURES;
	mps_service_leaves(v, &d);
	return 0;
}

static __always_inline void mps_service_ack(struct sock *ssk, const struct tcp_sock *tp,
					    const struct sk_buff *skb, __u32 alpha)
{
	struct mps_service *v = bpf_sk_storage_get(&mps_service_v1, ssk, NULL, 0);
	__u32 ack;

	if (!v)
		return;
	ack = bpf_core_cast((void *)skb->cb, struct tcp_skb_cb)->ack_seq;
	/* not what nobody sent */
	if (mps_before(tp->snd_nxt, ack))
		return;
	mps_service_acked(v, ack, (__u32)(bpf_ktime_get_ns() / 1000), tp->sacked_out + tp->lost_out,
			  alpha);
}

/* MPS_SERVICE(name): the program of a scheduler that measures service times, beside its clock. */
#define MPS_SERVICE(id)                                                              \
	SEC("tp_btf/net_dev_start_xmit")                                             \
	int BPF_PROG(id##_leaves, const struct sk_buff *skb, struct net_device *dev) \
	{                                                                            \
		return mps_service_xmit(skb, dev);                                   \
	}

#endif /* MPS_BPF_SERVICE_H */
