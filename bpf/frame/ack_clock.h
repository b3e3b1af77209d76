/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ACK clock: asks for copies when a segment arrives on a subflow and
 * nothing is left to assign. Only this moment works. In get_send the fast
 * subflow has no room yet, and after the last get_send nobody would ask again;
 * the retransmission timer is pushed out by every data-level acknowledgement.
 *
 * The bridge calls it for the connections of schedulers of this name (kmod/clock.c).
 * Those of an object that was unloaded have no state here, and are left alone; bpf_steer counts
 * their bytes (frame/account.h).
 * Each request needs a segment that came in, so passes cannot call for each
 * other; it is made once per value of snd_una and subflow, or again after a
 * quarter of an RTT, when room or the outlook may have changed; the bridge adds
 * its own limit of one pass per jiffy. A lone subflow has no other for a copy, and asks only where
 * the receiver may have dropped data, or TCP holds back the end of the stream. Without the bridge
 * there is no clock.
 */
#ifndef MPS_BPF_CLOCK_H
#define MPS_BPF_CLOCK_H

#include "frame/policy.h"
#include "frame/snapshot.h"
#include "frame/tunables.h"

/*
 * A clock costs each segment something, that of plain TCP too, so `load` attaches none where all
 * that it would do is to ask for copies that are not wanted. Hence the tags of a scheduler:
 *
 *  - MPS_ONLY_WITH(copy): it only asks for copies;
 *  - MPS_COPIES_WITH(copy): it measures, too, and without `copy` it only does that;
 *  - none: it is needed in any case.
 */
static __always_inline bool mps_clock_asks(const struct mps_policy *p)
{
	return p->asks ? p->asks() : copy;
}

/*
 * Can nothing be assigned? Read without the lock.
 * wnd_end: of the peer's window, where the core's account of it was in doubt.
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

/* Is there no other subflow that a copy could go over? Read without the lock. */
static __always_inline bool mps_is_alone(const struct mptcp_sock *msk)
{
	return msk->conn_list.next == msk->conn_list.prev;
}

static __always_inline bool mps_clock_is_early(const struct mptcp_sock *msk,
					       const struct tcp_sock *tp,
					       const struct mps_subflow_store *s, __u32 una,
					       const struct mps_policy *p)
{
	/* the end of the stream, where it had no room when it was closed or assigned (send.h) */
	if (msk->snd_data_fin_enable && !mps_pending(msk, msk->snd_nxt) && mps_holds_back(tp))
		return false;
	if (mps_is_alone(msk))
		return true;
	if (p->copies_amid)
		return p->too_early && p->too_early(s, una);
	return !mps_nothing_fresh(msk, s->wnd_end) && !mps_holds_back(tp);
}

/* What is stored of a subflow that a decision has seen, or NULL. */
static __always_inline struct mps_subflow_store *mps_clock_store(struct sock *sk)
{
	return bpf_sk_storage_get(&MPS_SUBFLOW_STORAGE, sk, NULL, 0);
}

static __always_inline void mps_clock(struct sock *sk, const struct sk_buff *skb,
				      struct mps_subflow_store *s, const struct mps_policy *p)
{
	struct tcp_sock *tp = bpf_core_cast(sk, struct tcp_sock);
	const bool ask = mps_clock_asks(p);
	struct mptcp_sock *msk;
	__u32 now_us;
	__u64 una;

	if ((!p->segment && !ask) || !tp->inet_conn.icsk_ulp_data)
		return;
	if (p->segment)
		p->segment(sk, skb, tp, s);
	msk = bpf_core_cast(
		bpf_core_cast(tp->inet_conn.icsk_ulp_data, struct mptcp_subflow_context)->conn,
		struct mptcp_sock);
	una = msk->snd_una;
	if (!ask || una == msk->snd_nxt)
		return;
	now_us = (__u32)(bpf_ktime_get_ns() / 1000);
	if (mps_clock_is_early(msk, tp, s, (__u32)una, p) && !mps_stuck(s, tp, (__u32)una, now_us))
		return;
	if (s->asked_una == (__u32)una && now_us - s->asked_us < tp->srtt_us >> 5)
		return;
	if (!mps_can_ask() || bpf_mptcp_request_retrans(sk))
		return;
	s->asked_una = (__u32)una;
	s->asked_us = now_us;
}

#endif /* MPS_BPF_CLOCK_H */
