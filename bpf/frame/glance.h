/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Before the full look at the subflows: a glance that needs nothing stored of them. It answers
 * where nothing is doubtful and no subflow has room (common/glance.h); all else it leaves to the
 * full look.
 */
#ifndef MPS_BPF_GLANCE_H
#define MPS_BPF_GLANCE_H

#include "common/glance.h"
#include "frame/mark.h"
#include "frame/snapshot.h"

/*
 * Is what is next new data, of which the peer's window takes some? After a subflow was given up
 * it is old data.
 */
static __always_inline bool mps_glance_sends_on(const struct mptcp_sock *msk,
						const struct mps_conn_store *st)
{
	const struct mptcp_data_frag *head = msk->first_pending;

	return head && head->already_sent < head->data_len &&
	       head->data_seq + head->already_sent == msk->snd_nxt &&
	       (__s64)(msk->wnd_end - msk->snd_nxt) > 0 && !st->memo.doubt;
}

/* Active for certain, with no segment missing at the peer. */
static __always_inline bool mps_glance_is_plain(const struct mptcp_subflow_context *subflow,
						const struct tcp_sock *tp)
{
	const struct sock *ssk = (const struct sock *)tp;

	return !BPF_CORE_READ_BITFIELD(subflow, stale) &&
	       ssk->__sk_common.skc_state == TCP_ESTABLISHED &&
	       (!BPF_CORE_READ_BITFIELD(subflow, request_join) || subflow->fully_established) &&
	       !(tp->sacked_out | tp->lost_out);
}

/*
 * Completes what the connection has of the data that is next: its unit, and the room that it takes,
 * 0 where any is enough.
 */
static __always_inline void mps_glance_fit(const struct mptcp_sock *msk, struct mps_conn_store *st,
					   bool available_only)
{
	const struct mptcp_data_frag *head = msk->first_pending;

	st->snap.unit = head ? head->data_len - head->already_sent : 0;
	st->snap.fit = available_only ? mps_fit(st->snap.unit) : 0;
}

/* enum mps_glance_says */
MPS_FN __u32 mps_glance(struct mptcp_sock *msk MPS_TRUSTED, const struct mps_conn_store *st MPS_ARG)
{
	struct mptcp_subflow_context *subflow;
	const __u32 fit = st->snap.fit, tiers = !st->priv.no_tiers;
	struct mps_glance g = {};
	__u32 n = 0;

	if (!mps_glance_sends_on(msk, st))
		return 0;
	mps_for_each_subflow(subflow, msk) {
		const struct tcp_sock *tp = mps_tcp(subflow);
		struct mps_path p = {};
		__u32 backup;

		if (n >= MPS_MAX_PATHS || !tp || !mps_glance_is_plain(subflow, tp))
			return 0;
		if (mps_glance_news(st->snap.path[n & (MPS_MAX_PATHS - 1)].rate, tp->rate_delivered,
				    tp->mss_cache, tp->rate_interval_us, tp->snd_cwnd,
				    tp->rtt_min.s[0].v))
			return 0;
		backup = BPF_CORE_READ_BITFIELD(subflow, backup) |
			 BPF_CORE_READ_BITFIELD(subflow, request_bkup);
		p.cwnd = tp->snd_cwnd;
		p.inflight = tp->packets_out + tp->retrans_out;
		p.mss = (__u16)tp->mss_cache;
		p.unsent = tp->write_seq - tp->snd_nxt;
		mps_glance_add(&g, &p, backup & tiers, fit);
		n++;
	}
	/* a subflow that no full look has seen has nothing stored yet */
	if (n != st->snap.nr_paths || !n)
		return 0;
	if (!mps_glance_waits(&g))
		return MPS_GLANCE_PLAIN;
	return MPS_GLANCE_WAIT | (g.unsent ? MPS_GLANCE_UNSENT : 0);
}

/*
 * For a policy's .see_conn, after a glance that found new data behind snd_nxt: mps_snap_conn()
 * without what only a look at the subflows needs.
 */
static __always_inline void mps_glance_conn(const struct mptcp_sock *msk, struct mps_conn *c)
{
	const __u64 sent = msk->snd_nxt;

	c->pending = mps_pending(msk, sent);
	c->wnd_left = msk->wnd_end - sent;
	c->unacked = sent - msk->snd_una;
	c->now_us = (__u32)(bpf_ktime_get_ns() / 1000);
	c->age_us = MPS_NEVER;
}

/*
 * What a glance says, enum mps_glance_says. Where data waits this leaves behind what a full look
 * that ended so would have: the counters, the end of the peer's window, and when the last choice
 * took effect. What that would have made of each subflow the next full look does.
 */
static __always_inline __u32 mps_glance_first(struct mptcp_sock *msk, struct mps_conn_store *st,
					      const struct mps_policy *p)
{
	__u32 says;

	if (p->fills_queues || (p->glances && !p->glances(&st->priv)))
		return 0;
	st->priv.no_tiers = p->no_tiers;
	mps_glance_fit(msk, st, p->available_only);
	says = mps_glance(msk, st);
	if (!(says & MPS_GLANCE_WAIT))
		return says;
	mps_window_glanced(&st->memo, (__u32)msk->wnd_end);
	if (p->see_conn) {
		const __u32 looked_us = st->snap.now_us;

		mps_glance_conn(msk, &st->snap);
		p->see_conn(msk, &st->snap, &st->priv);
		st->snap.now_us = looked_us;
	}
	st->memo.glanced = 1;
	mps_count_verdict(st, mps_wait_for(MPS_WAIT_NO_ROOM));
	return says;
}

#endif /* MPS_BPF_GLANCE_H */
