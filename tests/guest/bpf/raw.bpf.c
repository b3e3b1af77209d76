// SPDX-License-Identifier: GPL-2.0
/* Asks for a pass of raw sockets that send (test_request_retrans.py). */
#include "kernel/compat.h"
#include "kernel/kfuncs.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_ARRAY 2

/* how often; the last answer, without its sign */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} asked SEC(".maps");

struct sock___typed {
	__u16 sk_type;
} __attribute__((preserve_access_index));

#define SOCK_RAW 3

SEC("tp_btf/sock_send_length")
int BPF_PROG(t_sent, struct sock *sk, int length, int flags)
{
	const struct sock___typed *typed = (const void *)sk;
	const __u32 zero = 0, one = 1;
	__u64 *times = bpf_map_lookup_elem(&asked, &zero);
	__u64 *answer = bpf_map_lookup_elem(&asked, &one);

	if (!times || !answer || BPF_CORE_READ(typed, sk_type) != SOCK_RAW)
		return 0;
	*answer = -bpf_mptcp_request_retrans(sk);
	++*times;
	return 0;
}
