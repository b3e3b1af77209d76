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

#define MPS_OVER_FRAGMENTS 64 /* at one decision */

/*
 * May what it owes be late? Given up, or about to be, or waiting for its timer. That stays so until
 * all that was assigned then is acknowledged: where only data is lost, what comes from the peer
 * takes it back at once, and what it owes still is nowhere.
 */
static __always_inline bool mps_is_doubtful(struct mps_subflow_store *s,
					    struct mptcp_subflow_context *subflow, struct sock *ssk,
					    struct tcp_sock *tp, const struct mps_round *r)
{
	const __u32 flags = mps_snap_flags(subflow, ssk, tp);

	if (!(flags & MPS_PATH_ACTIVE) || flags & MPS_PATH_LOSS || subflow->stale_count > 1) {
		s->doubted = 1;
		s->doubt_end = r->sent;
	} else if (s->doubted && !mps_before(r->una, s->doubt_end)) {
		s->doubted = 0;
	}
	return s->doubted;
}

/*
 * How far all from `start` on was given to subflows that are not doubtful. Not at all where none
 * is: then a subflow was closed, and with it went what it was given. Nor where one that is has
 * some, unless the others have all of it: they were given copies.
 */
MPS_FN __u32 mps_over_reach(struct mptcp_sock *msk MPS_TRUSTED, const struct mps_round *r MPS_ARG,
			    __u32 start, __u32 end)
{
	struct mptcp_subflow_context *subflow;
	__u32 reach = start, doubtful = 0, owed = 0;

	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct tcp_sock *tp = ssk ? mps_tcp(subflow) : NULL;
		struct mps_subflow_store *s = tp ? mps_subflow_store(ssk) : NULL;

		if (!s)
			return start;
		if (!mps_is_doubtful(s, subflow, ssk, tp, r)) {
			reach = mps_ranges_reach(&s->ranges, reach, end);
			continue;
		}
		doubtful = 1;
		owed |= mps_ranges_age(&s->ranges, start, end, r->now_us) != MPS_NEVER;
	}
	return doubtful && !(owed && mps_before(reach, end)) ? reach : start;
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
MPS_FN __u32 mps_pass_over(struct mptcp_sock *msk MPS_TRUSTED, const struct mps_round *r MPS_ARG)
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
		reach = mps_over_reach(msk, r, start, end);
		if (mps_before(reach, end))
			reach = mps_over_reach(msk, r, reach, end);
		if (start == end || mps_before(reach, end) ||
		    bpf_mptcp_pass_over((struct sock *)msk))
			break;
		n++;
	}
	return n;
}

#endif /* MPS_BPF_OVER_H */
