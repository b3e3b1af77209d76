// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_auto: the one to take without reading on. ECF for new data, probes that keep what is known of
 * idle paths fresh, copies where they pay and of the tail within a budget, and a path that falls
 * silent is left at once. Over paths that are alike it is minRTT.
 *
 * Use it unless one of the others was made for your case. The policy is in include/policy/auto.h,
 * its parts in policy/ecf_extended.h, policy/thin.h and policy/cfs.h.
 */
#include "frame/scheduler.h"
#include "hooks/thin.h"
#include "policy/auto.h"

MPS_TUNABLE(tail_budget, 20, 0, 1000, 1000,
	    "part of new data that the tail may repeat where that is not sure to pay");
MPS_TUNABLE(probe_after, 4, 0, 1000, 1,
	    "RTTs without data, and 20 ms at least, after which a path is probed; 0: never");
MPS_TUNABLE(probe_segments, 2, 1, 45, 1, "most segments of a probe");
MPS_TUNABLE(samples, 3, 0, 3, 1,
	    "an idle path counts by the least of so many newest RTT samples, 0: by srtt");
MPS_TUNABLE(beta, 250, 0, 10000, 1000, "hysteresis of a wait for the fast subflow");
MPS_TUNABLE(more_data, 250, 0, 1000, 1000,
	    "while the writer waits: count on this part of what was sent to follow");
MPS_TUNABLE(arrival, 1, 0, 1, 1,
	    "estimates are of when data is with the peer, not of when that is known here");
MPS_COMMON_TUNABLES(500, 1, 1);

static __always_inline void see_path(const struct mps_look *l, struct mps_path *p, __u32 n,
				     struct tcp_sock *tp, struct mps_subflow_store *s)
{
	mps_thin_see(l, p, tp, s, probe_after, samples, true);
}

static __always_inline void look_ahead(struct mptcp_sock *msk, struct mps_conn *c, void *priv)
{
	struct mps_auto_state *st = priv;

	mps_auto_earn(st, msk->snd_nxt, tail_budget);
	mps_ecf_look_ahead(c, &st->ecf, msk->snd_nxt, mps_writer_waits(msk), more_data);
}

static __always_inline bool asks(void)
{
	return copy || probe_after;
}

static __always_inline bool ends_burst(const struct mps_conn *c, const struct mps_verdict *v,
				       void *priv)
{
	return mps_thin_ends_burst(c, v->path, v->bytes, probe_segments);
}

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	const struct mps_ecf_options o = {
		.beta = beta,
		.estimate = MPS_EST_GROW | MPS_EST_RATE | arrival * MPS_EST_ARRIVAL,
		.whole = 1,
		.buffer = 1,
		.grow = 1,
	};
	struct mps_auto_state *st = priv;

	return mps_ecf_pick(c, &st->ecf, &o);
}

static __always_inline __u64 copies(const struct mps_conn *c, void *priv)
{
	return mps_auto_copies(c, priv, probe_segments, copy);
}

_Static_assert(sizeof(struct mps_auto_state) <= MPS_PRIV_BYTES, "state of a connection");

MPS_POLICY(auto_policy, .pick = pick, .copies = copies, .see_path = see_path,
	   .see_conn = look_ahead, .segment = mps_thin_segment, .asks = asks,
	   .given = mps_thin_given, .ends_burst = ends_burst, .busy = true);
MPS_SCHEDULER_MEASURES(bpf_auto, "the one to take: ECF, probes of idle paths, copies in a budget",
		       auto_policy, );
