/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel types that the programs of the command read, by field names only (CO-RE),
 * as bpf/kernel/structs.h does for the schedulers, and how a socket is described.
 */
#ifndef MPS_LOADER_BPF_KERNEL_H
#define MPS_LOADER_BPF_KERNEL_H

#include "kernel/types.h"

enum bpf_map_type_subset { BPF_MAP_TYPE_UNSPEC_SUBSET };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include "bpf/records.h"

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_MPTCP 262

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	__u64 net_cookie;
	struct ns_common ns;
};

struct list_head {
	struct list_head *next;
};

struct sk_buff {
	unsigned char *data;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	int sk_wmem_queued;
	__u16 sk_protocol;
};

struct socket {
	struct sock *sk;
};

struct inet_connection_sock {
	void *icsk_ulp_data;
	__u8 icsk_ca_state : 5;
};

struct minmax_sample {
	__u32 t, v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 mss_cache;
	__u32 snd_cwnd;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 srtt_us; /* us << 3 */
	__u32 mdev_us; /* us << 2 */
	struct minmax rtt_min;
	__u32 write_seq;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 snd_ssthresh;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u64 tcp_mstamp; /* us, when it last sent or received anything */
	__u64 bytes_acked;
	__u64 bytes_sent;
	bool is_mptcp;
	__u8 nonagle : 4;
};

struct mptcp_sched_ops {
	char name[MPS_NAME_LEN];
};

/* bpf/kernel/compat.h */
struct mptcp_sched_clock {
	void (*segment)(struct sock *ssk, const struct sk_buff *skb);
	char name[MPS_NAME_LEN];
};

struct mptcp_data_frag {
	struct list_head list; /* its first member: a pointer to one is one to the other */
	__u64 data_seq;
	__u16 already_sent;
};

struct mptcp_sock {
	__u64 write_seq;
	__u64 snd_nxt;
	__u64 snd_una;
	__u64 wnd_end;
	__u32 token;
	unsigned long flags;
	struct list_head conn_list;
	struct list_head rtx_queue;
	struct mptcp_data_frag *first_pending;
	struct mptcp_sched_ops *sched;
};

struct mptcp_subflow_context {
	struct list_head node;
	__u32 rel_write_seq;
	__u32 request_join : 1, request_bkup : 1, backup : 1;
	bool fully_established;
	/* a bit field in 6.12, a byte in 7.2: BPF_CORE_READ_BITFIELD reads both */
	__u8 stale : 1;
	__u32 subflow_id;
	__u8 remote_id;
	struct sock *tcp_sock;
	struct sock *conn;
};

struct task_struct {
	int pid;
	int tgid;
	char comm[16];
};

struct file;
struct seq_file;

struct bpf_map {
	__u32 id;
};

/* kernel/bpf/bpf_struct_ops.c: what is registered lies in the map that was filled with it */
struct bpf_struct_ops_value {
	char data[1];
};

struct bpf_struct_ops_map {
	struct bpf_map map;
	struct bpf_struct_ops_value kvalue;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

#pragma clang attribute pop

static __always_inline __u32 sock_netns(struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
}

static __always_inline void sock_local(struct sock *sk, struct mps_addr *a)
{
	a->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	a->port = BPF_CORE_READ(sk, __sk_common.skc_num);
	if (a->family == AF_INET)
		BPF_CORE_READ_INTO((__be32 *)a->ip, sk, __sk_common.skc_rcv_saddr);
	else if (bpf_core_field_exists(sk->__sk_common.skc_v6_rcv_saddr))
		BPF_CORE_READ_INTO(&a->ip, sk, __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8);
}

static __always_inline void sock_remote(struct sock *sk, struct mps_addr *a)
{
	a->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	a->port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (a->family == AF_INET)
		BPF_CORE_READ_INTO((__be32 *)a->ip, sk, __sk_common.skc_daddr);
	else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		BPF_CORE_READ_INTO(&a->ip, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
}

/* A socket without a scheduler of its own has the kernel's. */
static __always_inline void msk_sched(struct mptcp_sock *msk, char *name)
{
	struct mptcp_sched_ops *sched = BPF_CORE_READ(msk, sched);

	if (sched)
		bpf_core_read_str(name, MPS_NAME_LEN, &sched->name);
	else
		__builtin_memcpy(name, "default", 8);
}

/*
 * Two schedulers may have had one name, one after the other; the id of the map tells them apart. A
 * scheduler that is not one of BPF gives a number that means nothing.
 */
static __always_inline __u32 msk_ops_map(struct mptcp_sock *msk)
{
	const unsigned long at = bpf_core_field_offset(struct bpf_struct_ops_map, kvalue) +
				 bpf_core_field_offset(struct bpf_struct_ops_value, data);
	void *sched = BPF_CORE_READ(msk, sched);
	struct bpf_struct_ops_map *map = sched - at;

	return sched ? BPF_CORE_READ(map, map.id) : 0;
}

/* bit: MPTCP_FALLBACK_DONE, net/mptcp/protocol.h */
static __always_inline __u32 msk_fallback(struct mptcp_sock *msk, __u32 bit)
{
	return BPF_CORE_READ(msk, flags) >> (bit & 63) & 1;
}

#endif /* MPS_LOADER_BPF_KERNEL_H */
