// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_ecf: Earliest Completion First (ecf-conext17, Algorithm 1). Waits for the
 * fastest subflow where that ends the data at hand earlier than a slower one
 * with room would.
 *
 * Use it for paths of unlike RTT or rate. --set grow=0 --set rate=0 --set
 * whole=0 --set ahead=0 --set fit=0 --set cover=0 is the paper's pure form; its kernel
 * also copied and penalised. The policy is in include/policy/ecf.h and policy/ecf_extended.h.
 */
#include "frame/scheduler.h"
#include "policy/ecf_extended.h"

MPS_TUNABLE(ahead, 250, 0, 1000, 1000,
	    "expect this part of what was sent to follow, while the writer waits");

/* cover: what is left is what it looks at itself, by windows as they are. */
MPS_COMMON_TUNABLES(500, 1, 1);
MPS_TUNABLE(beta, 250, 0, 10000, 1000, "hysteresis of waiting for the fast subflow");
MPS_TUNABLE(grow, 1, 0, 1, 1, "estimates follow a window that grows in slow start");
MPS_TUNABLE(rate, 1, 0, 1, 1, "estimates are bounded by the rate that a path was seen to deliver");
MPS_TUNABLE(whole, 1, 0, 1, 1, "estimates count the whole fragment that a choice hands over");
MPS_TUNABLE(buffer, 1, 0, 1, 1,
	    "with ahead: waits where the send buffer would run dry of data for the fast subflow");

static __always_inline void look_ahead(struct mptcp_sock *msk, struct mps_conn *c, void *priv)
{
	mps_ecf_look_ahead(c, priv, msk->snd_nxt, mps_writer_waits(msk), ahead);
}

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	const struct mps_ecf_options o = {
		.beta = beta,
		.estimate = grow * MPS_EST_GROW | rate * MPS_EST_RATE,
		.whole = whole,
		.buffer = buffer,
	};

	return mps_ecf_pick(c, priv, &o);
}

MPS_POLICY(ecf, .pick = pick, .see_conn = look_ahead);
MPS_SCHEDULER(bpf_ecf, "earliest completion first: waits for the fast subflow if that pays", ecf);
