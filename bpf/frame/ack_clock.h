/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ACK clock: asks for copies when a segment arrives on a subflow and
 * nothing is left to give out. Only this moment works. In get_send the fast
 * subflow has no room yet, and after the last get_send nobody would ask again;
 * the retransmission timer is pushed out by every data-level acknowledgement.
 *
 * It sees every TCP segment of the machine, so first it leaves what is not
 * MPTCP alone, then what has no state of this scheduler. Each request needs a
 * segment that came in, so passes cannot call for each other; it is made once
 * per value of snd_una and subflow, or again after a quarter of an RTT, when
 * room or the outlook may have changed; the bridge adds its own limit of one
 * pass per jiffy. Without the bridge's kfunc the loader leaves the program out.
 */
#ifndef MPS_BPF_CLOCK_H
#define MPS_BPF_CLOCK_H

#include "snap.h"

/*
 * MPS_ON_SEGMENT(tp, store): measures at each segment of a subflow, before the
 * segment changes anything; define it before including frame.h.
 */
#ifdef MPS_ON_SEGMENT
#define MPS_CLOCK_SEES 1
#else
#define MPS_CLOCK_SEES 0
#define MPS_ON_SEGMENT(tp, store)
#endif

/* MPS_CLOCK_ASKS: copies are wanted; a scheduler may want them for ends of its own. */
#ifndef MPS_CLOCK_ASKS
#define MPS_CLOCK_ASKS copy
#endif

/*
 * MPS_COPIES_AMID: copies are wanted while new data could be given out, too, unless
 * MPS_CLOCK_IS_EARLY(tp, store, una): what is acknowledged ends before what could be copied.
 */
#ifndef MPS_COPIES_AMID
#define MPS_COPIES_AMID false
#endif
#ifndef MPS_CLOCK_IS_EARLY
#define MPS_CLOCK_IS_EARLY(tp, store, una) false
#endif

/*
 * Can nothing be given out? Read without the lock.
 * wnd_end: of the peer's window by the last look at the subflows.
 */
static __always_inline bool mps_nothing_fresh(const struct mptcp_sock *msk, __u32 wnd_end)
{
	const __u64 nxt = msk->snd_nxt;

	return msk->write_seq == nxt || (__s64)(msk->wnd_end - nxt) <= 0 ||
	       !mps_before((__u32)nxt, wnd_end);
}

/*
 * Has TCP sent all but the short end of its data, and holds that back because
 * the application has the socket corked? Behind it the rest of the data waits
 * at the receiver; the bridge pushes it before the pass that is asked for.
 */
static __always_inline bool mps_holds_back(const struct tcp_sock *tp)
{
	const __u32 unsent = tp->write_seq - tp->snd_nxt;

	return unsent && unsent < tp->mss_cache &&
	       BPF_CORE_READ_BITFIELD(tp, nonagle) & TCP_NAGLE_CORK;
}

/*
 * Has nothing been acknowledged at data level for so long that the receiver may have dropped
 * the oldest data? The first sight of a snd_una is noted as if copies had been asked for then,
 * long enough ago to ask anew.
 */
static __always_inline bool mps_stuck(struct mps_subflow_store *s, const struct tcp_sock *tp,
				      __u32 una, __u32 now_us)
{
	if (s->asked_una == una)
		return now_us - s->asked_us > tp->srtt_us >> 4;
	s->asked_una = una;
	s->asked_us = now_us - (tp->srtt_us >> 5);
	return false;
}

static __always_inline int mps_clock(struct sock *sk, bool ask)
{
	struct tcp_sock *tp = bpf_core_cast(sk, struct tcp_sock);
	struct mps_subflow_store *s;
	struct mptcp_sock *msk;
	__u32 now_us, before;
	__u64 una;

	if (!tp->is_mptcp)
		return 0;
	s = bpf_sk_storage_get(&mps_subflow_v4, sk, NULL, 0);
	if (!s || !tp->inet_conn.icsk_ulp_data)
		return 0;
	MPS_ON_SEGMENT(tp, s);
	msk = bpf_core_cast(
		bpf_core_cast(tp->inet_conn.icsk_ulp_data, struct mptcp_subflow_context)->conn,
		struct mptcp_sock);
	una = msk->snd_una;
	if (!ask || una == msk->snd_nxt)
		return 0;
	now_us = (__u32)(bpf_ktime_get_ns() / 1000);
	if ((MPS_COPIES_AMID ? MPS_CLOCK_IS_EARLY(tp, s, (__u32)una)
			     : !mps_nothing_fresh(msk, s->wnd_end) && !mps_holds_back(tp)) &&
	    !mps_stuck(s, tp, (__u32)una, now_us))
		return 0;
	if (s->asked_una == (__u32)una && now_us - s->asked_us < tp->srtt_us >> 5)
		return 0;
	/* before the request: the pass may begin at once; another may have been asked for */
	before = s->asked;
	s->asked = 1;
	if (!bpf_ksym_exists(bpf_mptcp_request_retrans) || bpf_mptcp_request_retrans(sk)) {
		s->asked = before;
		return 0;
	}
	s->asked_una = (__u32)una;
	s->asked_us = now_us;
	return 0;
}

/* Before the segment changes anything; only its socket counts here. */
#define MPS_CLOCK(id)                                                                        \
	SEC("tp_btf/tcp_probe")                                                              \
	int BPF_PROG(id##_clock, struct sock *sk)                                            \
	{                                                                                    \
		return MPS_CLOCK_SEES || MPS_CLOCK_ASKS ? mps_clock(sk, MPS_CLOCK_ASKS) : 0; \
	}

#endif /* MPS_BPF_CLOCK_H */
