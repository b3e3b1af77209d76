/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Retransmission passes: which one a call of get_retrans belongs to, and whether the core goes
 * on to the next fragment after it.
 */
#ifndef MPS_BPF_PASS_H
#define MPS_BPF_PASS_H

#include "frame/snapshot.h"

/*
 * Which pass a call is about the bridge tells, and who asked for it. Where there is no bridge, on
 * a kernel with the API of its own, each call is taken for the first of a timer's pass; what the
 * core then goes on to is not told from it.
 */
static __always_inline __u32 mps_which_pass(struct mptcp_sock *msk)
{
	const int pass = bpf_ksym_exists(bpf_mptcp_retrans_pass)
				 ? bpf_mptcp_retrans_pass((struct sock *)msk)
				 : 0;

	/* 0 for an error, without a branch: each doubles what the verifier looks at behind it */
	return (__u32)(pass & ~(pass >> 31));
}

#define MPS_PASS_DUE ((1U << 24) - 1) /* of mps_memo.pass_due */

/*
 * Is there nothing left to decide? The core asks again behind the last fragment that was given
 * out, and sends nothing then. Not twice in one pass: who hears of the end ends it. So a second
 * such call means that nobody saw a pass begin, as when all kprobes are switched off.
 */
static __always_inline bool mps_pass_is_over(struct mps_memo *m, __u32 pass)
{
	__u32 over = pass & MPTCP_PASS_NEXT & ~m->pass_more & ~m->pass_over;

	barrier_var(over);
	m->pass_over = over;
	return over;
}

/* The call is about the fragment behind that of the call before. again: msk->bytes_retrans */
MPS_FN __u32 mps_pass_goes_on(struct mps_memo *m MPS_ARG, __u32 pass, __u32 again)
{
	const bool sent = m->pass_due == (again & MPS_PASS_DUE);

	mps_learn_passes(m->pass_more && sent, pass & MPTCP_PASS_NEXT);
	return m->pass_more & pass & MPTCP_PASS_NEXT;
}

/* ret: of this call. The core goes on if it sends all of the fragment, and it is not the last. */
static __always_inline void mps_pass_expects(struct mptcp_sock *msk, struct mps_memo *m,
					     const struct mps_round *r, int ret)
{
	m->pass_more = !ret && m->pass_end != r->sent;
	m->pass_due = ((__u32)msk->bytes_retrans + m->pass_end - r->frag) & MPS_PASS_DUE;
}

#endif /* MPS_BPF_PASS_H */
