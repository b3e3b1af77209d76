// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_thin: thin streams (thin-streams, Fig. 2 and section IV). minRTT; a path
 * that was not used for `probe_after` RTTs gets a copy of the end of a burst, so that
 * its RTT stays known; with --set by_delay=1 the order is by one-way delay.
 *
 * Use it for requests and answers, games, remote shells. A copy is at most
 * `probe_segments` segments, once per path and `probe_after` RTTs, 20 ms at least, never in the
 * middle of a transfer. An answer takes the best path only if the peer uses bpf_thin too.
 *
 * One-way delays need timestamps that compare: the peer has to run with
 * net.ipv4.tcp_timestamps=2, or the clocks of its subflows differ at random. What
 * keeps a connection from them stands in the notes of `mptcp-sched stats`; the
 * order is then by RTT. Without SACK there are no samples: order by srtt, no
 * delays. The policy is in include/policy/thin.h.
 */
#include "frame/scheduler.h"
#include "hooks/thin.h"

MPS_WAS(probe_after, probe);
/* The paper has 5; what is sent after 4 is known after 5, and a fall from 160 ms within 1 s. */
MPS_TUNABLE(probe_after, 4, 0, 1000, 1,
	    "RTTs without data, and 20 ms at least, after which a path is probed; 0: never");
MPS_WAS(by_delay, delay);
MPS_TUNABLE(by_delay, 0, 0, 1, 1,
	    "1: order by one-way delay, where timestamps allow it; 0: by RTT");
MPS_TUNABLE(samples, 3, 0, 3, 1, "order by the least of so many newest samples, 0: by srtt");
MPS_WAS(probe_segments, length);
MPS_TUNABLE(probe_segments, 2, 1, 45, 1, "most segments of a probe");
MPS_COMMON_TUNABLES(500, 2, 1);

static __always_inline void see_path(const struct mps_look *l, struct mps_path *p, __u32 n,
				     struct tcp_sock *tp, struct mps_subflow_store *s)
{
	mps_thin_see(l, p, tp, s, probe_after, samples, false);
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
	return mps_thin_pick(c, priv, by_delay);
}

static __always_inline __u64 copies(const struct mps_conn *c, void *priv)
{
	return mps_thin_probes(c, probe_segments) ?: copy ? mps_copy_if_it_pays(c) : MPS_COPY_NONE;
}

MPS_POLICY(thin, .pick = pick, .copies = copies, .see_path = see_path, .segment = mps_thin_segment,
	   .asks = asks, .given = mps_thin_given, .ends_burst = ends_burst, .lone = true);
MPS_SCHEDULER_MEASURES(bpf_thin, "smallest RTT or delay, kept fresh by probes: for thin streams",
		       thin, );
