// SPDX-License-Identifier: GPL-2.0
/*
 * minRTT that asks for a retransmission pass at each decision: a scheduler of a
 * user's own in the frame, and the kfunc in a struct_ops program, where it
 * takes the MPTCP socket itself.
 */
#include "frame.h"
#include "mps_minrtt.h"

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

__noinline __u64 t_asking_decide(const struct mps_conn *c __arg_nonnull,
				 struct mps_priv *priv __arg_nonnull)
{
	barrier_var(priv);
	return mps_pack(c->wnd_left ? mps_minrtt_pick(c) : mps_window_closed(c));
}

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
	return mps_send(msk, t_asking_decide);
}

static __always_inline __u64 t_asking_copies(const struct mps_conn *c, struct mps_priv *priv)
{
	return MPS_COPY_NONE;
}

static __always_inline int t_asking_retrans(struct mptcp_sock *msk)
{
	return mps_retrans(msk, t_asking_copies);
}

MPS_OPS(t_asking, "t_asking", "asks for copies all the time", t_asking_send, t_asking_retrans);
