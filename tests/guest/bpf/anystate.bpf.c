// SPDX-License-Identifier: GPL-2.0
/*
 * Asks for a pass where TCP sockets, of MPTCP or not, change their state, send again and end
 * (test_random_calls.py), and counts in which states they were.
 */
#include "kernel/compat.h"
#include "kernel/kfuncs.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_ARRAY 2
#define NR_STATES 16

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_STATES);
	__type(key, __u32);
	__type(value, __u64);
} states SEC(".maps");

static int ask(const struct sock *sk)
{
	__u32 state = sk->__sk_common.skc_state % NR_STATES;
	__u64 *count = bpf_map_lookup_elem(&states, &state);

	if (count)
		__sync_fetch_and_add(count, 1);
	bpf_mptcp_request_retrans((struct sock *)sk);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(t_state, const struct sock *sk, int before, int now)
{
	return ask(sk);
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(t_again, const struct sock *sk, const struct sk_buff *skb)
{
	return ask(sk);
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(t_end, struct sock *sk)
{
	return ask(sk);
}
