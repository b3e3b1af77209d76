// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the segments that arrive, by the scheduler of the connection that they are for
 * (test_clock.py), as the bridge's clock sees them: at the same tracepoint.
 */
#include "kernel/compat.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_HASH 1
#define BPF_ANY 0

/* Key: eight letters of the name, from the fifth on. Value: segments, and a zero. */
struct seen {
	__u64 segments, unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, struct seen);
} seen SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct tcp_sock___seen {
	bool is_mptcp;
};
struct inet_connection_sock___seen {
	void *icsk_ulp_data;
};
struct mptcp_subflow_context___seen {
	struct sock *conn;
};
struct mptcp_sock___seen {
	struct mptcp_sched_ops *sched;
};
#pragma clang attribute pop

static __u64 scheduler_of(struct sock *ssk)
{
	struct inet_connection_sock___seen *icsk = (void *)ssk;
	struct mptcp_subflow_context___seen *subflow;
	struct mptcp_sock___seen *msk;
	struct mptcp_sched_ops *sched;
	char name[MPS_NAME_LEN] = "";
	__u64 key;

	subflow = BPF_CORE_READ(icsk, icsk_ulp_data);
	msk = (void *)BPF_CORE_READ(subflow, conn);
	sched = BPF_CORE_READ(msk, sched);
	bpf_core_read(name, sizeof(name), &sched->name);
	__builtin_memcpy(&key, name + 4, sizeof(key));
	return key;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(t_segments, struct sock *ssk)
{
	struct tcp_sock___seen *tp = (void *)ssk;
	struct seen fresh = { .segments = 1 }, *old;
	__u64 key = 0;

	if (BPF_CORE_READ(tp, is_mptcp))
		key = scheduler_of(ssk);
	old = bpf_map_lookup_elem(&seen, &key);
	if (old)
		__sync_fetch_and_add(&old->segments, 1);
	else
		bpf_map_update_elem(&seen, &key, &fresh, BPF_ANY);
	return 0;
}
