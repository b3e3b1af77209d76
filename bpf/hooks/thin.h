/* SPDX-License-Identifier: GPL-2.0 */
/* What bpf_thin's policy needs of the frame beyond a decision: policy/thin.h. */
#ifndef MPS_BPF_THIN_H
#define MPS_BPF_THIN_H

#include "frame/policy.h"
#include "kernel/writer.h"
#include "policy/thin.h"

static __always_inline struct mps_thin_subflow *mps_thin_state(struct mps_subflow_store *s)
{
	return (struct mps_thin_subflow *)&s->priv;
}

static __always_inline void mps_thin_sample(struct tcp_sock *tp, struct mps_subflow_store *s)
{
	mps_thin_observe(mps_thin_state(s), (__u32)tp->rack.mstamp, tp->rack.rtt_us,
			 tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr);
}

/*
 * While the writer waits for room nothing ends a burst. queues: of a path in use the queue counts,
 * which srtt has in it and the least of the samples has not.
 */
static __always_inline void mps_thin_see(const struct mps_look *l, struct mps_path *p,
					 struct tcp_sock *tp, struct mps_subflow_store *s,
					 __u32 probe, __u32 samples, bool queues)
{
	const __u32 srtt = p->srtt_us;
	const struct mps_thin_options o = {
		.probe = mps_writer_waits(l->msk) ? 0 : probe,
		.samples = samples,
	};

	mps_thin_sample(tp, s);
	p->flags |= !BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok) * MPS_PATH_NO_TS;
	mps_thin_path(mps_thin_state(s), p, &o, l->r->now_us);
	if (queues && !(p->flags & MPS_PATH_IDLE))
		p->srtt_us = srtt;
}

/* Members of the policy: .segment, .given. */
static __always_inline void mps_thin_segment(struct sock *ssk, const struct sk_buff *skb,
					     struct tcp_sock *tp, struct mps_subflow_store *s)
{
	mps_thin_sample(tp, s);
}

static __always_inline void mps_thin_given(struct mps_subflow_store *s, __u32 now_us)
{
	mps_thin_used(mps_thin_state(s), now_us);
}

#endif /* MPS_BPF_THIN_H */
