/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The quick look: what a full look would see, where a glance found nothing doubtful. Windows are
 * read anew, and what the subflows took since is settled. Rates and the like are those of the last
 * full look, as the glance found no news of them.
 *
 * A connection of one subflow, as most are, has nothing to choose: what it is given is that one's,
 * so nothing has to be settled before the next choice.
 *
 * Each MPS_QUICK_PICKS-th time is a full look all the same: counters and ranges are kept in 32
 * bits, and rates age.
 */
#ifndef MPS_BPF_QUICK_H
#define MPS_BPF_QUICK_H

#include "common/glance.h"
#include "frame/snapshot.h"

#define MPS_QUICK_PICKS 32 /* a power of two */

/* Does the policy look at nothing of such paths but what a quick look has? says: of a glance. */
static __always_inline bool mps_may_look_quickly(const struct mps_conn_store *st, __u32 says,
						 const struct mps_policy *p)
{
	const bool sees = p->busy || (p->lone && st->snap.nr_paths == 1) || !p->see_path;

	return says & MPS_GLANCE_PLAIN && sees && !p->everywhere && !p->metric && !p->see_paths &&
	       st->counter[MPS_C_PICKS] % MPS_QUICK_PICKS;
}

/* Flags of paths of which the policy looks at more. */
static __always_inline __u32 mps_not_quickly(const struct mps_policy *p)
{
	return p->see_path ? MPS_PATH_IDLE : 0;
}

/*
 * Behind mps_snap_conn(). not: flags of paths that take a full look. 0: there is one, or one that
 * is penalised. What was settled until then stays so.
 */
MPS_FN __u32 mps_look_quickly(struct mptcp_sock *msk MPS_TRUSTED, struct mps_conn_store *st MPS_ARG,
			      struct mps_round *r MPS_ARG, __u32 not)
{
	const __u32 jiffies = (__u32)bpf_jiffies64();
	const __u32 clock_end = mps_window_for_clock(&st->memo, (__u32)msk->wnd_end);
	struct mptcp_subflow_context *subflow;
	struct mps_conn *c = &st->snap;
	const bool alone = c->nr_paths == 1;
	__u32 age, n = 0;

	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct tcp_sock *tp = ssk ? mps_tcp(subflow) : NULL;
		struct mps_subflow_store *s;
		struct mps_path *path;
		__u32 flags;

		if (!tp || n >= MPS_MAX_PATHS)
			return 0;
		flags = mps_snap_flags(subflow, ssk, tp);
		if (!(flags & MPS_PATH_ACTIVE) || flags & not)
			return 0;
		barrier_var(n);
		path = &c->path[n++ & (MPS_MAX_PATHS - 1)];
		mps_snap_plain(path, subflow, ssk, tp, flags, jiffies);
		if (alone)
			break;
		s = mps_subflow_store(ssk);
		if (!s || s->penalty)
			return 0;
		s->wnd_end = clock_end;
		age = mps_complete_quickly(s, path, r, (__u32)subflow->rel_write_seq);
		if (age < c->age_us)
			c->age_us = age;
	}
	if (n != c->nr_paths)
		return 0;
	mps_seen_all(&r->seen, n);
	mps_window_glanced(&st->memo, (__u32)msk->wnd_end);
	/* what a lone one is given now is settled by the next full look */
	st->memo.glanced = alone;
	r->unsure = false;
	return n;
}

#endif /* MPS_BPF_QUICK_H */
