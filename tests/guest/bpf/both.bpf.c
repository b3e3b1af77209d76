// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler in both forms of the hooks, in one object for all kernels (test_both_forms.py). Each
 * struct has a flavour, which libbpf leaves out where it looks for the kernel's. Nothing of the
 * frame is used: so it is with objects of others.
 */
#include "kernel/structs.h"
#include "kernel/kfuncs.h"
#include <bpf/bpf_tracing.h>
#include "model/types.h"

char _license[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct mptcp_sched_data;

struct mptcp_sched_ops___old {
	int (*get_subflow)(struct mptcp_sock *msk, struct mptcp_sched_data *data);
	char name[MPS_NAME_LEN];
};

struct mptcp_sched_ops___new {
	int (*get_send)(struct mptcp_sock *msk);
	int (*get_retrans)(struct mptcp_sock *msk);
	char name[MPS_NAME_LEN];
};
#pragma clang attribute pop

/* The first subflow that is active. */
static __always_inline int first(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	int ret = -22;

	bpf_for_each(mptcp_subflow, subflow, (struct sock *)msk) {
		if (ret && mptcp_subflow_active(subflow)) {
			mptcp_subflow_set_scheduled(subflow, true);
			ret = 0;
		}
	}
	return ret;
}

#ifndef SECTION
#define SECTION "?.struct_ops.link"
#endif

#ifndef NO_OLD
SEC("struct_ops")
int BPF_PROG(old_subflow, struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return first(msk);
}

#define IN_OLD_FORM(id)                             \
	SEC(SECTION)                                \
	struct mptcp_sched_ops___old id = {         \
		.get_subflow = (void *)old_subflow, \
		.name = "t_both",                   \
	}
IN_OLD_FORM(t_old);
#endif

#ifndef NO_NEW
SEC("struct_ops")
int BPF_PROG(new_send, struct mptcp_sock *msk)
{
	return first(msk);
}

SEC("struct_ops")
int BPF_PROG(new_retrans, struct mptcp_sock *msk)
{
	return first(msk);
}

#define IN_NEW_FORM(id)                             \
	SEC(SECTION)                                \
	struct mptcp_sched_ops___new id = {         \
		.get_send = (void *)new_send,       \
		.get_retrans = (void *)new_retrans, \
		.name = "t_both",                   \
	}
IN_NEW_FORM(t_new);
#endif

#ifdef TWICE
IN_OLD_FORM(t_old_again);
IN_NEW_FORM(t_new_again);
#endif
