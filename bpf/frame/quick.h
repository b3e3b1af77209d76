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
#include "kernel/writer.h"

#define MPS_QUICK_PICKS 32 /* a power of two */
#define MPS_QUICK_US 1000  /* less than a jiffy, and than the RTT of a path worth a probe */

/* Does the policy look at nothing of such paths but what a quick look has? says: of a glance. */
static __always_inline bool mps_may_look_quickly(const struct mps_conn_store *st, __u32 says,
						 const struct mps_policy *p)
{
	const bool sees = p->busy || (p->lone && st->snap.nr_paths == 1) || !p->see_path;

	return says & MPS_GLANCE_PLAIN && sees && !p->everywhere && !p->metric && !p->see_paths &&
	       st->counter[MPS_C_PICKS] % MPS_QUICK_PICKS;
}

/* Of a path with nothing on its way: */
enum mps_quick_idle {
	MPS_QUICK_ALIKE, /* the policy looks at no more than of others */
	MPS_QUICK_KEPT,	 /* its RTT is that of the last full look, if it was idle then, too */
	MPS_QUICK_NEVER, /* it takes a full look: a probe may be due */
};

/*
 * age_us: of the last look, quick or not. While the writer waits for room no probe is wanted
 * (mps_thin_see()). Nor is one missed where decisions follow each other faster than passes can, of
 * which the core has one per jiffy: the next full look sees that it is due, MPS_QUICK_PICKS later
 * at most.
 */
static __always_inline __u32 mps_quick_idle(struct mptcp_sock *msk, const struct mps_policy *p,
					    __u32 age_us)
{
	if (!p->see_path)
		return MPS_QUICK_ALIKE;
	return age_us < MPS_QUICK_US || mps_writer_waits(msk) ? MPS_QUICK_KEPT : MPS_QUICK_NEVER;
}

/* What .see_path adds and a quick look keeps. */
#define MPS_QUICK_FLAGS (MPS_PATH_NO_TS | MPS_PATH_DELAY)

/* The path as it is now; false: it takes a full look. */
static __always_inline bool mps_quick_path(struct mps_path *path,
					   struct mptcp_subflow_context *subflow, struct sock *ssk,
					   struct tcp_sock *tp, __u32 jiffies, __u32 idle)
{
	const __u32 flags = mps_snap_flags(subflow, ssk, tp);
	const __u32 was = path->flags, srtt = path->srtt_us;
	const bool idles = idle != MPS_QUICK_ALIKE && flags & MPS_PATH_IDLE;

	if (!(flags & MPS_PATH_ACTIVE))
		return false;
	if (idles &&
	    (idle == MPS_QUICK_NEVER || (was & (MPS_PATH_IDLE | MPS_PATH_DUE)) != MPS_PATH_IDLE))
		return false;
	mps_snap_plain(path, subflow, ssk, tp, flags, jiffies);
	path->flags |= was & MPS_QUICK_FLAGS;
	if (idles)
		path->srtt_us = srtt;
	return true;
}

/*
 * Behind mps_snap_conn(). idle: enum mps_quick_idle. 0: it takes a full look, as where a path is
 * penalised. What was settled until then stays so.
 */
MPS_FN __u32 mps_look_quickly(struct mptcp_sock *msk MPS_TRUSTED, struct mps_conn_store *st MPS_ARG,
			      struct mps_round *r MPS_ARG, __u32 idle)
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

		if (!tp || n >= MPS_MAX_PATHS)
			return 0;
		barrier_var(n);
		path = &c->path[n++ & (MPS_MAX_PATHS - 1)];
		if (!mps_quick_path(path, subflow, ssk, tp, jiffies, idle))
			return 0;
		if (alone)
			break;
		r->quiet |= mps_snap_quiet(ssk, tp, r->now_us) << ((n - 1) & (MPS_MAX_PATHS - 1));
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
	if (r->quiet)
		mps_quiet_out(c, r->quiet);
	mps_seen_all(&r->seen, n);
	mps_window_glanced(&st->memo, (__u32)msk->wnd_end);
	/* what a lone one is given now is settled by the next full look */
	st->memo.glanced = alone;
	r->unsure = false;
	return n;
}

#endif /* MPS_BPF_QUICK_H */
