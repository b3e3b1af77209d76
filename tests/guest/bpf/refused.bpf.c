// SPDX-License-Identifier: GPL-2.0
/*
 * Schedulers that the kernel must refuse, each beside one that differs in just
 * the point and is taken. The test creates one ops map at a time; the programs
 * of the others are then not loaded (test_verifier.py).
 */
#include "kernel/compat.h"
#include "kernel/kfuncs.h"

char _license[] SEC("license") = "GPL";

static __always_inline int no_retrans(struct mptcp_sock *msk)
{
	return -EAGAIN;
}

#define MSK_SCHED(id, statement)                                     \
	static __always_inline int id##_send(struct mptcp_sock *msk) \
	{                                                            \
		statement;                                           \
		return -EAGAIN;                                      \
	}                                                            \
	MPS_OPS(id, #id, "for a test", id##_send, no_retrans)

#define SUBFLOW_SCHED(id, statement)                                     \
	static __always_inline int id##_send(struct mptcp_sock *msk)     \
	{                                                                \
		struct mptcp_subflow_context *subflow;                   \
                                                                         \
		bpf_for_each(mptcp_subflow, subflow, (struct sock *)msk) \
			statement;                                       \
		return -EAGAIN;                                          \
	}                                                                \
	MPS_OPS(id, #id, "for a test", id##_send, no_retrans)

/* what may be written, and what may not */
MSK_SCHED(t_burst, msk->snd_burst = 1000);
MSK_SCHED(t_burst_half, *(volatile __u16 *)&msk->snd_burst = 1000);
MSK_SCHED(t_una, msk->snd_una = 1);
SUBFLOW_SCHED(t_pacing, subflow->avg_pacing_rate = 1);
SUBFLOW_SCHED(t_stale, subflow->stale_count = 1);

/* sleeping */
#ifdef MPS_PRE615
SEC("struct_ops.s")
int BPF_PROG(sleepy_get_subflow, struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return -EAGAIN;
}
SEC(".struct_ops.link")
struct mptcp_sched_ops t_sleepy = {
	.get_subflow = (void *)sleepy_get_subflow,
	.name = "t_sleepy",
};
#else
SEC("struct_ops.s")
int BPF_PROG(sleepy_get_send, struct mptcp_sock *msk)
{
	return -EAGAIN;
}
SEC(".struct_ops.link")
struct mptcp_sched_ops t_sleepy = {
	.get_send = (void *)sleepy_get_send,
	.name = "t_sleepy",
};
#endif

/* nothing to call */
SEC(".struct_ops.link")
struct mptcp_sched_ops t_empty = {
	.name = "t_empty",
};

/* names: each with the programs of a good one */
#ifdef MPS_PRE615
#define NAMED(id, text)                                     \
	SEC(".struct_ops.link")                             \
	struct mptcp_sched_ops id = {                       \
		.get_subflow = (void *)t_burst_get_subflow, \
		.name = text,                               \
	}
#else
#define NAMED(id, text)                               \
	SEC(".struct_ops.link")                       \
	struct mptcp_sched_ops id = {                 \
		.get_send = (void *)t_burst_get_send, \
		.name = text,                         \
	}
#endif
NAMED(t_name_good, "t.name_1");
NAMED(t_name_blank, "t name");
NAMED(t_name_slash, "t/name");
NAMED(t_name_none, "");
NAMED(t_name_taken, "default");

/* another kind of struct_ops; the name without its flavour counts */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct tcp_congestion_ops___cc {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};
#pragma clang attribute pop

extern struct mptcp_subflow_context *bpf_mptcp_subflow_ctx(const struct sock *sk) __ksym;
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym;

SEC("struct_ops")
__u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	return 2;
}

SEC("struct_ops")
__u32 BPF_PROG(cc_undo_cwnd, struct sock *sk)
{
	return 2;
}

#define CONGESTION(id, statement)                                               \
	SEC("struct_ops")                                                       \
	void BPF_PROG(id##_cong_avoid, struct sock *sk, __u32 ack, __u32 acked) \
	{                                                                       \
		statement;                                                      \
	}                                                                       \
	SEC(".struct_ops.link")                                                 \
	struct tcp_congestion_ops___cc id = {                                   \
		.ssthresh = (void *)cc_ssthresh,                                \
		.cong_avoid = (void *)id##_cong_avoid,                          \
		.undo_cwnd = (void *)cc_undo_cwnd,                              \
		.name = #id,                                                    \
	}

CONGESTION(t_cc, bpf_mptcp_request_retrans(sk));
CONGESTION(t_cc_timeout, mptcp_set_timeout(sk));
CONGESTION(t_cc_ctx, bpf_mptcp_subflow_ctx(sk));
CONGESTION(t_cc_over, bpf_mptcp_pass_over(sk));
CONGESTION(t_cc_mark, struct mptcp_subflow_context *subflow = bpf_rdonly_cast(
			      sk, bpf_core_type_id_kernel(struct mptcp_subflow_context));
	   mptcp_subflow_set_scheduled(subflow, true));
