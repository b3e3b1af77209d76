// SPDX-License-Identifier: GPL-2.0
/*
 * Short ends of data that TCP holds back, and when they are pushed.
 *
 * One is the end of a stream. TCP's FIN pushes it (tcp_send_fin()). MPTCP's DATA_FIN goes alone
 * (mptcp_check_send_data_fin()), so it waits for an acknowledgement by Nagle's rule, and in a
 * corked socket for TCP's timer. Who closes or shuts down a connection is seen by a tracepoint.
 */
#include <linux/tracepoint.h>
#include <net/mptcp.h>
#include <net/tcp.h>
#include <trace/events/sock.h>
#include "bridge.h"
#include "kernel_private.h"

#define MSB_TRACEPOINT "inet_sock_set_state"

static struct tracepoint *msb_set_state;

/* Does the segment end with the last that the application wrote? */
static bool msb_ends_stream(const struct mptcp_sock *msk, struct sk_buff *skb, bool unknown)
{
	const struct mptcp_ext *ext = skb ? skb_ext_find(skb, SKB_EXT_MPTCP) : NULL;

	if (!ext || !ext->use_map)
		return unknown;
	return ext->data_seq + ext->data_len == msb_write_seq(msk);
}

/* Has another subflow that end, too? Then one of them is a copy, no small write of just now. */
static bool msb_end_is_elsewhere(struct mptcp_sock *msk, const struct sock *ssk)
{
	struct list_head *head = msb_conn_list(msk), *pos;
	bool found = false;

	list_for_each(pos, head)
	{
		struct sock *other = msb_subflow_ssk(msb_subflow_of(pos));

		if (found)
			break;
		if (other == ssk)
			continue;
		lock_sock(other);
		found = msb_ends_stream(
			msk, tcp_write_queue_tail(other) ?: tcp_rtx_queue_tail(other), false);
		release_sock(other);
	}
	return found;
}

/* Bytes that were assigned and that TCP has not sent. */
static u32 msb_queued(const struct tcp_sock *tp)
{
	return READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
}

/* Does TCP keep a short segment that is the last? */
static bool msb_keeps(const struct tcp_sock *tp)
{
	return tp->nonagle & TCP_NAGLE_CORK || !(tp->nonagle & TCP_NAGLE_OFF);
}

/*
 * As if the application had TCP_NODELAY on for what is queued now, which goes before its TCP_CORK;
 * also where the congestion window has room for it only later.
 */
static void msb_push(struct sock *ssk)
{
	const bool was_off = tcp_sk(ssk)->nonagle & TCP_NAGLE_OFF;

	tcp_sock_set_nodelay(ssk);
	if (was_off)
		return;
	lock_sock(ssk);
	tcp_sk(ssk)->nonagle &= ~TCP_NAGLE_OFF;
	release_sock(ssk);
}

/* Is it the end of the data, to which Nagle's rule is meant to apply, and no copy of it? */
static bool msb_waits_rightly(struct mptcp_sock *msk, struct sock *ssk)
{
	bool ends;

	lock_sock(ssk);
	ends = msb_ends_stream(msk, tcp_write_queue_tail(ssk), true);
	release_sock(ssk);
	return ends && !msb_end_is_elsewhere(msk, ssk);
}

/*
 * The end of a fragment is a short segment. TCP holds it back and waits for more,
 * by Nagle's rule or while the application has the socket corked (nginx does,
 * until it has written the end of a file); but the more goes to another subflow,
 * and then all of it waits at the receiver. So push it, unless that is meant: by Nagle's rule,
 * or, corked, as it is all that is unacknowledged. An application that has closed the
 * connection writes no more: all goes then, once all is assigned. The application cannot
 * interfere: changing any of these takes the connection's lock.
 */
void msb_push_short_end(struct mptcp_sock *msk, struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	const bool ended =
		((struct sock *)msk)->sk_shutdown & SEND_SHUTDOWN && !msb_has_unsent(msk);
	const u32 queued = msb_queued(tp);

	if (!queued || (!ended && (queued >= tp->mss_cache || msb_unacked(msk) <= queued)))
		return;
	if (ended || tp->nonagle & TCP_NAGLE_CORK ||
	    (msb_keeps(tp) && !msb_waits_rightly(msk, ssk)))
		msb_push(ssk);
}

static bool msb_holds_back(struct mptcp_sock *msk)
{
	struct list_head *head = msb_conn_list(msk), *pos;

	list_for_each(pos, head)
	{
		const struct tcp_sock *tp = tcp_sk(msb_subflow_ssk(msb_subflow_of(pos)));

		if (msb_queued(tp) && msb_keeps(tp))
			return true;
	}
	return false;
}

/*
 * Of all sockets, but few go there. The connection's lock is its writer's, who closes it, so the
 * work that is asked for comes when that is done. Where something is still to be assigned, the
 * scheduler asks with the last of it.
 */
static void msb_on_state(void *unused, const struct sock *sk, const int before, const int state)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;

	if ((state != TCP_FIN_WAIT1 && state != TCP_LAST_ACK) || !msb_is_mptcp_sock(sk))
		return;
	rcu_read_lock();
	if (msb_is_served(msk) && msb_has_clock(msk) && !msb_has_unsent(msk) && msb_holds_back(msk))
		msb_queue_push((struct sock *)sk);
	rcu_read_unlock();
}

int msb_watch_ends(void)
{
	check_trace_callback_type_inet_sock_set_state(msb_on_state);
	return tracepoint_probe_register(msb_set_state, msb_on_state, NULL);
}

/* tracepoint_synchronize_unregister() is the caller's. */
void msb_forget_ends(void)
{
	tracepoint_probe_unregister(msb_set_state, msb_on_state, NULL);
}

int msb_find_ends(void)
{
	msb_set_state = msb_find_tracepoint(MSB_TRACEPOINT);
	return msb_set_state ? 0 : -ENOENT;
}
