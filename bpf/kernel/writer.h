/* SPDX-License-Identifier: GPL-2.0 */
/* What the application is about to do. */
#ifndef MPS_BPF_WRITER_H
#define MPS_BPF_WRITER_H

#include "kernel/compat.h"

/*
 * A writer that waits for room has more: what is assigned ends nothing. One that
 * sleeps in its call counts until it runs again, one that polls until there is room.
 */
static __always_inline bool mps_writer_waits(struct mptcp_sock *msk)
{
	struct sock *sk = (struct sock *)msk;
	struct socket *sock = sk->sk_socket;

	return sk->sk_write_pending || (sock && sock->flags & 1 << SOCK_NOSPACE);
}

#endif /* MPS_BPF_WRITER_H */
