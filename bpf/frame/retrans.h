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

/* The path that sends again what is late, as a mask of paths; 0: none is fit. */
static __always_inline __u32 mps_repair(const struct mps_conn *c)
{
	const bool late = c->unit && !mps_is_under_way(c);
	const int path = late ? mps_default_retrans(c) : MPS_WAIT;

	return path < 0 ? 0 : 1U << (path & 31);
}

/* Is it the window that keeps fresh data back, and not the scheduler? */
static __always_inline bool mps_penalises(const struct mps_conn *c, const struct mps_policy *p)
{
	return penalise && !p->everywhere && c->pending && !c->wnd_left;
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
	__u32 pass, next, mask = 0, account = MPS_S_RETRANS;
	int ret = -EAGAIN;
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
	program->look(msk, st, &r);
	if (!next)
		memo->copies = !!(pass & MPTCP_PASS_ASKED);
	/* without copies it was asked for to make the core try to send on, which it does now */
	if (memo->copies && !mps_clock_asks(p))
		return -EAGAIN;
	/* what one had room for the others must have, too, though the writer is done since */
	if (p->copies_amid && sndbuf)
		r.sndbuf = mps_sndbuf_wanted(&st->snap, 0, p, st->snap.pending);
	lost = memo->copies && mps_lost_behind(&st->snap);
	/* the timer's pass would put the oldest fragment out of the reach of one for copies */
	if (lost)
		mask = mps_repair_first(&st->snap);
	else if (memo->copies || (p->copies_amid && mps_clock_asks(p)))
		mask = (__u32)program->copies(&st->snap, &st->priv);
	if (mask && !lost)
		account = MPS_S_COPIED;
	else if (!mask && !memo->copies)
		mask = mps_repair(&st->snap);
	if (mask)
		ret = program->mark(msk, mask, &r, account);
	if (!ret && account == MPS_S_COPIED && mps_penalises(&st->snap, p))
		mps_penalise_carriers(msk, &st->snap, &r);
	/* bpf_redundant copies in the timer's passes, too */
	mps_count_pass(st, next, account == MPS_S_COPIED || (memo->copies && !lost), ret);
	mps_pass_expects(msk, memo, &r, ret);
	return ret;
}

#endif /* MPS_BPF_RETRANS_H */
