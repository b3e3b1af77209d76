// SPDX-License-Identifier: GPL-2.0
/*
 * Which retransmission pass is it? The core calls get_retrans once per fragment and does not
 * say whether the call is the first of a pass, nor who the pass is for. Both are kept in bits of
 * the connection that the core does not use: a probe where a pass begins resets one of them, and
 * the other where the timer has fired, since it wants data repaired, whoever else asked. Later
 * nobody can tell: the pass starts the timer anew before it calls get_retrans
 * (__mptcp_clean_una()).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <net/mptcp.h>
#include "bridge.h"
#include "kernel_private.h"

/* The results of bpf_mptcp_retrans_pass() */
#define MPTCP_PASS_NEXT 1
#define MPTCP_PASS_ASKED 2

/* __mptcp_retrans(sk): the pass itself, from the worker and from release_sock() */
static int msb_pass_begins(struct kprobe *kp, struct pt_regs *regs)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)regs_get_kernel_argument(regs, 0);

	clear_bit(MSB_IN_PASS, msb_flags(msk));
#ifdef MSB_HAVE_REQUEST
	/* __mptcp_retrans(sk, requested) */
	assign_bit(MSB_PASS_ASKED, msb_flags(msk), (u8)regs_get_kernel_argument(regs, 1));
#else
	if (!msb_rtx_timer_runs(msk))
		clear_bit(MSB_PASS_ASKED, msb_flags(msk));
#endif
	return 0;
}
NOKPROBE_SYMBOL(msb_pass_begins);

static struct kprobe msb_pass_probe = {
	.symbol_name = "__mptcp_retrans",
	.pre_handler = msb_pass_begins,
};

int msb_watch_passes(void)
{
	int err = register_kprobe(&msb_pass_probe);

	if (err)
		pr_err("cannot see retransmission passes begin: no kprobe on %s (%d); the kernel needs CONFIG_KPROBES, and the function not inlined\n",
		       msb_pass_probe.symbol_name, err);
	return err;
}

void msb_forget_passes(void)
{
	unregister_kprobe(&msb_pass_probe);
}

int msb_retrans_pass(struct sock *sk)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	unsigned long *flags;

	if (!msb_is_mptcp_sock(sk))
		return -EINVAL;
	flags = msb_flags(msk);
	if (test_and_set_bit(MSB_IN_PASS, flags))
		return MPTCP_PASS_NEXT;
	return test_and_clear_bit(MSB_PASS_ASKED, flags) ? MPTCP_PASS_ASKED : 0;
}

/*
 * The end of the stream goes with the last data, and as nothing is sent now nobody looks at it: the
 * worker does.
 */
int msb_pass_over(struct sock *sk)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	int err;

	if (!msb_is_mptcp_sock(sk))
		return -EINVAL;
	err = msb_next_fragment(msk);
	if (!err && !msb_has_unsent(msk))
		msb_call(mptcp_schedule_work)(sk);
	return err;
}
