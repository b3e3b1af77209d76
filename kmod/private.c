// SPDX-License-Identifier: GPL-2.0
/*
 * Accessors for structs that no installed header declares. Their layout comes
 * from the target kernel's BTF, dumped to gen/vmlinux.h at build time, which
 * cannot be mixed with kernel headers; hence a unit of its own.
 */
#define BPF_NO_PRESERVE_ACCESS_INDEX
#define BPF_NO_KFUNC_PROTOTYPES
#include "vmlinux.h"
#include "bridge.h"
#include "layout.h"

#define read_once(x) (*(const volatile typeof(x) *)&(x))

MSB_PRIVATE_FIELDS(MSB_NO_FIELD, MSB_BIT_SETTER)
const struct msb_field msb_private_fields[] = { MSB_PRIVATE_FIELDS(MSB_FIELD, MSB_BIT_FIELD) };
const unsigned int msb_nr_private_fields =
	sizeof(msb_private_fields) / sizeof(msb_private_fields[0]);

const int msb_snd_burst_off = __builtin_offsetof(struct mptcp_sock, snd_burst);
const int msb_avg_pacing_rate_off =
	__builtin_offsetof(struct mptcp_subflow_context, avg_pacing_rate);

struct list_head *msb_conn_list(struct mptcp_sock *msk)
{
	return &msk->conn_list;
}

/* node is the first member, asserted below */
struct mptcp_subflow_context *msb_subflow_of(struct list_head *node)
{
	return (struct mptcp_subflow_context *)node;
}
_Static_assert(__builtin_offsetof(struct mptcp_subflow_context, node) == 0,
	       "struct mptcp_subflow_context begins with its list node");

struct sock *msb_subflow_ssk(const struct mptcp_subflow_context *subflow)
{
	return subflow->tcp_sock;
}

struct sock *msb_subflow_conn(const struct mptcp_subflow_context *subflow)
{
	return subflow->conn;
}

/* __mptcp_subflow_active(), net/mptcp/protocol.h */
_Bool msb_subflow_can_send(const struct mptcp_subflow_context *subflow, int state)
{
	if (subflow->request_join && !read_once(subflow->fully_established))
		return 0;
	return state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT;
}

unsigned int msb_subflow_stale_count(const struct mptcp_subflow_context *subflow)
{
	return subflow->stale_count;
}

_Bool msb_subflow_is_backup(const struct mptcp_subflow_context *subflow)
{
	return subflow->backup || subflow->request_bkup;
}

/*
 * So many rounds without progress are over, and the last segment came at that time. No, if as
 * many were before: the core found nobody who could take over, and will look again by itself.
 */
_Bool msb_count_rounds(struct mptcp_subflow_context *subflow, unsigned int rounds,
		       unsigned int rcv_tstamp)
{
	if (subflow->stale_count >= rounds && subflow->stale_rcv_tstamp == rcv_tstamp)
		return 0;
	subflow->stale_rcv_tstamp = rcv_tstamp;
	subflow->stale_count = (__u8)rounds;
	return 1;
}

/* As the core does in its next round (mptcp_pm_chk_stale()), which may be long in coming. */
void msb_forget_rounds(struct mptcp_subflow_context *subflow, unsigned int rcv_tstamp)
{
	if (!subflow->stale && subflow->stale_rcv_tstamp != rcv_tstamp)
		subflow->stale_count = 0;
}

/* stale: given up already, not a matter of counting any more */
void msb_forgive_round(struct mptcp_subflow_context *subflow)
{
	if (subflow->stale_count && !subflow->stale)
		subflow->stale_count--;
}

unsigned long long msb_wnd_end(const struct mptcp_sock *msk)
{
	return read_once(msk->wnd_end);
}

/*
 * Data was assigned that is not acknowledged. What is left of a connection that ends may be
 * its DATA_FIN alone: that is in snd_nxt, and in no fragment.
 */
_Bool msb_has_unacked(const struct mptcp_sock *msk)
{
	return read_once(msk->snd_una) != read_once(msk->snd_nxt) &&
	       read_once(msk->rtx_queue.next) != &msk->rtx_queue;
}

unsigned long long msb_una(const struct mptcp_sock *msk)
{
	return read_once(msk->snd_una);
}

/* Bytes that were assigned and are not acknowledged at data level. */
unsigned long long msb_unacked(const struct mptcp_sock *msk)
{
	return read_once(msk->snd_nxt) - read_once(msk->snd_una);
}

unsigned long long msb_write_seq(const struct mptcp_sock *msk)
{
	return read_once(msk->write_seq);
}

/* The application has written what no subflow was given yet. */
_Bool msb_has_unsent(const struct mptcp_sock *msk)
{
	return read_once(msk->first_pending) != (void *)0;
}

/* A scheduler has chosen a subflow, which has not sent as much as it was given. */
_Bool msb_bursts(const struct mptcp_sock *msk)
{
	return read_once(msk->snd_burst) > 0;
}

/* list is the first member, asserted below */
static struct mptcp_data_frag *msb_frag_behind(struct mptcp_sock *msk, struct mptcp_data_frag *frag)
{
	struct list_head *next = frag->list.next;

	return next == &msk->rtx_queue ? (void *)0 : (struct mptcp_data_frag *)next;
}
_Static_assert(__builtin_offsetof(struct mptcp_data_frag, list) == 0,
	       "struct mptcp_data_frag begins with its list node");

/* As if it had been sent once more: mptcp_update_post_push(), __subflow_push_pending(). */
int msb_next_fragment(struct mptcp_sock *msk)
{
	struct mptcp_data_frag *head = msk->first_pending;
	unsigned long long sent;

	if (!head)
		return -61;
	sent = msk->snd_nxt - head->data_seq;
	if ((long long)sent <= head->already_sent)
		return -61;
	if (sent < head->data_len) {
		head->already_sent = (unsigned short)sent;
		return 0;
	}
	head->already_sent = head->data_len;
	*(struct mptcp_data_frag *volatile *)&msk->first_pending = msb_frag_behind(msk, head);
	return 0;
}

static struct timer_list *msb_rtx_timer(struct mptcp_sock *msk)
{
#ifdef MSB_HAVE_MPTCP_TIMER
	return &((struct sock *)msk)->mptcp_retransmit_timer;
#else
	return &msk->sk.icsk_retransmit_timer;
#endif
}

/* timer_pending(), which no vmlinux.h has */
_Bool msb_rtx_timer_runs(const struct mptcp_sock *msk)
{
	return read_once(msb_rtx_timer((struct mptcp_sock *)msk)->entry.pprev) != (void *)0;
}

/* In jiffies; the timer runs. */
unsigned long msb_rtx_timer_due(const struct mptcp_sock *msk)
{
	return read_once(msb_rtx_timer((struct mptcp_sock *)msk)->expires);
}

/* As when it fires: bottom halves are off, and the caller's reference goes. */
void msb_fire_rtx_timer(struct mptcp_sock *msk)
{
	struct timer_list *timer = msb_rtx_timer(msk);

	timer->function(timer);
}

struct mptcp_sock *msb_msk_of_work(struct work_struct *work)
{
	return (struct mptcp_sock *)((char *)work - __builtin_offsetof(struct mptcp_sock, work));
}

unsigned long *msb_flags(struct mptcp_sock *msk)
{
	return &msk->flags;
}

unsigned long msb_timer_ival(const struct mptcp_sock *msk)
{
	return msk->timer_ival;
}

void msb_set_timer_ival(struct mptcp_sock *msk, unsigned long ival)
{
	msk->timer_ival = ival;
}

struct mptcp_sched_ops *msb_sched(const struct mptcp_sock *msk)
{
	return read_once(msk->sched);
}

/*
 * The place where @btf keeps the set of kfuncs for struct_ops programs; NULL
 * when it has no table of kfuncs at all.
 */
void **msb_kfunc_slot(struct btf *btf)
{
	if (!btf->kfunc_set_tab)
		return (void *)0;
	return (void **)&btf->kfunc_set_tab->sets[BTF_KFUNC_HOOK_STRUCT_OPS];
}
