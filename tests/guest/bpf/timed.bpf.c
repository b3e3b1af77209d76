// SPDX-License-Identifier: GPL-2.0
/* bpf_minrtt's policy. It looks at the core's retransmission timer behind each wait. */
#include "frame/scheduler.h"
#include "policy/minrtt.h"

MPS_COMMON_TUNABLES(500, 2, 1);
MPS_TUNABLE(timed, 0, 0, 1000000000, 1, "waits with more than the least on the core's timer");
MPS_TUNABLE(untimed, 0, 0, 1000000000, 1, "waits with the least, where a subflow's has more");

struct mptcp_sock___timer {
	unsigned long timer_ival;
} __attribute__((preserve_access_index));

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_minrtt_pick(c);
}

MPS_POLICY(closer, .pick = pick, .available_only = true);

static __always_inline __u64 timer_of(struct mptcp_sock *msk)
{
	return ((struct mptcp_sock___timer *)msk)->timer_ival;
}

static __always_inline __u64 waits_of(const struct mps_conn_store *st)
{
	return st ? st->counter[MPS_C_WAIT_NO_ROOM] : 0;
}

/* What the core's timer has while no subflow waits for anything. */
static __u64 least = ~0ULL;

static __always_inline void check(struct mptcp_sock *msk)
{
	const __u64 was = timer_of(msk);

	mptcp_set_timeout((struct sock *)msk);
	if (was > least)
		timed++;
	else if (was == least && timer_of(msk) > least)
		untimed++;
}

static __always_inline int t_timed_send(struct mptcp_sock *msk)
{
	struct mps_conn_store *st = mps_store(msk, &closer);
	const __u64 waits = waits_of(st);
	const int ret = mps_send(msk, st, &closer);

	if (msk->snd_una == msk->snd_nxt && timer_of(msk) < least)
		least = timer_of(msk);
	if (waits_of(st) != waits)
		check(msk);
	return ret;
}

static __always_inline int t_timed_retrans(struct mptcp_sock *msk)
{
	return mps_retrans(msk, mps_store(msk, &closer), &closer);
}

MPS_OPS(t_timed, "t_timed", "looks at the timer", t_timed_send, t_timed_retrans);
