// SPDX-License-Identifier: GPL-2.0
/* include/policy/thin.h as a library for test_thin.py, which has the structs' layouts. */
#include "policy/thin.h"

unsigned long thin_size(int which)
{
	return which ? sizeof(struct mps_thin_subflow) : sizeof(struct mps_conn);
}

__s32 thin_pick(const struct mps_conn *c, __u32 by_delay, __u64 *notes)
{
	struct mps_priv priv = { .notes = 0 };
	struct mps_verdict v = mps_thin_pick(c, &priv, by_delay);

	*notes = priv.notes;
	return v.path;
}

__u32 thin_probes(const struct mps_conn *c, __u32 length)
{
	return mps_thin_probes(c, length);
}

__u32 thin_ends_burst(const struct mps_conn *c, __s32 path, __u64 bytes, __u32 length)
{
	return mps_thin_ends_burst(c, path, bytes, length);
}

void thin_path(const struct mps_thin_subflow *t, struct mps_path *p, __u32 probe, __u32 samples,
	       __u32 now_us)
{
	const struct mps_thin_options o = { .probe = probe, .samples = samples };

	mps_thin_path(t, p, &o, now_us);
}

void thin_used(struct mps_thin_subflow *t, __u32 now_us)
{
	mps_thin_used(t, now_us);
}

__u32 thin_observe(struct mps_thin_subflow *t, __u32 sent_us, __u32 rtt_us, __u32 delay_ms)
{
	return mps_thin_observe(t, sent_us, rtt_us, delay_ms);
}
