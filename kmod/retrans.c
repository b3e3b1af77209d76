// SPDX-License-Identifier: GPL-2.0
/*
 * The kfuncs' bodies that need kernel headers, above all the request for an
 * early retransmission pass.
 */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <net/mptcp.h>
#include <net/tcp.h>
#include "bridge.h"
#include "kernel_private.h"

/* A raw socket may have any protocol's number, and less memory than one of that protocol. */
static bool msb_is_stream(const struct sock *sk, int protocol)
{
	return sk && sk_fullsock(sk) && sk->sk_protocol == protocol && sk->sk_type == SOCK_STREAM &&
	       (sk->sk_family == AF_INET || sk->sk_family == AF_INET6);
}

_Bool msb_is_mptcp_sock(const struct sock *sk)
{
	return msb_is_stream(sk, IPPROTO_MPTCP);
}

struct mptcp_subflow_context *msb_subflow_ctx(const struct sock *sk)
{
	if (!msb_is_stream(sk, IPPROTO_TCP) || !sk_is_mptcp(sk))
		return NULL;
	return (__force void *)READ_ONCE(inet_csk(sk)->icsk_ulp_data);
}

/*
 * The connection that @ssk is a subflow of, or NULL. Without a reference: within an RCU read side
 * its memory stays that of an MPTCP socket.
 */
struct mptcp_sock *msb_conn_of(const struct sock *ssk)
{
	const struct mptcp_subflow_context *subflow = msb_subflow_ctx(ssk);
	struct sock *conn = subflow ? msb_subflow_conn(subflow) : NULL;

	return msb_is_mptcp_sock(conn) ? (struct mptcp_sock *)conn : NULL;
}

_Bool msb_memory_free(const struct sock *sk)
{
	return sk_fullsock(sk) && sk->sk_prot->stream_memory_free && sk_stream_memory_free(sk);
}

_Bool msb_rtx_queue_empty(const struct sock *sk)
{
	return !sk_fullsock(sk) || sk->sk_protocol != IPPROTO_TCP || tcp_rtx_queue_empty(sk);
}

long msb_expires_in(const struct sock *ssk)
{
#if defined(MSB_HAVE_TIMEOUT_EXPIRES)
	return tcp_timeout_expires(ssk) - jiffies;
#elif defined(MSB_HAVE_ICSK_TIMEOUT)
	return icsk_timeout(inet_csk(ssk)) - jiffies;
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
 * There is one pass per jiffy and connection. A request that comes behind it, in the same jiffy,
 * is granted for the next one: it may be the last for long, as what it was made for may be the
 * last acknowledgement. While a pass is to come (MSB_ASKED), no other is needed.
 *
 * The jiffy of the last pass, by hash of the connection: sharing a place only delays a pass.
 */
#define MSB_LAST_BITS 10
static u32 msb_last[1 << MSB_LAST_BITS];

static u32 *msb_last_pass(const struct sock *msk)
{
	return &msb_last[hash_ptr(msk, MSB_LAST_BITS)];
}

/*
 * Between the request and the pass stands a step in process context. Each pass
 * counts as a round without progress for every subflow that has not been heard
 * of since the last, and after a few rounds the core gives the subflow up. At
 * one pass per jiffy that is less than the round trip of most paths, so the
 * round is taken off before it is put on. Rounds of the timer count as ever, also those that
 * a request has kept from coming (rounds.c).
 */
struct workqueue_struct *msb_wq;
static atomic_t msb_requests; /* that are not done */

/*
 * Makes the pass begin. One that comes to nothing, since its segment acknowledged all there was,
 * must not stand in the way of the one for the data that the answer calls forth.
 */
void msb_begin_pass(struct sock *sk)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	struct list_head *head = msb_conn_list(msk), *pos;
	bool due;

	if (inet_sk_state_load(sk) == TCP_CLOSE || !(msb_has_unacked(msk) || msb_has_unsent(msk)))
		return;
	/* where a pass is to come, too: it pushes nothing */
	list_for_each(pos, head) msb_push_short_end(msk, msb_subflow_ssk(msb_subflow_of(pos)));
	if (test_and_set_bit(msb_work_rtx, msb_flags(msk)))
		return;
	/* before the worker, which the connection's lock keeps from running */
	due = msb_round_is_due(msk);
	assign_bit(MSB_PASS_ASKED, msb_flags(msk), !due);
	if (!due) {
		list_for_each(pos, head) msb_forgive_round(msb_subflow_of(pos));
	}
	WRITE_ONCE(*msb_last_pass(sk), (u32)jiffies);
	msb_call(mptcp_schedule_work)(sk);
}

void msb_request_done(struct msb_request *r)
{
	sock_put(r->sk);
	msb_pool_put(r);
	if (atomic_dec_and_test(&msb_requests))
		wake_up_var(&msb_requests);
}

static void msb_run_request(struct work_struct *work)
{
	struct msb_request *r = container_of(to_delayed_work(work), struct msb_request, work);

	lock_sock(r->sk);
	clear_bit(MSB_ASKED, msb_flags((struct mptcp_sock *)r->sk));
	msb_begin_pass(r->sk);
	release_sock(r->sk);
	msb_request_done(r);
}

int msb_start_requests(void)
{
	int err;

	msb_wq = alloc_workqueue("mptcp_sched_bpf", WQ_UNBOUND, 0);
	if (!msb_wq)
		return -ENOMEM;
	err = msb_pool_start() ?: msb_watch_passes();
	if (err) {
		destroy_workqueue(msb_wq);
		msb_pool_stop();
	}
	return err;
}

/* No program is left that could ask; what was asked for is done first. */
void msb_stop_requests(void)
{
	/* one that waits for its jiffy is not in the queue yet */
	wait_var_event(&msb_requests, !atomic_read(&msb_requests));
	msb_forget_passes();
	destroy_workqueue(msb_wq);
	msb_pool_stop();
}

/*
 * The connection may be on its way out, and its memory be another's: only a reference tells.
 * bit: of the connection's flags, set while the request is there. Two at once do no harm: the
 * second finds all done.
 */
int msb_request_start(struct sock *sk, int bit, work_func_t run, unsigned long delay, u32 slack_us)
{
	struct msb_request *r = msb_pool_get();

	if (!r)
		return -ENOMEM;
	if (!refcount_inc_not_zero(&sk->sk_refcnt)) {
		msb_pool_put_back(r);
		return -EINVAL;
	}
	set_bit(bit, msb_flags((struct mptcp_sock *)sk));
	r->sk = sk;
	r->slack_us = slack_us;
	r->nr_silent = 0;
	r->quiet = (struct msb_silence){};
	INIT_DELAYED_WORK(&r->work, run);
	atomic_inc(&msb_requests);
	queue_delayed_work(msb_wq, &r->work, delay);
	return 0;
}

static int msb_queue_pass(struct sock *sk)
{
	if (test_bit(MSB_ASKED, msb_flags((struct mptcp_sock *)sk)))
		return -EBUSY;
	return msb_request_start(sk, MSB_ASKED, msb_run_request,
				 READ_ONCE(*msb_last_pass(sk)) == (u32)jiffies, 0);
}

/* Whether or not a pass is to come already. */
void msb_queue_push(struct sock *sk)
{
	if (!test_bit(msb_fallback_done, msb_flags((struct mptcp_sock *)sk)))
		msb_queue_pass(sk);
}

/*
 * Nothing is on its way. Either a scheduler asks ahead of what it is assigning
 * just now, which will be unacknowledged by the time of the pass: it has set a
 * burst. Or it found no subflow, and then no acknowledgement will make the core
 * look at the send queue again, and since upstream's 2ea6190f42d0 ("mptcp:
 * schedule rtx timer only after pushing data") no timer either. The worker's
 * pass does both: with nothing to retransmit it pushes what waits, and it starts
 * the timer, so that the core tries on by itself. Nobody need ask while that
 * timer runs, and that bounds the requests: one that is refused would never be
 * made again, so where no memory is left, the worker is called at once.
 */
static int msb_ask_push(struct sock *sk, bool scheduler)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	int err;

	if (!msb_has_unsent(msk))
		return -ENODATA;
	if (test_bit(msb_work_rtx, msb_flags(msk)))
		return -EALREADY;
	if (scheduler && msb_bursts(msk))
		return msb_queue_pass(sk);
	if (msb_rtx_timer_runs(msk))
		return -EALREADY;
	err = msb_queue_pass(sk);
	/* a scheduler's caller holds the connection */
	if (err == -ENOMEM && scheduler && !test_and_set_bit(msb_work_rtx, msb_flags(msk))) {
		msb_call(mptcp_schedule_work)(sk);
		return 0;
	}
	return err == -EBUSY ? 0 : err;
}

static int msb_ask(struct sock *sk, bool scheduler)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	unsigned long *flags = msb_flags(msk);

	if ((1 << inet_sk_state_load(sk)) & (TCPF_CLOSE | TCPF_LISTEN | TCPF_SYN_SENT) ||
	    test_bit(msb_fallback_done, flags))
		return -EINVAL;
	if (!msb_has_unacked(msk))
		return msb_ask_push(sk, scheduler);
	if (!test_bit(msb_work_rtx, flags))
		return msb_queue_pass(sk);
	/* that pass pushes no end, and nobody asks again */
	if (scheduler && sk->sk_shutdown & SEND_SHUTDOWN)
		msb_queue_pass(sk);
	return -EALREADY;
}

/* Without a reference: the last one must not go here, where nothing may sleep. */
int msb_request_retrans(struct sock *sk)
{
	struct sock *msk;
	int err = -EINVAL;

	rcu_read_lock();
	msk = msb_is_mptcp_sock(sk) ? sk : (struct sock *)msb_conn_of(sk);
	if (msk)
		err = msb_ask(msk, msk == sk);
	rcu_read_unlock();
	return err;
}
