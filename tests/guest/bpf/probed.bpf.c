// SPDX-License-Identifier: GPL-2.0
/* Counts how often the bridge's probe of TCP's input is entered (test_clock.py). */
#include "kernel/compat.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_ARRAY 2

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} hits SEC(".maps");

SEC("kprobe/msb_on_segment")
int t_probed(void *ctx)
{
	__u32 key = 0;
	__u64 *count = bpf_map_lookup_elem(&hits, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}
