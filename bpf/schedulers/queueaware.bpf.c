// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_queueaware: the subflow whose local device queue will be served first
 * (queueaware, section 3): packets in the queue times the measured service time,
 * the round trip without that queue.
 *
 * Use it for uploads over access links that are the bottleneck themselves, with
 * their queue in this machine. With the queue elsewhere it sees only empty ones
 * and chooses like minRTT by RTTs without local waiting. Registered without its
 * clock and its measuring program (by bpftool alone), the smoothed RTT stands in for the
 * service time. The policy is in include/policy/queueaware.h, the measurements are
 * in queue.h and service.h.
 */
#include "frame/scheduler.h"
#include "frame/service.h"
#include "policy/queueaware.h"

MPS_TUNABLE(alpha, 800, 0, 999, 1000, "weight of the old mean in that of the service time");
MPS_COMMON_TUNABLES(500, 2, 1);

static __always_inline __u32 queue_and_service(struct sock *ssk, const struct tcp_sock *tp)
{
	return mps_queue_metric(mps_socket_queue(ssk, tp), mps_measured_service(ssk));
}

static __always_inline void measure(struct sock *ssk, const struct sk_buff *skb,
				    struct tcp_sock *tp, struct mps_subflow_store *s)
{
	mps_service_ack(ssk, tp, skb, alpha);
}

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_queueaware_pick(c);
}

MPS_SERVICE(bpf_queueaware)
MPS_POLICY(queueaware, .pick = pick, .available_only = true, .metric = queue_and_service,
	   .segment = measure, .forget = mps_forget_service);
MPS_SCHEDULER_MEASURES(bpf_queueaware, "shortest wait in the local device queue", queueaware,
		       MPS_COPIES_WITH(copy));
