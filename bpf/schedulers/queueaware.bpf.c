// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_queueaware: the subflow whose local device queue will be served first
 * (queueaware, section 3): packets in the queue times the measured service time,
 * the round trip without that queue.
 *
 * Use it for uploads over access links that are the bottleneck themselves, with
 * their queue in this machine. With the queue elsewhere it sees only empty ones
 * and chooses like minRTT by RTTs without local waiting. Registered without its
 * two measuring programs (by bpftool alone), the smoothed RTT stands in for the
 * service time. The policy is in include/mps_queueaware.h, the measurements are
 * in queue.h and service.h.
 */
#include "tunable.h"
#include "service.h"
#include "mps_queueaware.h"

#define MPS_PATH_METRIC(ssk, tp, store) \
	mps_queue_metric(mps_socket_queue(ssk, tp), mps_measured_service(ssk))
#include "frame.h"

MPS_TUNABLE(alpha, 800, 0, 999, 1000, "weight of the old mean in that of the service time");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_queueaware_pick(c);
}

MPS_SERVICE(bpf_queueaware)
MPS_SCHEDULER(bpf_queueaware, "shortest wait in the local device queue", pick);
