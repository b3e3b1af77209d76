// SPDX-License-Identifier: GPL-2.0
/*
 * The kfuncs' bodies that need kernel headers, above all the request for an
 * early retransmission pass.
 */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/tcp.h>
#include "bridge.h"
#include "kernel_private.h"

_Bool msb_is_mptcp_sock(const struct sock *sk)
{
	return sk && sk_fullsock(sk) && sk->sk_protocol == IPPROTO_MPTCP &&
	       (sk->sk_family == AF_INET || sk->sk_family == AF_INET6);
}

struct mptcp_subflow_context *msb_subflow_ctx(const struct sock *sk)
{
	if (!sk || !sk_fullsock(sk) || sk->sk_protocol != IPPROTO_TCP ||
	    (sk->sk_family != AF_INET && sk->sk_family != AF_INET6) || !sk_is_mptcp(sk))
		return NULL;
	return (__force void *)READ_ONCE(inet_csk(sk)->icsk_ulp_data);
}

_Bool msb_memory_free(const struct sock *sk)
{
	return sk_fullsock(sk) && sk->sk_prot->stream_memory_free && sk_stream_memory_free(sk);
}

_Bool msb_rtx_queue_empty(const struct sock *sk)
{
	return !sk_fullsock(sk) || sk->sk_protocol != IPPROTO_TCP || tcp_rtx_queue_empty(sk);
}

static long msb_expires_in(const struct sock *ssk)
{
#ifdef MSB_HAVE_TIMEOUT_EXPIRES
	return tcp_timeout_expires(ssk) - jiffies;
#else
	return READ_ONCE(inet_csk(ssk)->icsk_timeout) - jiffies;
#endif
}

/*
 * The data-level retransmission timer waits as long as the slowest subflow's
 * own timer: mptcp_set_timeout(), net/mptcp/protocol.c
 */
void msb_set_timeout(struct sock *sk)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	struct list_head *head, *pos;
	long longest = 0;

	if (!msb_is_mptcp_sock(sk))
		return;
	head = msb_conn_list(msk);
	list_for_each(pos, head)
	{
		struct mptcp_subflow_context *subflow = msb_subflow_of(pos);
		struct sock *ssk = msb_subflow_ssk(subflow);

		if (inet_csk(ssk)->icsk_pending && !msb_subflow_stale_count(subflow))
			longest = max(longest, msb_expires_in(ssk));
	}
	msb_set_timer_ival(msk, longest > 0 ? longest : TCP_RTO_MIN);
}

/*
 * When somebody last asked, by hash of the connection. Sharing a slot only
 * makes a request wait for the next jiffy; nothing is allocated per connection.
 */
#define MSB_SLOT_BITS 12
static atomic_long_t msb_asked[1 << MSB_SLOT_BITS];

static bool msb_may_ask(const struct sock *msk)
{
	atomic_long_t *slot = &msb_asked[hash_ptr(msk, MSB_SLOT_BITS)];
	long last = atomic_long_read(slot), now = jiffies;

	return last != now && atomic_long_cmpxchg(slot, last, now) == last;
}

/*
 * A request that came to nothing, since its segment acknowledged all there was,
 * must not stand in the way of the one for the data that the answer calls forth.
 */
static void msb_ask_again(const struct sock *msk)
{
	atomic_long_t *slot = &msb_asked[hash_ptr(msk, MSB_SLOT_BITS)];
	long now = jiffies;

	atomic_long_cmpxchg(slot, now, now - 1);
}

/*
 * Between the request and the pass stands a step in process context. Each pass
 * counts as a round without progress for every subflow that has not been heard
 * of since the last, and after a few rounds the core gives the subflow up. At
 * one pass per jiffy that is less than the round trip of most paths, so the
 * round is taken off before it is put on. Rounds of the timer count as ever.
 */
struct msb_request {
	struct work_struct work;
	struct sock *sk;
};
static struct workqueue_struct *msb_wq;

/*
 * The end of a fragment is a short segment. While the application has the
 * socket corked (nginx does, until it has written the end of a file), TCP holds
 * it back and waits for more, but the more goes to another subflow, and then all
 * of it waits at the receiver. So unless it is all that is unacknowledged, push
 * it, as taking the cork out would. The application cannot interfere: changing
 * the cork takes the connection's lock.
 */
static void msb_push_short_end(struct mptcp_sock *msk, struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	const u32 held = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);

	if (!held || held >= tp->mss_cache || !(tp->nonagle & TCP_NAGLE_CORK) ||
	    msb_unacked(msk) <= held)
		return;
	tcp_sock_set_cork(ssk, false);
	tcp_sock_set_cork(ssk, true);
}

static void msb_start_pass(struct work_struct *work)
{
	struct msb_request *r = container_of(work, struct msb_request, work);
	struct mptcp_sock *msk = (struct mptcp_sock *)r->sk;
	struct list_head *head = msb_conn_list(msk), *pos;

	lock_sock(r->sk);
	if (inet_sk_state_load(r->sk) != TCP_CLOSE &&
	    (msb_has_unacked(msk) || msb_has_unsent(msk)) &&
	    !test_and_set_bit(MPTCP_WORK_RTX, msb_flags(msk))) {
		list_for_each(pos, head)
		{
			msb_forgive_round(msb_subflow_of(pos));
			msb_push_short_end(msk, msb_subflow_ssk(msb_subflow_of(pos)));
		}
		msb_call(mptcp_schedule_work)(r->sk);
	} else {
		msb_ask_again(r->sk);
	}
	release_sock(r->sk);
	sock_put(r->sk);
	kfree(r);
}

int msb_start_requests(void)
{
	msb_wq = alloc_workqueue("mptcp_sched_bpf", WQ_UNBOUND, 0);
	return msb_wq ? 0 : -ENOMEM;
}

/* No program is left that could ask; what was asked for is done first. */
void msb_stop_requests(void)
{
	destroy_workqueue(msb_wq);
}

static int msb_queue_pass(struct sock *sk)
{
	struct msb_request *r;

	if (!msb_may_ask(sk))
		return -EBUSY;
	r = kmalloc(sizeof(*r), GFP_ATOMIC | __GFP_NOWARN);
	if (!r)
		return -ENOMEM;
	sock_hold(sk);
	r->sk = sk;
	INIT_WORK(&r->work, msb_start_pass);
	queue_work(msb_wq, &r->work);
	return 0;
}

/*
 * Nothing is on its way. Either a scheduler asks ahead of what it is giving out
 * just now, which will be unacknowledged by the time of the pass; or it found
 * no subflow, and then no acknowledgement will make the core look at the send
 * queue again, and since upstream's 2ea6190f42d0 ("mptcp: schedule rtx timer
 * only after pushing data") no timer either. The worker's pass does both: with
 * nothing to retransmit it pushes what waits, and it starts the timer, so that
 * the core tries on by itself. Nobody need ask while that timer runs, and that
 * bounds the requests: one that is refused would never be made again, so where
 * the limit or memory refuses, the worker is called at once.
 */
static int msb_ask_push(struct sock *sk)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;

	if (!msb_has_unsent(msk))
		return -ENODATA;
	if (msb_rtx_timer_runs(msk) || test_bit(MPTCP_WORK_RTX, msb_flags(msk)))
		return -EALREADY;
	if (msb_queue_pass(sk) && !test_and_set_bit(MPTCP_WORK_RTX, msb_flags(msk)))
		msb_call(mptcp_schedule_work)(sk);
	return 0;
}

static int msb_ask(struct sock *sk)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	unsigned long *flags = msb_flags(msk);

	if ((1 << inet_sk_state_load(sk)) & (TCPF_CLOSE | TCPF_LISTEN | TCPF_SYN_SENT) ||
	    test_bit(MPTCP_FALLBACK_DONE, flags))
		return -EINVAL;
	if (!msb_has_unacked(msk))
		return msb_ask_push(sk);
	if (test_bit(MPTCP_WORK_RTX, flags))
		return -EALREADY;
	return msb_queue_pass(sk);
}

int msb_request_retrans(struct sock *sk)
{
	struct mptcp_subflow_context *subflow;
	struct sock *msk = sk;
	int err = -EINVAL;

	rcu_read_lock();
	if (!msb_is_mptcp_sock(sk)) {
		subflow = msb_subflow_ctx(sk);
		msk = subflow ? msb_subflow_conn(subflow) : NULL;
	}
	/* a subflow on its way out may be the last to know its connection */
	if (msb_is_mptcp_sock(msk) && refcount_inc_not_zero(&msk->sk_refcnt)) {
		err = msb_ask(msk);
		sock_put(msk);
	}
	rcu_read_unlock();
	return err;
}
