/* SPDX-License-Identifier: GPL-2.0 */
/* get_send: where new data goes. */
#ifndef MPS_BPF_SEND_H
#define MPS_BPF_SEND_H

#include "kernel/compat.h"
#include "common/fragment.h"
#include "common/queue_cap.h"
#include "common/sndbuf.h"
#include "frame/glance.h"
#include "frame/mark.h"
#include "frame/over.h"
#include "frame/quick.h"
#include "kernel/writer.h"

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
	if (msk->snd_nxt == msk->snd_una && mps_can_ask()) {
		msk->snd_burst = 0; /* what is left of an old one says nothing */
		bpf_mptcp_request_retrans((struct sock *)msk);
	}
	return -EAGAIN;
}

/*
 * A pass for copies, from get_send, of what is assigned now. It comes when the
 * core has pushed that, which the bridge knows by snd_burst.
 */
static __always_inline void mps_ask(struct mptcp_sock *msk)
{
	if (mps_can_ask())
		bpf_mptcp_request_retrans((struct sock *)msk);
}

/*
 * Is this the last that will ever be assigned, and may TCP hold back the end of it? The core's
 * DATA_FIN pushes nothing; the bridge does, before a pass (kmod/ends.c). The core does not stop in
 * a fragment, whatever it was told. To ask too early is one pass for nothing.
 */
static __always_inline bool mps_leaves_short_end(const struct mptcp_sock *msk,
						 const struct mps_conn *c, __u32 bytes,
						 __u64 buffered)
{
	return bytes + c->unit >= buffered && msk->snd_data_fin_enable &&
	       (BPF_CORE_READ_BITFIELD(msk, cork) || !BPF_CORE_READ_BITFIELD(msk, nodelay));
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

static __always_inline __u32 mps_sndbuf_wanted(const struct mps_conn *c, __u32 path,
					       const struct mps_policy *p, __u64 buffered)
{
	return p->sndbuf ? p->sndbuf(c, path) : mps_sndbuf_share(c, path, buffered);
}

static __always_inline void mps_cover_repairs(struct mptcp_sock *msk, struct mps_conn_store *st,
					      const struct mps_policy *p)
{
	const __u32 how = queue_cap, most = p->queue_cap ? p->queue_cap(&st->priv) : how;

	if (how && !p->everywhere && st->snap.nr_paths > 1)
		mps_cover(&st->snap, how < 2 || most < 2 || mps_writer_waits(msk));
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

/* says: what a glance has, enum mps_glance_says. */
static __always_inline int mps_choose(struct mptcp_sock *msk, struct mps_conn_store *st,
				      const struct mps_program *program, __u32 says)
{
	const struct mps_policy *p = program->policy;
	const __u32 looked_us = st->snap.now_us;
	struct mps_verdict v;
	struct mps_round r;
	__u64 buffered;
	__u32 again;

	mps_snap_conn(msk, st, &r);
	if (!mps_may_look_quickly(st, says, p) ||
	    !mps_look_quickly(msk, st, &r, mps_quick_idle(msk, p, st->snap.now_us - looked_us)))
		program->look(msk, st, &r);
	if (mps_goes_back(&r) && !p->everywhere && bpf_ksym_exists(bpf_mptcp_pass_over) &&
	    mps_pass_over(msk, &r)) {
		const bool unsure = r.unsure;

		mps_snap_conn(msk, st, &r);
		program->look(msk, st, &r);
		r.unsure |= unsure;
		/* nobody is asked where nothing is left to send */
		if (!msk->first_pending)
			return -EAGAIN;
	}
	st->snap.fit = p->everywhere ? 0 : mps_fit(st->snap.unit);
	st->snap.blocked =
		(__u32)(st->counter[MPS_C_WAIT_PEER_WINDOW] + st->counter[MPS_C_RETRANS]);
	mps_cover_repairs(msk, st, p);
	buffered = st->snap.pending;
	if (p->see_conn)
		p->see_conn(msk, &st->snap, &st->priv);
	v = mps_unpack(program->decide(&st->snap, &st->priv));
	mps_count_verdict(st, v);
	if (v.path < 0) {
		/* the next acknowledgement may be long in coming */
		if (r.unsure)
			mps_ask(msk);
		return mps_send_later(msk);
	}
	/* what some subflow had before: a pick is of that or of new data, for its counter */
	again = mps_before(r.head, r.sent) ? r.sent - r.head : 0;
	if (again && v.bytes > again)
		v.bytes = again;
	/* and not of the next fragment, too, which may be passed over */
	if (again && st->snap.unit && v.bytes > st->snap.unit)
		v.bytes = st->snap.unit;
	if (v.bytes)
		msk->snd_burst = (int)v.bytes;
	if (v.bytes && (mps_leaves_short_end(msk, &st->snap, v.bytes, buffered) ||
			(p->ends_burst && p->ends_burst(&st->snap, &v, &st->priv))))
		mps_ask(msk);
	/* TCP enlarges it only where the writer waits, and more than a fragment may not fit */
	if (sndbuf && (buffered > st->snap.unit || mps_writer_waits(msk)))
		r.sndbuf = mps_sndbuf_wanted(&st->snap, (__u32)v.path, p, buffered);
	return program->mark(msk, 1U << (v.path & 31), &r, again ? MPS_S_RETRANS : MPS_S_SENT);
}

/*
 * Or retransmissions fire after a minimal timeout. The core's timer goes by those of the subflows,
 * which each begins as it sends. So after a push it is set until all of that was sent: a decision
 * may come before TCP sends what the last one gave it. says: what a glance has.
 */
static __always_inline void mps_time(struct mptcp_sock *msk, struct mps_conn_store *st, __u32 says)
{
	const bool waits = says & MPS_GLANCE_WAIT;

	if (!waits || !st->memo.timed)
		mptcp_set_timeout((struct sock *)msk);
	if (st)
		st->memo.timed = waits && !(says & MPS_GLANCE_UNSENT);
}

/* A path that falls silent is given up where there is another. */
static __always_inline void mps_watch(struct mptcp_sock *msk, const struct mps_conn_store *st)
{
	if (bpf_ksym_exists(bpf_mptcp_watch) && silence && (!st || st->snap.nr_paths > 1))
		bpf_mptcp_watch((struct sock *)msk, silence * 1000);
}

/* get_send, under the msk's socket or data lock, in softirq too: no sleeping. */
static __always_inline int mps_send(struct mptcp_sock *msk, struct mps_conn_store *st,
				    const struct mps_program *program)
{
	const __u32 says = st ? mps_glance_first(msk, st, program->policy) : 0;
	const bool waits = says & MPS_GLANCE_WAIT;
	int ret;

	mps_time(msk, st, says);
	if (waits)
		ret = mps_send_later(msk);
	else
		ret = st ? mps_choose(msk, st, program, says) : mps_send_stateless(msk);
	mps_watch(msk, st);
	return !waits && ret ? mps_step_over(msk) : ret;
}

#endif /* MPS_BPF_SEND_H */
