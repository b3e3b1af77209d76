// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_ecf: Earliest Completion First (ecf-conext17, Algorithm 1). Waits for the
 * fastest subflow where that ends the data at hand earlier than a slower one
 * with room would.
 *
 * Use it for paths of unlike RTT or rate. Its estimates assume congestion
 * avoidance: early in a transfer they overrate the fast path's time. The
 * policy is in include/mps_ecf.h.
 */
#include "frame.h"
#include "mps_ecf.h"

MPS_TUNABLE(beta, 250, 0, 10000, 1000, "hysteresis of waiting for the fast subflow");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_ecf_pick(c, priv, beta);
}

MPS_SCHEDULER(bpf_ecf, "earliest completion first: waits for the fast subflow if that pays", pick);
