// SPDX-License-Identifier: GPL-2.0
/*
 * The ACK clock: tells a scheduler of each segment that arrives for its connections, by the
 * struct_ops type mptcp_sched_clock.
 *
 * All clocks share one probe, which every TCP segment of the machine passes. So it leaves plain
 * TCP alone first, calls no clock but those of the connection's scheduler, and is there only
 * while a clock is. With it comes the one that sees connections being closed (ends.c).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/tracepoint.h>
#include <net/mptcp.h>
#include <net/tcp.h>
#include <trace/events/tcp.h>
#include "bridge.h"
#include "clock.h"
#include "kernel_private.h"

#ifdef MSB_HAVE_CONST_PROBE
typedef const struct sk_buff msb_probed;
#else
typedef struct sk_buff msb_probed;
#endif

#define MSB_TRACEPOINT "tcp_probe"

extern struct mptcp_sched_clock msb_clock_stubs;

static LIST_HEAD(msb_clocks);
static DEFINE_MUTEX(msb_clocks_lock);
static struct tracepoint *msb_tcp_probe;

/*
 * By name, not by address: a clock may be there before its scheduler, and a scheduler that was
 * unregistered, and whose clock is gone, lives on in its connections. Should another one have its
 * name by then, the clock that ticks finds no state of its own there, but what it keeps of
 * subflows. The rest of a name is zeros.
 */
static bool msb_is_clock_of(const struct mptcp_sched_clock *clock,
			    const struct mptcp_sched_ops *sched)
{
	BUILD_BUG_ON(sizeof(clock->name) != sizeof(sched->name));
	return !memcmp(clock->name, sched->name, sizeof(clock->name));
}

/* Within an RCU read side. */
bool msb_has_clock(const struct mptcp_sock *msk)
{
	const struct mptcp_sched_ops *sched = msb_sched(msk);
	const struct mptcp_sched_clock *clock;

	list_for_each_entry_rcu(clock, &msb_clocks, list)
	{
		if (sched && msb_is_clock_of(clock, sched))
			return true;
	}
	return false;
}

/* Not inlined: plain TCP has no use for the registers that it takes. */
static noinline void msb_tick(struct sock *ssk, const struct sk_buff *skb)
{
	const struct mptcp_sock *msk = msb_conn_of(ssk);
	/* none: the connection is on its way out */
	const struct mptcp_sched_ops *sched = msk ? msb_sched(msk) : NULL;
	const struct mptcp_sched_clock *clock;

	if (!sched)
		return;
	list_for_each_entry_rcu(clock, &msb_clocks, list)
	{
		if (msb_is_clock_of(clock, sched))
			clock->segment(ssk, skb);
	}
}

static void msb_on_segment(void *unused, struct sock *sk, msb_probed *skb)
{
	/* sk_fullsock(): request and timewait sockets have no such flag, and never come here */
	if (!sk_fullsock(sk) || !sk_is_mptcp(sk))
		return;
	/* tracepoints need not be within one; it keeps clock, scheduler and connection */
	rcu_read_lock();
	msb_tick(sk, skb);
	rcu_read_unlock();
}

/* By another link to the same map. */
static bool msb_clock_ticks(const struct mptcp_sched_clock *clock)
{
	const struct mptcp_sched_clock *other;

	list_for_each_entry(other, &msb_clocks, list)
		if (other == clock)
			return true;
	return false;
}

static int msb_add_probes(void)
{
	int err = tracepoint_probe_register(msb_tcp_probe, msb_on_segment, NULL);

	if (err)
		return err;
	err = msb_watch_ends();
	if (err) {
		tracepoint_probe_unregister(msb_tcp_probe, msb_on_segment, NULL);
		tracepoint_synchronize_unregister();
	}
	return err;
}

static void msb_remove_probes(void)
{
	msb_forget_ends();
	tracepoint_probe_unregister(msb_tcp_probe, msb_on_segment, NULL);
	/* the map's reference to the module goes earlier, and the probes are the module's */
	tracepoint_synchronize_unregister();
}

static int msb_clock_reg(void *kdata, struct bpf_link *link)
{
	struct mptcp_sched_clock *clock = kdata;
	int err = 0;

	/* as the kernel's headers declare it; what it is by BTF features.sh has looked at */
	check_trace_callback_type_tcp_probe(msb_on_segment);
	mutex_lock(&msb_clocks_lock);
	if (msb_clock_ticks(clock))
		err = -EEXIST;
	else if (list_empty(&msb_clocks))
		err = msb_add_probes();
	if (!err)
		list_add_tail_rcu(&clock->list, &msb_clocks);
	mutex_unlock(&msb_clocks_lock);
	return err;
}

/* The memory of the map, with the clock and its program, goes after an RCU grace period. */
static void msb_clock_unreg(void *kdata, struct bpf_link *link)
{
	struct mptcp_sched_clock *clock = kdata;

	mutex_lock(&msb_clocks_lock);
	list_del_rcu(&clock->list);
	if (list_empty(&msb_clocks))
		msb_remove_probes();
	mutex_unlock(&msb_clocks_lock);
}

static int msb_clock_init(struct btf *btf)
{
	return 0;
}

static int msb_clock_check_member(const struct btf_type *t, const struct btf_member *member,
				  const struct bpf_prog *prog)
{
	return prog->sleepable ? -EINVAL : 0;
}

static int msb_clock_init_member(const struct btf_type *t, const struct btf_member *member,
				 void *kdata, const void *udata)
{
	const struct mptcp_sched_clock *uclock = udata;
	struct mptcp_sched_clock *clock = kdata;

	if (__btf_member_bit_offset(t, member) / 8 != offsetof(struct mptcp_sched_clock, name))
		return 0;
	return msb_copy_name(clock->name, uclock->name) ?: 1;
}

static int msb_clock_validate(void *kdata)
{
	const struct mptcp_sched_clock *clock = kdata;

	return clock->segment ? 0 : -EINVAL;
}

static const struct bpf_verifier_ops msb_clock_verifier_ops = {
	.get_func_proto = msb_get_func_proto,
	.is_valid_access = bpf_tracing_btf_ctx_access,
};

static struct bpf_struct_ops msb_clock_struct_ops = {
	.verifier_ops = &msb_clock_verifier_ops,
	.init = msb_clock_init,
	.check_member = msb_clock_check_member,
	.init_member = msb_clock_init_member,
	.reg = msb_clock_reg,
	.unreg = msb_clock_unreg,
	.validate = msb_clock_validate,
	.name = "mptcp_sched_clock",
	.cfi_stubs = &msb_clock_stubs,
	.owner = THIS_MODULE,
};

struct msb_search {
	const char *name;
	struct tracepoint *found;
};

static void msb_look_at(struct tracepoint *tp, void *data)
{
	struct msb_search *search = data;

	if (!strcmp(tp->name, search->name))
		search->found = tp;
}

struct tracepoint *msb_find_tracepoint(const char *name)
{
	struct msb_search search = { .name = name };

	for_each_kernel_tracepoint(msb_look_at, &search);
	if (!search.found)
		pr_err("this kernel has no tracepoint %s, which the ACK clock takes: it needs CONFIG_TRACEPOINTS\n",
		       name);
	return search.found;
}

int msb_register_clock(void)
{
	int err = msb_find_ends();

	msb_tcp_probe = msb_find_tracepoint(MSB_TRACEPOINT);
	if (err || !msb_tcp_probe)
		return -ENOENT;
	return msb_registered("struct_ops type mptcp_sched_clock",
			      __register_bpf_struct_ops(&msb_clock_struct_ops));
}
