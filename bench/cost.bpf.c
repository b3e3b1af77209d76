// SPDX-License-Identifier: GPL-2.0
/*
 * How long the kernel takes to ask a scheduler where to send: the time between
 * entry and exit of mptcp_sched_get_send(), which stands in front of every
 * scheduler, the kernel's own default included.
 *
 * The same pair of programs on bpf_fentry_test1(), an empty function that
 * exists for tests, measures what the measuring itself costs. Attached by
 * cost.py only while it measures.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

enum { GET_SEND, EMPTY, NR_PROBES };

/* Times are collected in steps of 8 ns, the last step takes all longer ones. */
#define STEP_SHIFT 3
#define NR_STEPS 8192

struct cost {
	__u64 calls;
	__u64 ns;
	__u64 most; /* ns of the longest one */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_PROBES);
	__type(key, __u32);
	__type(value, struct cost);
} cost_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_STEPS);
	__type(key, __u32);
	__type(value, __u64);
} cost_steps SEC(".maps");

/* of the call in progress; it neither sleeps nor nests */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_PROBES);
	__type(key, __u32);
	__type(value, __u64);
} cost_begun SEC(".maps");

static __always_inline int enter(__u32 probe)
{
	__u64 *begun = bpf_map_lookup_elem(&cost_begun, &probe);

	/* the clock is read last here and first in leave() */
	if (begun)
		*begun = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int leave(__u32 probe)
{
	const __u64 now = bpf_ktime_get_ns();
	__u64 *begun = bpf_map_lookup_elem(&cost_begun, &probe);
	struct cost *sum = bpf_map_lookup_elem(&cost_sums, &probe);
	__u64 ns, *step;
	__u32 index;

	if (!begun || !*begun || !sum)
		return 0;
	ns = now - *begun;
	*begun = 0;
	__sync_fetch_and_add(&sum->calls, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	/* one CPU in virtual time; else one of two at the same moment may be lost */
	if (ns > sum->most)
		sum->most = ns;
	if (probe != GET_SEND)
		return 0;
	index = ns >> STEP_SHIFT < NR_STEPS ? ns >> STEP_SHIFT : NR_STEPS - 1;
	step = bpf_map_lookup_elem(&cost_steps, &index);
	if (step)
		__sync_fetch_and_add(step, 1);
	return 0;
}

SEC("fentry/mptcp_sched_get_send")
int get_send_enter(void *ctx)
{
	return enter(GET_SEND);
}

SEC("fexit/mptcp_sched_get_send")
int get_send_leave(void *ctx)
{
	return leave(GET_SEND);
}

SEC("fentry/bpf_fentry_test1")
int empty_enter(void *ctx)
{
	return enter(EMPTY);
}

SEC("fexit/bpf_fentry_test1")
int empty_leave(void *ctx)
{
	return leave(EMPTY);
}
