// SPDX-License-Identifier: GPL-2.0
/*
 * What no scheduler may do: minRTT whose every pass asks for the next one. The
 * bridge grants one per jiffy, so it waits for the next jiffy, on the spot
 * (the control of test_quiet.py).
 */
#include "frame/scheduler.h"
#include "policy/minrtt.h"

MPS_COMMON_TUNABLES(500, 2, 1);

#define SPINS (1U << 18) /* a jiffy and more, in virtual time */

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_minrtt_pick(c);
}

static __always_inline __u64 none(const struct mps_conn *c, void *priv)
{
	return MPS_COPY_NONE;
}

MPS_POLICY(looping, .pick = pick, .copies = none);

static __always_inline int t_looping_send(struct mptcp_sock *msk)
{
	return mps_send(msk, mps_store(msk, &looping), &looping);
}

static long t_looping_wait(__u64 i, void *begun)
{
	return bpf_jiffies64() != *(__u64 *)begun;
}

static __always_inline int t_looping_retrans(struct mptcp_sock *msk)
{
	__u64 begun = bpf_jiffies64();
	const int ret = mps_retrans(msk, mps_store(msk, &looping), &looping);

	bpf_loop(SPINS, t_looping_wait, &begun, 0);
	if (bpf_ksym_exists(bpf_mptcp_request_retrans))
		bpf_mptcp_request_retrans((struct sock *)msk);
	return ret;
}

MPS_OPS(t_looping, "t_looping", "asks for the next pass in each", t_looping_send,
	t_looping_retrans);
