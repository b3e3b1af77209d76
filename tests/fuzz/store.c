// SPDX-License-Identifier: GPL-2.0
/*
 * What the frame keeps from one decision to the next: whose bytes those were (state/attribution.h),
 * what a path means to the fragment (mps_complete_path()), which subflows have a place
 * (state/seen.h), how far the peer's window reaches (state/peer_window.h). Rounds over up to 12
 * subflows that take data as the core gives it. Claims: every byte counts once, in some counter;
 * counters never fall; a window is never wider than the core's, nor narrower when nothing is on its
 * way; no active subflow is without a place while one that is not has one.
 */
#include "snapshot.h"
#include "state/subflow_state.h"
#include "state/peer_window.h"

#define SUBFLOWS 12

struct subflow {
	struct mps_subflow_store s;
	__u32 seq, flags, wnd, segs;
	uint64_t taken, counted;
};

static struct subflow sub[SUBFLOWS];
static struct mps_memo memo;
static uint64_t una, head, sent;
static __u32 now_us;

static uint64_t counted(const struct mps_subflow_store *s)
{
	return s->counter[MPS_S_SENT] + s->counter[MPS_S_RETRANS] + s->counter[MPS_S_COPIED];
}

/* Beyond the low half, so that it wraps. */
static __u32 low_of(uint64_t n)
{
	return (__u32)(n + 0xffff0000U);
}

/* The core gives some of what is next, or of what was given before, to one of them. */
static void push(struct draw *d)
{
	struct subflow *f = &sub[draw_byte(d) % SUBFLOWS];
	const __u32 bytes = (__u32)draw_up_to(d, 1 << 16);

	if (!f->seq)
		f->seq = 1;
	f->seq += bytes;
	f->taken += f->s.settled ? bytes : 0;
	if (draw_bit(d))
		head += bytes;
	sent = head > sent ? head : sent;
}

static void check_seen(const struct mps_seen *seen, unsigned int n)
{
	unsigned int i, active = 0, placed = 0, weak = 0, sends = 0, left_out = 0;

	claim(seen->nr <= PATHS && !(seen->weak >> PATHS), "as many places as there are");
	for (i = 0; i < n; i++) {
		const __u32 path = mps_seen_path(seen, (1U << seen->nr) - 1, i);
		const bool is = sub[i].flags & MPS_PATH_ACTIVE && sub[i].flags & MPS_PATH_SENDS;

		claim(path == PATHS || path < seen->nr, "a place that there is");
		claim(path == PATHS || sub[i].flags & MPS_PATH_SENDS, "who can send has a place");
		claim(!is || path == PATHS || !left_out, "the first of them first");
		left_out |= is && path == PATHS;
		sends += !!(sub[i].flags & MPS_PATH_SENDS);
		active += is;
		placed += is && path < PATHS;
		weak += path < PATHS && !is;
	}
	claim(seen->nr == (sends < PATHS ? sends : PATHS), "no place is left free");
	claim(placed == active || !weak, "an active one goes before one that is not");
}

/* As the quick look has it. It knows no more than the full one. */
static void complete_quickly(struct subflow *f, struct mps_path *p, struct mps_round *r)
{
	const __u32 age = mps_complete_quickly(&f->s, p, r, f->seq);

	claim(age == MPS_NEVER ||
		      age == mps_ranges_age(&f->s.ranges, r->head - 1, r->head, r->now_us),
	      "given then");
	claim(!(p->flags & MPS_PATH_BEGAN) == (age == MPS_NEVER), "who began has an age");
}

/* One look at all of them, as mps_snap_paths() has it. */
static void look(struct draw *d, bool begun)
{
	struct mps_round r = {
		.now_us = now_us,
		.una = low_of(una),
		.head = low_of(head),
		.sent = low_of(sent),
	};
	const unsigned int n = draw_byte(d) % (SUBFLOWS + 1);
	const uint64_t wnd = draw_up_to(d, 1 << 28);
	struct mps_window w = mps_window_begin(&memo, r.una);
	const __u64 core = una + wnd > head ? una + wnd - head : 0;
	const __u32 unit = (__u32)draw_up_to(d, FRAGMENT_MAX);
	struct mps_path p;
	__u64 left;
	unsigned int i;

	r.frag = r.frag_end = r.una;
	if (!begun)
		r.frag_end = r.frag + (__u32)draw_up_to(d, sent - una < 65535 ? sent - una : 65535);
	r.begun = begun && head > una;
	for (i = 0; i < n; i++) {
		struct subflow *f = &sub[i];
		const uint64_t before = counted(&f->s);
		const __u32 settled = f->s.settled;

		draw_path(d, &p);
		make_sound(&p);
		p.flags &= 0xfff & ~(MPS_PATH_CARRIED | MPS_PATH_DROPPED);
		f->flags = draw_bit(d) ? p.flags : p.flags & ~(__u32)MPS_PATH_SENDS;
		if (mps_seen_next(&r.seen, f->flags) >= PATHS)
			continue;
		w.inflight |= !!p.inflight;
		w.missing |= draw_bit(d);
		f->segs += draw_byte(d) & 3;
		f->wnd = draw_bit(d) ? (__u32)draw_up_to(d, 1 << 28) : f->wnd;
		mps_window_seen(&f->s, &w, mps_window_mark(1, f->segs, f->wnd), f->wnd, f->segs);
		if (begun && draw_bit(d))
			complete_quickly(f, &p, &r);
		else
			mps_complete_path(&f->s, &p, &r, f->seq, (__u32)draw_up_to(d, UINT32_MAX));
		claim(counted(&f->s) >= before, "counters never fall");
		claim(!f->seq || settled || counted(&f->s) == before, "nothing before the first");
		f->counted += counted(&f->s) - before;
		claim(f->counted == f->taken, "every byte counts, and once");
		claim(f->s.ranges.nr <= MPS_RANGES && p.cwnd >= 1, "what is kept has its bounds");
		claim(!begun || !(p.flags & MPS_PATH_DROPPED), "nothing to drop in get_send");
	}
	check_seen(&r.seen, n);
	mps_window_settle(&memo, &w, low_of(una + wnd));
	left = mps_window_left(&memo, &w, low_of(head), core, unit);
	claim(left <= core, "no wider than the core's");
	claim(w.inflight || left == core, "no narrower when nothing would tell of more");
	claim(!left || left == core || left >= unit, "a unit or nothing");
}

/* As the frame notes a choice: for what is next, or for a fragment of what was sent. */
static void choose(struct draw *d)
{
	static const __u8 accounts[] = { MPS_S_SENT, MPS_S_RETRANS, MPS_S_COPIED };
	struct mps_subflow_store *s = &sub[draw_byte(d) % SUBFLOWS].s;
	const uint64_t out = sent - una;

	s->account = accounts[draw_byte(d) % 3];
	s->length = s->account == MPS_S_SENT ? 0 : (__u16)draw_up_to(d, out < 65535 ? out : 65535);
	if (s->length)
		mps_ranges_add(&s->ranges, low_of(una), low_of(una) + s->length, low_of(una),
			       now_us);
}

static void step(struct draw *d)
{
	switch (draw_byte(d) % 6) {
	case 0:
		una += draw_up_to(d, sent - una);
		head = head > una ? head : una;
		break;
	case 1:
		/* a subflow was given up */
		head = una;
		break;
	case 2:
		now_us += (__u32)draw_up_to(d, UINT32_MAX);
		break;
	case 3:
		choose(d);
		break;
	case 4:
		look(d, draw_bit(d));
		break;
	default:
		if (sent - una < 1 << 29)
			push(d);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct draw d = { data, data + size };

	memset(sub, 0, sizeof(sub));
	memset(&memo, 0, sizeof(memo));
	una = head = sent = now_us = 0;
	while (draw_more(&d))
		step(&d);
	return 0;
}
