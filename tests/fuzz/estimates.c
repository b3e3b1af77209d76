// SPDX-License-Identifier: GPL-2.0
/*
 * What decisions calculate with: times, rates, windows and buffers (model/estimate.h,
 * common/queue_cap.h, common/sndbuf.h, state/subflow_state.h), requests beside the kernel's default
 * (common/reinject.h), QueueAware's service times and thin's samples. Claims: no estimate is under
 * what is sure, more data is never done earlier, nothing leaves its bounds, a capped window still
 * takes a segment.
 */
#include "snapshot.h"
#include "common/queue_cap.h"
#include "policy/queueaware.h"
#include "common/reinject.h"
#include "state/service.h"
#include "common/sndbuf.h"
#include "state/subflow_state.h"
#include "policy/thin.h"

static void times(struct draw *d, const struct mps_path *p)
{
	const __u64 bytes = draw_up_to(d, BYTES_MAX), more = bytes + draw_up_to(d, BYTES_MAX);
	const __u32 how = draw_byte(d) & 3;
	const __u64 t = mps_finish_us(p, bytes, how);

	claim(t >= p->srtt_us, "a round trip at least");
	claim(mps_finish_us(p, more, how) >= t, "more is not done earlier");
	claim(mps_done_us(p, bytes, how) == t, "acknowledged, where that is asked for");
	claim(mps_done_us(p, bytes, how | MPS_EST_ARRIVAL) >= t - t / 2,
	      "half of a round trip at least");
	claim(mps_done_us(p, bytes, how | MPS_EST_ARRIVAL) <= t,
	      "it arrives before one hears of it");
	claim(mps_finish_us(p, bytes, how | MPS_EST_RATE) >= mps_finish_us(p, bytes, how & 1),
	      "a bound on the rate makes nothing faster");
	claim(mps_duration(bytes, p->rate) <= mps_duration(more, p->rate), "nor here");
}

static void rates(struct draw *d)
{
	const __u32 segments = (__u32)draw_up_to(d, UINT32_MAX), mss = (__u32)draw_up_to(d, 65535);
	const __u32 us = (__u32)draw_up_to(d, UINT32_MAX), rtt = (__u32)draw_up_to(d, UINT32_MAX);
	const __u32 cwnd = (__u32)draw_up_to(d, UINT32_MAX);
	const __u32 rate = mps_full_rate(segments, mss, us, cwnd, rtt);

	if (rate)
		claim(segments > 1 && us >= rtt && segments >= cwnd / 4 &&
			      (double)rate <= 1e6 * segments * mss / us,
		      "a rate that was seen, of more than a round trip");
}

/* At least half of it stays, and nobody who knows nothing of queues loses any. */
static void windows(struct draw *d, const struct mps_conn *c)
{
	struct mps_conn covered = *c;
	const __u32 found = mps_cover(&covered, draw_bit(d));
	unsigned int i, least = UINT32_MAX, changed = 0;

	for (i = 0; i < c->nr_paths; i++)
		if (is_usable(c, &c->path[i]) && c->path[i].srtt_us && c->path[i].srtt_us < least)
			least = c->path[i].srtt_us;
	for (i = 0; i < c->nr_paths; i++) {
		const struct mps_path *p = &c->path[i], *q = &covered.path[i];

		changed += p->cwnd != q->cwnd;
		claim(q->cwnd <= p->cwnd && q->cwnd >= 1 && q->cwnd >= p->cwnd / 2,
		      "half of a window stays");
		if (p->srtt_us == least || !p->rate || p->ssthresh == UINT32_MAX ||
		    !is_usable(c, p))
			claim(q->cwnd == p->cwnd, "the fastest has all of its own");
	}
	claim(found == changed, "as many as it says");
	for (i = 0; i < c->nr_paths; i++) {
		const __u64 buffered = draw_up_to(d, UINT32_MAX);
		const __u32 share = mps_sndbuf_share(c, i, buffered);

		claim(share <= 1U << 30, "a buffer has its bound");
		claim(!share || buffered < c->wnd_left, "none beyond the peer's window");
	}
}

static void stores(struct draw *d, struct mps_subflow_store *s, const struct mps_path *p,
		   __u32 now_us)
{
	const __u32 idle = (__u32)draw_up_to(d, UINT32_MAX), rto = (__u32)draw_up_to(d, 120000);
	struct mps_path q = *p;
	__u32 cwnd, before = s->penalty;

	cwnd = mps_idle_cwnd(p->cwnd, idle, rto);
	claim(cwnd <= p->cwnd && (cwnd >= 10 || cwnd == p->cwnd),
	      "ten segments after an idle time");
	claim(mps_idle_rtt(p->srtt_us, p->min_rtt_us, idle, rto) <= p->srtt_us, "an empty queue");
	if (draw_bit(d))
		mps_penalise_carrier(s, p, now_us);
	claim(s->penalty <= 192, "a quarter of the window stays");
	if (s->penalty > before)
		claim(p->ssthresh != UINT32_MAX && mps_carries(p), "who holds up the others");
	mps_withhold(s, &q, now_us);
	claim(q.cwnd >= 1 && q.cwnd <= p->cwnd && q.cwnd >= p->cwnd / 4, "part of a window");
	mps_filter_rate(s, &q, now_us);
	claim(q.rate == s->rate, "the rate to believe");
	claim(now_us - s->rate_us > 60000000 || q.rate >= p->rate || !p->rate,
	      "never less than what was just seen");
}

static void outlook(struct draw *d, const struct mps_conn *c)
{
	struct mps_outlook o = MPS_OUTLOOK_INIT;
	const struct mps_fragment f = { .whole = (__u32)draw_up_to(d, FRAGMENT_MAX),
					.left = (__u32)draw_up_to(d, FRAGMENT_MAX) };
	unsigned int i, idle = 0, busy = 0;

	for (i = 0; i < c->nr_paths; i++) {
		struct mps_path p = c->path[i];
		const __u32 owed = (__u32)draw_up_to(d, UINT32_MAX);
		__u32 left;

		p.flags &= draw_bit(d) ? 0xfff : 0xfff & ~MPS_PATH_SENDS;
		left = mps_until_done(&f, &p, owed, (__u32)draw_up_to(d, UINT32_MAX));
		claim(left == f.left || (left == owed && owed > f.left),
		      "the fragment, or the queue");
		mps_outlook_add(&o, &p, f.whole, left, draw_up_to(d, UINT64_MAX));
		if (!(p.flags & MPS_PATH_SENDS))
			continue;
		busy += !(p.flags & MPS_PATH_IDLE);
		idle += p.flags & MPS_PATH_IDLE && !is_backup(&p) && p.srtt_us;
	}
	if (mps_reinject_pays(&o))
		claim(idle && busy && o.copy_us < o.left_us, "an idle one before a busy one");
	if (mps_reinject_dropped(&o, 2, 1))
		claim(idle && !busy, "nobody has it any more");
}

static void queues(struct draw *d, const struct mps_path *p)
{
	const __u32 n = (__u32)draw_up_to(d, UINT32_MAX), us = (__u32)draw_up_to(d, UINT32_MAX);
	struct mps_path q = *p;
	__u32 told;

	q.srtt_us = 0;
	q.metric = mps_queue_metric(n, us);
	told = mps_service_us(&q);
	claim(mps_queued(&q) == (n < 16383 ? n : 16383), "packets to 14 bits");
	claim(told <= us && us - told <= us / 4096, "a time to a part in 4096");
	claim(mps_queueaware_turn(p, &q) >= p->mss, "a segment at least");
}

static void service(struct draw *d, struct mps_service *v)
{
	const struct mps_departure leaves = {
		.end = v->last_end + (__u32)draw_up_to(d, 1 << 20) - (__u32)draw_up_to(d, 1 << 12),
		.now_us = v->last_us + (__u32)draw_up_to(d, 1 << 24),
		.handed_us = v->last_us + (__u32)draw_up_to(d, 1 << 24),
		.spacing = (__u32)draw_up_to(d, 1 << 16),
	};
	const __u32 was = v->service_us;
	__u32 x;

	if (draw_bit(d))
		mps_service_leaves(v, &leaves);
	claim(v->head - v->tail <= MPS_DEPARTURES, "departures have a limit");
	x = mps_service_acked(v, v->last_end - (__u32)draw_up_to(d, 1 << 20),
			      leaves.now_us + (__u32)draw_up_to(d, 1 << 24), draw_bit(d),
			      (__u32)draw_up_to(d, 999));
	claim(v->head - v->tail <= MPS_DEPARTURES, "and go in their order");
	if (!x)
		claim(v->service_us == was, "no sample, no other mean");
	else
		claim(v->service_us >= (x < was ? x : was ?: 1) &&
			      v->service_us <= (x > was ? x : was),
		      "a mean lies between");
}

static void samples(struct draw *d, struct mps_thin_subflow *t, const struct mps_path *p,
		    __u32 now_us)
{
	const struct mps_thin_options o = { .probe = (__u32)draw_up_to(d, 1000),
					    .samples = (__u32)draw_up_to(d, 3) };
	struct mps_path q = *p;

	if (draw_bit(d))
		mps_thin_used(t, now_us);
	mps_thin_observe(t, (__u32)draw_up_to(d, UINT32_MAX), (__u32)draw_up_to(d, RTT_MAX),
			 (__u32)draw_up_to(d, UINT32_MAX));
	q.flags &= 0xfff & ~(MPS_PATH_DELAY | MPS_PATH_DUE);
	mps_thin_path(t, &q, &o, now_us);
	claim(q.srtt_us == p->srtt_us || (o.samples && q.srtt_us), "an RTT that was seen");
	claim(!(q.flags & MPS_PATH_DELAY) || !(q.flags & MPS_PATH_NO_TS), "a delay by timestamps");
	claim(!(q.flags & MPS_PATH_DUE) || o.probe, "no probe unless wanted");
	claim(t->used_us || !o.probe || q.flags & MPS_PATH_DUE, "who was never used is probed");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct draw d = { data, data + size };
	struct mps_subflow_store s = { 0 };
	struct mps_thin_subflow t = { 0 };
	struct mps_service v = { 0 };
	struct mps_conn c = { 0 };

	while (draw_more(&d)) {
		const struct mps_path *p = &c.path[draw_byte(&d) % PATHS];

		draw_conn(&d, &c, 500);
		if (p < c.path + c.nr_paths) {
			times(&d, p);
			stores(&d, &s, p, c.now_us);
			queues(&d, p);
			samples(&d, &t, p, c.now_us);
		}
		rates(&d);
		windows(&d, &c);
		outlook(&d, &c);
		service(&d, &v);
	}
	return 0;
}
