// SPDX-License-Identifier: GPL-2.0
/*
 * minRTT that asks for a retransmission pass at each decision: a scheduler of a
 * user's own in the frame, and the kfunc in a struct_ops program, where it
 * takes the MPTCP socket itself.
 */
#include "frame/scheduler.h"
#include "policy/minrtt.h"

MPS_COMMON_TUNABLES(500, 2, 1);

#define BPF_MAP_TYPE_ARRAY 2
#define EINVAL 22

enum { ASKED, REFUSED, INVALID, NR_ANSWERS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_ANSWERS);
	__type(key, __u32);
	__type(value, __u64);
} answers SEC(".maps");

MPS_TUNABLE(unused, 1500, 1000, 4000, 1000, "a tunable for the tests");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_minrtt_pick(c);
}

static __always_inline __u64 none(const struct mps_conn *c, void *priv)
{
	return MPS_COPY_NONE;
}

MPS_POLICY(asking, .pick = pick, .copies = none);

static __always_inline int t_asking_send(struct mptcp_sock *msk)
{
	/* without the bridge, on a kernel with the API of its own, it is not there */
	const int answer = bpf_ksym_exists(bpf_mptcp_request_retrans)
				   ? bpf_mptcp_request_retrans((struct sock *)msk)
				   : -EINVAL;
	__u32 key = !answer ? ASKED : answer == -EINVAL ? INVALID : REFUSED;
	__u64 *count = bpf_map_lookup_elem(&answers, &key);

	if (count && unused)
		__sync_fetch_and_add(count, 1);
	return mps_send(msk, mps_store(msk, &asking), &asking);
}

static __always_inline int t_asking_retrans(struct mptcp_sock *msk)
{
	return mps_retrans(msk, mps_store(msk, &asking), &asking);
}

MPS_OPS(t_asking, "t_asking", "asks for copies all the time", t_asking_send, t_asking_retrans);
