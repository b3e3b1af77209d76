// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_daps: delay-aware packet scheduling (DAPS, ICC 2014). Each subflow gets
 * data in proportion to 1 / delay, within what its congestion window carries.
 *
 * Use it to compare with: it is the baseline of ecf-conext17, where it does
 * worst. It relies on the ratio of RTTs, which change as queues fill. With
 * --set wait_turn=1, the paper's form, it waits for the turn of a subflow that is
 * full while others have room. The policy is in include/policy/daps.h.
 */
#include "frame/scheduler.h"
#include "policy/daps.h"

MPS_COMMON_TUNABLES(500, 2, 1);
MPS_WAS(wait_turn, patient);
MPS_TUNABLE(wait_turn, 0, 0, 1, 1,
	    "1: wait for the turn of a full subflow while others have room (the paper); 0: go on");

_Static_assert(sizeof(struct mps_daps_state) <= MPS_PRIV_BYTES, "state of a connection");

/* The bytes that the subflow was given, its queue included. */
static __always_inline __u32 given(struct sock *ssk, const struct tcp_sock *tp)
{
	return tp->write_seq;
}

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_daps_pick(c, priv, wait_turn);
}

/* Patient, it says whose turn it is; and its schedule moves with each decision. */
MPS_POLICY(daps, .pick = pick, .metric = given, .fills_queues = true);
MPS_SCHEDULER(bpf_daps, "shares by 1 / delay, so that data arrives in order", daps);
