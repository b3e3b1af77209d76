/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between kernels that a BPF scheduler can see. Nothing
 * outside this file tests for a form of the hooks, and nothing at all for a version.
 *
 * struct mptcp_sched_ops has two forms, and libbpf cannot match one ops map to
 * both, so each scheduler is built twice from one source. Which form a kernel
 * has is read from its BTF by whoever loads; the versions are a rule of thumb:
 *
 *  - 6.16 and newer: get_send(msk) and get_retrans(msk). Objects NAME.bpf.o. (6.15 alone had
 *    get_send(msk, data), which nobody serves.)
 *  - up to 6.14, so Debian 13's 6.12 LTS: one get_subflow(msk, data), where
 *    data->reinject says which of the two is meant. Objects NAME.pre615.bpf.o,
 *    built with -DMPS_PRE615. To go when 6.12 LTS ends.
 */
#ifndef MPS_BPF_COMPAT_H
#define MPS_BPF_COMPAT_H

#include "kernel/structs.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "model/types.h"

/*
 * Does a retransmission pass go on to the next fragment, and ask the scheduler again, after each
 * that was sent as a whole (__mptcp_retrans(), net/mptcp/protocol.c)? 7.3's does, those before end
 * after one. No BTF tells, so it is learned: once a pass was seen to go on it is sure, and where
 * MPS_PASSES_ENDED ended that should have, it is ruled out until then. What is expected of it
 * before costs something where it is wrong: copies of the first batches if it does not go on,
 * and batches of one fragment if it does. No kernel with get_subflow goes on.
 */
#define MPS_PASSES_ENDED 3
#define MPS_PASSES_GO_ON 100

#ifdef MPS_PRE615
static int mps_passes_seen = -MPS_PASSES_ENDED;
#else
static int mps_passes_seen;
#endif

static __always_inline bool mps_passes_go_on(void)
{
	return mps_passes_seen > -MPS_PASSES_ENDED;
}

/* should: the pass of the call before was to go on; did: this call belongs to it. */
static __always_inline void mps_learn_passes(bool should, bool did)
{
	if (did)
		mps_passes_seen = MPS_PASSES_GO_ON;
	else if (should && mps_passes_go_on() && mps_passes_seen < MPS_PASSES_GO_ON)
		mps_passes_seen--;
}

/*
 * May a program in a tracepoint have storage made? With PREEMPT_RT tracepoints run with preemption
 * off before 7.x, and the allocator's locks sleep.
 */
static __always_inline bool mps_tracepoints_allocate(void)
{
	return !bpf_core_field_exists(struct spinlock___rt, lock);
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#ifdef MPS_PRE615
struct mptcp_sched_data {
	bool reinject;
};

struct mptcp_sched_ops {
	int (*get_subflow)(struct mptcp_sock *msk, struct mptcp_sched_data *data);
	char name[MPS_NAME_LEN];
	void (*init)(struct mptcp_sock *msk);
	void (*release)(struct mptcp_sock *msk);
};
#else
struct mptcp_sched_ops {
	int (*get_send)(struct mptcp_sock *msk);
	int (*get_retrans)(struct mptcp_sock *msk);
	char name[MPS_NAME_LEN];
	void (*init)(struct mptcp_sock *msk);
	void (*release)(struct mptcp_sock *msk);
};
#endif

/* Of the bridge, in one form on every kernel; see kmod/clock.h. */
struct sk_buff;
struct mptcp_sched_clock {
	void (*segment)(struct sock *ssk, const struct sk_buff *skb);
	char name[MPS_NAME_LEN];
};
#pragma clang attribute pop

/*
 * MPS_OPS(id, "name", "what it is for", send, retrans): the struct_ops programs
 * and the ops map of a scheduler in the form that this object is built for.
 * send() and retrans() take the msk and return 0 when they marked a subflow.
 */
#define MPS_ABOUT(text) __attribute__((btf_decl_tag("mps:about:" text)))

#ifdef MPS_PRE615
#define MPS_OPS(id, sched_name, text, send, retrans)                                          \
	SEC("struct_ops")                                                                     \
	int BPF_PROG(id##_get_subflow, struct mptcp_sock *msk, struct mptcp_sched_data *data) \
	{                                                                                     \
		return data->reinject ? retrans(msk) : send(msk);                             \
	}                                                                                     \
	SEC(".struct_ops.link")                                                               \
	MPS_ABOUT(text)                                                                       \
	struct mptcp_sched_ops id = {                                                         \
		.get_subflow = (void *)id##_get_subflow,                                      \
		.name = sched_name,                                                           \
	}
#else
#define MPS_OPS(id, sched_name, text, send, retrans)           \
	SEC("struct_ops")                                      \
	int BPF_PROG(id##_get_send, struct mptcp_sock *msk)    \
	{                                                      \
		return send(msk);                              \
	}                                                      \
	SEC("struct_ops")                                      \
	int BPF_PROG(id##_get_retrans, struct mptcp_sock *msk) \
	{                                                      \
		return retrans(msk);                           \
	}                                                      \
	SEC(".struct_ops.link")                                \
	MPS_ABOUT(text)                                        \
	struct mptcp_sched_ops id = {                          \
		.get_send = (void *)id##_get_send,             \
		.get_retrans = (void *)id##_get_retrans,       \
		.name = sched_name,                            \
	}
#endif

/*
 * MPS_CLOCK_OPS(id, "name", tags, segment): the ACK clock of a scheduler of that name. The `?`
 * leaves it out unless it is asked for, as `mptcp-sched load` does: without the bridge nobody
 * knows its type. segment(ssk, skb) is called for each segment that arrives on a subflow.
 */
#define MPS_CLOCK_OPS(id, sched_name, tags, segment_fn)                          \
	SEC("struct_ops")                                                        \
	void BPF_PROG(id##_segment, struct sock *ssk, const struct sk_buff *skb) \
	{                                                                        \
		segment_fn(ssk, skb);                                            \
	}                                                                        \
	SEC("?.struct_ops.link")                                                 \
	tags struct mptcp_sched_clock id##_clock = {                             \
		.segment = (void *)id##_segment,                                 \
		.name = sched_name,                                              \
	}

#endif /* MPS_BPF_COMPAT_H */
