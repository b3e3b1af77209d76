// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_ecf: Earliest Completion First (ecf-conext17, Algorithm 1). Waits for the
 * fastest subflow where that ends the data at hand earlier than a slower one
 * with room would.
 *
 * Use it for paths of unlike RTT or rate. --set slow_start=0 --set
 * rate_bound=0 --set arrival=0 --set whole_fragment=0 --set more_data=0 --set min_room=0
 * --set queue_cap=0 is the paper's pure form; its kernel also copied and penalised. The policy is
 * in include/policy/ecf.h and policy/ecf_extended.h.
 */
#include "frame/scheduler.h"
#include "policy/ecf_extended.h"

MPS_WAS(more_data, ahead);
MPS_TUNABLE(more_data, 250, 0, 1000, 1000,
	    "while the writer waits: count on this part of what was sent to follow");

/* queue_cap: what is left is what it looks at itself, by windows as they are. */
MPS_COMMON_TUNABLES(500, 1, 1);
MPS_TUNABLE(beta, 250, 0, 10000, 1000,
	    "hysteresis of a wait for the fast subflow; the paper has 0.25");
MPS_WAS(slow_start, grow);
MPS_TUNABLE(slow_start, 1, 0, 1, 1, "estimates let a window in slow start grow");
MPS_WAS(rate_bound, rate);
MPS_TUNABLE(rate_bound, 1, 0, 1, 1,
	    "estimates take no more than the rate that a path was seen to deliver");
MPS_WAS(whole_fragment, whole);
MPS_TUNABLE(whole_fragment, 1, 0, 1, 1,
	    "estimates count the whole fragment that a choice hands over");
MPS_TUNABLE(arrival, 1, 0, 1, 1,
	    "estimates are of when data is with the peer, not of when that is known here");
MPS_WAS(sndbuf_wait, buffer);
MPS_TUNABLE(
	sndbuf_wait, 1, 0, 1, 1,
	"with more_data: wait where the send buffer would run dry of data for the fast subflow");

static __always_inline void look_ahead(struct mptcp_sock *msk, struct mps_conn *c, void *priv)
{
	mps_ecf_look_ahead(c, priv, msk->snd_nxt, mps_writer_waits(msk), more_data);
}

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	const struct mps_ecf_options o = {
		.beta = beta,
		.estimate = slow_start * MPS_EST_GROW | rate_bound * MPS_EST_RATE |
			    arrival * MPS_EST_ARRIVAL,
		.whole = whole_fragment,
		.buffer = sndbuf_wait,
	};

	return mps_ecf_pick(c, priv, &o);
}

MPS_POLICY(ecf, .pick = pick, .see_conn = look_ahead);
MPS_SCHEDULER(bpf_ecf, "earliest completion first: waits for the fast subflow if that pays", ecf);
