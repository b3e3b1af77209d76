/* SPDX-License-Identifier: GPL-2.0 */
/* How a decision takes effect: the subflow is marked, and what is known of the choice is noted. */
#ifndef MPS_BPF_MARK_H
#define MPS_BPF_MARK_H

#include "frame/policy.h"
#include "frame/snapshot.h"
#include "frame/tunables.h"

/* Behind the barrier the compiler tests the very register that it uses. */
static __always_inline void mps_add(__u64 *counter, __u64 nr, __u64 i, __u64 by)
{
	barrier_var(i);
	if (i < nr)
		counter[i] += by;
}

static __always_inline void mps_count_verdict(struct mps_conn_store *st, struct mps_verdict v)
{
	st->counter[MPS_C_DECISIONS]++;
	if (v.path >= 0) {
		st->counter[MPS_C_PICKS]++;
		st->counter[MPS_C_WND_PROBES] += !v.bytes;
	} else {
		mps_add(st->counter, MPS_NR_CONN_COUNTERS, MPS_C_FIRST_WAIT + (__u64)v.reason, 1);
	}
}

/*
 * account: the counter to which the bytes of this pick go. Which data it is will
 * be seen in the next round (state/attribution.h); of a fragment it is known now.
 */
static __always_inline void mps_note_pick(struct mps_subflow_store *s, const struct mps_round *r,
					  __u32 account, const struct mps_policy *p)
{
	if (p->given)
		p->given(s, r->now_us);
	s->account = (__u8)account;
	s->length = (__u16)(r->frag_end - r->frag);
	if (s->length)
		mps_ranges_add(&s->ranges, r->frag, r->frag_end, r->una, r->now_us);
	/* state/stats.h: each counter of bytes follows that of its picks */
	mps_add(s->counter, MPS_NR_SUBFLOW_COUNTERS, account - 1, 1);
}

/* A larger send buffer for it: common/sndbuf.h; when: mps_choose(). */
static __always_inline void mps_expand_sndbuf(struct sock *ssk, __u32 bytes)
{
	if (bpf_ksym_exists(bpf_mptcp_expand_sndbuf) && ssk->sk_sndbuf < (int)bytes)
		bpf_mptcp_expand_sndbuf(ssk, bytes);
}

/* Marks the subflows of the mask of paths; the list has not changed since the snapshot. */
static __always_inline int mps_mark(struct mptcp_sock *msk, __u32 mask, const struct mps_round *r,
				    __u32 account, const struct mps_policy *p)
{
	struct mptcp_subflow_context *subflow;
	int ret = -EAGAIN;
	__u32 n = 0;

	mps_for_each_subflow(subflow, msk) {
		const __u32 i = mps_seen_path(&r->seen, mask, n++);
		struct mps_subflow_store *s;
		struct sock *ssk;

		if (i >= MPS_MAX_PATHS)
			continue;
		ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		s = ssk ? mps_subflow_store(ssk) : NULL;
		if (!s)
			break;
		mps_note_pick(s, r, account, p);
		mps_expand_sndbuf(ssk, r->sndbuf);
		mptcp_subflow_set_scheduled(subflow, true);
		ret = 0;
		mask &= ~(1U << i);
		if (!mask)
			break;
	}
	return ret;
}

/*
 * Those that made the peer's window fill: they carry the oldest data. Returns a byte for each path:
 * the part of its window that is withheld from now on, of MPS_SHARE; 0: nothing is new there. That
 * is for `mptcp-sched trace`.
 */
MPS_FN __u64 mps_penalise_carriers(struct mptcp_sock *msk MPS_TRUSTED,
				   const struct mps_conn *c MPS_ARG,
				   const struct mps_round *r MPS_ARG)
{
	const __u32 all = (1U << (c->nr_paths & 31)) - 1;
	struct mptcp_subflow_context *subflow;
	__u64 part, withheld = 0;
	__u32 n = 0;

	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct mps_subflow_store *s = ssk ? mps_subflow_store(ssk) : NULL;
		__u32 i;

		if (!s)
			break;
		i = mps_seen_path(&r->seen, all, n++);
		if (i >= MPS_MAX_PATHS)
			continue;
		part = mps_penalise_carrier(s, &c->path[i], c->now_us);
		part = s->penalty_us == c->now_us ? part & 0xff : 0;
		withheld |= part << 8 * i;
	}
	return withheld;
}

#endif /* MPS_BPF_MARK_H */
