// SPDX-License-Identifier: GPL-2.0
/* Short ends of data that TCP holds back, and when they are pushed. */
#include <net/mptcp.h>
#include <net/tcp.h>
#include "bridge.h"
#include "kernel_private.h"

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

		if (other == ssk || found)
			continue;
		lock_sock(other);
		found = msb_ends_stream(
			msk, tcp_write_queue_tail(other) ?: tcp_rtx_queue_tail(other), false);
		release_sock(other);
	}
	return found;
}

/* As if the application had TCP_NODELAY on for this once. */
static void msb_override_nagle(struct mptcp_sock *msk, struct sock *ssk)
{
	bool ends;

	lock_sock(ssk);
	ends = msb_ends_stream(msk, tcp_write_queue_tail(ssk), true);
	release_sock(ssk);
	if (ends && !msb_end_is_elsewhere(msk, ssk))
		return;
	tcp_sock_set_nodelay(ssk);
	lock_sock(ssk);
	tcp_sk(ssk)->nonagle &= ~TCP_NAGLE_OFF;
	release_sock(ssk);
}

/*
 * The end of a fragment is a short segment. TCP holds it back and waits for more,
 * by Nagle's rule or while the application has the socket corked (nginx does,
 * until it has written the end of a file); but the more goes to another subflow,
 * and then all of it waits at the receiver. So push it, unless it is the end of
 * the data, to which Nagle's rule is meant to apply, and no copy of it, or, corked,
 * all that is unacknowledged. An application that has closed the connection writes no
 * more, so all goes then, as with TCP's FIN; the core sends its DATA_FIN alone
 * (mptcp_check_send_data_fin()). The application cannot interfere: changing any
 * of these takes the connection's lock.
 */
void msb_push_short_end(struct mptcp_sock *msk, struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	const u32 held = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	const bool ended = ((struct sock *)msk)->sk_shutdown & SEND_SHUTDOWN;

	if (!held || held >= tp->mss_cache || (!ended && msb_unacked(msk) <= held))
		return;
	if (tp->nonagle & TCP_NAGLE_CORK) {
		tcp_sock_set_cork(ssk, false);
		tcp_sock_set_cork(ssk, true);
	} else if (!(tp->nonagle & TCP_NAGLE_OFF)) {
		msb_override_nagle(msk, ssk);
	}
}
