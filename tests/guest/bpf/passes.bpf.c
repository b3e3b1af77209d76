// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the runs of MPTCP's worker, of all connections together, and how many fragments
 * a run sent again at most: the work itself, so that no counter of ours can hide any
 * (passes.py).
 */
#include "kernel/compat.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_ARRAY 2

struct work_struct;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} runs SEC(".maps");

enum { THIS_RUN, MOST, NR_FRAGMENTS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_FRAGMENTS);
	__type(key, __u32);
	__type(value, __u64);
} fragments SEC(".maps");

static __u64 *counter(void *map, __u32 key)
{
	return bpf_map_lookup_elem(map, &key);
}

SEC("fentry/mptcp_worker")
int BPF_PROG(worker, struct work_struct *work)
{
	__u64 *count = counter(&runs, 0), *now = counter(&fragments, THIS_RUN);

	if (count)
		__sync_fetch_and_add(count, 1);
	if (now)
		*now = 0;
	return 0;
}

SEC("fexit/mptcp_sched_get_retrans")
int BPF_PROG(answered, struct mptcp_sock *msk, int ret)
{
	__u64 *now = counter(&fragments, THIS_RUN), *most = counter(&fragments, MOST);

	if (!ret && now && most && ++*now > *most)
		*most = *now;
	return 0;
}
