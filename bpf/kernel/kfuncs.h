/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kfuncs of mptcp_net-next's scheduler API, which kmod/ brings to stock
 * kernels, and those of our own.
 */
#ifndef MPS_BPF_KFUNCS_H
#define MPS_BPF_KFUNCS_H

#include "kernel/structs.h"
#include <bpf/bpf_helpers.h>

/* uapi/linux/bpf.h, for bpf_for() */
struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

struct bpf_iter_mptcp_subflow {
	__u64 opaque[2];
} __attribute__((aligned(8)));

extern int bpf_iter_mptcp_subflow_new(struct bpf_iter_mptcp_subflow *it,
				      struct sock *sk) __weak __ksym;
extern struct mptcp_subflow_context *
bpf_iter_mptcp_subflow_next(struct bpf_iter_mptcp_subflow *it) __weak __ksym;
extern void bpf_iter_mptcp_subflow_destroy(struct bpf_iter_mptcp_subflow *it) __weak __ksym;

extern struct sock *bpf_mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *subflow) __ksym;
extern void mptcp_subflow_set_scheduled(struct mptcp_subflow_context *subflow,
					bool scheduled) __ksym;
extern bool mptcp_subflow_active(struct mptcp_subflow_context *subflow) __ksym;
extern void mptcp_set_timeout(struct sock *sk) __ksym;
extern __u64 mptcp_wnd_end(const struct mptcp_sock *msk) __ksym;
extern bool bpf_sk_stream_memory_free(const struct sock *sk) __ksym;

/*
 * Ours, from the bridge only, hence weak: ask for a retransmission pass at
 * once, or for another get_send where nothing is unacknowledged. sk: an MPTCP
 * socket or one of its subflows' sockets. 0 when asked, a negative errno
 * otherwise; see kmod/api.c.
 */
extern int bpf_mptcp_request_retrans(struct sock *sk) __weak __ksym;

/* Ours, too: which pass is this call of get_retrans about? To be asked once per call. */
#define MPTCP_PASS_NEXT 1  /* that of the call before; else one begins */
#define MPTCP_PASS_ASKED 2 /* it begins, and was asked for by the kfunc above */
extern int bpf_mptcp_retrans_pass(struct sock *sk) __weak __ksym;

/* Ours, too: a subflow's socket in a type that is read by plain loads; see kmod/api.c. */
extern struct tcp_sock *
bpf_mptcp_subflow_tcp(const struct mptcp_subflow_context *subflow) __weak __ksym;

/* Ours, too: the fragment that is next was assigned before, and needs no second time. */
extern int bpf_mptcp_pass_over(struct sock *sk) __weak __ksym;

/* Ours, too: a subflow's send buffer is to be so large; see kmod/api.c. */
extern int bpf_mptcp_expand_sndbuf(struct sock *ssk, __u32 bytes) __weak __ksym;

/* Ours, too: has a subflow that owes much not answered for longer than it should? kmod/api.c */
extern int bpf_mptcp_is_quiet(struct sock *ssk, __u32 slack_us) __weak __ksym;

/* A pointer to a kernel object that a global function may hand to kfuncs. */
#define MPS_TRUSTED __attribute__((btf_decl_tag("arg:trusted")))

/* The TCP socket of a subflow, or NULL. */
static __always_inline struct tcp_sock *mps_tcp(const struct mptcp_subflow_context *subflow)
{
	struct sock *ssk;

	if (bpf_ksym_exists(bpf_mptcp_subflow_tcp))
		return bpf_mptcp_subflow_tcp(subflow);
	ssk = bpf_mptcp_subflow_tcp_sock(subflow);
	return ssk ? bpf_skc_to_tcp_sock(ssk) : NULL;
}
/* Ours, too: a subflow that falls silent is given up within @slack_us; see kmod/api.c. */
extern int bpf_mptcp_watch(struct sock *sk, __u32 slack_us) __weak __ksym;

/* An older bridge has the one and not the other: then a pass that was asked for is not known. */
static __always_inline bool mps_can_ask(void)
{
	return bpf_ksym_exists(bpf_mptcp_request_retrans) &&
	       bpf_ksym_exists(bpf_mptcp_retrans_pass);
}

#endif /* MPS_BPF_KFUNCS_H */
