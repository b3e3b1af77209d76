// SPDX-License-Identifier: GPL-2.0
/*
 * The face of the bridge: what BPF sees of it through the module's BTF.
 *
 * This is the only unit with debug info, and it declares no more of the kernel
 * than the few types below. Both matter: the value struct must refer to
 * vmlinux's own struct mptcp_sched_ops, which BTF de-duplication only achieves
 * as long as nothing here pulls kernel headers in. The stubs live here because
 * the kernel looks them up by name in this BTF.
 */
#include "bridge.h"
#include "api.h"

typedef unsigned long long u64;

struct module;
struct list_head {
	struct list_head *next, *prev;
};

typedef struct {
	int counter;
} atomic_t;
struct refcount_struct {
	atomic_t refs;
};
typedef struct refcount_struct refcount_t;

#include "clock.h"

enum bpf_struct_ops_state {
	BPF_STRUCT_OPS_STATE_INIT,
	BPF_STRUCT_OPS_STATE_INUSE,
	BPF_STRUCT_OPS_STATE_TOBEFREE,
	BPF_STRUCT_OPS_STATE_READY,
};

struct bpf_struct_ops_common_value {
	refcount_t refcnt;
	enum bpf_struct_ops_state state;
};

struct mptcp_sched_data;

struct mptcp_sched_ops {
#ifdef MSB_HAVE_GET_SEND
	int (*get_send)(struct mptcp_sock *msk);
	int (*get_retrans)(struct mptcp_sock *msk);
#else
	int (*get_subflow)(struct mptcp_sock *msk, struct mptcp_sched_data *data);
#endif
	char name[16];
	struct module *owner;
	struct list_head list;

	void (*init)(struct mptcp_sock *msk);
	void (*release)(struct mptcp_sock *msk);
} __attribute__((aligned(64)));

struct bpf_struct_ops_mptcp_sched_ops {
	struct bpf_struct_ops_common_value common;
	struct mptcp_sched_ops data __attribute__((aligned(64)));
};

struct bpf_struct_ops_mptcp_sched_clock {
	struct bpf_struct_ops_common_value common;
	struct mptcp_sched_clock data __attribute__((aligned(64)));
};

/* Nothing else refers to the value structs: this keeps them in the debug info. */
struct bpf_struct_ops_mptcp_sched_ops *msb_value_type __attribute__((__used__));
struct bpf_struct_ops_mptcp_sched_clock *msb_clock_value_type __attribute__((__used__));

/* --- stubs: what runs where a program is left out of the ops */

#ifdef MSB_HAVE_GET_SEND
static int mptcp_sched_ops__get_send(struct mptcp_sock *msk)
{
	return -22;
}

static int mptcp_sched_ops__get_retrans(struct mptcp_sock *msk)
{
	return -22;
}
#else
static int mptcp_sched_ops__get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return -22;
}
#endif

static void mptcp_sched_ops__init(struct mptcp_sock *msk)
{
}

static void mptcp_sched_ops__release(struct mptcp_sock *msk)
{
}

struct mptcp_sched_ops msb_stubs = {
#ifdef MSB_HAVE_GET_SEND
	.get_send = mptcp_sched_ops__get_send,
	.get_retrans = mptcp_sched_ops__get_retrans,
#else
	.get_subflow = mptcp_sched_ops__get_subflow,
#endif
	.init = mptcp_sched_ops__init,
	.release = mptcp_sched_ops__release,
};

static void mptcp_sched_clock__segment(struct sock *ssk, const struct sk_buff *skb)
{
}

struct mptcp_sched_clock msb_clock_stubs = {
	.segment = mptcp_sched_clock__segment,
};

/* --- the iterator over the subflows of an MPTCP socket */

struct bpf_iter_mptcp_subflow {
	u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_mptcp_subflow_kern {
	struct list_head *head; /* NULL: nothing to iterate */
	struct list_head *pos;
} __attribute__((aligned(8)));

_Static_assert(sizeof(struct bpf_iter_mptcp_subflow_kern) <= sizeof(struct bpf_iter_mptcp_subflow),
	       "the iterator fits into what BPF reserves for it");

MSB_KFUNC int bpf_iter_mptcp_subflow_new(struct bpf_iter_mptcp_subflow *it, struct sock *sk)
{
	struct bpf_iter_mptcp_subflow_kern *kit = (void *)it;

	kit->head = (void *)0;
	kit->pos = (void *)0;
	if (!msb_is_mptcp_sock(sk))
		return -22;
	kit->head = msb_conn_list((struct mptcp_sock *)sk);
	kit->pos = kit->head;
	return 0;
}

MSB_KFUNC struct mptcp_subflow_context *
bpf_iter_mptcp_subflow_next(struct bpf_iter_mptcp_subflow *it)
{
	struct bpf_iter_mptcp_subflow_kern *kit = (void *)it;

	if (!kit->head || kit->pos->next == kit->head)
		return (void *)0;
	kit->pos = kit->pos->next;
	return msb_subflow_of(kit->pos);
}

MSB_KFUNC void bpf_iter_mptcp_subflow_destroy(struct bpf_iter_mptcp_subflow *it)
{
}

/* --- the rest of mptcp_net-next's API that is not in vmlinux */

/* The subflow context of a TCP socket; NULL if it is not a subflow. */
MSB_KFUNC struct mptcp_subflow_context *bpf_mptcp_subflow_ctx(const struct sock *sk)
{
	return msb_subflow_ctx(sk);
}

MSB_KFUNC struct sock *bpf_mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *subflow)
{
	return subflow ? msb_subflow_ssk(subflow) : (void *)0;
}

MSB_KFUNC void mptcp_set_timeout(struct sock *sk)
{
	msb_set_timeout(sk);
}

MSB_KFUNC u64 mptcp_wnd_end(const struct mptcp_sock *msk)
{
	return msb_wnd_end(msk);
}

MSB_KFUNC _Bool bpf_sk_stream_memory_free(const struct sock *sk)
{
	return msb_memory_free(sk);
}

MSB_KFUNC _Bool bpf_mptcp_subflow_queues_empty(struct sock *sk)
{
	return msb_rtx_queue_empty(sk);
}

#ifndef MSB_HAVE_CHK_STALE
/* __mptcp_retrans() has done this for all subflows just before get_retrans. */
MSB_KFUNC void mptcp_pm_subflow_chk_stale(const struct mptcp_sock *msk, struct sock *ssk)
{
}
#endif

/* --- ours */

/*
 * The TCP socket of @subflow, as what it is: bpf_mptcp_subflow_tcp_sock() in a type that needs
 * no bpf_skc_to_tcp_sock(), and of which the verifier knows that it lives as long as the
 * program's RCU section, so that its fields are read by plain loads. NULL: there is none.
 */
MSB_KFUNC struct tcp_sock *bpf_mptcp_subflow_tcp(const struct mptcp_subflow_context *subflow)
{
	return (struct tcp_sock *)msb_subflow_ssk(subflow);
}

/*
 * After a subflow was given up the core goes back to the oldest unacknowledged data of @sk, and
 * assigns all of it anew. Let it go on behind the fragment that is next, which needs no second
 * time: to the fragment after it, or to what was never assigned of this one. For a scheduler's
 * own programs only, as it is the core's place that moves: get_send has the locks for that.
 *
 * 0: it did. -ENODATA: what is next was never assigned, or nothing is next. -EINVAL: no MPTCP
 * socket.
 */
MSB_KFUNC int bpf_mptcp_pass_over(struct sock *sk)
{
	return msb_pass_over(sk);
}

/*
 * Let the send buffer of a subflow, @ssk, be @bytes large at least, as TCP would by
 * itself for a larger congestion window, and under the same limits: not beyond
 * tcp_wmem[2] of its namespace, and not at all under memory pressure or where the
 * application has set its size. The connection's buffer, the sum of its subflows', follows
 * with the subflow's next acknowledgement, if a writer waits for room. It never shrinks.
 * Meant for get_send; without the subflow's lock, TCP's own step may win a race.
 *
 * 0: it is that large, or as large as tcp_wmem[2] allows. -EINVAL: not an MPTCP
 * subflow. -EPERM: the application has set the size. -ENOBUFS: TCP is short of memory.
 */
MSB_KFUNC int bpf_mptcp_expand_sndbuf(struct sock *ssk, unsigned int bytes)
{
	return msb_expand_sndbuf(ssk, bytes);
}

/*
 * Watch the subflows of @sk, a connection that gives something out now, as long as they owe
 * data: one that is silent for @slack_us longer than its past explains (silence.h), while another
 * of its kind is not, is given up at once, and what it owes goes to the others. Before that, where
 * it is quiet (below), there is one pass for copies. The core takes it
 * back with the first segment that arrives on it, and until then TCP tries it once a second. Not
 * where net.mptcp.stale_loss_cnt is 0, or 255 and more. Meant for get_send; nothing is done twice.
 * More than 10 s count as 10 s.
 *
 * 0: it is watched from now on. -EALREADY: it is. -ENOENT: there is but one subflow.
 * -EINVAL: no MPTCP socket. -ENOMEM: the next decision asks again.
 */
MSB_KFUNC int bpf_mptcp_watch(struct sock *sk, unsigned int slack_us)
{
	return msb_watch(sk, slack_us);
}

/*
 * Is a subflow, @ssk, quiet? It owes more than two segments, of which the receiver acknowledges two
 * at once, and nothing was for a round trip and half of @slack_us, or as much as its RTT swings. A
 * connection that is watched has a pass at that moment, as if it was asked for by
 * bpf_mptcp_request_retrans(). A path that lives is quiet at times: this is no more than a doubt.
 *
 * 1: it is. 0: it is not, @slack_us is 0, or net.mptcp.stale_loss_cnt keeps the watch off.
 * -EINVAL: not an MPTCP subflow.
 */
MSB_KFUNC int bpf_mptcp_is_quiet(struct sock *ssk, unsigned int slack_us)
{
	return msb_is_quiet(ssk, slack_us);
}

/*
 * Have the windows of the connection that @ssk, a subflow, belongs to restarted once per pause, as
 * TCP's are, and not once per segment that is queued behind it. Connections with a scheduler of
 * BPF have that without being asked. It holds until the connection is closed; nothing is done
 * twice.
 *
 * 0: so it is. -EINVAL: not an MPTCP subflow.
 */
MSB_KFUNC int bpf_mptcp_restart_once(struct sock *ssk)
{
	return msb_restart_once(ssk);
}

/*
 * Which retransmission pass is the call of get_retrans about @sk that this is? To be asked
 * once per call: the first after the worker began is the first of a pass, all others belong
 * to the pass of the call before.
 *
 * A sum of MPTCP_PASS_NEXT (1): not the first of its pass. MPTCP_PASS_ASKED (2), of the first
 * only: the pass was asked for with bpf_mptcp_request_retrans(), and the retransmission timer
 * has not fired meanwhile, nor would have without requests. -EINVAL: no MPTCP socket.
 */
MSB_KFUNC int bpf_mptcp_retrans_pass(struct sock *sk)
{
	return msb_retrans_pass(sk);
}

/*
 * Ask for a retransmission pass of the connection that @sk is or belongs to:
 * its worker runs get_retrans as soon as it can, instead of when the data-level
 * retransmission timer fires. Any context, any socket. The pass does not count
 * towards giving a subflow up, and requests keep the timer from nothing. Where
 * nothing is unacknowledged but something waits to be sent, the pass has get_send
 * called instead, and again each time the timer fires, until something was sent.
 * A scheduler that asks for @msk with snd_burst above 0 asks ahead of what it
 * assigns now; one that assigns nothing sets it to 0 before it asks. There is one
 * pass per jiffy.
 *
 * 0: asked. -EINVAL: not an MPTCP connection with subflows (anything else, a
 * listener, one that is closed or fell back to TCP). -ENODATA: nothing is
 * unacknowledged, and nothing waits to be sent. -EALREADY: asked before and not
 * run yet, or the timer will see to it. -EBUSY: a pass is
 * granted and has not begun. -ENOMEM: ask again at the next event. The last two
 * only where something is unacknowledged, or about to be.
 */
#ifndef MSB_HAVE_REQUEST
MSB_KFUNC int bpf_mptcp_request_retrans(struct sock *sk)
{
	return msb_request_retrans(sk);
}
#endif
