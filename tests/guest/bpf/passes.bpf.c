// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the runs of MPTCP's worker, of all connections together: the work
 * itself, so that no counter of ours can hide any (test_quiet.py).
 */
#include "compat.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_ARRAY 2

struct work_struct;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} runs SEC(".maps");

SEC("fentry/mptcp_worker")
int BPF_PROG(worker, struct work_struct *work)
{
	__u32 key = 0;
	__u64 *count = bpf_map_lookup_elem(&runs, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}
