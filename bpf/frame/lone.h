/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection of one subflow, as most are, has nothing to choose: what it is given is that one's,
 * so nothing has to be settled before the next choice. Its windows are read anew, and the policy
 * decides by the rest of the last full look.
 *
 * Each MPS_LONE_PICKS-th time is a full look all the same: counters and ranges are kept in 32 bits.
 */
#ifndef MPS_BPF_LONE_H
#define MPS_BPF_LONE_H

#include "common/glance.h"
#include "frame/snapshot.h"

#define MPS_LONE_PICKS 32 /* a power of two */

/* Does the policy look at nothing of a lone path but TCP's windows? */
static __always_inline bool mps_may_look_alone(const struct mps_conn_store *st,
					       const struct mps_policy *p)
{
	return !p->everywhere && !p->metric && !p->see_paths && (p->lone || !p->see_path) &&
	       st->counter[MPS_C_PICKS] % MPS_LONE_PICKS;
}

/*
 * After a glance that found one subflow, with room and nothing doubtful (frame/glance.h), and
 * behind mps_snap_conn(). 0: it was idle, or its buffer is full, so it takes a full look.
 */
MPS_FN __u32 mps_look_alone(struct mptcp_sock *msk MPS_TRUSTED, struct mps_conn_store *st MPS_ARG,
			    struct mps_round *r MPS_ARG)
{
	const __u32 wanted = MPS_PATH_ACTIVE | MPS_PATH_SNDBUF | MPS_PATH_SENDS;
	struct mptcp_subflow_context *subflow;
	__u32 found = 0;

	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct tcp_sock *tp = ssk ? mps_tcp(subflow) : NULL;
		struct mps_path *path = &st->snap.path[0];
		__u32 flags;

		if (!tp)
			break;
		flags = mps_snap_flags(subflow, ssk, tp);
		if ((flags & wanted) != wanted || flags & MPS_PATH_IDLE)
			break;
		mps_seen_next(&r->seen, flags);
		path->srtt_us = tp->srtt_us >> 3;
		path->cwnd = tp->snd_cwnd ?: 1;
		path->inflight = tp->packets_out + tp->retrans_out;
		mps_snap_now(path, tp, flags);
		/* there is no other, or the glance would have said so */
		found = 1;
		break;
	}
	if (!found)
		return 0;
	mps_window_glanced(&st->memo, (__u32)msk->wnd_end);
	/* what it is given now is settled by the next full look */
	st->memo.glanced = 1;
	r->unsure = false;
	return 1;
}

/* The subflows as a decision sees them. says: what a glance has, enum mps_glance_says. */
static __always_inline void mps_look(struct mptcp_sock *msk, struct mps_conn_store *st,
				     struct mps_round *r, __u32 says, const struct mps_policy *p)
{
	if (says & MPS_GLANCE_ALONE && mps_may_look_alone(st, p) && mps_look_alone(msk, st, r))
		return;
	mps_snap_paths(msk, st, r, p);
}

#endif /* MPS_BPF_LONE_H */
