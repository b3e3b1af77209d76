// SPDX-License-Identifier: GPL-2.0
/* QueueAware's pure functions with plain arguments, for test_queueaware.py. */
#include "policy/queueaware.h"
#include "state/service.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT __u32 metric(__u32 packets, __u32 service_us)
{
	return mps_queue_metric(packets, service_us);
}

EXPORT __u32 queued(__u32 value)
{
	const struct mps_path p = { .metric = value };

	return mps_queued(&p);
}

EXPORT __u32 service_us(__u32 value, __u32 srtt_us)
{
	const struct mps_path p = { .metric = value, .srtt_us = srtt_us };

	return mps_service_us(&p);
}

/* values of one path: packets, service_us, srtt_us, cwnd, inflight, mss, unsent, flags */
EXPORT void pick(const __u32 (*path)[8], __u32 nr_paths, __u64 pending, __u64 wnd_left, __u32 unit,
		 __s32 answer[3])
{
	struct mps_conn c = {
		.pending = pending, .wnd_left = wnd_left, .unit = unit, .nr_paths = nr_paths
	};
	struct mps_verdict v;
	__u32 i;

	for (i = 0; i < nr_paths; i++)
		c.path[i] = (struct mps_path){
			.metric = mps_queue_metric(path[i][0], path[i][1]),
			.srtt_us = path[i][2],
			.cwnd = path[i][3],
			.inflight = path[i][4],
			.mss = (__u16)path[i][5],
			.unsent = path[i][6],
			.flags = path[i][7] & 0xfff,
		};
	v = mps_queueaware_pick(&c);
	answer[0] = v.path;
	answer[1] = v.path < 0 ? (__s32)v.reason : 0;
	answer[2] = (__s32)v.bytes;
}

EXPORT __u32 size(void)
{
	return sizeof(struct mps_service);
}

EXPORT __u32 leaves(struct mps_service *v, __u32 end, __u32 now_us, __u32 handed_us, __u32 spacing)
{
	const struct mps_departure d = {
		.end = end, .now_us = now_us, .handed_us = handed_us, .spacing = spacing
	};

	return mps_service_leaves(v, &d);
}

EXPORT __u32 acked(struct mps_service *v, __u32 ack, __u32 now_us, __u32 holes, __u32 alpha)
{
	return mps_service_acked(v, ack, now_us, holes, alpha);
}

EXPORT __u32 mean(const struct mps_service *v)
{
	return v->service_us;
}
