# SPDX-License-Identifier: GPL-2.0
"""common/glance.h: where it says that data waits for room, each policy's full decision says so.

Between the two lies what the frame looks up beside TCP. That only makes windows smaller, and the
glance knows no RTT, no timeout and no send buffer; all of that is drawn anew for the decision.
"""

import copy
import ctypes
import pathlib
import random

import headers
from hostlib import ACTIVE, BACKUP, LOSS, SNDBUF, WAIT
from stateful import NO_ROOM, Conn, any_path, draw, room, usable

SOURCE = "headers.c"
STATES = 30_000
POLICIES = ("minrtt", "ecf", "blest", "cfs", "queueaware", "thin", "rr", "redundant")
FILLS_QUEUES = "redundant"
# Policies that take available paths only, as the schedulers' objects say it.
AVAILABLE_ONLY = ("minrtt", "queueaware", "rr")
BPF = pathlib.Path(__file__).parents[2] / "bpf/schedulers"


def any_active(rng, fit):
    p = any_path(rng, rng.choice(["wide", "small", "real"]))
    p.flags |= ACTIVE
    p.flags ^= rng.choice([0, 0, 0, BACKUP])
    if rng.random() < 0.7:
        p.inflight = max(p.inflight, p.cwnd)
    elif rng.random() < 0.5:
        # what waits in its queue leaves less than a segment, or a byte, or nothing
        free = room(p) + p.unsent
        left = rng.choice([0, 1, p.mss - 1, p.mss, -1, fit, fit - 1, -(-p.cwnd * p.mss // 8)])
        p.unsent = max(0, min(0xFFFFFFFF, free - left))
    return p


def seen_closely(rng, c):
    """The same connection in the full decision's snapshot."""
    c = copy.deepcopy(c)
    for p in c.paths:
        p.cwnd = rng.choice([p.cwnd, p.cwnd, p.cwnd // 2 or 1, 1])
        p.srtt = rng.choice([p.srtt, 0, draw(rng, 1 << 29)])
        p.rate, p.metric = draw(rng, 0xFFFFFFFF), draw(rng, 0xFFFFFFFF)
        p.flags ^= rng.choice([0, 0, LOSS, SNDBUF])
    return c


def picks(lib, c, bits):
    """policy: (path, reason)"""
    answers = (ctypes.c_int32 * 4 * len(POLICIES))()
    lib.pick_of_each(c.snapshot(), bits, answers)
    return {name: tuple(a[:2]) for name, a in zip(POLICIES, answers, strict=True)}


def any_conn(rng):
    unit = rng.choice([1, 1428, 32768])
    fit = rng.choice([unit // 2, draw(rng, 65535)])
    c = Conn([any_active(rng, fit) for _ in range(rng.randint(0, 8))])
    c.unit, c.fit = unit, fit
    c.pending = c.unit + rng.choice([0, 0, draw(rng, 1 << 40)])
    c.wnd_left = draw(rng, 1 << 40)
    c.unacked = rng.choice([0, draw(rng, 1 << 40)])
    return c


def is_available(p, fit):
    free = room(p)
    return free >= p.mss and (free >= fit or 8 * free >= p.cwnd * p.mss)


def waits(lib, c, fit):
    return lib.glance(c.snapshot(), fit) & 1


def unsent_fault(lib, c):
    return bool(lib.glance(c.snapshot(), 0) & 2) != any(p.unsent for p in c.paths)


def glance_fault(lib, c):
    """Any room counts, or room for so much."""
    of = [c.paths[i] for i in usable(c)]
    expected = bool(of) and not any(map(room, of))
    if waits(lib, c, 0) != expected:
        return True
    if c.fit:
        expected = bool(of) and not any(is_available(p, c.fit) for p in of)
    return waits(lib, c, c.fit) != expected


def news_fault(lib, rng):
    """A sample is news where it raises the rate that is believed, full_rate() of the past."""
    segments = rng.choice([0, 1, 2, draw(rng, 1 << 20), 1 << 20])
    mss = rng.choice([65535, draw(rng, 65535)])
    interval = rng.choice([0, draw(rng, 0xFFFFFFFF), rng.randint(1, 100_000)])
    low = rng.choice([0, interval, interval * 8 // 9, interval * 8 // 9 + 1, draw(rng, 0xFFFFFFFF)])
    cwnd = rng.choice([1, 10, 4 * segments, 4 * segments + 1])
    sample = headers.full_rate(segments, mss, interval, cwnd, low)
    rate = rng.choice([0, sample, sample - 1, sample + 1, draw(rng, 0xFFFFFFFF)])
    rate = min(max(rate, 0), 0xFFFFFFFF)
    return bool(lib.glance_news(rate, segments, mss, interval, cwnd, low)) != (sample > rate)


def faults(lib, seed, count, reached=None):
    rng = random.Random(seed)
    wrong = set()
    for _ in range(count):
        c = any_conn(rng)
        if glance_fault(lib, c):
            wrong.add("glance")
        if unsent_fault(lib, c):
            wrong.add("unsent")
        if news_fault(lib, rng):
            wrong.add("news")
        if not waits(lib, c, c.fit):
            continue
        found = picks(lib, seen_closely(rng, c), rng.getrandbits(4))
        if waits(lib, c, 0):
            if reached is not None:
                reached.append(found[FILLS_QUEUES])
            del found[FILLS_QUEUES]
        else:
            found = {name: found[name] for name in AVAILABLE_ONLY}
        if set(found.values()) != {(WAIT, NO_ROOM)}:
            wrong.add("verdict")
    return wrong


def test_random_states(lib):
    reached = []
    assert not faults(lib, 1, STATES, reached)
    assert len(reached) > STATES / 5


def test_a_policy_that_fills_queues_is_to_say_so(lib):
    """Why it has that member: it assigns where no window has room, or says something else."""
    reached = []
    faults(lib, 2, STATES // 10, reached)
    assert any(found != (WAIT, NO_ROOM) for found in reached)


def test_those_that_take_available_paths_only_say_so():
    for name in POLICIES:
        says = ".available_only = true" in (BPF / f"{name}.bpf.c").read_text()
        assert says == (name in AVAILABLE_ONLY), name
