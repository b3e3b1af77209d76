// SPDX-License-Identifier: GPL-2.0
/*
 * Makes each step of the kernel's iterators long, behind the look at an element and before its use
 * (test_reading.py): what can happen between the two, happens. Whoever uses none is not slower.
 */
#include "kernel/types.h"
#include <bpf/bpf_helpers.h>

#define STEP_NS 200000

char _license[] SEC("license") = "GPL";

SEC("kprobe/bpf_iter_get_info")
int dawdle(void *ctx)
{
	const __u64 begun = bpf_ktime_get_ns();
	__u32 i;

	for (i = 0; i < 4000; i++)
		if (bpf_ktime_get_ns() - begun > STEP_NS)
			break;
	return 0;
}
