/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The snapshot: one pass over the subflows that reads everything a decision may
 * look at, and completes it by what socket storage knows.
 */
#ifndef MPS_BPF_SNAP_H
#define MPS_BPF_SNAP_H

#include "frame/policy.h"
#include "frame/tunables.h"
#include "kernel/compat.h"
#include "kernel/kfuncs.h"
#include "common/quiet.h"
#include "state/seen.h"
#include "state/subflow_state.h"
#include "state/peer_window.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mps_conn_store);
} MPS_CONN_STORAGE SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mps_subflow_store);
} MPS_SUBFLOW_STORAGE SEC(".maps");

#define mps_for_each_subflow(subflow, msk) \
	bpf_for_each(mptcp_subflow, subflow, (struct sock *)(msk))

static __always_inline struct mps_subflow_store *mps_subflow_store(struct sock *ssk)
{
	return bpf_sk_storage_get(&MPS_SUBFLOW_STORAGE, ssk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
}

/*
 * Another connection of the same socket: nothing that was stored is about it. Storage goes
 * with its socket, and disconnect() keeps those of the connection and of its first subflow
 * (mptcp_disconnect(), net/mptcp/protocol.c).
 */
static __always_inline int mps_begin(struct mptcp_sock *msk, struct mps_conn_store *st,
				     const struct mps_policy *p)
{
	struct mptcp_subflow_context *subflow;

	__builtin_memset(st, 0, sizeof(*st));
	st->snap.token = msk->token;
	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct mps_subflow_store *s = ssk ? mps_subflow_store(ssk) : NULL;

		if (!s)
			break;
		__builtin_memset(s, 0, sizeof(*s));
		if (p->forget)
			p->forget(ssk);
	}
	return 0;
}

static __always_inline struct mps_conn_store *mps_store(struct mptcp_sock *msk,
							const struct mps_program *program)
{
	struct mps_conn_store *st = bpf_sk_storage_get(&MPS_CONN_STORAGE, (struct sock *)msk, NULL,
						       BPF_SK_STORAGE_GET_F_CREATE);

	if (st && !mps_is_of(st, msk->token))
		program->begin(msk, st);
	return st;
}

/* 1: something is queued or unacknowledged. Behind the barrier there is no comparison. */
static __always_inline __u32 mps_snap_owes(const struct tcp_sock *tp)
{
	const __u32 bytes = tp->write_seq - tp->snd_una;
	__u32 either = bytes | -bytes;

	barrier_var(either);
	return either >> 31;
}

/*
 * No branches: the verifier would follow each of their combinations through
 * every turn of the loop over the subflows.
 *
 * TCP without SACK stays in recovery when all is acknowledged, until something beyond is
 * (tcp_is_non_sack_preventing_reopen(), net/ipv4/tcp_input.c): who waits for the end of that would
 * wait for ever.
 */
static __always_inline __u32 mps_snap_flags(struct mptcp_subflow_context *subflow, struct sock *ssk,
					    struct tcp_sock *tp)
{
	const __u32 backup = BPF_CORE_READ_BITFIELD(subflow, backup) |
			     BPF_CORE_READ_BITFIELD(subflow, request_bkup);
	/* __mptcp_subflow_active(), net/mptcp/protocol.h */
	const __u32 joining =
		BPF_CORE_READ_BITFIELD(subflow, request_join) & !subflow->fully_established;
	const __u32 ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	const __u32 sending = (1U << (ssk->__sk_common.skc_state & 31)) &
			      (1U << TCP_ESTABLISHED | 1U << TCP_CLOSE_WAIT);
	const __u32 owes = mps_snap_owes(tp), recovery = owes << (ca_state & 31);

	return mptcp_subflow_active(subflow) * MPS_PATH_ACTIVE | backup * MPS_PATH_BACKUP |
	       (recovery >> TCP_CA_Loss & 1) * MPS_PATH_LOSS |
	       (recovery >> TCP_CA_Recovery & 1) * MPS_PATH_REPAIRS |
	       bpf_sk_stream_memory_free(ssk) * MPS_PATH_SNDBUF |
	       (!!sending & !joining) * MPS_PATH_SENDS | (owes ^ 1) * MPS_PATH_IDLE;
}

/* How long nothing was sent, in jiffies; 0 while something is on its way or waits. */
static __always_inline __u32 mps_idle_for(const struct tcp_sock *tp, __u32 jiffies)
{
	return (tp->write_seq == tp->snd_una) * mps_elapsed(jiffies, tp->lsndtime);
}

/* tcp_slow_start_after_idle_check(), include/net/tcp.h */
static __always_inline __u32 mps_snap_cwnd(struct sock *ssk, struct tcp_sock *tp, __u32 idle)
{
	const __u32 may = ssk->__sk_common.skc_net.net->ipv4.sysctl_tcp_slow_start_after_idle & 1 &
			  !tp->inet_conn.icsk_ca_ops->cong_control;

	return mps_idle_cwnd(tp->snd_cwnd, may * idle, tp->inet_conn.icsk_rto);
}

/* 1: it is quiet. The bridge knows, and is asked where no answer came for a round trip. */
static __always_inline __u32 mps_snap_quiet(struct sock *ssk, const struct tcp_sock *tp,
					    __u32 now_us)
{
	const __u32 quiet_us = now_us - (__u32)tp->delivered_mstamp;

	if (!bpf_ksym_exists(bpf_mptcp_is_quiet) || !tp->packets_out ||
	    quiet_us <= tp->srtt_us >> 3)
		return 0;
	return bpf_mptcp_is_quiet(ssk, silence * 1000) > 0;
}

/* What is as it is whether the subflow was idle or not. */
static __always_inline void mps_snap_now(struct mps_path *p,
					 const struct mptcp_subflow_context *subflow,
					 const struct tcp_sock *tp, __u32 flags)
{
	p->mdev_us = tp->mdev_us >> 2;
	/* TCP_INFINITE_SSTHRESH, include/net/tcp.h */
	p->ssthresh = tp->snd_ssthresh >= 0x7fffffff ? ~0U : tp->snd_ssthresh;
	p->unsent = tp->write_seq - tp->snd_nxt;
	p->mss = (__u16)tp->mss_cache ?: 1;
	p->flags = (__u16)flags;
	p->min_rtt_us = tp->rtt_min.s[0].v;
	p->stale = subflow->stale_count < 15 ? subflow->stale_count : 15;
}

static __always_inline void mps_snap_path(struct mps_path *p, struct mptcp_subflow_context *subflow,
					  struct sock *ssk, struct tcp_sock *tp, __u32 flags,
					  __u32 jiffies)
{
	const __u32 left_out = tp->sacked_out + tp->lost_out;
	const __u32 out = tp->packets_out + tp->retrans_out;
	const __u32 idle = mps_idle_for(tp, jiffies);

	p->srtt_us =
		mps_idle_rtt(tp->srtt_us >> 3, tp->rtt_min.s[0].v, idle, tp->inet_conn.icsk_rto);
	p->cwnd = mps_snap_cwnd(ssk, tp, idle) ?: 1;
	p->inflight = out > left_out ? out - left_out : 0;
	p->rate = mps_full_rate(tp->rate_delivered, tp->mss_cache, tp->rate_interval_us,
				tp->snd_cwnd, tp->rtt_min.s[0].v);
	mps_snap_now(p, subflow, tp, flags);
}

/* The same of a subflow with no segment missing at the peer, but for its rate. */
static __always_inline void mps_snap_plain(struct mps_path *p,
					   struct mptcp_subflow_context *subflow, struct sock *ssk,
					   struct tcp_sock *tp, __u32 flags, __u32 jiffies)
{
	const __u32 idle = mps_idle_for(tp, jiffies);

	p->srtt_us = tp->srtt_us >> 3;
	p->cwnd = tp->snd_cwnd ?: 1;
	p->inflight = tp->packets_out + tp->retrans_out;
	mps_snap_now(p, subflow, tp, flags);
	if (!idle)
		return;
	p->srtt_us = mps_idle_rtt(p->srtt_us, p->min_rtt_us, idle, tp->inet_conn.icsk_rto);
	p->cwnd = mps_snap_cwnd(ssk, tp, idle) ?: 1;
}

/* get_send: bytes that are to find room, of so many that a pick hands over. */
static __always_inline __u16 mps_fit(__u32 unit)
{
	return (__u16)(unit * min_room / 1000);
}

/*
 * Bytes from `from` on that wait to be assigned. The end of the stream takes a number behind them
 * as soon as the application closes it (__mptcp_wr_shutdown()), and is no byte.
 */
static __always_inline __u64 mps_pending(const struct mptcp_sock *msk, __u64 from)
{
	const __u64 left = msk->write_seq - from;

	return left - (left && msk->snd_data_fin_enable);
}

/*
 * What is next is the head of the queue, not snd_nxt: after a subflow was given
 * up, the core goes back to the oldest unacknowledged data, whose window the
 * peer has granted long ago (__mptcp_retransmit_pending_data()).
 */
MPS_FN __u32 mps_snap_conn(struct mptcp_sock *msk MPS_TRUSTED, struct mps_conn_store *st MPS_ARG,
			   struct mps_round *r MPS_ARG)
{
	struct mps_conn *c = &st->snap;
	struct mptcp_data_frag *head = msk->first_pending;
	const __u64 sent = msk->snd_nxt, end = mptcp_wnd_end(msk);
	const __u64 nxt = head ? head->data_seq + head->already_sent : sent;
	const __u32 looked_us = c->now_us;

	c->pending = mps_pending(msk, nxt);
	c->wnd_left = (__s64)(end - nxt) > 0 ? end - nxt : 0;
	c->unacked = sent - msk->snd_una;
	c->now_us = (__u32)(bpf_ktime_get_ns() / 1000);
	c->unit = head ? head->data_len - head->already_sent : 0;
	c->age_us = MPS_NEVER;
	c->fit = 0;
	r->now_us = c->now_us;
	r->late_us = st->memo.glanced ? c->now_us - looked_us : 0;
	st->memo.glanced = 0;
	r->una = r->frag = r->frag_end = (__u32)msk->snd_una;
	r->head = (__u32)nxt;
	r->sent = mps_assigned_end((__u32)sent, (__u32)nxt);
	r->sndbuf = 0;
	r->found = r->found_new = 0;
	r->quiet = 0;
	__builtin_memset(&r->seen, 0, sizeof(r->seen));
	r->begun = head && head->already_sent && c->unit;
	return c->unit;
}

/* As many fragments as one pass may send; they stay in the queue until it is over. */
#define MPS_PASS_FRAGMENTS 64

/*
 * For get_retrans: the fragment in question is the first that does not end before `from`,
 * as far as it was sent. Returns where the whole of it ends.
 */
MPS_FN __u32 mps_snap_fragment(struct mptcp_sock *msk MPS_TRUSTED, struct mps_conn *c MPS_ARG,
			       struct mps_round *r MPS_ARG, __u32 from)
{
	struct list_head *at = msk->rtx_queue.next;
	__u32 i, start = from, sent = 0, whole = 0;

	for (i = 0; i < MPS_PASS_FRAGMENTS; i++) {
		struct mptcp_data_frag *frag = bpf_core_cast(at, struct mptcp_data_frag);

		if (msk->snd_una == msk->snd_nxt || at == &msk->rtx_queue)
			break;
		start = (__u32)frag->data_seq;
		sent = frag->already_sent;
		whole = frag->data_len;
		if (mps_before(from, start + whole))
			break;
		sent = 0;
		at = frag->list.next;
	}
	barrier_var(start);
	barrier_var(sent);
	whole += start;
	sent += start;
	r->frag = mps_before(start, from) ? from : start;
	c->unit = mps_before(r->frag, sent) ? sent - r->frag : 0;
	if (c->unit > 65535)
		c->unit = 0;
	r->frag_end = r->frag + c->unit;
	r->begun = false;
	return whole;
}

/* The one pass over the subflows. */
static __always_inline void mps_snap_paths(struct mptcp_sock *msk, struct mps_conn_store *st,
					   struct mps_round *r, const struct mps_policy *p)
{
	const struct mps_look look = { .msk = msk, .st = st, .r = r };
	struct mps_conn *c = &st->snap;
	const __u32 jiffies = (__u32)bpf_jiffies64();
	const __u32 clock_end = mps_window_for_clock(&st->memo, (__u32)msk->wnd_end);
	struct mptcp_subflow_context *subflow;
	struct mps_window w;
	__u32 age;

	r->quiet = 0; /* a quick look may have begun, and had other numbers */
	w = mps_window_begin(&st->memo, r->una);
	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct tcp_sock *tp = ssk ? mps_tcp(subflow) : NULL;
		struct mps_subflow_store *s = tp ? mps_subflow_store(ssk) : NULL;
		struct mps_path *path;
		__u32 flags, n;

		if (!s)
			break;
		flags = mps_snap_flags(subflow, ssk, tp);
		s->wnd_end = clock_end;
		s->policy = st->priv.policy;
		n = mps_seen_next(&r->seen, flags);
		if (n >= MPS_MAX_PATHS)
			continue;
		/* or the compiler leaves the mask out, and tests another register */
		barrier_var(n);
		path = &c->path[n & (MPS_MAX_PATHS - 1)];
		mps_snap_path(path, subflow, ssk, tp, flags, jiffies);
		r->quiet |= mps_snap_quiet(ssk, tp, r->now_us) << (n & (MPS_MAX_PATHS - 1));
		w.inflight |= !!path->inflight;
		w.missing |= !!tp->sacked_out;
		mps_window_seen(s, &w, mps_window_mark(tp->snd_una, tp->snd_wl1, tp->snd_wnd),
				tp->snd_wnd, tp->segs_in);
		path->metric = p->metric ? p->metric(ssk, tp) : 0;
		age = mps_complete_path(s, path, r, (__u32)subflow->rel_write_seq,
					mps_gap(tp->sacked_out | tp->lost_out | tp->retrans_out,
						tp->write_seq - tp->snd_una, (__u32)tp->rack.mstamp,
						r->now_us));
		if (p->see_path)
			p->see_path(&look, path, n, tp, s);
		if (age < c->age_us)
			c->age_us = age;
	}
	c->nr_paths = r->seen.nr;
	mps_window_settle(&st->memo, &w, (__u32)msk->wnd_end);
	c->wnd_left = mps_window_left(&st->memo, &w, r->head, c->wnd_left, c->unit);
	r->unsure = st->memo.doubt && w.fresh && !c->wnd_left;
	if (p->see_paths)
		p->see_paths(&look, c, &st->priv);
	/* who could carry in place of a quiet one the policy says first: no standby takes over */
	if (r->quiet)
		mps_quiet_out(c, r->quiet);
}

#endif /* MPS_BPF_SNAP_H */
