# SPDX-License-Identifier: GPL-2.0
"""common/fragment.h: who gets the rest of a fragment that was begun, in the words of lists."""

import functools
import random
from ctypes import c_int32

import headers
from headers import GROW, RATE
from hostlib import ACTIVE, BACKUP, CARRIED, DROPPED, LOSS, SNDBUF, WAIT, Path_
from stateful import FASTER, UNKNOWN, Conn, draw, usable

STATES = 20_000
BEGAN = CARRIED
FRAGMENT = 32 << 10


def left(c, p):
    """us until a path has delivered the beginning; 0: it has, or nobody knows."""
    owed = headers.window(p, p.inflight) + p.unsent
    if not owed or not p.srtt or p.flags & LOSS:
        return 0
    return max(p.srtt - c.age, headers.duration(owed, headers.rate_of(p)))


def right(c, verdict, tail):
    """With its beginning, if a copy of all of it on the chosen path is there a quarter earlier."""
    path, reason, _ = verdict
    if path == WAIT or not usable(c) or (tail and c.pending > c.unit):
        return verdict
    chosen = c.paths[path]
    if chosen.flags & BEGAN or not chosen.srtt:
        return verdict
    t = headers.finish(chosen, FRAGMENT, GROW | RATE)
    having = [i for i in usable(c) if c.paths[i].flags & BEGAN and t + t // 4 < left(c, c.paths[i])]
    return (having[-1], reason, min(c.unit, c.wnd_left)) if having else verdict


def ask(lib, c, verdict, tail):
    words = (c_int32 * 3)(*verdict)
    lib.with_rest(c.snapshot(), tail, words)
    return tuple(words)


def on_the_limit(rng, c, path):
    """Some path has just so much of a round trip left as a copy on this one needs, or 1 us."""
    has, chosen = rng.choice(c.paths), c.paths[path]
    t = headers.finish(chosen, FRAGMENT, GROW | RATE)
    c.age = rng.randint(0, 100_000)
    srtt = t + t // 4 + c.age + rng.randint(-1, 1)
    if has is chosen or not 0 < srtt < headers.MOST_RTT:
        return
    has.srtt, has.inflight, has.unsent, has.rate = srtt, 1, 0, UNKNOWN
    has.flags = ACTIVE | SNDBUF | BEGAN


def any_case(rng):
    c = headers.any_snapshot(rng)
    c.unit = rng.randint(1, 32768)
    c.wnd_left = rng.choice([1, c.unit - 1, c.unit, draw(rng, 1 << 40)])
    c.pending = c.unit + rng.choice([0, 0, draw(rng, 1 << 40)])
    c.age = rng.choice([c.age, 0, UNKNOWN])
    for p in c.paths:
        p.flags &= ~DROPPED
    path = rng.choice([WAIT, *range(len(c.paths)), *range(len(c.paths))])
    if path != WAIT and rng.random() < 0.3:
        on_the_limit(rng, c, path)
    verdict = (path, FASTER, 0) if path == WAIT else (path, 0, rng.randint(1, 65428))
    return c, verdict, rng.randint(0, 1)


@functools.cache
def cases(seed, count):
    rng = random.Random(seed)
    made = [any_case(rng) for _ in range(count)]
    return [(*case, right(*case)) for case in made]


def faults(lib, seed, count):
    return {
        "rest"
        for c, verdict, tail, answer in cases(seed, count)
        if _bytes(ask(lib, c, verdict, tail)) != _bytes(answer)
    }


def _bytes(verdict):
    """A reason to wait and a number of bytes are one word in the packed form."""
    path, reason, nbytes = verdict
    return path, reason if path == WAIT else nbytes


def test_random_states(lib):
    assert not faults(lib, 1, STATES)
    moved = [v != answer for _, v, _, answer in cases(1, STATES)]
    assert STATES / 50 < sum(moved) < STATES / 2


def window_cut():
    """64 KB went to 300 kbit/s; the window opens for the end, and 10 Mbit/s are free."""
    slow = Path_(srtt=400_000, cwnd=20, mss=1400, inflight=15, rate=37_500)
    fast = Path_(srtt=20_000, cwnd=20, mss=1400, rate=1_250_000)
    slow.flags = ACTIVE | SNDBUF | BEGAN
    fast.flags = ACTIVE | SNDBUF
    return Conn([slow, fast], pending=300, wnd_left=65_000, unit=300, age=100_000)


def test_with_the_beginning(lib):
    c = window_cut()
    assert ask(lib, c, (1, 0, 300), False) == (0, 0, 300)
    # it is no bytes of the window that it needs
    c.wnd_left = 200
    assert ask(lib, c, (1, 0, 200), False) == (0, 0, 200)
    # what was chosen for it already
    assert ask(lib, c, (0, 0, 300), False) == (0, 0, 300)
    assert ask(lib, c, (WAIT, FASTER, 0), False)[:2] == (WAIT, FASTER)
    # its buffer may be full: that is a matter of some segments, and the core takes no offence
    c.paths[0].flags &= ~SNDBUF
    assert ask(lib, c, (1, 0, 200), False)[0] == 0


def test_not_where_a_copy_gains_nothing(lib):
    for change in (
        lambda c: setattr(c.paths[0], "inflight", 0),  # delivered
        lambda c: setattr(c.paths[0], "flags", ACTIVE | SNDBUF | BEGAN | LOSS),
        lambda c: setattr(c.paths[0], "flags", SNDBUF | BEGAN),
        lambda c: setattr(c.paths[0], "flags", ACTIVE | SNDBUF | BEGAN | BACKUP),
        lambda c: setattr(c.paths[0], "flags", ACTIVE | SNDBUF),
        lambda c: setattr(c.paths[0], "rate", 1_250_000) or setattr(c, "age", 400_000),
        lambda c: setattr(c.paths[1], "srtt", 0),
        lambda c: setattr(c.paths[1], "unsent", 2_000_000),
    ):
        c = window_cut()
        change(c)
        assert ask(lib, c, (1, 0, 300), False) == (1, 0, 300)


def test_copies_of_the_tail_only(lib):
    c = window_cut()
    assert ask(lib, c, (1, 0, 300), True)[0] == 0
    c.pending += 1
    assert ask(lib, c, (1, 0, 300), True)[0] == 1
    assert ask(lib, c, (1, 0, 300), False)[0] == 0
