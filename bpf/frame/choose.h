/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scheduler of several policies; each connection has one of them at a time:
 *
 *	MPS_POLICY(fast, .pick = ...);
 *	MPS_POLICY(safe, .pick = ..., .copies = ...);
 *
 *	static __always_inline __u32 choose(struct mptcp_sock *msk, const struct mps_conn_store *st)
 *	{
 *		return is_precious(msk);
 *	}
 *	MPS_SCHEDULER_CHOOSES(bpf_mine, "one line for the list", , choose, fast, safe);
 *
 * choose() is asked before each decision where to send new data; its answer is an index into the
 * list, and one beyond it means the first. When it answers another one than before, the new policy
 * begins with zeroed state of its own. What the frame knows of the paths stays.
 */
#ifndef MPS_BPF_CHOOSE_H
#define MPS_BPF_CHOOSE_H

#include "frame/scheduler.h"

/* What a new policy's state of a connection is zeroed of; the rest is the scheduler's own. */
#ifndef MPS_CHOICE_BYTES
#define MPS_CHOICE_BYTES MPS_PRIV_BYTES
#endif

/* What such a scheduler does at each segment, whatever the policy. */
#ifndef MPS_CHOICE_SEGMENT
#define MPS_CHOICE_SEGMENT(ssk)
#endif

/* f(id, n, policy) for each policy, n counting from 0 */
#define MPS_EACH_1(f, id, n, a) f(id, n, a)
#define MPS_EACH_2(f, id, n, a, ...) f(id, n, a) MPS_EACH_1(f, id, n + 1, __VA_ARGS__)
#define MPS_EACH_3(f, id, n, a, ...) f(id, n, a) MPS_EACH_2(f, id, n + 1, __VA_ARGS__)
#define MPS_EACH_4(f, id, n, a, ...) f(id, n, a) MPS_EACH_3(f, id, n + 1, __VA_ARGS__)
#define MPS_EACH_5(f, id, n, a, ...) f(id, n, a) MPS_EACH_4(f, id, n + 1, __VA_ARGS__)
#define MPS_EACH_6(f, id, n, a, ...) f(id, n, a) MPS_EACH_5(f, id, n + 1, __VA_ARGS__)
#define MPS_EACH_7(f, id, n, a, ...) f(id, n, a) MPS_EACH_6(f, id, n + 1, __VA_ARGS__)
#define MPS_EACH_8(f, id, n, a, ...) f(id, n, a) MPS_EACH_7(f, id, n + 1, __VA_ARGS__)
#define MPS_NTH(a, b, c, d, e, f, g, h, n, ...) n
#define MPS_COUNT(...) MPS_NTH(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1)
#define MPS_GLUE(a, b) a##b
#define MPS_EACH_OF(nr, f, id, ...) MPS_GLUE(MPS_EACH_, nr)(f, id, 0, __VA_ARGS__)
#define MPS_EACH(f, id, ...) MPS_EACH_OF(MPS_COUNT(__VA_ARGS__), f, id, __VA_ARGS__)

/* Whatever their number, the verifier looks at each policy once. */
#define MPS_CHOICE(id, n, policy)                                           \
	__noinline int policy##_send(struct mptcp_sock *msk MPS_TRUSTED,    \
				     struct mps_conn_store *st MPS_ARG)     \
	{                                                                   \
		return mps_send(msk, st, &policy);                          \
	}                                                                   \
	__noinline int policy##_retrans(struct mptcp_sock *msk MPS_TRUSTED, \
					struct mps_conn_store *st MPS_ARG)  \
	{                                                                   \
		return mps_retrans(msk, st, &policy);                       \
	}
#define MPS_CHOICE_FORGETS(id, n, policy) \
	if (policy##_policy.forget)       \
		policy##_policy.forget(ssk);
#define MPS_CHOICE_SENDS(id, n, policy) \
	if (at == (n))                  \
		return policy##_send(msk, st);
#define MPS_CHOICE_RETRANS(id, n, policy) \
	if (at == (n))                    \
		return policy##_retrans(msk, st);
#define MPS_CHOICE_TICKS(id, n, policy)                   \
	if (at == (n)) {                                  \
		mps_clock(ssk, skb, s, &policy##_policy); \
		return;                                   \
	}

/* The connection's policy is this one from now on. */
static __always_inline void mps_change(struct mptcp_sock *msk, struct mps_conn_store *st, __u32 to,
				       const struct mps_policy *p)
{
	struct mptcp_subflow_context *subflow;

	__builtin_memset(&st->priv, 0, MPS_CHOICE_BYTES);
	st->priv.notes = 0;
	st->priv.policy = (__u8)to;
	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct mps_subflow_store *s = ssk ? mps_subflow_store(ssk) : NULL;

		if (!s)
			break;
		__builtin_memset(&s->priv, 0, sizeof(s->priv));
		s->policy = (__u8)to;
		if (p->forget)
			p->forget(ssk);
	}
}

#define MPS_SCHEDULER_CHOOSES(id, text, tags, choose, ...)                                 \
	MPS_EACH(MPS_CHOICE, id, __VA_ARGS__)                                              \
	static __always_inline void id##_forget(struct sock *ssk)                          \
	{                                                                                  \
		MPS_EACH(MPS_CHOICE_FORGETS, id, __VA_ARGS__)                              \
	}                                                                                  \
	static const struct mps_policy id##_policy = { .forget = id##_forget };            \
	__noinline int id##_begin(struct mptcp_sock *msk MPS_TRUSTED,                      \
				  struct mps_conn_store *st MPS_ARG)                       \
	{                                                                                  \
		return mps_begin(msk, st, &id##_policy);                                   \
	}                                                                                  \
	__noinline int id##_change(struct mptcp_sock *msk MPS_TRUSTED,                     \
				   struct mps_conn_store *st MPS_ARG, __u32 to)            \
	{                                                                                  \
		mps_change(msk, st, to, &id##_policy);                                     \
		return 0;                                                                  \
	}                                                                                  \
	static const struct mps_program id##_program = { .begin = id##_begin };            \
	static __always_inline int id##_send(struct mptcp_sock *msk)                       \
	{                                                                                  \
		struct mps_conn_store *st = mps_store(msk, &id##_program);                 \
		__u32 at;                                                                  \
                                                                                           \
		if (!st)                                                                   \
			return mps_send_stateless(msk);                                    \
		at = choose(msk, st);                                                      \
		if (at >= MPS_COUNT(__VA_ARGS__))                                          \
			at = 0;                                                            \
		if (at != st->priv.policy)                                                 \
			id##_change(msk, st, at);                                          \
		MPS_EACH(MPS_CHOICE_SENDS, id, __VA_ARGS__)                                \
		return -EAGAIN;                                                            \
	}                                                                                  \
	static __always_inline int id##_retrans(struct mptcp_sock *msk)                    \
	{                                                                                  \
		struct mps_conn_store *st = mps_store(msk, &id##_program);                 \
		const __u32 at = st ? st->priv.policy : MPS_COUNT(__VA_ARGS__);            \
                                                                                           \
		MPS_EACH(MPS_CHOICE_RETRANS, id, __VA_ARGS__)                              \
		return -EAGAIN;                                                            \
	}                                                                                  \
	static __always_inline void id##_tick(struct sock *ssk, const struct sk_buff *skb) \
	{                                                                                  \
		struct mps_subflow_store *s = mps_clock_store(ssk);                        \
		const __u32 at = s ? s->policy : MPS_COUNT(__VA_ARGS__);                   \
                                                                                           \
		MPS_CHOICE_SEGMENT(ssk);                                                   \
		MPS_EACH(MPS_CHOICE_TICKS, id, __VA_ARGS__)                                \
	}                                                                                  \
	MPS_OPS(id, #id, text, id##_send, id##_retrans);                                   \
	MPS_CLOCK_OPS(id, #id, tags, id##_tick);                                           \
	typedef mps_common_tunables id##_has_common_tunables

#endif /* MPS_BPF_CHOOSE_H */
