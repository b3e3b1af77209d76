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

#include "tunable.h"
#include "snap.h"
#include "clock.h"
#include "writer.h"
#include "mps_copy.h"
#include "mps_retrans.h"
#include "mps_sndbuf.h"
#include "mps_cover.h"
#include "mps_rest.h"

char _license[] SEC("license") = "GPL";

/*
 * Tunables whose default is not right for every scheduler. Where all subflows get all of the
 * data a loss on one holds nothing back, and a full window is no reason to wait.
 */
#ifndef MPS_FIT
#define MPS_FIT 500
#endif
#ifndef MPS_COVER
#define MPS_COVER 2
#endif
#ifndef MPS_PENALISE
#define MPS_PENALISE 1
#endif

/* Fixed, so that without copies the ACK clock, which sees every TCP segment, is nothing. */
MPS_TUNABLE_FIXED(copy, 1, 0, 1, 1, "copy stuck data onto a faster subflow where that pays");
MPS_TUNABLE(fit, MPS_FIT, 0, 1000, 1000,
	    "room wanted: part of the next fragment, or an eighth of the window");
MPS_TUNABLE(
	cover, MPS_COVER, 0, 2, 1,
	"no queue on slower subflows whose loss would fill the peer's window, 2: or delay the end");
MPS_TUNABLE(sndbuf, 1, 0, 1, 1, "the send buffer takes what all carry in the slowest's round trip");
MPS_TUNABLE(penalise, MPS_PENALISE, 0, 1, 1,
	    "a subflow that fills the peer's window gets less of its own");

/*
 * MPS_ON_SEND(msk, c, priv): completes the snapshot for get_send in a scheduler's
 * own way. MPS_ON_GIVEN(store, now_us): a subflow was chosen for data. MPS_ENDS_BURST(c,
 * v, priv): copies are wanted as soon as what the verdict v gives out is on its way.
 * MPS_COPIES_TAIL: they are, but not before all data was given out.
 * Define them before including this.
 */
#ifndef MPS_ON_SEND
#define MPS_ON_SEND(msk, c, priv)
#endif
#ifndef MPS_ON_GIVEN
#define MPS_ON_GIVEN(store, now_us)
#endif
#ifndef MPS_SNDBUF
#define MPS_SNDBUF(c, path) mps_sndbuf_share(c, path)
#endif
#ifndef MPS_COPIES_TAIL
#define MPS_COPIES_TAIL false
#endif
#ifndef MPS_ENDS_BURST
#define MPS_ENDS_BURST(c, v, priv) false
#endif

/* Behind the barrier the compiler tests the very register that it uses. */
static __always_inline void mps_add(__u64 *counter, __u64 nr, __u64 i, __u64 by)
{
	barrier_var(i);
	if (i < nr)
		counter[i] += by;
}

/*
 * account: the counter to which the bytes of this pick go. Which data it is will
 * be seen in the next round (mps_settle.h); of a fragment it is known now.
 */
static __always_inline void mps_note_pick(struct mps_subflow_store *s, const struct mps_round *r,
					  __u32 account)
{
	MPS_ON_GIVEN(s, r->now_us);
	s->account = (__u8)account;
	s->length = (__u16)(r->frag_end - r->frag);
	if (s->length)
		mps_ranges_add(&s->ranges, r->frag, r->frag_end, r->una, r->now_us);
	/* mps_stats.h: each counter of bytes follows that of its picks */
	mps_add(s->counter, MPS_NR_SUBFLOW_COUNTERS, account - 1, 1);
}

/* A larger send buffer for it, where the writer waits for room: mps_sndbuf.h. */
static __always_inline void mps_expand_sndbuf(struct sock *ssk, __u32 bytes)
{
	if (bpf_ksym_exists(bpf_mptcp_expand_sndbuf) && ssk->sk_sndbuf < (int)bytes)
		bpf_mptcp_expand_sndbuf(ssk, bytes);
}

/* Marks the subflows of the mask; the list has not changed since the snapshot. */
static __always_inline int mps_mark(struct mptcp_sock *msk, __u32 mask, const struct mps_round *r,
				    __u32 account)
{
	struct mptcp_subflow_context *subflow;
	int ret = -EAGAIN;
	__u32 n = 0;

	mps_for_each_subflow(subflow, msk) {
		struct mps_subflow_store *s;
		struct sock *ssk;

		if (n >= MPS_MAX_PATHS)
			break;
		if (!(mask >> n++ & 1))
			continue;
		ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		s = ssk ? mps_subflow_store(ssk) : NULL;
		if (!s)
			break;
		mps_note_pick(s, r, account);
		mps_expand_sndbuf(ssk, r->sndbuf);
		mptcp_subflow_set_scheduled(subflow, true);
		ret = 0;
	}
	return ret;
}

/* Those that made the peer's window fill: they carry the oldest data. */
static __always_inline void mps_penalise_carriers(struct mptcp_sock *msk, const struct mps_conn *c)
{
	struct mptcp_subflow_context *subflow;
	__u32 n = 0;

	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct mps_subflow_store *s = ssk ? mps_subflow_store(ssk) : NULL;

		if (!s || n >= MPS_MAX_PATHS)
			break;
		mps_penalise_carrier(s, &c->path[n], (__u32)c->now_us);
		n++;
	}
}

/*
 * Nothing is sent now. Acknowledgements of what is on its way make the core
 * ask again; with nothing on its way nobody would, for as long as the peer has
 * nothing to say. That happens where no subflow can carry data at the moment
 * of a write, and a little later one can: 6.12's accept() returns connections
 * whose first subflow is still in SYN_RECV, and any kernel's connection can
 * lose its last subflow before the peer joins anew.
 */
static __always_inline int mps_send_later(struct mptcp_sock *msk)
{
	if (msk->snd_nxt == msk->snd_una && bpf_ksym_exists(bpf_mptcp_request_retrans)) {
		msk->snd_burst = 0; /* what is left of an old one says nothing */
		bpf_mptcp_request_retrans((struct sock *)msk);
	}
	return -EAGAIN;
}

/*
 * A pass for copies, from get_send, of what is given out now. It comes when the
 * core has pushed that, which the bridge knows by snd_burst, and needs a subflow
 * that remembers that copies were asked for.
 */
static __always_inline void mps_ask(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	struct mps_subflow_store *s;
	struct sock *ssk;

	if (!bpf_ksym_exists(bpf_mptcp_request_retrans) ||
	    bpf_mptcp_request_retrans((struct sock *)msk))
		return;
	mps_for_each_subflow(subflow, msk) {
		ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		s = ssk ? mps_subflow_store(ssk) : NULL;
		if (s)
			s->asked = 1;
		break;
	}
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
	return ret ? mps_send_later(msk) : 0;
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

static __always_inline void mps_cover_repairs(struct mptcp_sock *msk, struct mps_conn *c)
{
	const __u32 how = cover;

	if (how)
		mps_cover(c, how < 2 || mps_writer_waits(msk));
}

/*
 * Is all of what is next on its way already? With checksums the core sends a copy of the whole
 * fragment, also of what nobody was given yet, and what is next stays where it was
 * (__mptcp_retrans()). Once that is acknowledged the kernel warns (__mptcp_clean_una()), so the
 * core has to go on from there even though nothing is to be sent: any subflow will do, as without
 * a burst it gets nothing (__subflow_push_pending()).
 */
static __always_inline int mps_step_over(struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *head = msk->first_pending;
	struct mptcp_subflow_context *subflow;
	int ret = -EAGAIN;

	if (!head || head->already_sent < head->data_len)
		return ret;
	msk->snd_burst = 0;
	mps_for_each_subflow(subflow, msk) {
		mptcp_subflow_set_scheduled(subflow, true);
		ret = 0;
		break;
	}
	return ret;
}

static __always_inline int
mps_choose(struct mptcp_sock *msk, __u64 (*decide)(const struct mps_conn *c, struct mps_priv *priv))
{
	struct mps_conn_store *st;
	struct mps_verdict v;
	struct mps_round r;
	__u32 again;

	/* or retransmissions fire after a minimal timeout */
	mptcp_set_timeout((struct sock *)msk);

	st = mps_store(msk);
	if (!st)
		return mps_send_stateless(msk);
	mps_snap_conn(msk, st, &r);
	mps_snap_paths(msk, st, &r, false);
	st->snap.fit = (__u16)(st->snap.unit * fit / 1000);
	st->snap.blocked =
		(__u32)(st->counter[MPS_C_WAIT_PEER_WINDOW] + st->counter[MPS_C_RETRANS]);
	mps_cover_repairs(msk, &st->snap);
	MPS_ON_SEND(msk, &st->snap, &st->priv);
	v = mps_unpack(decide(&st->snap, &st->priv));
	mps_count_verdict(st, v);
	if (v.path < 0) {
		/* the next acknowledgement may be long in coming */
		if (r.unsure)
			mps_ask(msk);
		return mps_send_later(msk);
	}
	/* what some subflow had before: a burst is either that or new data, for the counters */
	again = mps_before(r.head, r.sent) ? r.sent - r.head : 0;
	if (again && v.bytes > again)
		v.bytes = again;
	if (v.bytes)
		msk->snd_burst = (int)v.bytes;
	if (v.bytes && MPS_ENDS_BURST(&st->snap, v, &st->priv))
		mps_ask(msk);
	if (sndbuf && mps_writer_waits(msk))
		r.sndbuf = MPS_SNDBUF(&st->snap, (__u32)v.path);
	return mps_mark(msk, 1U << (v.path & 31), &r, again ? MPS_S_RETRANS : MPS_S_SENT);
}

/* get_send, under the msk's socket or data lock, in softirq too: no sleeping. */
static __always_inline int
mps_send(struct mptcp_sock *msk, __u64 (*decide)(const struct mps_conn *c, struct mps_priv *priv))
{
	return mps_choose(msk, decide) ? mps_step_over(msk) : 0;
}

/*
 * Where passes go on, the kernel does not say which fragment a call is about, nor where
 * a pass begins. It is about the one behind that of the call before, if it belongs to the
 * same pass, which only the time can tell: two passes are about a jiffy apart at least.
 */
#define MPS_PASS_US 2000

static __always_inline __u32 mps_pass_time(const struct mps_round *r)
{
	return r->now_us / 16 & ((1U << 28) - 1);
}

static __always_inline bool mps_same_pass(const struct mps_memo *m, const struct mps_round *r)
{
	const __u32 since = mps_pass_time(r) - m->pass_at;

	return mps_passes_go_on() && m->pass_at && (since & ((1U << 28) - 1)) < MPS_PASS_US / 16;
}

static __always_inline int mps_copy(struct mptcp_sock *msk, struct mps_conn_store *st,
				    const struct mps_round *r, __u32 mask)
{
	int ret = mask ? mps_mark(msk, mask, r, MPS_S_COPIED) : -EAGAIN;

	/* it is the window that keeps fresh data back, and not the scheduler */
	if (!ret && penalise && st->snap.pending && !st->snap.wnd_left)
		mps_penalise_carriers(msk, &st->snap);
	return ret;
}

static __always_inline int mps_repair(struct mptcp_sock *msk, struct mps_conn_store *st,
				      const struct mps_round *r)
{
	const int path = st->snap.unit ? mps_default_retrans(&st->snap) : MPS_WAIT;

	return path < 0 ? -EAGAIN : mps_mark(msk, 1U << (path & 31), r, MPS_S_RETRANS);
}

/* What the receiver has dropped goes again, without waiting for the timer. */
static __always_inline int mps_resend(struct mptcp_sock *msk, struct mps_conn_store *st,
				      const struct mps_round *r)
{
	const __u32 mask = mps_repair_first(&st->snap);

	return mask ? mps_mark(msk, mask, r, MPS_S_RETRANS) : -EAGAIN;
}

static __always_inline void mps_count_pass(struct mps_conn_store *st, bool next, bool copies,
					   int ret)
{
	/* that a pass goes no further is no pass for nothing */
	if (next && ret)
		return;
	if (copies)
		st->counter[ret ? MPS_C_COPIES_NONE : MPS_C_COPIES]++;
	else
		st->counter[ret ? MPS_C_RETRANS_NONE : MPS_C_RETRANS]++;
}

/*
 * get_retrans, from the worker: because the retransmission timer fired, or
 * because the ACK clock asked for copies; then it is for nothing else, or each
 * ACK would send data again that is merely on its way. Without memory for the
 * state the timer asks again.
 */
static __always_inline int mps_retrans(struct mptcp_sock *msk,
				       __u64 (*policy)(const struct mps_conn *c,
						       struct mps_priv *priv))
{
	struct mps_conn_store *st = mps_store(msk);
	struct mps_memo *memo;
	struct mps_round r;
	bool next, asked, lost;
	int ret = -EAGAIN;

	if (!st)
		return -EAGAIN;
	memo = &st->memo;
	mps_snap_conn(msk, st, &r);
	next = mps_same_pass(memo, &r);
	memo->pass_end = mps_snap_fragment(msk, &st->snap, &r, next ? memo->pass_end : r.una);
	asked = mps_snap_paths(msk, st, &r, !next);
	if (!next)
		memo->copies = asked;
	/* without copies it was asked for to make the core try to send on, which it does now */
	if (memo->copies && !(MPS_CLOCK_ASKS))
		return -EAGAIN;
	/* what one had room for the others must have, too, though the writer is done since */
	if (MPS_COPIES_AMID && sndbuf)
		r.sndbuf = MPS_SNDBUF(&st->snap, 0);
	lost = memo->copies && mps_lost_behind(&st->snap);
	/* the timer's pass would put the oldest fragment out of the reach of one for copies */
	if (lost)
		ret = mps_resend(msk, st, &r);
	else if (memo->copies || (MPS_COPIES_AMID && MPS_CLOCK_ASKS))
		ret = mps_copy(msk, st, &r, (__u32)policy(&st->snap, &st->priv));
	if (ret && !memo->copies)
		ret = mps_repair(msk, st, &r);
	mps_count_pass(st, next, memo->copies && !lost, ret);
	/* behind the last that was given out there is none */
	memo->pass_at = ret || memo->pass_end == r.sent ? 0 : mps_pass_time(&r) ?: 1;
	return ret;
}

static __always_inline struct mps_verdict mps_whole(const struct mps_conn *c, struct mps_verdict v)
{
	return copy ? mps_with_rest(c, v, MPS_COPIES_TAIL) : v;
}

/*
 * MPS_SCHEDULER(name, "what it is for", pick): pick(c, priv) is the decision,
 * a pure function of include/; it is not asked while the peer's window is shut.
 * MPS_SCHEDULER_COPIES(..., copies): with a policy of its own for copies, a
 * function of the same arguments that answers a mask of paths (mps_copy.h).
 */
#define MPS_SCHEDULER_COPIES(id, text, pick, copies)                                \
	__noinline __u64 id##_decide(const struct mps_conn *c MPS_ARG,              \
				     struct mps_priv *priv MPS_ARG)                 \
	{                                                                           \
		barrier_var(priv); /* a scheduler without state must not drop it */ \
		return mps_pack(c->wnd_left ? mps_whole(c, pick(c, (void *)priv))   \
					    : mps_window_closed(c));                \
	}                                                                           \
	__noinline __u64 id##_copies(const struct mps_conn *c MPS_ARG,              \
				     struct mps_priv *priv MPS_ARG)                 \
	{                                                                           \
		barrier_var(priv);                                                  \
		return copies(c, (void *)priv);                                     \
	}                                                                           \
	static __always_inline int id##_send(struct mptcp_sock *msk)                \
	{                                                                           \
		return mps_send(msk, id##_decide);                                  \
	}                                                                           \
	static __always_inline int id##_retrans(struct mptcp_sock *msk)             \
	{                                                                           \
		return mps_retrans(msk, id##_copies);                               \
	}                                                                           \
	MPS_CLOCK(id)                                                               \
	MPS_OPS(id, #id, text, id##_send, id##_retrans)

#define MPS_SCHEDULER(id, text, pick) MPS_SCHEDULER_COPIES(id, text, pick, mps_opportunistic)

static __always_inline __u64 mps_opportunistic(const struct mps_conn *c, void *priv)
{
	return mps_copy_if_it_pays(c);
}

#endif /* MPS_BPF_FRAME_H */
