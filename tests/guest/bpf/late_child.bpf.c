// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a race of a few instructions long (test_accept_race.py). A connection
 * lies in the accept queue before its first subflow leaves SYN_RECV; this waits
 * just there until the application has taken it and written to it.
 */
#include "kernel/compat.h"
#include "kernel/kfuncs.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_ARRAY 2
#define TCP_SYN_RECV 3
#define MAX_TURNS (1 << 23) /* a limit of bpf_loop() */
#define MS 1000000ULL

enum { HELD, WRITTEN, NR_COUNTS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
typedef struct {
	int owned;
} socket_lock_t;
struct sock___lock {
	socket_lock_t sk_lock;
};
struct tcp_sock___mptcp {
	bool is_mptcp;
};
struct inet_connection_sock___ulp {
	void *icsk_ulp_data;
};
struct mptcp_subflow_context___conn {
	__u32 mp_capable : 1;
	struct sock *conn;
};
#pragma clang attribute pop

struct wait {
	struct mptcp_sock *msk;
	__u64 until;
	bool written;
};

/* the lock is held from the write to the end of the attempt to send */
static long turn(__u64 n, struct wait *w)
{
	struct mptcp_sock *msk = w->msk;
	struct sock___lock *sk = (void *)msk;

	w->written = BPF_CORE_READ(msk, write_seq) != BPF_CORE_READ(msk, snd_una) &&
		     !BPF_CORE_READ(sk, sk_lock.owned);
	return w->written || bpf_ktime_get_ns() > w->until;
}

static long pause(__u64 n, struct wait *w)
{
	return bpf_ktime_get_ns() > w->until;
}

static void count(__u32 key)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
}

static __always_inline int hold(struct sock *child, __u64 longer)
{
	struct inet_connection_sock___ulp *icsk = (void *)child;
	struct mptcp_subflow_context___conn *subflow;
	struct tcp_sock___mptcp *tp = (void *)child;
	struct wait w = { .until = bpf_ktime_get_ns() + 500 * MS };

	if (child->__sk_common.skc_state != TCP_SYN_RECV || !BPF_CORE_READ(tp, is_mptcp))
		return 0;
	subflow = BPF_CORE_READ(icsk, icsk_ulp_data);
	if (!BPF_CORE_READ_BITFIELD_PROBED(subflow, mp_capable))
		return 0;
	w.msk = (void *)BPF_CORE_READ(subflow, conn);
	count(HELD);
	bpf_loop(MAX_TURNS, turn, &w, 0);
	if (!w.written)
		return 0;
	count(WRITTEN);
	w.until = bpf_ktime_get_ns() + longer;
	bpf_loop(MAX_TURNS, pause, &w, 0);
	return 0;
}

SEC("fentry/tcp_child_process")
int BPF_PROG(until_written, struct sock *parent, struct sock *child)
{
	return hold(child, 0);
}

/* as long as it takes for whoever was asked to try again to find it too early */
SEC("fentry/tcp_child_process")
int BPF_PROG(longer, struct sock *parent, struct sock *child)
{
	return hold(child, 50 * MS);
}
