// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_blest: blocking estimation (BLEST, IFIP Networking 2016). minRTT, but a
 * slow subflow gets nothing that would keep the fast one from sending, because
 * it fills the peer's data-level window, before the slow one is done.
 *
 * Use it where windows are small for the paths, such as receivers with little
 * memory. Where the window is large it is bpf_minrtt: it does not look at how
 * long the rest of a transfer takes; bpf_ecf does. The policy is in
 * include/policy/blest.h; --set whole_fragment=0 --set rate_bound=0 --set min_room=0 --set
 * queue_cap=0 is the paper's.
 */
#include "frame/scheduler.h"
#include "policy/blest.h"

MPS_COMMON_TUNABLES(500, 2, 1);
MPS_TUNABLE(lambda, 1200, 1, 16000, 1000, "factor on what the fast subflow may send, at first");
MPS_TUNABLE(lambda_min, 1000, 1, 16000, 1000, "the factor's lower bound, stronger than the upper");
MPS_TUNABLE(lambda_max, 1300, 1, 16000, 1000, "the factor's upper bound");
MPS_TUNABLE(lambda_step, 40, 0, 1000, 1000,
	    "what blocking adds to it; a quarter comes off without");
MPS_WAS(whole_fragment, whole);
MPS_TUNABLE(whole_fragment, 1, 0, 1, 1,
	    "estimates count the whole fragment that a choice hands over");
MPS_WAS(rate_bound, rate);
MPS_TUNABLE(rate_bound, 1, 0, 1, 1,
	    "the fast subflow may send no more than it was seen to deliver");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	const struct mps_blest_options o = {
		.start = lambda,
		.min = lambda_min,
		.max = lambda_max,
		.step = lambda_step,
		.whole = whole_fragment,
		.rate = rate_bound,
	};

	return mps_blest_pick(c, priv, &o);
}

MPS_POLICY(blest, .pick = pick);
MPS_SCHEDULER(bpf_blest, "waits for the fast subflow where a slow one would block the window",
	      blest);
