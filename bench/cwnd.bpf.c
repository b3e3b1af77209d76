// SPDX-License-Identifier: GPL-2.0
/*
 * How often TCP gave up its congestion window, per pair of addresses: after an
 * idle time (tcp_cwnd_restart()) and because the retransmission timer fired
 * (tcp_enter_loss()).
 *
 * MPTCP queues a lot before the first of it leaves, and tcp_cwnd_restart() is
 * called for each piece: only calls that made the window smaller count.
 *
 * Attached by bench/mptcplab/lab/cwnd.py for as long as the guest measures. It needs
 * no vmlinux.h: the fields are found by their names when it is loaded.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char _license[] SEC("license") = "GPL";

/* TCP_INIT_CWND, include/net/tcp.h */
#define INITIAL_WINDOW 10

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
} __attribute__((preserve_access_index));

struct tcp_sock {
	__u32 snd_cwnd;
} __attribute__((preserve_access_index));

struct resets {
	__u64 idle;
	__u64 idle_smaller; /* than it was, but above the initial window */
	__u64 timeout;
};

struct pair { /* network order */
	__u32 local;
	__u32 remote;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct pair);
	__type(value, struct resets);
} cwnd_resets SEC(".maps");

static __always_inline struct resets *of(struct sock *sk)
{
	const struct resets none = {};
	struct pair pair = {
		.local = sk->__sk_common.skc_rcv_saddr,
		.remote = sk->__sk_common.skc_daddr,
	};

	bpf_map_update_elem(&cwnd_resets, &pair, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&cwnd_resets, &pair);
}

static __always_inline __u32 window(struct sock *sk)
{
	return BPF_CORE_READ((struct tcp_sock *)sk, snd_cwnd);
}

/* of the call in progress; it neither sleeps nor nests */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cwnd_before SEC(".maps");

SEC("fentry/tcp_cwnd_restart")
int BPF_PROG(restart_begins, struct sock *sk)
{
	__u32 zero = 0, *before = bpf_map_lookup_elem(&cwnd_before, &zero);

	if (before)
		*before = window(sk);
	return 0;
}

SEC("fexit/tcp_cwnd_restart")
int BPF_PROG(restart_ends, struct sock *sk)
{
	__u32 zero = 0, *before = bpf_map_lookup_elem(&cwnd_before, &zero);
	struct resets *r = of(sk);

	if (!r || !before || window(sk) >= *before)
		return 0;
	__sync_fetch_and_add(window(sk) <= INITIAL_WINDOW ? &r->idle : &r->idle_smaller, 1);
	return 0;
}

SEC("fentry/tcp_enter_loss")
int BPF_PROG(cwnd_timeout, struct sock *sk)
{
	struct resets *r = of(sk);

	if (r)
		__sync_fetch_and_add(&r->timeout, 1);
	return 0;
}
