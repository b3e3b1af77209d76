/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between kernels that a BPF scheduler can see. Nothing
 * outside this file tests for a kernel version or a form of the hooks.
 *
 * struct mptcp_sched_ops has two forms, and libbpf cannot match one ops map to
 * both, so each scheduler is built twice from one source. Which form a kernel
 * has is read from its BTF by whoever loads; the versions are a rule of thumb:
 *
 *  - 6.15 and newer: get_send(msk) and get_retrans(msk). Objects NAME.bpf.o.
 *  - up to 6.14, so Debian 13's 6.12 LTS: one get_subflow(msk, data), where
 *    data->reinject says which of the two is meant. Objects NAME.pre615.bpf.o,
 *    built with -DMPS_PRE615. To go when 6.12 LTS ends.
 */
#ifndef MPS_BPF_COMPAT_H
#define MPS_BPF_COMPAT_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "mps_types.h"

extern int LINUX_KERNEL_VERSION __kconfig;

/*
 * From 7.3 on a retransmission pass goes on to the next fragment, and asks the scheduler
 * again, after each that was sent as a whole (__mptcp_retrans(), net/mptcp/protocol.c).
 */
static __always_inline bool mps_passes_go_on(void)
{
	return LINUX_KERNEL_VERSION >= (7 << 16 | 3 << 8);
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#ifdef MPS_PRE615
struct mptcp_sched_data {
	bool reinject;
};

struct mptcp_sched_ops {
	int (*get_subflow)(struct mptcp_sock *msk, struct mptcp_sched_data *data);
	char name[MPS_NAME_LEN];
};
#else
struct mptcp_sched_ops {
	int (*get_send)(struct mptcp_sock *msk);
	int (*get_retrans)(struct mptcp_sock *msk);
	char name[MPS_NAME_LEN];
};
#endif
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

#endif /* MPS_BPF_COMPAT_H */
