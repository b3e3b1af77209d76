# SPDX-License-Identifier: GPL-2.0
"""The headers' functions for Python, and what their estimates ought to say.

Written from the headers' comments in whole numbers without a limit; every us is rounded down.
"""

import ctypes
import functools
from ctypes import c_uint32, c_uint64, c_void_p

import hostlib
from hostlib import ACTIVE, CARRIED, DROPPED, IDLE, LOSS, REPAIRS, SENDS
from stateful import UNKNOWN, Conn, any_path, available, draw, usable

GROW, RATE, ARRIVAL = 1, 2, 4
SECOND = 1_000_000
MOST_BYTES = 1 << 34
MOST_RTT = (1 << 29) - 1
NEVER = (1 << 64) - 1

# --- the functions: arguments that are pointers take bytes or a ctypes array

P, U32, U64 = c_void_p, c_uint32, c_uint64
HEADERS = {
    "finish_us": (U64, P, U64, U32),
    "done_us": (U64, P, U64, U32),
    "duration": (U64, U64, U64),
    "known_rate": (U64, P),
    "full_rate": (U32, U32, U32, U32, U32, U32),
    "quiet_out": (U32, P, U32),
    "may_copy": (U32, P),
    "is_under_way": (U32, P),
    "remaining_us": (U64, P, U32),
    "carriers_us": (U64, P),
    "lost_behind": (U32, P),
    "repair_first": (U32, P),
    "copy_if_it_pays": (U32, P),
    "cfs_copies": (U32, P),
    "redundant_copies": (U32, P),
    "redundant_copies_along": (U32, P, U32, U32),
    "redundant_pick": (None, P, P, U32, P, P),
    "minrtt_pick": (None, P, P),
    "ecf_pick": (None, P, U32, U64, P, P),
    "ecf_look_ahead": (U64, U64, U64, U32, U64, U32, U32, P),
    "ecf_paper_pick": (None, P, U32, U32, P),
    "sndbuf_share": (U32, P, U32, U64),
    "glance": (U32, P, U32),
    "glance_news": (U32, U32, U32, U32, U32, U32, U32),
    "pick_of_each": (None, P, U32, P),
    "cover": (U32, P, U32, P),
    "until_done": (U32, U32, U32, U32, U32, P),
    "outlook_init": (None, P),
    "outlook_add": (U32, P, P, U32, U32, U64),
    "reinject_pays": (U32, P),
    "reinject_dropped": (U32, P, U32, U32),
}
STORE = {
    "ranges_size": (U32,),
    "ranges_add": (U32, P, U32, U32, U32, U32),
    "ranges_forget": (U32, P, U32),
    "ranges_age": (U32, P, U32, U32, U32),
    "ranges_last_age": (U32, P, U32, U32),
    "ranges_reach": (U32, P, U32, U32),
    "ranges_behind": (U32, P, U32, U32),
    "store_size": (U32,),
    "store_chosen": (None, P, P, U32),
    "store_counters": (None, P, P),
    "store_settle": (U32, P, P, U32),
    "store_is_of": (U32, U32, U32),
    "store_age": (U32, P, U32, U32, U32),
    "filter_rate": (U32, P, U32, U32, U32, U32),
    "penalise": (U32, P, U32, U32, U32, U32),
    "withhold": (U32, P, U32, U32, U32),
    "gap": (U32, U32, U32, U32, U32),
    "completed": (U32, P, P, P, U32),
    "seen_all": (None, U32, U32, P),
    "seen_list": (None, P, U32, U32, P),
    "window_look": (None, P, P, P, U32, P, P),
    "window_glanced": (None, P, U32),
    "window_for_clock": (U32, P, U32),
    "memo_size": (U32,),
    "elapsed": (U32, U32, U32),
    "idle_cwnd": (U32, U32, U32, U32),
    "idle_rtt": (U32, U32, U32, U32, U32),
}
SOURCES = {"headers.c": HEADERS, "store.c": STORE}


def build(source, out, include=hostlib.INCLUDE, flags=hostlib.TRAPS):
    lib = hostlib.make_library(source, out, include, flags)
    for name, (result, *arguments) in SOURCES[source].items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


@functools.cache
def plain(source):
    """The headers as they are."""
    return build(source, hostlib.OUT / source.replace(".c", ".so"))


def verdict(pick, *arguments):
    """(path, reason, bytes, state afterwards)"""
    answer = (ctypes.c_int32 * 4)()
    pick(*arguments, answer)
    return tuple(answer)


# --- model/estimate.h


def window(p, segments):
    return min(segments * p.mss, MOST_BYTES)


def duration(nbytes, rate):
    return min(nbytes, MOST_BYTES) * SECOND // max(rate, 1)


def full_rate(segments, mss, interval, cwnd, min_rtt):
    """Bytes/s, of a quarter of a window, two segments at least, that took an eighth longer than the lowest RTT."""
    if segments < max(2, cwnd / 4) or not interval or interval < min_rtt + min_rtt // 8:
        return 0
    return min(min(segments * mss, MOST_BYTES) * SECOND // interval, UNKNOWN)


def known_rate(p):
    return p.rate * (2 if p.ssthresh == UNKNOWN else 1)


def rooms(p, how):
    """Bytes that go out at once, and in each of the round trips after that."""
    found = [window(p, max(0, p.cwnd - p.inflight))]
    now, limit = window(p, p.cwnd), window(p, p.ssthresh)
    while how & GROW and now < limit and len(found) <= 8:
        now = min(2 * now, limit)
        found.append(now)
    return found, now


def finish(p, nbytes, how):
    """us until `nbytes` are acknowledged that the path is given now."""
    rtt = min(p.srtt, MOST_RTT)
    queue = min(min(nbytes, MOST_BYTES) + p.unsent, MOST_BYTES)
    steps, last = rooms(p, how)
    whole, trips = sum(steps), 1
    if queue > whole:
        t = len(steps) * rtt + (queue - whole) * rtt // last
    else:
        while sum(steps[:trips]) < queue:
            trips += 1
        t = trips * rtt
    rate = known_rate(p) if how & RATE else 0
    if rate:
        front = duration(window(p, p.inflight), rate)
        t = max(t, max(rtt, front) + duration(queue, rate))
    return t


def done(p, nbytes, how):
    """The same, or (ARRIVAL) until they are with the peer. get_send: `behind` is the lowest RTT."""
    return finish(p, nbytes, how) - (how & ARRIVAL and min(p.behind, p.srtt, MOST_RTT) // 2)


# --- common/copy.h, common/reinject.h


def rate_of(p):
    return p.rate or window(p, p.cwnd) * SECOND // max(p.srtt, 1)


def remaining(c, p):
    """us until carrier p has delivered the oldest fragment."""
    if p.flags & (ACTIVE | LOSS) != ACTIVE or not p.srtt:
        return NEVER
    if p.unsent and not p.inflight:
        return NEVER
    over = p.srtt if p.flags & REPAIRS else 0
    trip = p.srtt - c.age if p.srtt > c.age else over
    nbytes = max(c.unit, window(p, p.inflight) + p.unsent - p.behind)
    return max(trip, duration(nbytes, rate_of(p)))


def may_copy(c):
    fresh = c.pending and c.wnd_left
    return bool(c.unacked and c.unit and not fresh and c.age != UNKNOWN)


def lackers(c):
    """Usable ones of known RTT that do not have the fragment."""
    fit = (i for i in usable(c) if c.paths[i].srtt)
    return [i for i in fit if not c.paths[i].flags & CARRIED]


def takers(c):
    """Those that a copy may go to."""
    return [i for i in lackers(c) if available(c.paths[i])]


def carriers(c):
    """Those that have yet to deliver data of the fragment."""
    return [p for p in c.paths if p.flags & (CARRIED | DROPPED) == CARRIED]


# --- states


def any_carrier(rng, kind):
    """A path that may have been given the oldest fragment, with what the estimates read."""
    p = any_path(rng, kind)
    if kind == "wide" and rng.random() < 0.2:
        p.srtt = draw(rng, UNKNOWN - 1)
        p.cwnd = draw(rng, UNKNOWN)
    if kind == "small":
        p.rate = rng.choice([0, rng.randint(1, 8) * 500_000, draw(rng, UNKNOWN)])
    elif rng.random() < 0.7:
        # about what the window gives, or anything
        usual = min(UNKNOWN, rate_of(p) if p.srtt else 1 << 20)
        p.rate = rng.choice([usual, rng.randint(usual // 2, usual), draw(rng, UNKNOWN)])
    p.ssthresh = rng.choice([p.ssthresh, p.ssthresh, min(UNKNOWN, 5 * p.cwnd)])
    has = rng.choice([*[CARRIED] * 6, *[DROPPED] * 2, CARRIED | DROPPED])
    for flag, chance in ((has, 0.4), (IDLE, 0.5), (SENDS, 0.9), (REPAIRS, 0.2)):
        p.flags |= flag if rng.random() < chance else 0
    if rng.random() < 0.3:
        p.inflight = 0
    owed = min(UNKNOWN, window(p, p.inflight) + p.unsent)
    p.behind = rng.choice([0, owed, draw(rng, UNKNOWN), rng.randint(0, owed)])
    return p


def any_snapshot(rng):
    """Mostly one in which a copy is allowed."""
    kind = rng.choice(["wide", "small", "real", "real"])
    c = Conn([any_carrier(rng, kind) for _ in range(rng.randint(0, 8))])
    if kind == "small":
        c.unit = rng.randint(0, 12)
    else:
        c.unit = rng.choice([0, 1, 1428, 32768, draw(rng, UNKNOWN)])
    c.pending = rng.choice([0, 0, c.unit, draw(rng, 1 << 63)])
    c.wnd_left = rng.choice([0, 0, draw(rng, 1 << 63)])
    c.unacked = rng.choice([0, *[draw(rng, 1 << 63)] * 9])
    rtts = [p.srtt for p in c.paths] or [1]
    c.age = rng.choice([0, 1, UNKNOWN, *[rng.randint(0, rng.choice(rtts))] * 5])
    return c
