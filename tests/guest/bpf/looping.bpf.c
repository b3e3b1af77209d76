// SPDX-License-Identifier: GPL-2.0
/*
 * What no scheduler may do: minRTT whose every pass asks for the next one. The
 * bridge grants one per jiffy, so it waits for the next jiffy, on the spot
 * (the control of test_quiet.py).
 */
#include "frame.h"
#include "mps_minrtt.h"

#define SPINS (1U << 18) /* a jiffy and more, in virtual time */

__noinline __u64 t_looping_decide(const struct mps_conn *c __arg_nonnull,
				  struct mps_priv *priv __arg_nonnull)
{
	barrier_var(priv);
	return mps_pack(c->wnd_left ? mps_minrtt_pick(c) : mps_window_closed(c));
}

static __always_inline int t_looping_send(struct mptcp_sock *msk)
{
	return mps_send(msk, t_looping_decide);
}

static __always_inline __u64 t_looping_copies(const struct mps_conn *c, struct mps_priv *priv)
{
	return MPS_COPY_NONE;
}

static long t_looping_wait(__u64 i, void *begun)
{
	return bpf_jiffies64() != *(__u64 *)begun;
}

static __always_inline int t_looping_retrans(struct mptcp_sock *msk)
{
	__u64 begun = bpf_jiffies64();
	const int ret = mps_retrans(msk, t_looping_copies);

	bpf_loop(SPINS, t_looping_wait, &begun, 0);
	if (bpf_ksym_exists(bpf_mptcp_request_retrans))
		bpf_mptcp_request_retrans((struct sock *)msk);
	return ret;
}

MPS_OPS(t_looping, "t_looping", "asks for the next pass in each", t_looping_send,
	t_looping_retrans);
