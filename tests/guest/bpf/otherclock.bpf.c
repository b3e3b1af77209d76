// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler with a clock that is none of its own, or none at all (test_clock.py):
 *
 *  -DCLOCK_NAME="..."  the scheduler that the clock is for
 *  -DNO_PROGRAM        a clock without a program
 */
#include "kernel/compat.h"

char _license[] SEC("license") = "GPL";

static __always_inline int nothing(struct mptcp_sock *msk)
{
	return -22;
}

MPS_OPS(t_other, "t_other", "a test's", nothing, nothing);

#ifdef NO_PROGRAM
SEC("?.struct_ops.link")
struct mptcp_sched_clock t_other_clock = {
	.name = CLOCK_NAME,
};
#else
static __always_inline void tick(struct sock *ssk, const struct sk_buff *skb)
{
}

MPS_CLOCK_OPS(t_other, CLOCK_NAME, , tick);
#endif
