/* SPDX-License-Identifier: GPL-2.0 */
/* get_retrans: copies of what is on its way, and what goes again because it is late. */
#ifndef MPS_BPF_RETRANS_H
#define MPS_BPF_RETRANS_H

#include "kernel/compat.h"
#include "common/copy.h"
#include "common/retrans.h"
#include "frame/ack_clock.h"
#include "frame/pass.h"
#include "frame/send.h"

static __always_inline int mps_copy(struct mptcp_sock *msk, struct mps_conn_store *st,
				    const struct mps_round *r, __u32 mask,
				    const struct mps_policy *p)
{
	int ret = mask ? mps_mark(msk, mask, r, MPS_S_COPIED, p) : -EAGAIN;

	/* it is the window that keeps fresh data back, and not the scheduler */
	if (!ret && penalise && st->snap.pending && !st->snap.wnd_left)
		mps_penalise_carriers(msk, &st->snap, r);
	return ret;
}

static __always_inline int mps_repair(struct mptcp_sock *msk, struct mps_conn_store *st,
				      const struct mps_round *r, const struct mps_policy *p)
{
	const int path = st->snap.unit ? mps_default_retrans(&st->snap) : MPS_WAIT;

	return path < 0 ? -EAGAIN : mps_mark(msk, 1U << (path & 31), r, MPS_S_RETRANS, p);
}

/* What the receiver has dropped goes again, without waiting for the timer. */
static __always_inline int mps_resend(struct mptcp_sock *msk, struct mps_conn_store *st,
				      const struct mps_round *r, const struct mps_policy *p)
{
	const __u32 mask = mps_repair_first(&st->snap);

	return mask ? mps_mark(msk, mask, r, MPS_S_RETRANS, p) : -EAGAIN;
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
static __always_inline int mps_retrans(struct mptcp_sock *msk, struct mps_conn_store *st,
				       const struct mps_program *program)
{
	const struct mps_policy *p = program->policy;
	struct mps_memo *memo;
	struct mps_round r;
	int ret = -EAGAIN;
	__u32 pass, next;
	bool lost;

	if (!st)
		return -EAGAIN;
	memo = &st->memo;
	pass = mps_which_pass(msk);
	next = mps_pass_goes_on(memo, pass, (__u32)msk->bytes_retrans);
	if (mps_pass_is_over(memo, pass))
		return -EAGAIN;
	mps_snap_conn(msk, st, &r);
	memo->pass_end = mps_snap_fragment(msk, &st->snap, &r, next ? memo->pass_end : r.una);
	mps_snap_paths(msk, st, &r, p);
	if (!next)
		memo->copies = !!(pass & MPTCP_PASS_ASKED);
	/* without copies it was asked for to make the core try to send on, which it does now */
	if (memo->copies && !mps_clock_asks(p))
		return -EAGAIN;
	/* what one had room for the others must have, too, though the writer is done since */
	if (p->copies_amid && sndbuf)
		r.sndbuf = mps_sndbuf_wanted(&st->snap, 0, p);
	lost = memo->copies && mps_lost_behind(&st->snap);
	/* the timer's pass would put the oldest fragment out of the reach of one for copies */
	if (lost)
		ret = mps_resend(msk, st, &r, p);
	else if (memo->copies || (p->copies_amid && mps_clock_asks(p)))
		ret = mps_copy(msk, st, &r, (__u32)program->copies(&st->snap, &st->priv), p);
	if (ret && !memo->copies)
		ret = mps_repair(msk, st, &r, p);
	mps_count_pass(st, next, memo->copies && !lost, ret);
	mps_pass_expects(msk, memo, &r, ret);
	return ret;
}

#endif /* MPS_BPF_RETRANS_H */
