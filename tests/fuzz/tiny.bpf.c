// SPDX-License-Identifier: GPL-2.0
/* The smallest object that `load` opens, with a tunable of each kind: what object.c begins with. */
#include "kernel/compat.h"
#include "frame/tunables.h"

char _license[] SEC("license") = "GPL";

MPS_TUNABLE(live, 250, 0, 10000, 1000, "one that changes");
MPS_TUNABLE_FIXED(fixed, 1, 0, 1, 1, "one that does not");

static __always_inline int tiny_send(struct mptcp_sock *msk)
{
	return live + fixed;
}

MPS_OPS(tiny, "tiny", "nothing", tiny_send, tiny_send);
