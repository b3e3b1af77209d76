// SPDX-License-Identifier: GPL-2.0
/* How a scheduler gets into the kernel's list and out of it, and what stands before its hooks. */
#include <linux/bpf.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include "bridge.h"
#include "kernel_private.h"

#ifndef MSB_HAVE_CHK_STALE

int msb_reg(void *kdata, struct bpf_link *link)
{
	return msb_call(mptcp_register_scheduler)(kdata);
}

void msb_unreg(void *kdata, struct bpf_link *link)
{
	msb_call(mptcp_unregister_scheduler)(kdata);
}

void msb_forget_ops(void)
{
}

#else /* only the default's own get_retrans looks for stale subflows: up to 7.1 */

/*
 * With any other scheduler a dead path would never be given up. So the bridge stands between: it
 * looks before a retransmission, and then calls the program. (A program that looks itself counts
 * twice, and gives a path up after half of the rounds.)
 *
 * Connections and listeners keep the ops when a scheduler is unregistered, and nobody says when
 * the last is gone. So an entry stays, for whoever is registered at that address next.
 */
#ifdef MSB_HAVE_GET_SEND
#define MSB_HOOK_ARGS struct mptcp_sock *msk
#define MSB_HOOK_CALL msk
#define MSB_HOOK(ops) ((ops)->get_retrans)
#define MSB_PROGRAM(ops) ((ops)->get_retrans ?: (ops)->get_send)
#define MSB_IS_RETRANS true
#else
#define MSB_HOOK_ARGS struct mptcp_sock *msk, struct mptcp_sched_data *data
#define MSB_HOOK_CALL msk, data
#define MSB_HOOK(ops) ((ops)->get_subflow)
#define MSB_PROGRAM(ops) ((ops)->get_subflow)
#define MSB_IS_RETRANS (data->reinject)
#endif

typedef int msb_hook_fn(MSB_HOOK_ARGS);

struct msb_ops {
	struct hlist_node node;
	const struct mptcp_sched_ops *ops;
	msb_hook_fn *program;
};
static DEFINE_HASHTABLE(msb_all_ops, 4);
static DEFINE_MUTEX(msb_ops_lock);

static struct msb_ops *msb_find_ops(const struct mptcp_sched_ops *ops)
{
	struct msb_ops *o;

	hash_for_each_possible_rcu(msb_all_ops, o, node, (unsigned long)ops,
				   lockdep_is_held(&msb_ops_lock)) if (o->ops == ops) return o;
	return NULL;
}

static void msb_check_stale(struct mptcp_sock *msk)
{
	struct list_head *head = msb_conn_list(msk), *pos;

	list_for_each(pos, head)
	{
		struct mptcp_subflow_context *subflow = msb_subflow_of(pos);
		struct sock *ssk = msb_subflow_ssk(subflow);

		if (msb_subflow_can_send(subflow, inet_sk_state_load(ssk)) &&
		    !tcp_rtx_and_write_queues_empty(ssk))
			msb_call(mptcp_pm_subflow_chk_stale)(msk, ssk);
	}
}

static int msb_hook(MSB_HOOK_ARGS)
{
	msb_hook_fn *program = NULL;
	struct msb_ops *o;

	if (MSB_IS_RETRANS)
		msb_check_stale(msk);

	rcu_read_lock();
	o = msb_find_ops(msb_sched(msk));
	if (o)
		program = READ_ONCE(o->program);
	rcu_read_unlock();
	return program ? program(MSB_HOOK_CALL) : -EINVAL;
}

static struct msb_ops *msb_add_ops(const struct mptcp_sched_ops *ops)
{
	struct msb_ops *o = msb_find_ops(ops);

	if (o)
		return o;
	o = kzalloc(sizeof(*o), GFP_KERNEL);
	if (!o)
		return NULL;
	o->ops = ops;
	hash_add_rcu(msb_all_ops, &o->node, (unsigned long)ops);
	return o;
}

int msb_reg(void *kdata, struct bpf_link *link)
{
	struct mptcp_sched_ops *ops = kdata;
	msb_hook_fn *own = MSB_HOOK(ops);
	struct msb_ops *o;
	int err;

	mutex_lock(&msb_ops_lock);
	o = msb_add_ops(ops);
	/* a map may be linked again, as long as it is there: then the entry has its program */
	if (o && own != msb_hook)
		WRITE_ONCE(o->program, MSB_PROGRAM(ops));
	mutex_unlock(&msb_ops_lock);
	if (!o)
		return -ENOMEM;

	MSB_HOOK(ops) = msb_hook;
	err = msb_call(mptcp_register_scheduler)(kdata);
	if (err)
		MSB_HOOK(ops) = own;
	return err;
}

void msb_unreg(void *kdata, struct bpf_link *link)
{
	msb_call(mptcp_unregister_scheduler)(kdata);
}

/* At the end: the maps are gone, and with them whoever used their ops. */
void msb_forget_ops(void)
{
	struct hlist_node *next;
	struct msb_ops *o;
	int i;

	hash_for_each_safe(msb_all_ops, i, next, o, node)
	{
		hash_del(&o->node);
		kfree(o);
	}
}

#endif
