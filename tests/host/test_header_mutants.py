# SPDX-License-Identifier: GPL-2.0
"""Proof that the tests of estimates, copies and stores bite: wrong headers must be found out.

Each judge is a module whose faults(lib, seed, count) says what is wrong with a header.
"""

import headers
import hostlib
import pytest
import test_copies
import test_cover
import test_ecf_extended
import test_first_sample
import test_ranges
import test_redundant
import test_reinject
import test_settle
import test_sndbuf
import test_store
import test_time
import test_window

SEED = 7
# header, C file that has it, who judges it, by how many states
JUDGES = {
    "ranges": ("mps_ranges.h", "store.c", test_ranges, 10),
    "settle": ("mps_settle.h", "store.c", test_settle, 30),
    "noted": ("mps_store.h", "store.c", test_settle, 30),
    "store": ("mps_store.h", "store.c", test_store, 2_000),
    "window": ("mps_window.h", "store.c", test_window, 20),
    "time": ("mps_time.h", "headers.c", test_time, 1_500),
    "copy": ("mps_copy.h", "headers.c", test_copies, 3_000),
    "cfs": ("mps_cfs.h", "headers.c", test_copies, 1_500),
    "redundant": ("mps_redundant.h", "headers.c", test_redundant, 3_000),
    "reinject": ("mps_reinject.h", "headers.c", test_reinject, 1_500),
    "sample": ("mps_minrtt.h", "headers.c", test_first_sample, 200),
    "cover": ("mps_cover.h", "headers.c", test_cover, 2_000),
    "sndbuf": ("mps_sndbuf.h", "headers.c", test_sndbuf, 500),
    "ecf": ("mps_ecf_extended.h", "headers.c", test_ecf_extended, 3_000),
}

# judge: {name: (text, once in the header; what it becomes; the fault that must be found)}
MUTANTS = {
    "ranges": {
        "oldest-forgotten": ("if (!mps_before(una, a_end))\n\t\treturn b_end;", "return b_end;", "carrier missed"),
        "joined-with-acknowledged": ("*b = *a;", ";", "carrier missed"),
        "widest-gap": ("if (cost < least) {", "if (cost >= least || !i) {", "claims more"),
        "acknowledged-kept": ("return -0x7fffffff;", ";", "no carrier"),
        "never-forgotten": ("g->nr = 0;", ";", "stale"),
        "all-forgotten": ("if (mps_before(una, mps_range_end(&g->range[i])))\n\t\t\treturn g->nr;", "", "carrier missed"),
        "hull-without-start": ("mps_range_set(b, mps_before(a->start, b->start) ? a->start : b->start,", "mps_range_set(b, b->start,", "carrier missed"),
        "hull-without-end": ("mps_before(b_end, a_end) ? a_end : b_end);", "b_end);", "carrier missed"),
        "hull-by-plain-numbers": ("return (__s32)(a - b) < 0;", "return a < b;", "carrier missed"),
        "joined-over-gaps": ("mps_range_end(last) == start && ", "", "no carrier"),
        "joined-for-ever": ("last->tick == mps_tick(us)", "1", "too old"),
        "ticks-of-the-clock": ("#define MPS_TICK_BITS 13", "#define MPS_TICK_BITS 14", "too old"),
        "ticks-do-not-wrap": (") & (MPS_TICKS - 1);\n\t\tif", ");\n\t\tif", "too old"),
        "long-ones-cut": ("length <= MPS_LENGTH_MAX ? length :", "1 ? length & MPS_LENGTH_MAX :", "carrier missed"),
        "kilobytes-rounded-down": ("(length + 1023) >> 10", "length >> 10", "carrier missed"),
        "one-too-many": ("if (nr >= MPS_RANGES)\n", "if (nr > MPS_RANGES)\n", "no carrier"),
        "fewer-are-exact": ("#define MPS_RANGES 16", "#define MPS_RANGES 14", "claims more"),
        "end-included": ("!mps_before(start, mps_range_end(r)))", "mps_before(mps_range_end(r), start))", "no carrier"),
        "oldest-age": ("if (ticks << MPS_TICK_BITS < age)", "if (age == MPS_NEVER)", "too old"),
        "behind-the-first": ("found = 1;\n", "if (found)\n\t\t\t\tcontinue;\n\t\t\tfound = 1;\n", "behind: too much"),
        "rest-not-counted": ("bytes = mps_before(end, r_end) ? r_end - end : 0;", "bytes = 0;", "behind: too little"),
        "later-not-counted": ("bytes += r_end - r->start;", ";", "behind: too little"),
        "all-behind": ("} else if (found) {", "} else {", "behind: too much"),
        "empty-range": ("if (!mps_before(start, end))\n\t\treturn nr;", "", "no carrier"),
    },
    "settle": {
        "before-the-first-round": ("s->settled ? seq - s->seq : 0", "seq - s->seq", "bytes"),
        "going-back-unseen": ("if (mps_before(r->head, s->head))", "if (0)", "bytes"),
        "fragment-whole": ("t.chosen = moved < s->length ? moved : s->length;", "t.chosen = s->length;", "bytes"),
        "fragment-is-new": ("moved -= t.chosen;", ";", "bytes"),
        "others-ignored": ("way -= way < r->found ? way : r->found;", ";", "sums"),
        "not-found": ("r->found += t.fresh;", ";", "sums"),
        "all-is-new": ("t.fresh = moved < way ? moved : way;", "t.fresh = moved;", "bytes"),
        "copies-are-new": ("s->account == MPS_S_COPIED", "0", "bytes"),
        "again-is-new": ("!s->length && s->account == MPS_S_RETRANS", "0", "bytes"),
        "unasked-not-counted": ("s->counter[MPS_S_RETRANS] += t.oldest;", ";", "bytes"),
        "way-not-noted": ("s->head = r->head;", ";", "bytes"),
        "choice-kept": ("s->account = MPS_S_SENT;", ";", "bytes"),
        "length-kept": ("s->length = 0;", ";", "bytes"),
    },
    "noted": {
        "new-data-not-noted": ("if (t->fresh)", "if (0)", "carrier missed"),
        "oldest-not-noted": ("if (t->oldest)", "if (0)", "carrier missed"),
        "only-what-one-took": ("t->from, t->to, r->una, r->now_us", "t->from, t->from + t->fresh, r->una, r->now_us", "carrier missed"),
    },
    "store": {
        "any-byte-counts": ("r->frag_end - mss + 1 : r->frag_end", "r->frag_end : r->frag_end", "carrier"),
        "a-segment-does-not": ("r->frag_end - mss + 1", "r->frag_end - mss", "carrier"),
        "short-ones-do-not": ("r->frag_end - r->frag > mss ?", "r->frag_end - r->frag >= mss ?", "carrier"),
        "lower-rates-count": ("p->rate >= s->rate || age", "1 || age", "rate"),
        "for-ever": ("|| age > limit", "", "rate"),
        "not-seen-again": ("p->rate >= s->rate", "p->rate > s->rate", "rate"),
        "limit-included": ("age > limit", "age >= limit", "rate"),
        "slow-start-forgotten": ("6 * MPS_RATE_US", "MPS_RATE_US", "rate"),
        "silence-is-a-rate": ("if (p->rate && (", "if ((", "rate"),
        "each-time": ("(s->penalty && now_us - s->penalty_us < p->srtt_us)", "0", "penalty"),
        "everybody": ("!(p->flags & MPS_PATH_CARRIED) ||", "", "penalty"),
        "first-slow-start": ("|| p->ssthresh == ~0U ||", "||", "penalty"),
        "any-slow-start": ("p->ssthresh == ~0U ||", "p->cwnd < p->ssthresh ||", "penalty"),
        "never-back": ("s->penalty - (__u32)back : 0", "s->penalty : 0", "penalty"),
        "from-anew": ("left = mps_penalty_left(s, p, now_us);\n\tleft +=", "left =", "penalty"),
        "no-limit": ("left < MPS_PENALTY_MAX ? left : MPS_PENALTY_MAX", "left", "penalty"),
        "time-not-noted": ("s->penalty_us = now_us;", ";", "penalty"),
        "window-of-32-bits": ("(__u32)((__u64)p->cwnd *", "(__u32)(p->cwnd *", "penalty"),
        "no-window-left": ("p->cwnd = cwnd ?: 1;", "p->cwnd = cwnd;", "penalty"),
        "old-penalty-kept": ("s->penalty = left ? s->penalty : 0;", "", "penalty"),
        "behind-not-noted": ("p->behind = mps_ranges_behind(&s->ranges, r->frag, r->frag_end);", "", "dropped"),
        "dropped-behind-the-oldest": ("r->frag == r->una && ", "", "dropped"),
        "dropped-under-way": (" && p->behind >= mps_owed(p)", "", "dropped"),
        "queue-not-counted": ("mps_owed(p);", "mps_bytes(p->inflight, p);", "dropped"),
        "dropped-at-once": ("age > trip + gap", "age > gap", "dropped"),
        "gap-ignored": ("age > trip + gap", "age > trip", "dropped"),
        "unknown-trip": ("return p->srtt_us && age", "return age", "dropped"),
        "idle-has-a-gap": ("if (!owed)\n\t\treturn 0;", "", "gap"),
        "holes-unseen": ("missing || !sent_us", "!sent_us", "gap"),
        "never-sent": ("missing || !sent_us", "missing", "gap"),
        "one-halving-more": ("halvings = (idle - 1) / rto;", "halvings = idle / rto;", "idle window"),
        "idle-at-once": ("!rto || idle <= rto", "!rto", "idle window"),
        "below-the-floor": ("return cwnd > floor ? cwnd : floor;", "return cwnd;", "idle window"),
        "shift-wraps": ("halvings < 32 ? cwnd >> halvings : 0", "cwnd >> (halvings & 31)", "idle window"),
        "never-idle": ("idle > rto && min_us < srtt_us ? min_us : srtt_us", "srtt_us", "idle rtt"),
        "larger-rtt": ("idle > rto && min_us < srtt_us", "idle > rto", "idle rtt"),
    },
    "window": {
        "core-believed": ("m->doubt |= w->missing;", ";", "beyond the window"),
        "stale-windows-count": ("const bool fresh = s->wnd_mark != mark;", "const bool fresh = true;", "beyond the window"),
        "late-looks-count": ("if (!m->late)\n", "", "beyond the window"),
        "late-second-looks": ("(again && !w->late)", "again", "beyond the window"),
        "no-second-look": (" || (again && !w->late)", "", "held back"),
        "looks-for-ever": ("s->wnd_new && s->wnd_odd == w->odd", "s->wnd_new", "beyond the window"),
        "one-more-look": ("s->wnd_new = fresh || again;", "s->wnd_new = fresh;", "held back"),
        "late-at-once-forgotten": ("if (segs) {", "m->late = segs > 1;\n\tif (segs) {", "beyond the window"),
        "believed-at-once": ("mps_before(core, m->wnd_end + MPS_WINDOW_SLACK)", "1", "beyond the window"),
        "never-believed": ("m->doubt = 0;", ";", "doubt for ever"),
        "nothing-in-flight": (" || !w->inflight", "", "stall"),
        "parts-are-given": ("granted < unit ? 0 : granted", "granted", "part of a fragment"),
        "limit-ignored": ("granted >= left)\n\t\treturn left;", "1)\n\t\treturn left;", "beyond the window"),
        "end-forgotten": ("m->wnd_end = w->end;", ";", "held back"),
    },
    "time": {
        "never-grows": ("!(how & MPS_EST_GROW) || ", "1 || ", "finish"),
        "always-grows": ("!(how & MPS_EST_GROW) || ", "", "finish"),
        "beyond-ssthresh": ("|| wnd >= limit", "", "finish"),
        "limit-passed": ("wnd = mps_min(2 * wnd, limit);", "wnd = 2 * wnd;", "finish"),
        "one-round-more": ("#define MPS_GROW_ROUNDS 8", "#define MPS_GROW_ROUNDS 9", "finish"),
        "first-room-kept": ("room = wnd;", ";", "finish"),
        "room-ignored": ("p->cwnd > p->inflight ? mps_bytes(p->cwnd - p->inflight, p) : 0", "mps_bytes(p->cwnd, p)", "finish"),
        "queue-ignored": ("MPS_BYTES_MAX) + p->unsent,", "MPS_BYTES_MAX),", "finish"),
        "rate-ignored": ("if (!rate)\n\t\treturn t;", "return t;", "finish"),
        "rate-always": ("how & MPS_EST_RATE ? mps_known_rate(p) : 0", "mps_known_rate(p)", "finish"),
        "front-added-to-rtt": ("busy = mps_max(rtt, ", "busy = rtt + (", "finish"),
        "front-ignored": ("mps_duration(mps_bytes(p->inflight, p), rate)", "0", "finish"),
        "rtt-unbounded": ("mps_min(p->srtt_us, MPS_RTT_MAX)", "p->srtt_us", "finish"),
        "bytes-unbounded": ("mps_min(bytes, MPS_BYTES_MAX) * MPS_USEC", "bytes * MPS_USEC", "duration"),
        "full-of-one-segment": ("segments < 2", "segments < 1", "sample"),
        "full-without-a-queue": ("+ min_rtt_us / 8", "", "sample"),
        "limit-of-32-bits": ("(__u64)min_rtt_us + min_rtt_us / 8", "min_rtt_us + min_rtt_us / 8", "sample"),
        "no-time-at-all": ("return interval_us ? (__u32)mps_min(rate, ~0U) : 0;", "return (__u32)mps_min(rate, ~0U);", "sample"),
        "rate-not-bounded": ("(__u32)mps_min(rate, ~0U) : 0", "(__u32)rate : 0", "sample"),
        "rate-of-32-bits": ("2ULL * p->rate", "2U * p->rate", "rate"),
        "known-at-once": ("p->ssthresh == ~0U ? 2ULL * p->rate : p->rate", "p->rate", "rate"),
    },
    "copy": {
        "lost-elsewhere": (" && !(all & MPS_PATH_CARRIED)", "", "lost_behind"),
        "nobody-dropped-it": (" && (all & MPS_PATH_DROPPED)", "", "lost_behind"),
        "last-path-decides": ("all |= c->path[i].flags;", "all = c->path[i].flags;", "lost_behind"),
        "nothing-to-lose": ("return c->unacked && c->unit && (all", "return c->unit && (all", "lost_behind"),
        "repairs-need-room": ("(c, (__u32)tier, ~0ULL, 0)", "(c, (__u32)tier, ~0ULL, 1)", "repair_first"),
        "repairs-must-pay": ("(c, (__u32)tier, ~0ULL, 0)", "(c, (__u32)tier, mps_carriers_us(c), 0)", "repair_first"),
        "copies-without-room": ("mps_carriers_us(c), 1)", "mps_carriers_us(c), 0)", "copy_if_it_pays"),
        "window-not-looked-at": ("!(c->pending && c->wnd_left) && ", "!c->pending && ", "may_copy"),
        "fresh-data-waits": ("!(c->pending && c->wnd_left) && ", "", "copy_if_it_pays"),
        "all-acknowledged": ("return c->unacked && c->unit && !", "return c->unit && !", "may_copy"),
        "no-fragment": ("c->unit && !", "!", "may_copy"),
        "carriers-unknown": (" && c->age_us != ~0U", "", "copy_if_it_pays"),
        "to-a-carrier": ("p->srtt_us && !(p->flags & MPS_PATH_CARRIED)", "p->srtt_us", "copy_if_it_pays"),
        "to-an-unknown-path": ("&& p->srtt_us &&", "&&", "copy_if_it_pays"),
        "without-room": (" || (room && !mps_is_available(c, p))", "", "copy_if_it_pays"),
        "any-tier": ("return mps_is_usable(p, tier) && ", "return mps_is_active(p) && ", "copy_if_it_pays"),
        "age-ignored": ("p->srtt_us - c->age_us : over", "p->srtt_us : over", "remaining"),
        "repairs-at-once": ("p->flags & MPS_PATH_REPAIRS ? p->srtt_us : 0", "0", "remaining"),
        "age-wraps": ("p->srtt_us > c->age_us ? p->srtt_us - c->age_us : over", "p->srtt_us - c->age_us", "remaining"),
        "trip-ignored": ("mps_max(trip, mps_duration(mps_to_deliver(c, p), rate))", "mps_duration(mps_to_deliver(c, p), rate)", "remaining"),
        "nothing-in-front": ("mps_duration(mps_to_deliver(c, p), rate)", "mps_duration(c->unit, rate)", "remaining"),
        "all-in-front": ("? owed - p->behind : c->unit", "? owed : c->unit", "remaining"),
        "unsent-not-in-front": ("mps_owed(p);", "mps_bytes(p->inflight, p);", "remaining"),
        "held-delivers": (" || held", "", "remaining"),
        "lossy-delivers": ("|| p->flags & MPS_PATH_LOSS ", "", "remaining"),
        "slowest-carrier": ("best = mps_min(best, mps_remaining_us", "best = best == ~0ULL ? 0 : best, best = mps_max(best, mps_remaining_us", "carriers"),
        "all-carry": ("if (c->path[i].flags & MPS_PATH_CARRIED)\n", "", "carriers"),
        "no-margin": ("t + t / 4 < left", "t < left", "copy_if_it_pays"),
        "or-equal": ("t + t / 4 < left", "t + t / 4 <= left", "copy_if_it_pays"),
        "last-that-pays": ("t < best && ", "", "copy_if_it_pays"),
        "all-that-pay": ("mask = 1U << i;", "mask |= 1U << i;", "copy_if_it_pays"),
        "without-growth": ("MPS_EST_GROW | MPS_EST_RATE", "MPS_EST_RATE", "copy_if_it_pays"),
    },
    "cfs": {
        "from-equals": ("p->srtt_us > rtt", "p->srtt_us >= rtt", "cfs_copies"),
        "from-anybody": ("if (!(p->flags & MPS_PATH_CARRIED))\n\t\t\tcontinue;\n", "", "cfs_copies"),
        "dead-is-fast": ("|| !mps_is_active(p) ", "", "cfs_copies"),
        "lossy-is-fast": (" || p->flags & MPS_PATH_LOSS", "", "cfs_copies"),
        "slowest-takes-it": ("p->srtt_us < best_rtt)", "(best < 0 || p->srtt_us > best_rtt))", "cfs_copies"),
        "before-the-tail": ("|| c->pending ", "", "cfs_copies"),
        "always": ("|| !mps_cfs_slower_carrier(c, c->path[f & (MPS_MAX_PATHS - 1)].srtt_us)", "", "cfs_copies"),
        "beyond-the-last": ("if (i >= c->nr_paths)\n\t\t\tbreak;\n\t\tif (mps_can", "if (mps_can", "cfs_copies"),
    },
    "redundant": {
        "one-copy": ("mask |= 1U << i;", "mask = 1U << i;", "redundant_copies"),
        "to-carriers": (" &&\n\t\t    !(p->flags & MPS_PATH_CARRIED)", "", "redundant_copies"),
        "without-room": ("(mps_is_available(c, p) || (", "(1 || (", "redundant_copies"),
        "room-for-all": (" || (along >> i & 1 && mps_takes_data(p))", "", "redundant_copies"),
        "everybody-along": ("along >> i & 1 && mps_takes_data(p)", "mps_takes_data(p)", "redundant_copies"),
        "no-memory-along": ("along >> i & 1 && mps_takes_data(p)", "along >> i & 1", "redundant_copies"),
        "any-tier": ("mps_is_usable(p, (__u32)tier)", "mps_is_active(p)", "redundant_copies"),
        "carriers-unknown": (" || c->age_us == ~0U", "", "redundant_copies"),
        "all-acknowledged": ("|| !c->unacked ", "", "redundant_copies"),
        "never-strict": ("!strict || tier < 0", "1", "pick"),
        "always-strict": ("!strict || tier < 0", "tier < 0", "pick"),
        "many-fragments": ("mps_min(v.bytes, c->unit ?: v.bytes)", "v.bytes", "pick"),
        "no-bytes": ("c->unit ?: v.bytes", "c->unit", "pick"),
        "never-grows": ("} else if (st->given &&", "} else if (0 &&", "pick"),
        "without-an-end": ("st->given < most &&", "1 &&", "pick"),
        "one-more": ("st->given < most &&", "st->given <= most &&", "pick"),
        "after-copies": ("st->given = 0;\n\treturn", "return", "pick"),
        "batch-goes-on": ("st->given = st->along", "st->along", "pick"),
        "not-counted": ("st->given++;", ";", "pick"),
        "other-lead": ("i = st->lead;", "i = mps_redundant_lead(c, (__u32)tier);", "pick"),
        "lead-not-kept": ("st->lead = (__u8)i;", ";", "pick"),
        "lead-of-least-rtt": ("t = mps_finish_us(p, c->pending, MPS_EST_GROW | MPS_EST_RATE);", "t = p->srtt_us;", "pick"),
        "lead-by-a-fragment": ("mps_finish_us(p, c->pending,", "mps_finish_us(p, c->unit,", "pick"),
        "lead-without-room": ("!mps_is_usable(p, tier) || !mps_is_available(c, p) || !p->srtt_us", "!mps_is_usable(p, tier) || !p->srtt_us", "pick"),
        "unknown-leads": (" || !p->srtt_us)", ")", "pick"),
        "unknown-never-leads": ("best < 0 ? mps_minrtt_available(c, tier) : best", "best", "pick"),
        "full-grows": ("!mps_is_usable(first, tier) || !mps_is_available(c, first)", "!mps_is_usable(first, tier)", "pick"),
        "gone-grows": ("lead >= c->nr_paths || ", "", "pick"),
        "backup-grows": ("!mps_is_usable(first, tier) || ", "", "pick"),
        "nobody-keeps-up": ("times * mps_cwnd_room(p) >= bytes", "0", "pick"),
        "all-keep-up": ("times * mps_cwnd_room(p) >= bytes", "1", "pick"),
        "more-than-half": ("mps_cwnd_room(p) >= bytes", "mps_cwnd_room(p) > bytes", "pick"),
        "dead-keeps-up": ("mps_is_usable(p, tier) && mps_takes_data(p)", "mps_is_usable(p, tier)", "pick"),
        "backup-keeps-up": ("if (mps_is_usable(p, tier) && mps_takes_data(p)", "if (mps_takes_data(p)", "pick"),
        "along-like-the-bound": ("mps_min(whole, c->pending), 4)", "mps_min(whole, c->pending), 2)", "pick"),
        "along-of-all-the-room": ("mps_min(whole, c->pending)", "whole", "pick"),
        "bound-like-along": ("tier, whole, 2)", "tier, whole, 4)", "pick"),
        "begins-with-nobody": ("\tif (lead < 0)\n\t\treturn;\n", "", "pick"),
        "all-bound": ("!(bound >> i & 1) || ", "", "pick"),
        "gone-bounds": ("!(bound >> i & 1) || !mps_is_usable(p, tier)", "!(bound >> i & 1)", "pick"),
        "along-bounds": ("st->lead, st->bound)", "st->lead, st->along)", "pick"),
        "room-for-one": ("mps_cwnd_room(p) < c->unacked + c->unit", "mps_cwnd_room(p) < c->unit", "pick"),
        "room-to-spare": ("mps_cwnd_room(p) < c->unacked + c->unit", "mps_cwnd_room(p) <= c->unacked + c->unit", "pick"),
        "itself-counts": ("i == lead || ", "", "pick"),
    },
    "cover": {
        "one-round-trip": ("unacked, 2 * rate)", "unacked, rate)", "cover"),
        "without-what-is-out": ("fresh + c->unacked", "fresh", "cover"),
        "end-ignored": ("\tif (!more)\n", "\tif (0)\n", "cover"),
        "always-the-end": ("\tif (!more)\n", "", "cover"),
        "beyond-the-window": ("mps_min(fresh, c->pending)", "c->pending", "cover"),
        "fastest-rate": ("rate += mps_likely_rate(p)", "rate = mps_max(rate, mps_likely_rate(p))", "cover"),
        "rate-of-all": ("if (mps_is_usable(p, tier))\n", "", "cover"),
        "rtt-of-all": ("if (mps_is_usable(p, tier) && p->srtt_us &&", "if (p->srtt_us &&", "cover"),
        "unknown-is-shortest": ("&& p->srtt_us && p->srtt_us < rtt", "&& p->srtt_us < rtt", "cover"),
        "bottleneck-runs-dry": ("p->min_rtt_us * 3ULL / 2", "0", "cover"),
        "no-queue-at-all": ("p->min_rtt_us * 3ULL / 2", "p->min_rtt_us", "cover"),
        "rtt-of-32-bits": ("p->min_rtt_us * 3ULL / 2", "p->min_rtt_us * 3 / 2", "cover"),
        "the-lesser-of-both": ("mps_min(mps_max(us, least), MPS_RTT_MAX)", "mps_min(mps_min(us, least), MPS_RTT_MAX)", "cover"),
        "less-than-half": ("mps_max(bytes / p->mss, p->cwnd / 2)", "bytes / p->mss", "cover"),
        "always-half": ("mps_max(bytes / p->mss, p->cwnd / 2)", "p->cwnd / 2", "cover"),
        "bytes-as-segments": ("bytes / p->mss,", "bytes,", "cover"),
        "none-at-all": ("mps_min(mps_max(segments, 1), p->cwnd)", "mps_min(segments, p->cwnd)", "cover"),
        "more-than-the-window": ("(__u32)mps_min(mps_max(segments, 1), p->cwnd)", "(__u32)mps_max(segments, 1)", "cover"),
        "fastest-too": ("p->srtt_us <= rtt || ", "", "cover"),
        "as-fast-too": ("p->srtt_us <= rtt", "p->srtt_us < rtt", "cover"),
        "slow-start-too": ("p->ssthresh == ~0U ||", "", "cover"),
        "unknown-rate-too": (" ||\n\t\t    !p->rate)", ")", "cover"),
        "backups-too": ("!mps_is_usable(p, (__u32)tier) || p", "p", "cover"),
        "counts-all": ("found += cwnd < p->cwnd;", "found++;", "cover"),
        "counts-equals": ("cwnd < p->cwnd;", "cwnd <= p->cwnd;", "cover"),
    },
    "reinject": {
        "queue-always": ("in_vain > mss && ", "", "until done"),
        "queue-never": ("in_vain > mss && ", "0 && ", "until done"),
        "one-segment-in-vain": ("in_vain > mss", "in_vain >= mss", "until done"),
        "silence-ignored": ("p->srtt_us && silent_us >", "0 && silent_us >", "left"),
        "silence-of-32-bits": ("(__u64)p->srtt_us + 4ULL * p->mdev_us", "p->srtt_us + 4U * p->mdev_us", "left"),
        "dead-delivers": ("!(p->flags & MPS_PATH_ACTIVE) || ", "", "left"),
        "least-left": ("o->left_us = mps_max(", "o->left_us = mps_min(", "left"),
        "closed-counts": ("if (!(p->flags & MPS_PATH_SENDS))\n\t\treturn 0;\n", "", "counted"),
        "backups-copy": ("p->flags & MPS_PATH_BACKUP || ", "", "copy"),
        "last-idle": (" || o->copy_us != MPS_NEVER_US", "", "copy"),
        "unknown-is-none": (": MPS_NEVER_US - 1;", ": MPS_NEVER_US;", "copy"),
        "without-rate": ("MPS_EST_GROW | MPS_EST_RATE", "MPS_EST_GROW", "copy"),
        "no-margin": ("o->copy_us + o->copy_us / 4 <", "o->copy_us <", "pays"),
        "or-equal": ("o->copy_us / 4 < o", "o->copy_us / 4 <= o", "pays"),
    },
    "sample": {
        "never": ("if (mps_wants_first_sample(c, p))", "if (0)", "no sample"),
        "the-end-too": ("c->pending > c->unit", "c->pending", "the end of the data"),
        "unknown-is-fastest": ("p->srtt_us ? p->srtt_us : 1ULL << 32", "p->srtt_us", "the end of the data"),
    },
    "sndbuf": {
        "shortest-rtt": ("p->srtt_us > rtt)", "p->srtt_us < rtt)", "share"),
        "unused-paths-count": ("mps_is_usable(p, tier) && p->srtt_us > rtt", "p->srtt_us > rtt", "share"),
        "whatever-the-window": (" || c->pending >= c->wnd_left", "", "share"),
        "one-round-trip": ("mps_min(2 * window * rtt", "mps_min(window * rtt", "share"),
        "its-own-rtt": ("rtt / p->srtt_us", "1", "share"),
        "windows-overflow": ("window = mps_min(mps_bytes(p->cwnd, p), MPS_SNDBUF_MAX)", "window = mps_bytes(p->cwnd, p)", "share"),
        "no-limit": ("rtt / p->srtt_us, MPS_SNDBUF_MAX)", "rtt / p->srtt_us, ~0ULL)", "share"),
    },
    "ecf": {
        "fragment-always": ("return whole && c->unit", "return c->unit", "pick"),
        "fragment-never": ("return whole && c->unit", "return 0 && c->unit", "pick"),
        "no-gap": ("SNDBUF && mps_cwnd_room(p)", "SNDBUF && mps_cwnd_room(p) >= p->mss", "pick"),
        "gap-without-buffer": ("p->flags & MPS_PATH_SNDBUF && mps_cwnd_room(p)", "mps_cwnd_room(p)", "pick"),
        "lossy-is-first": ("p->flags & MPS_PATH_LOSS || ", "", "pick"),
        "unknown-is-first": (" || !p->srtt_us)\n", ")\n", "pick"),
        "full-is-second": ("if (room && !mps_is_available(c, p))", "if (0)", "pick"),
        "delta-of-f": ("f->mdev_us > s->mdev_us ? f->mdev_us : s->mdev_us", "f->mdev_us", "pick"),
        "delta-dropped": ("o->estimate) + delta;", "o->estimate);", "pick"),
        "beta-always": ("(st->waiting ? (__u64)o->beta : 0)", "o->beta", "pick"),
        "first-or-equal": ("!mps_product_less(t_f, MPS_ECF_BETA_SCALE, t_s, gain)", "mps_product_less(t_s, gain, t_f, MPS_ECF_BETA_SCALE)", "pick"),
        "64-bits": ("!mps_product_less(t_f, MPS_ECF_BETA_SCALE, t_s, gain)", "t_f * MPS_ECF_BETA_SCALE >= t_s * gain", "pick"),
        "never-cleared": ("st->waiting = 0;", ";", "pick"),
        "never-set": ("st->waiting = 1;", ";", "pick"),
        "second-dropped": ("if (mps_finish_us(s, c->pending, o->estimate) <", "if (0 <", "pick"),
        "second-of-one-rtt": ("2ULL * f->srtt_us + delta", "1ULL * f->srtt_us + delta", "pick"),
        "second-or-equal": ("c->pending, o->estimate) < 2ULL", "c->pending, o->estimate) <= 2ULL", "pick"),
        "waits-for-nothing": (" || !mps_has_inflight(fast))", ")", "pick"),
        "no-first-sample": ("(f < 0 || !c->path[s & (MPS_MAX_PATHS - 1)].srtt_us)", "f < 0", "pick"),
        "never-the-paper": ("if (!o->estimate && !o->whole)", "if (0)", "paper"),
        "whole-is-the-paper": ("!o->estimate && !o->whole", "!o->estimate", "pick"),
        "dry-always": ("o->buffer && mps_ecf", "mps_ecf", "pick"),
        "dry-in-slow-start": ("s->ssthresh != ~0U && ", "", "pick"),
        "dry-without-writer": ("st->ahead && s", "s", "pick"),
        "dry-beside-a-faster": ("mps_likely_rate(s) < mps_likely_rate(f) &&", "", "pick"),
        "dry-beside-as-fast": ("mps_likely_rate(s) < m", "mps_likely_rate(s) <= m", "pick"),
        "dry-when-acknowledged": ("t_s + mps_min(f->srtt_us, MPS_RTT_MAX)", "t_s", "pick"),
        "dry-nothing-freed": (" + mps_min(st->ahead, freed)", "", "pick"),
        "dry-more-than-ahead": ("mps_min(st->ahead, freed)", "freed", "pick"),
        "dry-all-of-it-ahead": ("mps_min(st->ahead, freed)", "st->ahead", "pick"),
        "dry-below-nothing": ("c->unacked > flight ? c->unacked - flight : 0", "c->unacked - flight", "pick"),
        "dry-or-equal": ("buffer, estimate) <", "buffer, estimate) <=", "pick"),
    },
}  # fmt: skip
ALL = [(judge, name) for judge, some in MUTANTS.items() for name in some]


@pytest.fixture(scope="module")
def suspects(tmp_path_factory):
    """Of each mutant a future with its library; they are built side by side."""

    def make(which):
        judge, name = which
        header, source, *_ = JUDGES[judge]
        text, changed, _ = MUTANTS[judge][name]
        out = tmp_path_factory.getbasetemp() / "headers" / judge / name
        include = hostlib.altered(out, header, text, changed)
        flags = ["-O0", *hostlib.QUIET]
        return headers.build(source, out / "lib.so", include, flags)

    with hostlib.side_by_side(make, ALL) as found:
        yield found


@pytest.mark.parametrize("judge", JUDGES)
def test_no_fault_in_the_header(judge):
    """The control: with nothing changed, nothing is found."""
    _, source, module, count = JUDGES[judge]
    assert not module.faults(headers.plain(source), SEED, count)


@pytest.mark.parametrize(("judge", "name"), ALL)
def test_mutant_is_found(judge, name, suspects):
    *_, module, count = JUDGES[judge]
    lib, fault = suspects[judge, name].result(), MUTANTS[judge][name][2]
    # what is wrong everywhere is found in few states
    assert any(fault in module.faults(lib, SEED, n) for n in (count // 10, count))
