/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frame that every scheduler stands in. It takes the snapshot in one pass
 * over the subflows, asks the scheduler's decision function, marks the chosen
 * subflow and keeps the counters. A scheduler is one small file:
 *
 *	#include "frame/scheduler.h"
 *	#include "policy/mine.h"
 *
 *	MPS_COMMON_TUNABLES(500, 2, 1);
 *	MPS_TUNABLE(gain, 1500, 1000, 4000, 1000, "what it does");
 *
 *	static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
 *	{
 *		return mps_mine_pick(c, priv, gain);
 *	}
 *
 *	MPS_POLICY(mine, .pick = pick);
 *	MPS_SCHEDULER(bpf_mine, "one line for the list", mine);
 */
#ifndef MPS_BPF_SCHEDULER_H
#define MPS_BPF_SCHEDULER_H

#include "kernel/compat.h"
#include "frame/retrans.h"
#include "frame/send.h"

char _license[] SEC("license") = "GPL";

static __always_inline struct mps_verdict mps_whole(const struct mps_conn *c, struct mps_verdict v,
						    const void *priv, const struct mps_policy *p)
{
	return copy ? mps_with_rest(c, v, p->tail ? p->tail(priv) : p->copies_tail) : v;
}

static __always_inline __u64 mps_decide(const struct mps_conn *c, void *priv,
					const struct mps_policy *p)
{
	if (!p->pick)
		mps_policy_without_pick();
	return mps_pack(c->wnd_left ? mps_whole(c, p->pick(c, priv), priv, p)
				    : mps_window_closed(c));
}

static __always_inline __u64 mps_copies(const struct mps_conn *c, void *priv,
					const struct mps_policy *p)
{
	return p->copies ? p->copies(c, priv) : mps_copy_if_it_pays(c);
}

/*
 * MPS_POLICY(id, .pick = ..., ...): a policy by that name, of the members of struct mps_policy.
 * The barriers: who looks at neither must not drop the argument, or the verifier refuses the call.
 */
#define MPS_POLICY(id, ...)                                                                      \
	static const struct mps_policy id##_policy = { __VA_ARGS__ };                            \
	__noinline __u64 id##_decide(const struct mps_conn *c MPS_ARG,                           \
				     struct mps_priv *priv MPS_ARG)                              \
	{                                                                                        \
		barrier_var(priv);                                                               \
		return mps_decide(c, (void *)priv, &id##_policy);                                \
	}                                                                                        \
	__noinline __u64 id##_copies(const struct mps_conn *c MPS_ARG,                           \
				     struct mps_priv *priv MPS_ARG)                              \
	{                                                                                        \
		barrier_var(c);                                                                  \
		barrier_var(priv);                                                               \
		return mps_copies(c, (void *)priv, &id##_policy);                                \
	}                                                                                        \
	__noinline int id##_begin(struct mptcp_sock *msk MPS_TRUSTED,                            \
				  struct mps_conn_store *st MPS_ARG)                             \
	{                                                                                        \
		return mps_begin(msk, st, &id##_policy);                                         \
	}                                                                                        \
	__noinline int id##_look(struct mptcp_sock *msk MPS_TRUSTED,                             \
				 struct mps_conn_store *st MPS_ARG, struct mps_round *r MPS_ARG) \
	{                                                                                        \
		mps_snap_paths(msk, st, r, &id##_policy);                                        \
		return 0;                                                                        \
	}                                                                                        \
	__noinline int id##_mark(struct mptcp_sock *msk MPS_TRUSTED, __u32 mask,                 \
				 const struct mps_round *r MPS_ARG, __u32 account)               \
	{                                                                                        \
		return mps_mark(msk, mask, r, account, &id##_policy);                            \
	}                                                                                        \
	static const struct mps_program id = {                                                   \
		.policy = &id##_policy,                                                          \
		.decide = id##_decide,                                                           \
		.copies = id##_copies,                                                           \
		.begin = id##_begin,                                                             \
		.look = id##_look,                                                               \
		.mark = id##_mark,                                                               \
	}

/*
 * MPS_SCHEDULER(name, "what it is for", policy): the programs of a scheduler of one policy.
 * MPS_SCHEDULER_MEASURES(...): of one whose clock does more than to ask for copies where `copy`
 * is set; tags say when it is needed (frame/ack_clock.h).
 */
#define MPS_SCHEDULER_MEASURES(id, text, policy, tags)                                     \
	static __always_inline int id##_send(struct mptcp_sock *msk)                       \
	{                                                                                  \
		return mps_send(msk, mps_store(msk, &policy), &policy);                    \
	}                                                                                  \
	static __always_inline int id##_retrans(struct mptcp_sock *msk)                    \
	{                                                                                  \
		return mps_retrans(msk, mps_store(msk, &policy), &policy);                 \
	}                                                                                  \
	static __always_inline void id##_tick(struct sock *ssk, const struct sk_buff *skb) \
	{                                                                                  \
		struct mps_subflow_store *s = mps_clock_store(ssk);                        \
                                                                                           \
		if (s)                                                                     \
			mps_clock(ssk, skb, s, &policy##_policy);                          \
	}                                                                                  \
	MPS_OPS(id, #id, text, id##_send, id##_retrans);                                   \
	MPS_CLOCK_OPS(id, #id, tags, id##_tick);                                           \
	typedef mps_common_tunables id##_has_common_tunables

#define MPS_SCHEDULER(id, text, policy) \
	MPS_SCHEDULER_MEASURES(id, text, policy, MPS_ONLY_WITH(copy))

#endif /* MPS_BPF_SCHEDULER_H */
