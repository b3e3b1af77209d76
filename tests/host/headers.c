// SPDX-License-Identifier: GPL-2.0
/* Estimates, copies and choices without a state of the headers, for headers.py. */
#include "policy/cfs.h"
#include "common/glance.h"
#include "common/queue_cap.h"
#include "common/quiet.h"
#include "policy/ecf_extended.h"
#include "policy/redundant.h"
#include "common/reinject.h"
#include "common/fragment.h"
#include "common/sndbuf.h"
#include "policy/queueaware.h"
#include "policy/rr.h"
#include "policy/thin.h"

/* --- model/estimate.h */

__u64 finish_us(const struct mps_path *p, __u64 bytes, __u32 how)
{
	return mps_finish_us(p, bytes, how);
}

__u64 done_us(const struct mps_path *p, __u64 bytes, __u32 how)
{
	return mps_done_us(p, bytes, how);
}

__u64 duration(__u64 bytes, __u64 rate)
{
	return mps_duration(bytes, rate);
}

__u64 known_rate(const struct mps_path *p)
{
	return mps_known_rate(p);
}

__u32 full_rate(__u32 segments, __u32 mss, __u32 interval_us, __u32 cwnd, __u32 min_rtt_us)
{
	return mps_full_rate(segments, mss, interval_us, cwnd, min_rtt_us);
}

/* --- common/quiet.h: the paths that are in LOSS behind it */

__u32 quiet_out(const struct mps_conn *c, __u32 quiet)
{
	struct mps_conn behind = *c;
	__u32 i, mask = 0;

	mps_quiet_out(&behind, quiet);
	for (i = 0; i < c->nr_paths; i++)
		mask |= (__u32) !!(behind.path[i].flags & MPS_PATH_LOSS) << i;
	return mask;
}

/* --- copies */

__u32 is_under_way(const struct mps_conn *c)
{
	return mps_is_under_way(c);
}

__u32 may_copy(const struct mps_conn *c)
{
	return mps_may_copy(c);
}

__u64 remaining_us(const struct mps_conn *c, __u32 i)
{
	return mps_remaining_us(c, &c->path[i]);
}

__u64 carriers_us(const struct mps_conn *c)
{
	return mps_carriers_us(c);
}

__u32 lost_behind(const struct mps_conn *c)
{
	return mps_lost_behind(c);
}

__u32 repair_first(const struct mps_conn *c)
{
	return mps_repair_first(c);
}

__u32 copy_if_it_pays(const struct mps_conn *c)
{
	return mps_copy_if_it_pays(c);
}

__u32 cfs_copies(const struct mps_conn *c)
{
	return mps_cfs_copies(c);
}

__u32 redundant_copies(const struct mps_conn *c)
{
	struct mps_redundant_state st = { 0 };

	return mps_redundant_copies(c, &st, 1);
}

__u32 redundant_copies_along(const struct mps_conn *c, __u32 along, __u32 windows)
{
	struct mps_redundant_state st = { .along = (__u8)along };

	return mps_redundant_copies(c, &st, windows);
}

/* --- the rest of a fragment that was begun; verdict: path, reason to wait, bytes */

void with_rest(const struct mps_conn *c, __u32 tail, __s32 verdict[3])
{
	struct mps_verdict v = {
		.path = verdict[0],
		.reason = (__u32)verdict[1],
		.bytes = (__u32)verdict[2],
	};

	v = mps_with_rest(c, v, tail);
	verdict[0] = v.path;
	verdict[1] = (__s32)v.reason;
	verdict[2] = (__s32)v.bytes;
}

/* --- the send buffer */

__u32 sndbuf_share(const struct mps_conn *c, __u32 i, __u64 buffered)
{
	return mps_sndbuf_share(c, i, buffered);
}

/* --- the peer's window and the slower paths */

__u32 cover(const struct mps_conn *c, __u32 more, __u32 cwnd[MPS_MAX_PATHS])
{
	struct mps_conn covered = *c;
	const __u32 found = mps_cover(&covered, more);
	__u32 i;

	for (i = 0; i < c->nr_paths; i++)
		cwnd[i] = covered.path[i].cwnd;
	return found;
}

/* --- choices: path, reason to wait, bytes, state afterwards */

static void say(__s32 answer[4], struct mps_verdict v, __u32 state)
{
	answer[0] = v.path;
	answer[1] = v.path < 0 ? (__s32)v.reason : 0;
	answer[2] = (__s32)v.bytes;
	answer[3] = (__s32)state;
}

/* copies: a pass for copies comes first */
void redundant_pick(const struct mps_conn *c, const struct mps_redundant_options *o, __u32 copies,
		    struct mps_redundant_state *st, __s32 answer[4])
{
	if (copies)
		mps_redundant_copies(c, st, o->windows);
	say(answer, mps_redundant_pick(c, st, o), 0);
}

void minrtt_pick(const struct mps_conn *c, __s32 answer[4])
{
	say(answer, mps_minrtt_pick(c), 0);
}

/* state: since when the writer waits, and what was assigned before; the pending bytes then */
__u64 ecf_look_ahead(__u64 pending, __u64 unacked, __u32 now_us, __u64 given, __u32 waits,
		     __u32 part, __u64 state[2])
{
	struct mps_conn c = { .pending = pending, .unacked = unacked, .now_us = now_us };
	struct mps_ecf_state st = { .blocked_us = (__u32)state[0], .begun = state[1] };

	mps_ecf_look_ahead(&c, &st, given, waits, part);
	if (c.pending - st.ahead != pending)
		return ~0ULL;
	state[0] = st.blocked_us;
	state[1] = st.begun;
	return c.pending;
}

/* ahead: of the pending bytes, those that the writer is expected to have */
void ecf_pick(const struct mps_conn *c, __u32 waiting, __u64 ahead, const struct mps_ecf_options *o,
	      __s32 answer[4])
{
	struct mps_ecf_state st = { .waiting = waiting, .ahead = ahead };
	const struct mps_verdict v = mps_ecf_pick(c, &st, o);

	say(answer, v, st.waiting);
}

void ecf_paper_pick(const struct mps_conn *c, __u32 waiting, __u32 beta, __s32 answer[4])
{
	struct mps_ecf_state st = { .waiting = waiting };
	const struct mps_verdict v = mps_ecf_paper_pick(c, &st, beta);

	say(answer, v, st.waiting);
}

/* --- common/glance.h */

/* Of paths that are all active: is there nothing to give data to? fit: 0, or the snapshot's */
__u32 glance(const struct mps_conn *c, __u32 fit)
{
	struct mps_glance g = { 0 };
	__u32 i;

	for (i = 0; i < c->nr_paths; i++)
		mps_glance_add(&g, &c->path[i], !!mps_is_backup(&c->path[i]), fit);
	return mps_glance_waits(&g) | !!g.unsent << 1;
}

__u32 glance_news(__u32 rate, __u32 segments, __u32 mss, __u32 interval_us, __u32 cwnd,
		  __u32 min_rtt_us)
{
	return mps_glance_news(rate, segments, mss, interval_us, cwnd, min_rtt_us);
}

static struct mps_verdict pick_of(__u32 policy, const struct mps_conn *c, struct mps_priv *priv,
				  __u32 bits)
{
	const struct mps_ecf_options ecf = {
		.beta = 250,
		.estimate =
			(bits & (MPS_EST_GROW | MPS_EST_RATE)) | (bits >> 4 & 1) * MPS_EST_ARRIVAL,
		.whole = bits >> 2 & 1,
		.buffer = bits >> 3 & 1,
	};
	const struct mps_blest_options blest = {
		.start = 1200,
		.min = 1000,
		.max = 1300,
		.step = 40,
		.whole = bits & 1,
		.rate = bits >> 1 & 1,
	};

	switch (policy) {
	case 0:
		return mps_minrtt_pick(c);
	case 1:
		return mps_ecf_pick(c, (void *)priv, &ecf);
	case 2:
		return mps_blest_pick(c, (void *)priv, &blest);
	case 3:
		return mps_cfs_pick(c, (void *)priv, bits & 1 ? 1000 : 0);
	case 4:
		return mps_queueaware_pick(c);
	case 5:
		return mps_thin_pick(c, priv, bits & 1);
	case 6:
		return mps_rr_pick(c, (void *)priv, 1 + bits);
	default:
		return mps_redundant_pick(c, (void *)priv,
					  &(struct mps_redundant_options){ 1, 63, 8, 2 });
	}
}

/* A new connection's decision by each policy that does not fill queues, and by one that does. */
void pick_of_each(const struct mps_conn *c, __u32 bits, __s32 answer[8][4])
{
	__u32 i;

	for (i = 0; i < 8; i++) {
		struct mps_priv priv = { 0 };

		say(answer[i], pick_of(i, c, &priv, bits), 0);
	}
}

/* --- common/reinject.h */

__u32 until_done(__u32 whole, __u32 left, __u32 owed, __u32 in_vain, const struct mps_path *p)
{
	const struct mps_fragment f = { .whole = whole, .left = left };

	return mps_until_done(&f, p, owed, in_vain);
}

void outlook_init(struct mps_outlook *o)
{
	*o = (struct mps_outlook)MPS_OUTLOOK_INIT;
}

__u32 outlook_add(struct mps_outlook *o, const struct mps_path *p, __u32 whole, __u32 bytes,
		  __u64 silent_us)
{
	return mps_outlook_add(o, p, whole, bytes, silent_us);
}

__u32 reinject_pays(const struct mps_outlook *o)
{
	return mps_reinject_pays(o);
}

__u32 reinject_dropped(const struct mps_outlook *o, __u32 in_vain, __u32 mss)
{
	return mps_reinject_dropped(o, in_vain, mss);
}
