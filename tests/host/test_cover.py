# SPDX-License-Identifier: GPL-2.0
"""common/queue_cap.h: what a slower path may have on its way, against the header's formula."""

import ctypes
import functools
import random
from fractions import Fraction

import headers
from hostlib import ACTIVE, BACKUP, MAX_PATHS, Path_
from stateful import UNKNOWN, Conn, any_path, draw, usable

STATES = 20_000
SECOND = headers.SECOND


def rate(p):
    return p.rate or window(p) * SECOND // (p.srtt or 1)


def window(p):
    return min(p.cwnd * p.mss, headers.MOST_BYTES)


def covered(c, more):
    """us for which the peer's window, or what is left, is what all paths carry, twice."""
    fresh = c.wnd_left if more else min(c.wnd_left, c.pending)
    total = sum(rate(c.paths[i]) for i in usable(c))
    return min(fresh + c.unacked, headers.MOST_BYTES) * SECOND // (2 * total or 1)


def windows(c, more):
    """The windows after that."""
    found = [p.cwnd for p in c.paths]
    rtts = [c.paths[i].srtt for i in usable(c) if c.paths[i].srtt]
    for i in usable(c):
        p = c.paths[i]
        if not rtts or p.srtt <= min(rtts) or p.ssthresh == UNKNOWN or not p.rate:
            continue
        us = min(max(covered(c, more), p.behind * 3 // 2), headers.MOST_RTT)
        allowed = p.rate * us // SECOND // p.mss
        found[i] = min(p.cwnd, max(allowed, p.cwnd // 2, 1))
    return found


def ask(lib, snapshot, more, nr):
    cwnd = (ctypes.c_uint32 * MAX_PATHS)()
    found = lib.cover(snapshot, more, cwnd)
    return list(cwnd)[:nr], found


def any_member(rng):
    """behind is where the lowest RTT stands in get_send."""
    p = any_path(rng, rng.choice(["wide", "small", "real", "real", "real"]))
    p.flags |= rng.choice([ACTIVE, ACTIVE, ACTIVE, 0])
    p.flags &= ~rng.choice([BACKUP, BACKUP, 0])
    p.ssthresh = rng.choice([UNKNOWN, draw(rng, 1 << 31), p.cwnd, p.cwnd])
    p.rate = rng.choice([0, draw(rng, UNKNOWN), *[min(rate(p), UNKNOWN)] * 4])
    p.behind = rng.choice([UNKNOWN, UNKNOWN // 3 + 1, *[rng.randint(0, p.srtt)] * 4])
    return p


def any_case(rng):
    c = Conn([any_member(rng) for _ in range(rng.randint(0, MAX_PATHS))])
    total = sum(rate(p) for p in c.paths)
    longest = max((p.srtt for p in c.paths), default=0)
    near = int(2 * total * longest * Fraction(rng.randint(1, 300), 100) / SECOND)
    whole = rng.choice([draw(rng, 1 << 63), *[min(near, 1 << 62)] * 5])
    c.unacked = rng.randint(0, whole)
    c.wnd_left = whole - c.unacked
    c.pending = rng.choice([0, c.wnd_left, rng.randint(0, c.wnd_left), draw(rng, 1 << 63)])
    return c, rng.randint(0, 1)


@functools.cache
def cases(seed, count):
    rng = random.Random(seed)
    made = [any_case(rng) for _ in range(count)]
    return [(c, more, c.snapshot(), windows(c, more)) for c, more in made]


def faults(lib, seed, count):
    return {
        "cover"
        for c, more, snapshot, right in cases(seed, count)
        if ask(lib, snapshot, more, len(right))
        != (right, sum(w < p.cwnd for w, p in zip(right, c.paths, strict=True)))
    }


def test_random_states(lib):
    assert not faults(lib, 1, STATES)
    parts = [
        Fraction(w, p.cwnd)
        for c, *_, right in cases(1, STATES)
        for w, p in zip(right, c.paths, strict=True)
    ]
    less = [part for part in parts if part < 1]
    assert len(less) > STATES / 20
    assert sum(part > Fraction(51, 100) for part in less) > STATES / 50


def test_by_hand(lib):
    """60 and 20 Mbit/s, RTTs of 30 and 67 ms: 740 KB cover 37 ms, 92 KB on the thinner path."""
    fat = Path_(srtt=30_000, cwnd=160, mss=1400, rate=7_500_000, ssthresh=100)
    thin = Path_(srtt=67_000, cwnd=120, mss=1400, rate=2_500_000, ssthresh=50, behind=20_000)
    c = Conn([fat, thin], unacked=700_000, wnd_left=40_000)
    assert ask(lib, c.snapshot(), 1, 2) == ([160, 66], 1)
    # its bottleneck is kept busy: 90 ms, 225 KB, where an empty path has 60
    thin.behind, thin.cwnd = 60_000, 200
    assert ask(lib, c.snapshot(), 1, 2) == ([160, 160], 1)
    # a window of 1.4 MB takes what both carry in 70 ms, unless there is less to send
    thin.behind, thin.cwnd, c.wnd_left, c.pending = 20_000, 120, 700_000, 40_000
    assert ask(lib, c.snapshot(), 1, 2) == ([160, 120], 0)
    assert ask(lib, c.snapshot(), 0, 2) == ([160, 66], 1)
