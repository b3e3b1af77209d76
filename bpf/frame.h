/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frame that every scheduler stands in. It takes the snapshot in one pass
 * over the subflows, asks the scheduler's decision function, marks the chosen
 * subflow and keeps the counters. A scheduler is one small file:
 *
 *	#include "frame.h"
 *	#include "mps_mine.h"
 *
 *	MPS_TUNABLE(gain, 1500, 1000, 4000, 1000, "what it does");
 *
 *	static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
 *	{
 *		return mps_mine_pick(c, priv, gain);
 *	}
 *	MPS_SCHEDULER(bpf_mine, "one line for the list", pick);
 */
#ifndef MPS_BPF_FRAME_H
#define MPS_BPF_FRAME_H

#include "compat.h"
#include "kfuncs.h"
#include "mps_retrans.h"
#include "mps_stats.h"

char _license[] SEC("license") = "GPL";

/*
 * A number that `mptcp-sched load --set NAME=VALUE` changes before the object
 * is loaded. Integers, `scale` to one: default 250, scale 1000 is 0.25. The
 * loader reads range and meaning from the object itself (BTF declaration tag).
 */
#define MPS_TUNABLE(name, def, min, max, scale, text)                                             \
	const volatile __u32 name                                                                 \
		__attribute__((btf_decl_tag("mps:tunable:" #min ":" #max ":" #scale ":" text))) = \
			def

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mps_conn_store);
} mps_conn_v1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mps_subflow_store);
} mps_subflow_v1 SEC(".maps");

#define mps_for_each_subflow(subflow, msk) \
	bpf_for_each(mptcp_subflow, subflow, (struct sock *)(msk))

/*
 * No branches: the verifier would follow each of their combinations through
 * every turn of the loop over the subflows.
 */
static __always_inline __u32 mps_snap_flags(struct mptcp_subflow_context *subflow, struct sock *ssk,
					    struct tcp_sock *tp)
{
	const __u32 backup = BPF_CORE_READ_BITFIELD(subflow, backup) |
			     BPF_CORE_READ_BITFIELD(subflow, request_bkup);
	/* __mptcp_subflow_active(), net/mptcp/protocol.h */
	const __u32 joining =
		BPF_CORE_READ_BITFIELD(subflow, request_join) & !subflow->fully_established;
	const __u32 sending = (1U << (ssk->__sk_common.skc_state & 31)) &
			      (1U << TCP_ESTABLISHED | 1U << TCP_CLOSE_WAIT);

	return mptcp_subflow_active(subflow) * MPS_PATH_ACTIVE | backup * MPS_PATH_BACKUP |
	       (BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) == TCP_CA_Loss) *
		       MPS_PATH_LOSS |
	       bpf_sk_stream_memory_free(ssk) * MPS_PATH_SNDBUF |
	       (!!sending & !joining) * MPS_PATH_SENDS |
	       (tp->write_seq == tp->snd_una) * MPS_PATH_IDLE;
}

static __always_inline void mps_snap_path(struct mps_path *p, struct mptcp_subflow_context *subflow,
					  struct sock *ssk, struct tcp_sock *tp)
{
	const __u32 left_out = tp->sacked_out + tp->lost_out;
	const __u32 out = tp->packets_out + tp->retrans_out;

	p->srtt_us = tp->srtt_us >> 3;
	p->mdev_us = tp->mdev_us >> 2;
	p->cwnd = tp->snd_cwnd ?: 1;
	p->inflight = out > left_out ? out - left_out : 0;
	p->mss = tp->mss_cache ?: 1;
	p->unsent = tp->write_seq - tp->snd_nxt;
	p->flags = mps_snap_flags(subflow, ssk, tp);
	p->stale = subflow->stale_count;
}

/*
 * The one pass. Everything that a decision may look at is read here.
 *
 * What is next is the head of the queue, not snd_nxt: after a subflow was given
 * up, the core goes back to the oldest unacknowledged data, whose window the
 * peer has granted long ago (__mptcp_retransmit_pending_data()). Returns how
 * much of what is next was given to some subflow before.
 */
static __always_inline __u64 mps_snap(struct mptcp_sock *msk, struct mps_conn *c)
{
	struct mptcp_data_frag *head = msk->first_pending;
	const __u64 sent = msk->snd_nxt, end = mptcp_wnd_end(msk);
	const __u64 nxt = head ? head->data_seq + head->already_sent : sent;
	struct mptcp_subflow_context *subflow;
	__u32 n = 0;

	c->pending = msk->write_seq - nxt;
	c->wnd_left = (__s64)(end - nxt) > 0 ? end - nxt : 0;
	c->unacked = sent - msk->snd_una;
	c->unit = head ? head->data_len - head->already_sent : 0;

	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct tcp_sock *tp = ssk ? bpf_skc_to_tcp_sock(ssk) : NULL;

		if (!tp || n >= MPS_MAX_PATHS)
			break;
		mps_snap_path(&c->path[n], subflow, ssk, tp);
		n++;
	}
	c->nr_paths = n;
	return (__s64)(sent - nxt) > 0 ? sent - nxt : 0;
}

static __always_inline void mps_count_subflow(struct mptcp_subflow_context *subflow,
					      struct sock *ssk, __u32 account)
{
	struct mps_subflow_store *s;
	__u32 seq = subflow->rel_write_seq;

	s = bpf_sk_storage_get(&mps_subflow_v1, ssk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		return;
	if (s->counter[MPS_S_PICKS] + s->counter[MPS_S_RETRANS_PICKS]) {
		__u32 moved = seq - s->last_seq;

		if (s->account == MPS_S_RETRANS)
			s->counter[MPS_S_RETRANS] += moved;
		else
			s->counter[MPS_S_SENT] += moved;
	}
	s->last_seq = seq;
	s->account = account;
	if (account == MPS_S_RETRANS)
		s->counter[MPS_S_RETRANS_PICKS]++;
	else
		s->counter[MPS_S_PICKS]++;
}

/* Mark the index-th subflow of the snapshot; the list cannot change meanwhile. */
static __always_inline int mps_mark(struct mptcp_sock *msk, __u32 index, __u32 account)
{
	struct mptcp_subflow_context *subflow;
	int ret = -EAGAIN;
	__u32 n = 0;

	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk;

		if (n++ != index)
			continue;
		ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		if (!ssk)
			break;
		mps_count_subflow(subflow, ssk, account);
		mptcp_subflow_set_scheduled(subflow, true);
		ret = 0;
		break;
	}
	return ret;
}

/*
 * No memory for the connection's state: data must flow all the same, so take
 * the first subflow that can, as a kernel without a scheduler would.
 */
static __always_inline int mps_send_stateless(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	int ret = -EAGAIN;

	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);

		if (!ssk || !mptcp_subflow_active(subflow) || !bpf_sk_stream_memory_free(ssk))
			continue;
		mptcp_subflow_set_scheduled(subflow, true);
		msk->snd_burst = MPS_MAX_BURST;
		ret = 0;
		break;
	}
	return ret;
}

static __always_inline void mps_count_verdict(struct mps_conn_store *st, struct mps_verdict v)
{
	st->counter[MPS_C_DECISIONS]++;
	if (v.path >= 0) {
		st->counter[MPS_C_PICKS]++;
		st->counter[MPS_C_WND_PROBES] += !v.bytes;
	} else if (v.reason < MPS_NR_WAIT_REASONS) {
		st->counter[MPS_C_FIRST_WAIT + v.reason]++;
	}
}

static __always_inline struct mps_conn_store *mps_store(struct mptcp_sock *msk)
{
	return bpf_sk_storage_get(&mps_conn_v1, (struct sock *)msk, NULL,
				  BPF_SK_STORAGE_GET_F_CREATE);
}

/*
 * Decisions are global functions, so that the verifier looks at each of them
 * once and not once per state of its caller. They return one 64-bit word: the
 * path in the upper half, bytes or the reason to wait in the lower.
 */
static __always_inline __u64 mps_pack(struct mps_verdict v)
{
	return (__u64)(__u32)v.path << 32 | (v.path < 0 ? v.reason : v.bytes);
}

static __always_inline struct mps_verdict mps_unpack(__u64 word)
{
	struct mps_verdict v = { .path = (__s32)(word >> 32) };

	v.reason = v.bytes = (__u32)word;
	return v;
}

/* get_send, under the msk's socket or data lock, in softirq too: no sleeping. */
static __always_inline int
mps_send(struct mptcp_sock *msk, __u64 (*decide)(const struct mps_conn *c, struct mps_priv *priv))
{
	struct mps_conn_store *st;
	struct mps_verdict v;
	__u64 again;

	/* or retransmissions fire after a minimal timeout */
	mptcp_set_timeout((struct sock *)msk);

	st = mps_store(msk);
	if (!st)
		return mps_send_stateless(msk);
	again = mps_snap(msk, &st->snap);
	v = mps_unpack(decide(&st->snap, &st->priv));
	mps_count_verdict(st, v);
	if (v.path < 0)
		return -EAGAIN;
	/* a burst is either new data or old, so that the counters can tell */
	if (again && v.bytes > again)
		v.bytes = (__u32)again;
	if (v.bytes)
		msk->snd_burst = (int)v.bytes;
	return mps_mark(msk, (__u32)v.path, again ? MPS_S_RETRANS : MPS_S_SENT);
}

/* get_retrans, from the worker. Without memory for the state the timer asks again. */
static __always_inline int mps_retrans(struct mptcp_sock *msk)
{
	struct mps_conn_store *st = mps_store(msk);
	int path, ret = -EAGAIN;

	if (!st)
		return -EAGAIN;
	mps_snap(msk, &st->snap);
	path = mps_default_retrans(&st->snap);
	if (path >= 0)
		ret = mps_mark(msk, (__u32)path, MPS_S_RETRANS);
	st->counter[ret ? MPS_C_RETRANS_NONE : MPS_C_RETRANS]++;
	return ret;
}

/*
 * MPS_SCHEDULER(name, "what it is for", pick): pick(c, priv) is the decision,
 * a pure function of include/; it is not asked while the peer's window is shut.
 */
#define MPS_SCHEDULER(id, text, pick)                                                        \
	__noinline __u64 id##_decide(const struct mps_conn *c MPS_ARG,                       \
				     struct mps_priv *priv MPS_ARG)                          \
	{                                                                                    \
		barrier_var(priv); /* a scheduler without state must not drop it */          \
		return mps_pack(c->wnd_left ? pick(c, (void *)priv) : mps_window_closed(c)); \
	}                                                                                    \
	static __always_inline int id##_send(struct mptcp_sock *msk)                         \
	{                                                                                    \
		return mps_send(msk, id##_decide);                                           \
	}                                                                                    \
	MPS_OPS(id, #id, text, id##_send, mps_retrans)

#endif /* MPS_BPF_FRAME_H */
