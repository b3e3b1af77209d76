// SPDX-License-Identifier: GPL-2.0
/*
 * What bpf_mptcp_retrans_pass() says, against the passes themselves: a scheduler that sends all
 * on the first active subflow and repairs on each, a program where the core's pass begins, and
 * one that asks for a pass at each segment (test_passes.py).
 */
#include "kernel/compat.h"
#include "kernel/kfuncs.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_ARRAY 2

enum { PASSES, WITH_CALLS, FIRST, NEXT, ASKED, GRANTED, DEAF, NR_COUNTS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct mptcp_sock___sched {
	struct mptcp_sched_ops *sched;
};
#pragma clang attribute pop

static bool called = true;

static void count(__u32 key)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
}

SEC("fentry/__mptcp_retrans")
int BPF_PROG(begins, struct sock *sk)
{
	struct mptcp_sock___sched *msk = (void *)sk;
	struct mptcp_sched_ops *ops = BPF_CORE_READ(msk, sched);
	char name[3] = "";

	/* not of the other end of the connection */
	bpf_core_read(name, sizeof(name), &ops->name);
	if (name[0] != 't' || name[1] != '_' || name[2] != 'p')
		return 0;
	called = false;
	count(PASSES);
	return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(clock, struct sock *sk)
{
	if (!bpf_mptcp_request_retrans(sk))
		count(GRANTED);
	return 0;
}

/* the first subflow that is active, or all of them */
static int mark(struct mptcp_sock *msk, bool all)
{
	struct bpf_iter_mptcp_subflow it;
	struct mptcp_subflow_context *subflow;
	int ret = -EAGAIN;

	bpf_iter_mptcp_subflow_new(&it, (struct sock *)msk);
	while ((subflow = bpf_iter_mptcp_subflow_next(&it))) {
		if (!mptcp_subflow_active(subflow))
			continue;
		mptcp_subflow_set_scheduled(subflow, true);
		ret = 0;
		if (!all)
			break;
	}
	bpf_iter_mptcp_subflow_destroy(&it);
	return ret;
}

static __always_inline int t_passes_send(struct mptcp_sock *msk)
{
	mptcp_set_timeout((struct sock *)msk);
	msk->snd_burst = 16384;
	return mark(msk, false);
}

/* Does it ask for nothing, and say so to nobody? What the bridge knows of a pass stays with it. */
static bool is_deaf(void)
{
	__u32 key = DEAF;
	__u64 *value = bpf_map_lookup_elem(&counts, &key);

	return value && *value;
}

static __always_inline int t_passes_retrans(struct mptcp_sock *msk)
{
	int pass;

	if (is_deaf())
		return -EAGAIN;
	pass = bpf_mptcp_retrans_pass((struct sock *)msk);

	if (!called)
		count(WITH_CALLS);
	called = true;
	if (pass & MPTCP_PASS_NEXT)
		count(NEXT);
	else
		count(FIRST);
	if (pass & MPTCP_PASS_ASKED)
		count(ASKED);
	/* a copy of everything at each segment would fill the queues for minutes */
	return pass & MPTCP_PASS_ASKED ? -EAGAIN : mark(msk, true);
}

MPS_OPS(t_passes, "t_passes", "counts passes", t_passes_send, t_passes_retrans);
