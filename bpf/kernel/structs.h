/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few kernel types that the schedulers read, by field names only: CO-RE
 * finds the offsets in the BTF of the kernel that loads the object, so this
 * file needs no vmlinux.h and objects build the same everywhere.
 */
#ifndef MPS_BPF_KERNEL_H
#define MPS_BPF_KERNEL_H

#include "kernel/types.h"

/* uapi/linux/bpf.h */
enum bpf_map_type_subset { BPF_MAP_TYPE_SK_STORAGE = 24 };
#define BPF_F_NO_PREALLOC 1U
#define BPF_SK_STORAGE_GET_F_CREATE 1ULL

/* uapi/linux/in.h, net/tcp_states.h, uapi/linux/tcp.h */
#define IPPROTO_TCP 6
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_CLOSE 7
#define TCP_CLOSE_WAIT 8
#define TCP_CA_Recovery 3
#define TCP_CA_Loss 4

/* net/tcp.h: of tcp_sock.nonagle, what TCP_CORK sets */
#define TCP_NAGLE_CORK 2

/* linux/net.h: a bit of socket.flags, a writer was told that there is no room */
#define SOCK_NOSPACE 2

/* uapi/asm-generic/errno-base.h */
#define EAGAIN 11

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct netns_ipv4 {
	__u8 sysctl_tcp_slow_start_after_idle;
};

struct net {
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	unsigned short skc_tx_queue_mapping;
};

struct dst_entry;

struct socket {
	unsigned long flags;
};

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	int sk_sndbuf;
	int sk_write_pending; /* writers that wait for room */
	struct dst_entry *sk_dst_cache;
	__u16 sk_protocol;
};

struct tcp_congestion_ops {
	void *cong_control;
};

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	void *icsk_ulp_data;
	__u32 icsk_rto; /* jiffies */
	__u8 icsk_ca_state : 5;
};

struct minmax_sample {
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_options_received {
	__u32 rcv_tsval;
	__u32 rcv_tsecr; /* without our own offset: milliseconds of our clock */
	__u16 tstamp_ok : 1;
};

/* Of the newest data that was acknowledged; only with SACK. */
struct tcp_rack {
	__u64 mstamp; /* when it was sent, us */
	__u32 rtt_us;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	struct tcp_rack rack;
	__u32 mss_cache;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 lost; /* packets, since the connection began, those sent again as well */
	__u32 retrans_out;
	__u32 srtt_us;	       /* us << 3 */
	__u32 mdev_us;	       /* us << 2 */
	struct minmax rtt_min; /* us */
	__u32 write_seq;       /* next byte to be given to TCP */
	__u32 snd_nxt;	       /* next byte TCP sends */
	__u32 snd_una;
	__u32 snd_wl1; /* of the segment whose window counts */
	__u32 snd_wnd;
	__u32 segs_in;		/* segments that came in */
	__u32 data_segs_out;	/* segments with payload, each transmission of it */
	__u32 total_retrans;	/* of these: sent again */
	__u32 dsack_dups;	/* and of those: the receiver had them */
	__u64 bytes_sent;	/* payload, each transmission of it */
	__u64 bytes_received;	/* payload, in order */
	__u64 delivered_mstamp; /* us, when something was acknowledged last, or all began */
	__u32 lsndtime;		/* jiffies */
	__u32 rate_delivered;
	__u32 rate_interval_us;
	bool is_mptcp;
	__u8 nonagle : 4;
};

struct list_head {
	struct list_head *next, *prev;
};

struct mptcp_data_frag {
	struct list_head list; /* its first member: a pointer to one is one to the other */
	__u64 data_seq;
	__u16 data_len;
	__u16 already_sent;
};

struct mptcp_sock {
	__u32 token;
	__u64 write_seq;
	__u64 bytes_retrans;
	__u64 snd_nxt;
	__u64 snd_una;
	__u64 wnd_end;
	int snd_burst;
	bool snd_data_fin_enable;
	__u8 cork : 1, nodelay : 1; /* as the application has set TCP_CORK and TCP_NODELAY */
	struct list_head conn_list;
	struct list_head rtx_queue;
	struct mptcp_data_frag *first_pending;
};

struct mptcp_subflow_context {
	struct sock *conn;
	unsigned long avg_pacing_rate;
	__u32 rel_write_seq; /* bytes mapped on this subflow, plus one */
	__u32 request_join : 1, request_bkup : 1, backup : 1, stale : 1;
	bool fully_established;
	__u8 stale_count;
};

/* A lock that sleeps: only with PREEMPT_RT. */
struct rt_mutex_base {
	void *owner;
};

struct spinlock___rt {
	struct rt_mutex_base lock;
};

#pragma clang attribute pop

#endif /* MPS_BPF_KERNEL_H */
