// SPDX-License-Identifier: GPL-2.0
/*
 * Asks for a retransmission pass at every segment that arrives on any TCP
 * socket, twice, and keeps book of the answers (test_request_retrans.py).
 */
#include "kernel/compat.h"
#include "kernel/kfuncs.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_ANY 0

/* errno-base.h, errno.h */
#define EBUSY 16
#define EINVAL 22
#define ENODATA 61
#define EALREADY 114

enum answer { ASKED, INVALID, NO_DATA, ALREADY, BUSY, OTHER, NR_ANSWERS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_ANSWERS);
	__type(key, __u32);
	__type(value, __u64);
} answers SEC(".maps");

struct granted {
	__u64 count, first, last; /* the latter two in jiffies */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64); /* the connection */
	__type(value, struct granted);
} connections SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct inet_connection_sock___ulp {
	void *icsk_ulp_data;
};
struct mptcp_subflow_context___conn {
	struct sock *conn;
};
#pragma clang attribute pop

static void grant(struct sock *sk)
{
	struct inet_connection_sock___ulp *icsk = (void *)sk;
	struct mptcp_subflow_context___conn *subflow;
	struct granted *g, fresh = { 0 };
	__u64 key, now = bpf_jiffies64();

	subflow = BPF_CORE_READ(icsk, icsk_ulp_data);
	key = (__u64)BPF_CORE_READ(subflow, conn);
	g = bpf_map_lookup_elem(&connections, &key);
	if (!g) {
		fresh.count = 1;
		fresh.first = fresh.last = now;
		bpf_map_update_elem(&connections, &key, &fresh, BPF_ANY);
		return;
	}
	__sync_fetch_and_add(&g->count, 1);
	g->last = now;
}

static void book(struct sock *sk)
{
	const int answer = bpf_mptcp_request_retrans(sk);
	__u32 key = answer == 0		  ? ASKED
		    : answer == -EINVAL	  ? INVALID
		    : answer == -ENODATA  ? NO_DATA
		    : answer == -EALREADY ? ALREADY
		    : answer == -EBUSY	  ? BUSY
					  : OTHER;
	__u64 *count = bpf_map_lookup_elem(&answers, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	if (!answer)
		grant(sk);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(asks, struct sock *sk)
{
	book(sk);
	book(sk);
	return 0;
}
