// SPDX-License-Identifier: GPL-2.0
/*
 * minRTT that asks for a send buffer beyond all limits at each decision, of each
 * subflow and, wrongly, of the MPTCP socket itself, and keeps book of the answers
 * (test_sndbuf.py).
 */
#include "frame/scheduler.h"
#include "policy/minrtt.h"

MPS_COMMON_TUNABLES(500, 2, 1);

#define BPF_MAP_TYPE_ARRAY 2
#define ANSWERS 128 /* by errno, 0 where it was done */
#define MUCH (1U << 30)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ANSWERS);
	__type(key, __u32);
	__type(value, __u64);
} of_subflows SEC(".maps"), of_others SEC(".maps");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_minrtt_pick(c);
}

static __always_inline __u64 none(const struct mps_conn *c, void *priv)
{
	return MPS_COPY_NONE;
}

MPS_POLICY(expanding, .pick = pick, .copies = none);

static __always_inline void book(void *answers, int answer)
{
	__u32 key = -answer;
	__u64 *count = bpf_map_lookup_elem(answers, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline int t_expanding_send(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	struct sock *ssk;

	book(&of_others, bpf_mptcp_expand_sndbuf((struct sock *)msk, MUCH));
	mps_for_each_subflow(subflow, msk) {
		ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		if (ssk)
			book(&of_subflows, bpf_mptcp_expand_sndbuf(ssk, MUCH));
	}
	return mps_send(msk, mps_store(msk, &expanding), &expanding);
}

static __always_inline int t_expanding_retrans(struct mptcp_sock *msk)
{
	return mps_retrans(msk, mps_store(msk, &expanding), &expanding);
}

MPS_OPS(t_expanding, "t_expanding", "asks for large buffers all the time", t_expanding_send,
	t_expanding_retrans);
