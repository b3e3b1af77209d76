// SPDX-License-Identifier: GPL-2.0
/*
 * A larger send buffer for a subflow: what tcp_sndbuf_expand() does for the congestion
 * window (net/ipv4/tcp_input.c), for a size that a scheduler asks for.
 */
#include <linux/minmax.h>
#include <net/proto_memory.h>
#include <net/tcp.h>
#include "bridge.h"
#include "kernel_private.h"

int msb_expand_sndbuf(struct sock *ssk, unsigned int bytes)
{
	int limit;

	if (!msb_subflow_ctx(ssk))
		return -EINVAL;
	if (ssk->sk_userlocks & SOCK_SNDBUF_LOCK)
		return -EPERM;
	/* tcp_should_expand_sndbuf() */
	if (tcp_under_memory_pressure(ssk) ||
	    sk_memory_allocated(ssk) >= sk_prot_mem_limits(ssk, 0))
		return -ENOBUFS;
	limit = READ_ONCE(sock_net(ssk)->ipv4.sysctl_tcp_wmem[2]);
	bytes = min_t(unsigned int, bytes, limit);
	if (READ_ONCE(ssk->sk_sndbuf) < (int)bytes)
		WRITE_ONCE(ssk->sk_sndbuf, (int)bytes);
	return 0;
}
