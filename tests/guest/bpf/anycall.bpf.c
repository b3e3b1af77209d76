// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler that calls kfuncs at random, in every hook and in every state of a socket
 * (test_random_calls.py, which makes calls.h). It sends on all that are active in the end, so that
 * what does not arrive was lost by the calls.
 */
#include "kernel/compat.h"
#include "kernel/kfuncs.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_ARRAY 2

/* get_retrans may sleep */
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern struct mptcp_subflow_context *bpf_mptcp_subflow_ctx(const struct sock *sk) __ksym;
extern bool bpf_mptcp_subflow_queues_empty(struct sock *sk) __ksym;
extern void mptcp_pm_subflow_chk_stale(const struct mptcp_sock *msk,
				       struct sock *ssk) __weak __ksym;

/* Of the connection and of one of its subflows; arg is any number. */
#define CALLS(X)                                                                       \
	X(set_scheduled, mptcp_subflow_set_scheduled(s, arg & 1))                      \
	X(active, mptcp_subflow_active(s))                                             \
	X(subflow_ctx, bpf_mptcp_subflow_ctx(ssk))                                     \
	X(tcp, (bpf_rcu_read_lock(), bpf_mptcp_subflow_tcp(s), bpf_rcu_read_unlock())) \
	X(set_timeout, mptcp_set_timeout((struct sock *)msk))                          \
	X(wnd_end, mptcp_wnd_end(msk))                                                 \
	X(memory_free, bpf_sk_stream_memory_free(ssk))                                 \
	X(queues_empty, bpf_mptcp_subflow_queues_empty(ssk))                           \
	X(queues_empty_conn, bpf_mptcp_subflow_queues_empty((void *)msk))              \
	X(request, bpf_mptcp_request_retrans((struct sock *)msk))                      \
	X(pass, bpf_mptcp_retrans_pass((struct sock *)msk))                            \
	X(pass_over, bpf_mptcp_pass_over((struct sock *)msk))                          \
	X(sndbuf, bpf_mptcp_expand_sndbuf(ssk, arg))                                   \
	X(sndbuf_conn, bpf_mptcp_expand_sndbuf((struct sock *)msk, arg))               \
	X(watch, bpf_mptcp_watch((struct sock *)msk, arg))                             \
	X(quiet, bpf_mptcp_is_quiet(ssk, arg))                                         \
	X(quiet_conn, bpf_mptcp_is_quiet((struct sock *)msk, arg))                     \
	X(pacing, s->avg_pacing_rate = (unsigned long)arg << (arg & 31))               \
	X(burst, msk->snd_burst = (int)arg)

enum {
#define CALL_ENUM(id, call) CALL_##id,
	CALLS(CALL_ENUM)
#undef CALL_ENUM
		CALL_chk_stale,
	CALL_of_clock,
	NR_CALLS
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_CALLS);
	__type(key, __u32);
	__type(value, __u64);
} called SEC(".maps");

static void count(__u32 call)
{
	__u64 *value = bpf_map_lookup_elem(&called, &call);

	if (value)
		__sync_fetch_and_add(value, 1);
}

#define CALL_FUNCTION(id, call)                                                            \
	static __always_inline __attribute__((unused)) void call_##id(                     \
		struct mptcp_sock *msk, struct mptcp_subflow_context *s, struct sock *ssk, \
		__u32 arg)                                                                 \
	{                                                                                  \
		count(CALL_##id);                                                          \
		(void)(call);                                                              \
	}
CALLS(CALL_FUNCTION)

static __always_inline bool one_in(__u32 n)
{
	return bpf_get_prandom_u32() % n == 0;
}

/* Of calls.h: STEP(one in so many, call, argument) for each of these */
#include "calls.h"

#define STEP(n, id, arg) \
	if (one_in(n))   \
		call_##id(msk, s, ssk, arg);
#define LEAVE(n)       \
	if (one_in(n)) \
		break;

#define WALK(steps)                                                  \
	do {                                                         \
		struct bpf_iter_mptcp_subflow it;                    \
		struct mptcp_subflow_context *s;                     \
		struct sock *ssk;                                    \
                                                                     \
		bpf_iter_mptcp_subflow_new(&it, (struct sock *)msk); \
		while ((s = bpf_iter_mptcp_subflow_next(&it))) {     \
			ssk = bpf_mptcp_subflow_tcp_sock(s);         \
			if (!ssk)                                    \
				continue;                            \
			steps                                        \
		}                                                    \
		bpf_iter_mptcp_subflow_destroy(&it);                 \
	} while (0)

static __always_inline int send(struct mptcp_sock *msk)
{
	WALK(SEND_STEPS);
	WALK(SEND_AGAIN);
	WALK(if (mptcp_subflow_active(s)) mptcp_subflow_set_scheduled(s, true););
	return 0;
}

static __always_inline int retrans(struct mptcp_sock *msk)
{
	WALK(RETRANS_STEPS);
#ifdef STALE
	if (bpf_ksym_exists(mptcp_pm_subflow_chk_stale)) {
		count(CALL_chk_stale);
		WALK(mptcp_pm_subflow_chk_stale(msk, ssk););
	}
#endif
	WALK(if (mptcp_subflow_active(s)) mptcp_subflow_set_scheduled(s, true););
	return 0;
}

#ifdef MPS_PRE615
SEC("struct_ops")
int BPF_PROG(t_any_get_subflow, struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return data->reinject ? retrans(msk) : send(msk);
}
#else
SEC("struct_ops")
int BPF_PROG(t_any_get_send, struct mptcp_sock *msk)
{
	return send(msk);
}

#ifdef STALE
SEC("struct_ops.s")
#else
SEC("struct_ops")
#endif
int BPF_PROG(t_any_get_retrans, struct mptcp_sock *msk)
{
	return retrans(msk);
}
#endif

SEC("struct_ops")
void BPF_PROG(t_any_init, struct mptcp_sock *msk)
{
	WALK(INIT_STEPS);
	bpf_mptcp_request_retrans((struct sock *)msk);
	bpf_mptcp_watch((struct sock *)msk, bpf_get_prandom_u32());
}

SEC("struct_ops")
void BPF_PROG(t_any_release, struct mptcp_sock *msk)
{
	WALK(RELEASE_STEPS);
	bpf_mptcp_request_retrans((struct sock *)msk);
	bpf_mptcp_watch((struct sock *)msk, bpf_get_prandom_u32());
}

SEC(".struct_ops.link")
struct mptcp_sched_ops t_any = {
#ifdef MPS_PRE615
	.get_subflow = (void *)t_any_get_subflow,
#else
	.get_send = (void *)t_any_get_send,
	.get_retrans = (void *)t_any_get_retrans,
#endif
	.init = (void *)t_any_init,
	.release = (void *)t_any_release,
	.name = "t_any",
};

extern int bpf_mptcp_restart_once(struct sock *ssk) __weak __ksym;

static __always_inline void segment(struct sock *ssk, const struct sk_buff *skb)
{
	count(CALL_of_clock);
	bpf_mptcp_restart_once(ssk);
	if (one_in(CLOCK_ONE_IN))
		bpf_mptcp_request_retrans(ssk);
	if (one_in(CLOCK_ONE_IN))
		bpf_mptcp_watch(ssk, bpf_get_prandom_u32());
	if (one_in(CLOCK_ONE_IN))
		bpf_mptcp_retrans_pass(ssk);
	if (one_in(CLOCK_ONE_IN))
		bpf_mptcp_expand_sndbuf(ssk, bpf_get_prandom_u32());
}

MPS_CLOCK_OPS(t_any, "t_any", , segment);
