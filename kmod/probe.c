// SPDX-License-Identifier: GPL-2.0
/*
 * Which bit of mptcp_sock.flags is which? They are macros, so no BTF names them, and upstream
 * has renumbered them before. So the kernel is asked by what it does, on a socket of our own:
 * its retransmission timer sets one bit, and what it tells user space follows another.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/moduleparam.h>
#include <linux/net.h>
#include <net/mptcp.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <uapi/linux/mptcp.h>
#include "bridge.h"
#include "kernel_private.h"

/* net/mptcp/protocol.h of 6.12 to 7.3: where no socket can be made to ask, and nobody says */
unsigned int msb_work_rtx = 1;
module_param_named(rtx_bit, msb_work_rtx, uint, 0444);
MODULE_PARM_DESC(rtx_bit, "MPTCP_WORK_RTX of this kernel; found by trying where MPTCP is enabled");
unsigned int msb_fallback_done = 2;
module_param_named(fallback_bit, msb_fallback_done, uint, 0444);
MODULE_PARM_DESC(fallback_bit, "MPTCP_FALLBACK_DONE, likewise");

/* The worker does not run: the socket is closed, as it was never opened. */
static int msb_find_work_rtx(struct sock *sk)
{
	unsigned long *flags = msb_flags((struct mptcp_sock *)sk), before = *flags, set;

	sock_hold(sk);
	local_bh_disable();
	msb_fire_rtx_timer((struct mptcp_sock *)sk);
	local_bh_enable();
	set = *flags & ~before;
	*flags = before;
	if (hweight_long(set) != 1)
		return -ENOEXEC;
	msb_work_rtx = __ffs(set);
	return 0;
}

static bool msb_tells_fallback(struct sock *sk, unsigned int bit)
{
	unsigned long *flags = msb_flags((struct mptcp_sock *)sk), before = *flags;
	struct mptcp_info info;

	*flags = BIT(bit);
	msb_call(mptcp_diag_fill_info)((struct mptcp_sock *)sk, &info);
	*flags = before;
	return info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK;
}

static int msb_find_fallback(struct sock *sk)
{
	unsigned int bit, found = 0;

	for (bit = 0; bit < BITS_PER_LONG; bit++) {
		if (!msb_tells_fallback(sk, bit))
			continue;
		msb_fallback_done = bit;
		found++;
	}
	return found == 1 ? 0 : -ENOEXEC;
}

int msb_find_flags(void)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_MPTCP, &sock);
	if (err) {
		pr_notice(
			"no MPTCP socket to try its flags on (%d; net.mptcp.enabled?): rtx_bit=%u and fallback_bit=%u are taken to be right\n",
			err, msb_work_rtx, msb_fallback_done);
		return msb_work_rtx < MSB_ONCE && msb_fallback_done < MSB_ONCE ? 0 : -EINVAL;
	}
	err = msb_find_work_rtx(sock->sk) ?: msb_find_fallback(sock->sk);
	if (err)
		pr_err("this kernel's mptcp_sock.flags do not behave as the bridge knows them\n");
	sock_release(sock);
	return err;
}
