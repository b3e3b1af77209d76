// SPDX-License-Identifier: GPL-2.0
/*
 * What `use default --reinject` of an earlier version has left attached: a tracing program, with
 * the map of the namespaces that opted in (test_reinject.py).
 */
#include "kernel/compat.h"
#include "common/reinject.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_HASH 1

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MPS_REINJECT_MAX);
	__type(key, __u64);
	__type(value, struct mps_reinject_ns);
} mps_reinject_v1 SEC(".maps");

SEC("tp_btf/tcp_probe")
int BPF_PROG(reinject, struct sock *ssk)
{
	__u64 nobody = 0;

	return bpf_map_lookup_elem(&mps_reinject_v1, &nobody) != NULL;
}
