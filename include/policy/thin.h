/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Thin streams: few packets per RTT, all of them on the path that looks best,
 * so that nobody hears when another one has become better. The last packet of a
 * burst is copied onto the paths that were not used for some RTTs; the order is
 * by RTT or, on request, by the delay towards the peer alone.
 *
 * Source: thin-streams, section III and Fig. 2 (probing), section IV (one-way
 * delay). Different here:
 *
 *  - A path is probed after 4 RTTs by default, the multiplier of Fig. 2 is 5
 *    (bpf/schedulers/thin.bpf.c says why), and not before 20 ms.
 *  - A path that never carried data is probed too; in Fig. 2 it stays unknown.
 *  - The end of a burst is where all that was written is assigned and is short;
 *    of a longer one the rest is copied when only that much is unacknowledged.
 *  - Order follows the least of the newest RTT samples, not srtt. At one sample
 *    per 5 RTTs srtt takes 11 of them, 9 seconds, to follow a fall from 160 to 80
 *    ms below 100; the newest alone would follow each delayed acknowledgement.
 *
 * One-way delays: DE_out = TSVal - TSecr of a segment that acknowledges new data
 * is the delay to the peer, plus the difference of two clocks, which is the same
 * for all paths, plus the offset that the peer adds to its timestamps. Linux
 * draws a random 32-bit offset for each subflow (secure_tcp_ts_off()) unless it
 * runs with net.ipv4.tcp_timestamps=2. No exchange on one path tells its offset
 * from its delay. But two delays differ by no more than an RTT: estimates
 * further apart are of unlike clocks, and then nothing is compared. Random
 * offsets pass that test once in a million pairs.
 */
#ifndef MPS_THIN_H
#define MPS_THIN_H

#include "common/copy.h"
#include "policy/minrtt.h"
#include "state/stats.h"

#define MPS_THIN_SAMPLES 3

/* What peers may need to answer and clocks may drift, in ms, beyond an RTT. */
#define MPS_THIN_SLACK_MS 1000

/* A path is not probed more often: each probe takes a pass of the core's worker. */
#define MPS_THIN_LEAST_US 20000ULL

/* Per subflow; zeroed memory is the state of a new one. */
struct mps_thin_subflow {
	__u32 used_us;			  /* when it was last given data; 0: never */
	__u32 sample_us;		  /* when the data of the newest sample was sent */
	__u32 rtt_us[MPS_THIN_SAMPLES];	  /* newest first; 0: none */
	__u32 delay_ms[MPS_THIN_SAMPLES]; /* DE_out with them; means nothing alone */
};
_Static_assert(sizeof(struct mps_thin_subflow) <= sizeof(struct mps_subflow_priv), "state");

struct mps_thin_options {
	__u32 probe;   /* RTTs, MPS_THIN_LEAST_US at least, after which one is probed; 0: never */
	__u32 samples; /* how many of the newest the order looks at; 0: srtt */
};

static __always_inline void mps_thin_used(struct mps_thin_subflow *t, __u32 now_us)
{
	t->used_us = now_us ?: 1;
}

/*
 * What TCP says after a segment: its newest RTT sample, when the data of that
 * was sent, and the timestamps of the newest segment. It is about those only if
 * the sample is new; so this wants to be called after each segment. 1: it was.
 */
MPS_FN __u32 mps_thin_observe(struct mps_thin_subflow *t MPS_ARG, __u32 sent_us, __u32 rtt_us,
			      __u32 delay_ms)
{
	if (sent_us == t->sample_us)
		return 0;
	t->sample_us = sent_us;
	t->rtt_us[2] = t->rtt_us[1];
	t->rtt_us[1] = t->rtt_us[0];
	t->rtt_us[0] = rtt_us ?: 1;
	t->delay_ms[2] = t->delay_ms[1];
	t->delay_ms[1] = t->delay_ms[0];
	t->delay_ms[0] = delay_ms;
	return 1;
}

/* The i-th sample exists and is one of those to look at. The newest always is. */
static __always_inline bool mps_thin_has(const struct mps_thin_subflow *t, __u32 i, __u32 samples)
{
	return t->rtt_us[i] && (!i || i < samples);
}

/*
 * Puts what is known of a path into the snapshot: its RTT in place of srtt, its
 * delay estimate as the metric, and whether its probe is due.
 */
MPS_FN __u32 mps_thin_path(const struct mps_thin_subflow *t MPS_ARG, struct mps_path *p MPS_ARG,
			   const struct mps_thin_options *o MPS_ARG, __u32 now_us)
{
	const __u32 unused_us = now_us - t->used_us;
	__u32 rtt = t->rtt_us[0], delay = t->delay_ms[0], i;
	__u64 after;

	for (i = 1; i < MPS_THIN_SAMPLES; i++) {
		if (!mps_thin_has(t, i, o->samples))
			break;
		if (t->rtt_us[i] < rtt)
			rtt = t->rtt_us[i];
		if (mps_before(t->delay_ms[i], delay))
			delay = t->delay_ms[i];
	}
	p->metric = delay;
	if (rtt && !(p->flags & MPS_PATH_NO_TS))
		p->flags |= MPS_PATH_DELAY;
	if (rtt && o->samples)
		p->srtt_us = rtt;
	after = mps_max((__u64)o->probe * p->srtt_us, MPS_THIN_LEAST_US);
	if (o->probe && (!t->used_us || unused_us >= after))
		p->flags |= MPS_PATH_DUE;
	return p->flags;
}

/* Why delays cannot be compared, a mask of enum mps_note; 0: they can. */
MPS_FN __u32 mps_thin_obstacles(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u32 i, known = 0, base = 0, rtt = 0, notes = 0;
	__s64 d, lo = 0, hi = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_is_usable(p, tier))
			continue;
		if (p->flags & MPS_PATH_NO_TS)
			notes |= 1U << MPS_NOTE_NO_TIMESTAMPS;
		else if (!(p->flags & MPS_PATH_DELAY))
			notes |= 1U << MPS_NOTE_NO_SAMPLE;
		if (!(p->flags & MPS_PATH_DELAY))
			continue;
		base = known++ ? base : p->metric;
		d = (__s32)(p->metric - base);
		lo = d < lo ? d : lo;
		hi = d > hi ? d : hi;
		rtt = p->srtt_us > rtt ? p->srtt_us : rtt;
	}
	if (hi - lo > (__s64)(rtt / 1000 + MPS_THIN_SLACK_MS))
		notes |= 1U << MPS_NOTE_CLOCKS;
	return notes;
}

/* The available path whose data arrives first; equal ones by RTT. Delays compare. */
MPS_FN __s32 mps_thin_first_there(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u32 i, delay = 0, rtt = 0;
	__s32 best = MPS_WAIT;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!mps_is_usable(p, tier) || !mps_is_available(c, p))
			continue;
		if (best >= 0 && mps_before(delay, p->metric))
			continue;
		if (best >= 0 && delay == p->metric && rtt <= p->srtt_us)
			continue;
		delay = p->metric;
		rtt = p->srtt_us;
		best = (__s32)i;
	}
	return best;
}

static __always_inline struct mps_verdict mps_thin_pick(const struct mps_conn *c,
							struct mps_priv *priv, __u32 by_delay)
{
	const __s32 tier = mps_usable_tier(c);
	__s32 i;

	if (!by_delay || tier < 0)
		return mps_minrtt_pick(c);
	priv->notes = mps_thin_obstacles(c, (__u32)tier);
	if (priv->notes)
		return mps_minrtt_pick(c);
	i = mps_thin_first_there(c, (__u32)tier);
	return i < 0 ? mps_wait_for(MPS_WAIT_NO_ROOM) : mps_send_on(c, (__u32)i);
}

/* Its RTT is stale, and nothing is on its way that will bring a new one. */
static __always_inline bool mps_thin_is_due(const struct mps_path *p, __u32 tier)
{
	return (p->flags & MPS_PATH_DUE) && (p->flags & MPS_PATH_IDLE) && mps_is_usable(p, tier);
}

/*
 * get_send chose a path for this many bytes: does that end a burst which may
 * serve as a probe, and is one due? A longer burst is left to the ACK clock.
 */
MPS_FN __u32 mps_thin_ends_burst(const struct mps_conn *c MPS_ARG, __s32 path, __u64 bytes,
				 __u32 length)
{
	const __s32 tier = mps_usable_tier(c);
	__u32 i;

	if (tier < 0 || c->pending > bytes)
		return 0;
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if ((__s32)i != path && mps_thin_is_due(p, (__u32)tier) &&
		    c->pending <= (__u64)length * p->mss)
			return 1;
	}
	return 0;
}

/*
 * The mask of paths that get a copy of the oldest unacknowledged fragment as
 * their probe. Everything was assigned, not merely all that the peer's window
 * takes: otherwise this is the middle of a burst.
 */
MPS_FN __u32 mps_thin_probes(const struct mps_conn *c MPS_ARG, __u32 length)
{
	const __s32 tier = mps_usable_tier(c);
	__u32 i, mask = MPS_COPY_NONE;

	if (tier < 0 || c->pending || !mps_may_copy(c))
		return MPS_COPY_NONE;
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_thin_is_due(p, (__u32)tier) && mps_can_take_copy(c, p, (__u32)tier) &&
		    c->unit <= (__u64)length * p->mss && c->unit <= mps_cwnd_room(p))
			mask |= 1U << i;
	}
	return mask;
}

#endif /* MPS_THIN_H */
