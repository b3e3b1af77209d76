// SPDX-License-Identifier: GPL-2.0
/*
 * One restart of a subflow's window per pause, as with plain TCP.
 *
 * When new data is queued, TCP halves the window of a socket that was idle, once for each RTO of
 * idle time (tcp_slow_start_after_idle_check(), called by tcp_skb_entail()). The socket is idle
 * until something is sent. MPTCP queues up to 64 KB on a subflow before that, segment by segment.
 * Each segment finds the subflow idle and halves the window anew: it ends at ten segments, however
 * short the pause.
 *
 * So a subflow that has queued something already, and has restarted less than an RTO ago, counts as
 * not idle at all. That is for subflows of connections with a BPF scheduler, or for which a program
 * asked.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/kprobes.h>
#include <linux/moduleparam.h>
#include <linux/ptrace.h>
#include <net/mptcp.h>
#include <net/tcp.h>
#include "bridge.h"
#include "kernel_private.h"

#if defined(CONFIG_X86_64)
#define MSB_SECOND_ARGUMENT(regs) ((regs)->si)
#elif defined(CONFIG_ARM64)
#define MSB_SECOND_ARGUMENT(regs) ((regs)->regs[1])
#endif

static atomic_long_t msb_restarts_spared;

static int msb_get_spared(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%ld\n", atomic_long_read(&msb_restarts_spared));
}

static const struct kernel_param_ops msb_spared_ops = { .get = msb_get_spared };
module_param_cb(restarts_spared, &msb_spared_ops, NULL, 0444);
MODULE_PARM_DESC(restarts_spared, "halvings of a window that were the second of one pause");

/* Under RCU, or where the subflow cannot go: its connection is there for as long. */
int msb_restart_once(struct sock *ssk)
{
	struct mptcp_sock *msk;
	int err = -EINVAL;

	rcu_read_lock();
	msk = msb_conn_of(ssk);
	if (msk) {
		if (!test_bit(MSB_ONCE, msb_flags(msk)))
			set_bit(MSB_ONCE, msb_flags(msk));
		err = 0;
	}
	rcu_read_unlock();
	return err;
}

bool msb_is_served(struct mptcp_sock *msk)
{
	const struct mptcp_sched_ops *sched = msb_sched(msk);

	return test_bit(MSB_ONCE, msb_flags(msk)) || (sched && sched->owner == BPF_MODULE_OWNER);
}

#ifdef MSB_SECOND_ARGUMENT

/* Under the lock of the subflow, which has nothing in flight. */
static bool msb_has_restarted(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);

	/* tcp_cwnd_restart() leaves its time there */
	return tp->write_seq != tp->snd_nxt &&
	       tcp_jiffies32 - tp->snd_cwnd_stamp <= inet_csk(ssk)->icsk_rto;
}

static bool msb_restarts_once(const struct sock *ssk)
{
	struct mptcp_sock *msk = msb_conn_of(ssk);

	return msk && msb_is_served(msk);
}

/* tcp_cwnd_restart(sk, delta): that many jiffies without anything sent. Without preemption. */
static int msb_window_restarts(struct kprobe *kp, struct pt_regs *regs)
{
	const struct sock *ssk = (const struct sock *)regs_get_kernel_argument(regs, 0);

	if (msb_restarts_once(ssk) && msb_has_restarted(ssk)) {
		MSB_SECOND_ARGUMENT(regs) = 0;
		atomic_long_inc(&msb_restarts_spared);
	}
	return 0;
}
NOKPROBE_SYMBOL(msb_window_restarts);

static struct kprobe msb_restart_probe = {
	.symbol_name = "tcp_cwnd_restart",
	.pre_handler = msb_window_restarts,
};

int msb_watch_restarts(void)
{
	int err = register_kprobe(&msb_restart_probe);

	if (err)
		pr_err("cannot see windows restart after a pause: no kprobe on %s (%d); the kernel needs CONFIG_KPROBES\n",
		       msb_restart_probe.symbol_name, err);
	return err;
}

void msb_forget_restarts(void)
{
	unregister_kprobe(&msb_restart_probe);
}

#else /* nobody has said where this architecture has a function's second argument */

int msb_watch_restarts(void)
{
	return 0;
}

void msb_forget_restarts(void)
{
}

#endif
