// SPDX-License-Identifier: GPL-2.0
/* What the frame stores of a subflow (state/ranges.h, state/subflow_state.h), for headers.py. */
#include "state/subflow_state.h"
#include "state/peer_window.h"

/* --- state/ranges.h */

__u32 ranges_size(void)
{
	return sizeof(struct mps_ranges);
}

__u32 ranges_add(struct mps_ranges *g, __u32 start, __u32 end, __u32 una, __u32 us)
{
	return mps_ranges_add(g, start, end, una, us);
}

__u32 ranges_forget(struct mps_ranges *g, __u32 una)
{
	return mps_ranges_forget(g, una);
}

__u32 ranges_age(const struct mps_ranges *g, __u32 start, __u32 end, __u32 us)
{
	return mps_ranges_age(g, start, end, us);
}

__u32 ranges_last_age(const struct mps_ranges *g, __u32 end, __u32 us)
{
	return mps_ranges_last_age(g, end, us);
}

__u32 ranges_reach(const struct mps_ranges *g, __u32 start, __u32 end)
{
	return mps_ranges_reach(g, start, end);
}

__u32 ranges_behind(const struct mps_ranges *g, __u32 start, __u32 end)
{
	return mps_ranges_behind(g, start, end);
}

/* --- state/attribution.h */

__u32 store_size(void)
{
	return sizeof(struct mps_subflow_store);
}

/* As the frame notes that the subflow was chosen; for a fragment, if there is one. */
void store_chosen(struct mps_subflow_store *s, const struct mps_round *r, __u32 account)
{
	s->account = (__u8)account;
	s->length = (__u16)(r->frag_end - r->frag);
	if (s->length)
		mps_ranges_add(&s->ranges, r->frag, r->frag_end, r->una, r->now_us);
}

void store_counters(const struct mps_subflow_store *s, __u64 sent[3])
{
	sent[0] = s->counter[MPS_S_SENT];
	sent[1] = s->counter[MPS_S_RETRANS];
	sent[2] = s->counter[MPS_S_COPIED];
}

/* Returns what other subflows of the round need not have taken any more. */
__u32 store_settle(struct mps_subflow_store *s, struct mps_round *r, __u32 seq)
{
	const struct mps_taken t = mps_settle(s, r, seq);

	mps_note_taken(s, r, &t);
	return r->found;
}

/* Of a connection's state, whose last snapshot was of token `known`. */
__u32 store_is_of(__u32 known, __u32 token)
{
	const struct mps_conn_store st = { .snap.token = known };

	return mps_is_of(&st, token);
}

__u32 store_age(const struct mps_subflow_store *s, __u32 start, __u32 end, __u32 us)
{
	return mps_ranges_age(&s->ranges, start, end, us);
}

/* --- state/subflow_state.h; state: what is kept from one call to the next */

__u32 filter_rate(__u32 state[2], __u32 cwnd, __u32 ssthresh, __u32 rate, __u32 now_us)
{
	struct mps_subflow_store s = { .rate = state[0], .rate_us = state[1] };
	struct mps_path p = { .cwnd = cwnd, .ssthresh = ssthresh, .rate = rate };

	mps_filter_rate(&s, &p, now_us);
	state[0] = s.rate;
	state[1] = s.rate_us;
	return p.rate;
}

__u32 penalise(__u32 state[2], __u32 srtt_us, __u32 ssthresh, __u32 carried, __u32 now_us)
{
	struct mps_subflow_store s = { .penalty = state[0], .penalty_us = state[1] };
	const struct mps_path p = {
		.srtt_us = srtt_us,
		.ssthresh = ssthresh,
		.flags = carried ? MPS_PATH_CARRIED : 0,
	};
	const __u32 withheld = mps_penalise_carrier(&s, &p, now_us);

	state[0] = s.penalty;
	state[1] = s.penalty_us;
	return withheld;
}

__u32 withhold(__u32 state[2], __u32 srtt_us, __u32 cwnd, __u32 now_us)
{
	struct mps_subflow_store s = { .penalty = state[0], .penalty_us = state[1] };
	struct mps_path p = { .srtt_us = srtt_us, .cwnd = cwnd };

	mps_withhold(&s, &p, now_us);
	state[0] = s.penalty;
	state[1] = s.penalty_us;
	return p.cwnd;
}

__u32 gap(__u32 missing, __u32 owed, __u32 sent_us, __u32 now_us)
{
	return mps_gap(missing, owed, sent_us, now_us);
}

/*
 * Flags of a path that was given [start, end), one or two of them, and has to say what became of
 * [frag, end), or whether it has what is in front of the head; the last of the words, whether there
 * is any, becomes what it was given behind the fragment.
 */
__u32 completed(const __u32 given[6], const struct mps_path *path, __u32 words[7], __u32 gap_us)
{
	struct mps_subflow_store s = {};
	struct mps_round r = {
		.now_us = words[0],
		.una = words[1],
		.head = words[2],
		.sent = words[3],
		.frag = words[4],
		.frag_end = words[5],
		.begun = words[6],
	};
	struct mps_path p = *path;

	mps_ranges_add(&s.ranges, given[0], given[1], given[0], given[2]);
	mps_ranges_add(&s.ranges, given[3], given[4], given[0], given[5]);
	mps_complete_path(&s, &p, &r, 0, gap_us);
	words[6] = p.behind;
	return p.flags;
}

__u32 elapsed(__u32 now, __u32 last)
{
	return mps_elapsed(now, last);
}

__u32 idle_cwnd(__u32 cwnd, __u32 idle, __u32 rto)
{
	return mps_idle_cwnd(cwnd, idle, rto);
}

__u32 idle_rtt(__u32 srtt_us, __u32 min_us, __u32 idle, __u32 rto)
{
	return mps_idle_rtt(srtt_us, min_us, idle, rto);
}

/* --- state/seen.h */

/* A look at `nr` subflows: for each of them the path of the mask that it is at the end. */
void seen_list(const __u32 *flags, __u32 nr, __u32 mask, __u32 *path)
{
	struct mps_seen seen = {};
	__u32 i;

	for (i = 0; i < nr; i++)
		path[i] = mps_seen_next(&seen, flags[i]);
	for (i = 0; i < nr; i++)
		path[i] = mps_seen_path(&seen, mask & ((1U << seen.nr) - 1), i);
}

/* The same of a list of paths only. */
void seen_all(__u32 nr, __u32 mask, __u32 *path)
{
	struct mps_seen seen = {};
	__u32 i;

	mps_seen_all(&seen, nr);
	for (i = 0; i < nr; i++)
		path[i] = mps_seen_path(&seen, mask & ((1U << seen.nr) - 1), i);
}

/* --- state/peer_window.h */

struct seen {
	__u32 una, wl1, wnd, segs, missing, inflight;
};

/*
 * One look at `nr` subflows. words: the connection's snd_una, what is assigned next and the
 * core's end of the window; answer: bytes that may be assigned, the end of the window as far
 * as it is granted, and whether the core's account is doubted.
 */
void window_look(struct mps_memo *m, struct mps_subflow_store *s, const struct seen *seen, __u32 nr,
		 const __u32 words[4], __u32 answer[3])
{
	struct mps_window w = mps_window_begin(m, words[0]);
	__u32 i;

	for (i = 0; i < nr; i++) {
		w.inflight |= seen[i].inflight;
		w.missing |= seen[i].missing;
		mps_window_seen(&s[i], &w, mps_window_mark(seen[i].una, seen[i].wl1, seen[i].wnd),
				seen[i].wnd, seen[i].segs);
	}
	mps_window_settle(m, &w, words[2]);
	answer[0] = (__u32)mps_window_left(m, &w, words[1], words[2] - words[1], words[3]);
	answer[1] = m->wnd_end;
	answer[2] = m->doubt;
}

void window_glanced(struct mps_memo *m, __u32 core)
{
	mps_window_glanced(m, core);
}

__u32 window_for_clock(const struct mps_memo *m, __u32 core)
{
	return mps_window_for_clock(m, core);
}

__u32 memo_size(void)
{
	return sizeof(struct mps_memo);
}
