// SPDX-License-Identifier: GPL-2.0
/*
 * A watch over the subflows of a connection that owes data: one that falls silent is given up
 * at once, by the core's own means, and while it is away TCP tries it once a second.
 *
 * Before that it is quiet: a pass is begun once, in which the scheduler may copy what the subflow
 * owes, and behind which it sends on elsewhere. Nothing is undone where that was wrong.
 *
 * The core gives a subflow up, "stale", after net.mptcp.stale_loss_cnt rounds of the
 * retransmission timer, which takes over a second, and many more where acknowledgements on
 * another subflow push the timer out. So the rounds are counted at once, and a pass is begun, in
 * which the core does the rest: it sends what is unacknowledged on the others, and takes the
 * subflow back with the first segment that arrives on it.
 *
 * Nothing arrives unless TCP sends: it does with its own retransmissions, each twice as long after
 * the last. A path that was away for 6 s would be tried up to 6 s after its return.
 */
#include <linux/module.h>
#include <linux/workqueue.h>
#include <net/mptcp.h>
#include <net/tcp.h>
#include "bridge.h"
#include "kernel_private.h"
#include "silence.h"

#define MSB_LOOK_MIN 1		/* jiffies between two looks */
#define MSB_LOOK_STALE (HZ / 2) /* the same, while one is given up */
#define MSB_TRY_EACH HZ
#define MSB_SLACK_MAX_US (10U * USEC_PER_SEC)
/* They are a byte, and count as long as the subflow lives: it ends by time, not by them. */
#define MSB_RETRANSMITS_MAX 64

enum msb_state {
	MSB_UNFIT,   /* cannot send */
	MSB_IDLE,    /* owes nothing */
	MSB_ANSWERS, /* or may yet */
	MSB_QUIET,   /* the same, but in doubt */
	MSB_SILENT,
	MSB_STALE, /* given up, and it owes something */
};

/* us since the oldest unacknowledged segment was sent; under the subflow's lock */
static u32 msb_age_us(struct sock *ssk)
{
	const struct sk_buff *skb = tcp_rtx_queue_head(ssk);
	const u64 now = tcp_clock_us(), then = skb ? tcp_skb_timestamp_us(skb) : now;

	return now > then ? min_t(u64, now - then, U32_MAX) : 0;
}

static u32 msb_quiet_us(const struct tcp_sock *tp)
{
	const u64 now = tcp_clock_us(), then = READ_ONCE(tp->delivered_mstamp);

	return now > then ? min_t(u64, now - then, U32_MAX) : 0;
}

/*
 * The same where the last sample was of one segment, such as a probe, and tells no rate. A window
 * that is larger than the first one was carried whole, in a round trip or so, and not long ago:
 * TCP takes back what is not used. A quarter of that rate is counted on. Else this may be the first
 * flight on a slow line, which takes four round trips for two.
 */
static u32 msb_apart_by_window_us(const struct tcp_sock *tp)
{
	const u32 srtt_8 = READ_ONCE(tp->srtt_us), cwnd = tcp_snd_cwnd(tp);

	if (READ_ONCE(tp->packets_out) <= 1)
		return 0;
	return cwnd > TCP_INIT_CWND ? srtt_8 / cwnd : srtt_8 >> 1;
}

/* us that two segments take at the path's rate. */
static u32 msb_apart_us(const struct tcp_sock *tp)
{
	const u32 delivered = READ_ONCE(tp->rate_delivered);
	u64 us = 2ULL * READ_ONCE(tp->rate_interval_us);

	us = delivered >= 2 ? div_u64(us, delivered) : msb_apart_by_window_us(tp);
	return min_t(u64, us, USEC_PER_SEC);
}

/* Read without the subflow's lock; its oldest segment is of any age. */
static struct msb_flight msb_flight_of(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);

	return (struct msb_flight){
		.srtt = READ_ONCE(tp->srtt_us) >> 3,
		.mdev = READ_ONCE(tp->mdev_us) >> 2,
		.apart = msb_apart_us(tp),
		.quiet = msb_quiet_us(tp),
		.age = U32_MAX,
		.rto = jiffies_to_usecs(READ_ONCE(inet_csk(ssk)->icsk_rto)),
		.much = READ_ONCE(tp->snd_nxt) - READ_ONCE(tp->snd_una) > 2 * tp->mss_cache,
	};
}

static u32 msb_until(struct sock *ssk, struct msb_flight *f, u32 slack_us)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 left;

	left = msb_until_silent(f, slack_us);
	if (left)
		return left;
	/* only who looks silent is locked */
	lock_sock(ssk);
	f->quiet = msb_quiet_us(tp);
	f->age = inet_csk(ssk)->icsk_retransmits ? U32_MAX : msb_age_us(ssk);
	left = tp->packets_out ? msb_until_silent(f, slack_us) : MSB_NO_SILENCE;
	release_sock(ssk);
	return left;
}

static long msb_to_jiffies(u32 us)
{
	return us == MSB_NO_SILENCE ? MSB_TRY_EACH : (long)usecs_to_jiffies(us);
}

/* left: jiffies until it may be silent, or quiet */
static enum msb_state msb_look_at(struct mptcp_subflow_context *subflow, u32 slack_us, long *left)
{
	struct sock *ssk = msb_subflow_ssk(subflow);
	struct msb_flight f;
	u32 silent, quiet;

	*left = MAX_SCHEDULE_TIMEOUT;
	if (!msb_subflow_can_send(subflow, inet_sk_state_load(ssk)))
		return MSB_UNFIT;
	if (!msb_call(mptcp_subflow_active)(subflow))
		return READ_ONCE(tcp_sk(ssk)->packets_out) ? MSB_STALE : MSB_UNFIT;
	if (!READ_ONCE(tcp_sk(ssk)->packets_out))
		return MSB_IDLE;
	f = msb_flight_of(ssk);
	quiet = msb_until_quiet(&f, slack_us);
	silent = msb_until(ssk, &f, slack_us);
	if (!silent)
		return MSB_SILENT;
	*left = msb_to_jiffies(quiet ? min(quiet, silent) : silent);
	return quiet ? MSB_ANSWERS : MSB_QUIET;
}

/*
 * TCP's next retransmission comes a second after the last at the latest, as it would for a thin
 * stream (tcp_retransmit_timer()). When the subflow ends is a matter of time, so that stays.
 */
static void msb_try_again(struct sock *ssk)
{
	struct inet_connection_sock *icsk = inet_csk(ssk);
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 each, due;

	lock_sock(ssk);
	if (tp->packets_out && icsk->icsk_retransmits && icsk->icsk_pending == ICSK_TIME_RETRANS) {
		each = max_t(u32, MSB_TRY_EACH, __tcp_set_rto(tp));
		due = each - min_t(u32, each - 1, usecs_to_jiffies(msb_age_us(ssk)));
		icsk->icsk_backoff = 0;
		icsk->icsk_rto = min_t(u32, icsk->icsk_rto, each);
		if (icsk->icsk_retransmits > MSB_RETRANSMITS_MAX)
			WRITE_ONCE(icsk->icsk_retransmits, MSB_RETRANSMITS_MAX);
		if (msb_expires_in(ssk) > (long)due)
			inet_csk_reset_xmit_timer(ssk, ICSK_TIME_RETRANS, due, TCP_RTO_MAX);
	}
	release_sock(ssk);
}

/* Could another one take over? A backup does for a backup only: else that is the core's choice. */
static bool msb_has_other(struct mptcp_sock *msk, const struct mptcp_subflow_context *subflow,
			  u32 slack_us)
{
	struct list_head *head = msb_conn_list(msk), *pos;
	enum msb_state state;
	long left;

	list_for_each(pos, head)
	{
		struct mptcp_subflow_context *other = msb_subflow_of(pos);

		if (other == subflow ||
		    msb_subflow_is_backup(other) > msb_subflow_is_backup(subflow))
			continue;
		state = msb_look_at(other, slack_us, &left);
		if (state == MSB_IDLE || state == MSB_ANSWERS || state == MSB_QUIET)
			return true;
	}
	return false;
}

/* The core counts to 255, and never gives up who has to have as many; 0: nor anybody. */
static bool msb_gives_up(const struct sock *sk, u32 *rounds)
{
	*rounds = msb_call(mptcp_stale_loss_cnt)(sock_net(sk));
	return *rounds && *rounds < U8_MAX;
}

static struct msb_silence msb_silence_of(const struct sock *ssk)
{
	return (struct msb_silence){
		.ssk = ssk,
		.since = READ_ONCE(tcp_sk(ssk)->delivered_mstamp),
	};
}

static bool msb_is_same(const struct msb_silence *a, const struct msb_silence *b)
{
	return a->ssk == b->ssk && a->since == b->since;
}

static bool msb_is_known(const struct msb_request *r, const struct msb_silence *s)
{
	u32 i;

	for (i = 0; i < min_t(u32, r->nr_silent, MSB_SILENCES); i++)
		if (msb_is_same(&r->silent[i], s))
			return true;
	return false;
}

/* A pass, once for the same silence. */
static void msb_doubt(struct mptcp_sock *msk, const struct sock *ssk, struct msb_request *r)
{
	const struct msb_silence silence = msb_silence_of(ssk);

	if (msb_is_same(&r->quiet, &silence))
		return;
	r->quiet = silence;
	msb_begin_pass((struct sock *)msk);
}

/*
 * The rounds are as good as over: the next pass gives it up. Not twice for the same silence: where
 * only data is lost, what the peer says of other things takes the subflow back each time, while
 * all that it owes is with the others already.
 */
static void msb_give_up(struct mptcp_sock *msk, struct mptcp_subflow_context *subflow, u32 rounds,
			struct msb_request *r)
{
	const struct sock *ssk = msb_subflow_ssk(subflow);
	const struct msb_silence silence = msb_silence_of(ssk);

	if (msb_is_known(r, &silence))
		return;
	if (!msb_count_rounds(subflow, rounds, READ_ONCE(tcp_sk(ssk)->rcv_tstamp)))
		return;
	r->silent[r->nr_silent++ % MSB_SILENCES] = silence;
	if (!test_and_set_bit(msb_work_rtx, msb_flags(msk)))
		msb_call(mptcp_schedule_work)((struct sock *)msk);
}

/* Looks at all subflows: jiffies until that is to be done again, 0 when nobody owes anything. */
static long msb_look(struct mptcp_sock *msk, struct msb_request *r)
{
	struct list_head *head = msb_conn_list(msk), *pos;
	long left, next = MAX_SCHEDULE_TIMEOUT;
	u32 rounds;

	if (!msb_gives_up((struct sock *)msk, &rounds) ||
	    inet_sk_state_load((struct sock *)msk) == TCP_CLOSE ||
	    test_bit(msb_fallback_done, msb_flags(msk)))
		return 0;
	list_for_each(pos, head)
	{
		struct mptcp_subflow_context *subflow = msb_subflow_of(pos);

		switch (msb_look_at(subflow, r->slack_us, &left)) {
		case MSB_QUIET:
			msb_doubt(msk, msb_subflow_ssk(subflow), r);
			fallthrough;
		case MSB_ANSWERS:
			msb_forget_rounds(subflow,
					  READ_ONCE(tcp_sk(msb_subflow_ssk(subflow))->rcv_tstamp));
			break;
		case MSB_SILENT:
			if (msb_has_other(msk, subflow, r->slack_us))
				msb_give_up(msk, subflow, rounds, r);
			left = MSB_LOOK_STALE / 4;
			break;
		case MSB_STALE:
			msb_try_again(msb_subflow_ssk(subflow));
			left = MSB_LOOK_STALE;
			break;
		default:
			break;
		}
		next = min(next, left);
	}
	return next == MAX_SCHEDULE_TIMEOUT ? 0 : max_t(long, next, MSB_LOOK_MIN);
}

static void msb_run_watch(struct work_struct *work)
{
	struct msb_request *r = container_of(to_delayed_work(work), struct msb_request, work);
	struct mptcp_sock *msk = (struct mptcp_sock *)r->sk;
	long next;

	lock_sock(r->sk);
	next = msb_look(msk, r);
	if (!next)
		clear_bit(MSB_WATCHED, msb_flags(msk));
	release_sock(r->sk);
	if (next)
		queue_delayed_work(msb_wq, &r->work, next);
	else
		msb_request_done(r);
}

/*
 * Is it quiet, as the watch has it? Without a lock, and without a socket that is another's:
 * a decision asks, in which the subflow cannot go.
 */
int msb_is_quiet(struct sock *ssk, u32 slack_us)
{
	struct msb_flight f;
	u32 rounds;

	if (!msb_subflow_ctx(ssk))
		return -EINVAL;
	if (!slack_us || !msb_gives_up(ssk, &rounds) || !READ_ONCE(tcp_sk(ssk)->packets_out))
		return 0;
	f = msb_flight_of(ssk);
	return !msb_until_quiet(&f, min(slack_us, MSB_SLACK_MAX_US));
}

/*
 * From get_send, which gives something out now. A watch keeps its connection and this module until
 * it has looked once.
 */
int msb_watch(struct sock *sk, u32 slack_us)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	struct list_head *head;

	if (!msb_is_mptcp_sock(sk))
		return -EINVAL;
	if (test_bit(MSB_WATCHED, msb_flags(msk)))
		return -EALREADY;
	head = msb_conn_list(msk);
	if (list_empty(head) || list_is_singular(head))
		return -ENOENT;
	slack_us = min(slack_us, MSB_SLACK_MAX_US);
	return msb_request_start(sk, MSB_WATCHED, msb_run_watch, usecs_to_jiffies(slack_us / 2),
				 slack_us);
}
