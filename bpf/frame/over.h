/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What need not go again. After a subflow was given up, or closed, the core goes back to the oldest
 * unacknowledged data and assigns all of it anew (__mptcp_retransmit_pending_data()): what the
 * others have on their way, too. That would take up to a window of each of them, just when they
 * are all that is left.
 */
#ifndef MPS_BPF_OVER_H
#define MPS_BPF_OVER_H

#include "frame/snapshot.h"

#define MPS_OVER_FRAGMENTS 64 /* at one decision; the next one goes on */

/* May what it owes be late? Given up, or about to be, or waiting for its timer. */
static __always_inline bool mps_is_doubtful(struct mptcp_subflow_context *subflow, struct sock *ssk,
					    struct tcp_sock *tp)
{
	const __u32 flags = mps_snap_flags(subflow, ssk, tp);

	return !(flags & MPS_PATH_ACTIVE) || flags & MPS_PATH_LOSS || subflow->stale_count;
}

/*
 * How far all from `start` on was given to subflows that are not doubtful; not at all where one
 * that is has some.
 */
MPS_FN __u32 mps_over_reach(struct mptcp_sock *msk MPS_TRUSTED, __u32 start, __u32 end,
			    __u32 now_us)
{
	struct mptcp_subflow_context *subflow;
	__u32 reach = start;

	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct tcp_sock *tp = ssk ? mps_tcp(subflow) : NULL;
		struct mps_subflow_store *s = tp ? mps_subflow_store(ssk) : NULL;

		if (!s)
			return start;
		if (!mps_is_doubtful(subflow, ssk, tp))
			reach = mps_ranges_reach(&s->ranges, reach, end);
		else if (mps_ranges_age(&s->ranges, start, end, now_us) != MPS_NEVER)
			return start;
	}
	return reach;
}

/* Does the core assign anew what was assigned before? */
static __always_inline bool mps_goes_back(const struct mps_round *r)
{
	return mps_before(r->head, r->sent);
}

/*
 * Behind a look at the subflows, which has noted what they were given until now. Returns how many
 * fragments were passed over.
 */
MPS_FN __u32 mps_pass_over(struct mptcp_sock *msk MPS_TRUSTED, __u32 now_us)
{
	__u32 i, n = 0;

	for (i = 0; i < MPS_OVER_FRAGMENTS; i++) {
		const struct mptcp_data_frag *head = msk->first_pending;
		const __u32 sent = (__u32)msk->snd_nxt;
		__u32 start, end, reach;

		if (!head)
			break;
		start = (__u32)head->data_seq + head->already_sent;
		end = (__u32)head->data_seq + head->data_len;
		if (mps_before(sent, end))
			end = sent;
		reach = mps_over_reach(msk, start, end, now_us);
		if (mps_before(reach, end))
			reach = mps_over_reach(msk, reach, end, now_us);
		if (start == end || mps_before(reach, end) ||
		    bpf_mptcp_pass_over((struct sock *)msk))
			break;
		n++;
	}
	return n;
}

#endif /* MPS_BPF_OVER_H */
