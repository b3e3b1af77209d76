# SPDX-License-Identifier: GPL-2.0
"""common/reinject.h: when the kernel's own scheduler is asked for a copy."""

import functools
import random
from ctypes import c_uint64
from dataclasses import dataclass

import headers
from headers import GROW, NEVER, RATE, SECOND, duration, finish
from hostlib import ACTIVE, BACKUP, IDLE, LOSS, SENDS, SNDBUF, Path_
from stateful import UNKNOWN, draw

STATES = 10_000
# of a copy on a path without an RTT sample: never worth it, yet the kernel would take it
NO_SAMPLE = NEVER - 1


@dataclass(frozen=True)
class Subflow:
    path: Path_
    owed: int  # bytes that it has not delivered
    in_vain: int  # that it delivered, and the other end had
    silent: int  # us since it was last heard of


def until_done(s, left):
    """In front of its queue, or, when earlier data was copied, at the end of it."""
    return max(s.owed, left) if s.in_vain > may_be_early(s.path) else left


def may_be_early(p):
    """Bytes: of an RTT without a queue, behind being that RTT here; at least a segment."""
    rate = min(headers.rate_of(p), UNKNOWN)
    return max(p.mss, rate * p.behind // SECOND)


def busy(s, left):
    p = s.path
    if p.flags & (ACTIVE | LOSS) != ACTIVE:
        return NEVER
    if p.srtt and s.silent > p.srtt + 4 * p.mdev:
        return NEVER
    return max(duration(until_done(s, left), headers.rate_of(p)), 1)


def outlook(subflows, whole, left):
    """(until a copy is acknowledged, until the fragment is where it is, who counts)."""
    alive = [s for s in subflows if s.path.flags & SENDS]
    idle = [s for s in alive if s.path.flags & (IDLE | BACKUP) == IDLE]
    working = [s for s in alive if not s.path.flags & IDLE]
    copy = NEVER
    if idle:
        p = idle[0].path
        copy = finish(p, whole, GROW | RATE) if p.srtt else NO_SAMPLE
    counted = [s in working or s in idle[:1] for s in subflows]
    return copy, max((busy(s, left) for s in working), default=0), counted


def pays(copy, left):
    return copy < NO_SAMPLE and copy + copy // 4 < left


def dropped(copy, left, in_vain, mss):
    """All was delivered, somebody could take a copy, and one late acknowledgement does not explain it."""
    return copy < NO_SAMPLE and not left and in_vain >= 2 * mss


@functools.cache
def cases(seed, count):
    """(subflows, bytes of the fragment, as far as not acknowledged)"""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        kind = rng.choice(["wide", "small", "real", "real"])
        whole = draw(rng, 12 if kind == "small" else rng.choice([40_000, UNKNOWN]))
        subflows = []
        for _ in range(rng.randint(0, 5)):
            p = headers.any_carrier(rng, kind)
            p.mdev = rng.choice([0, draw(rng, UNKNOWN)])
            p.flags &= ~BACKUP if rng.random() < 0.5 else UNKNOWN
            late = p.srtt + 4 * p.mdev + rng.choice([-1, 0, 1])
            late = rng.choice([0, max(0, late), draw(rng, 1 << 40)])
            p.behind = rng.choice([0, rng.randint(0, 300_000), draw(rng, UNKNOWN)])
            turn = min(may_be_early(p), UNKNOWN - 1)
            vain = rng.choice([0, p.mss, p.mss + 1, turn, turn + 1, draw(rng, UNKNOWN)])
            subflows.append(Subflow(p, min(draw(rng, 2 * whole), UNKNOWN), vain, late))
        made.append((subflows, whole, rng.randint(0, whole)))
    return made


def faults(lib, seed, count):
    wrong = set()
    for subflows, whole, left in cases(seed, count):
        o, counted = (c_uint64 * 2)(), []
        lib.outlook_init(o)
        for s in subflows:
            owed = lib.until_done(whole, left, s.owed, s.in_vain, s.path.pack())
            if owed != until_done(s, left):
                wrong.add("until done")
            counted.append(lib.outlook_add(o, s.path.pack(), whole, owed, s.silent))
        copy_us, left_us, right = outlook(subflows, whole, left)
        if o[0] != copy_us:
            wrong.add("copy")
        if o[1] != left_us:
            wrong.add("left")
        if counted != right:
            wrong.add("counted")
        for s in subflows:
            for vain in (s.in_vain, 2 * s.path.mss - 1, 2 * s.path.mss):
                if lib.reinject_dropped(o, vain, s.path.mss) != dropped(
                    copy_us, left_us, vain, s.path.mss
                ):
                    wrong.add("dropped")
        # also where it just pays, or just does not
        turn = copy_us + copy_us // 4
        for there in (left_us, turn, turn + 1):
            o[1] = min(there, NEVER)
            if lib.reinject_pays(o) != pays(copy_us, o[1]):
                wrong.add("pays")
    return wrong


def test_random_states(lib):
    """Copies that pay, that do not, and nothing to compare: all of them are often met."""
    assert not faults(lib, 1, STATES)
    times = [outlook(*case)[:2] for case in cases(1, STATES)]
    assert sum(pays(*t) for t in times) > STATES / 10
    assert sum(t[0] < NO_SAMPLE and 0 < t[1] and not pays(*t) for t in times) > STATES / 20
    assert sum(t[1] == 0 for t in times) > STATES / 20
    assert sum(t[0] == NO_SAMPLE for t in times) > STATES / 100


def ask(lib, subflows, nbytes=10_000):
    o = (c_uint64 * 2)()
    lib.outlook_init(o)
    for p, silent in subflows:
        lib.outlook_add(o, p.pack(), nbytes, nbytes, silent)
    return lib.reinject_pays(o)


def test_by_hand(lib):
    """10 KB at 100 KB/s take 100 ms; a copy must be there in less than 80 ms."""
    idle = Path_(srtt=79_999, flags=ACTIVE | SNDBUF | SENDS | IDLE)
    working = Path_(srtt=50_000, rate=100_000, flags=ACTIVE | SNDBUF | SENDS)
    assert ask(lib, [(idle, 0), (working, 0)])
    assert ask(lib, [(working, 0), (idle, 0)])
    idle.srtt = 80_000
    assert not ask(lib, [(idle, 0), (working, 0)])
    # silent for longer than it ever was, so it may never come
    assert not ask(lib, [(idle, 0), (working, 50_000)])
    assert ask(lib, [(idle, 0), (working, 50_001)])
    # nothing is busy, so nothing is on its way
    assert not ask(lib, [(idle, 0), (idle, 0)])
    # the kernel takes the first idle one, of whatever speed, and no backup
    near = Path_(srtt=1000, flags=idle.flags)
    assert not ask(lib, [(idle, 0), (near, 0), (working, 0)])
    assert ask(lib, [(near, 0), (idle, 0), (working, 0)])
    idle.flags |= BACKUP
    assert ask(lib, [(idle, 0), (near, 0), (working, 0)])
    near.srtt = 0
    assert not ask(lib, [(near, 0), (working, 0)])


def test_what_the_receiver_dropped(lib):
    """All that was sent is acknowledged by TCP, and not at data level."""
    idle = Path_(srtt=80_000, flags=ACTIVE | SNDBUF | SENDS | IDLE)
    working = Path_(srtt=50_000, rate=100_000, flags=ACTIVE | SNDBUF | SENDS)

    def refused(in_vain, *paths):
        o = (c_uint64 * 2)()
        lib.outlook_init(o)
        for p in paths:
            lib.outlook_add(o, p.pack(), 10_000, 4_000, 0)
        return lib.reinject_dropped(o, in_vain, 1000)

    assert refused(2_000, idle, idle)
    assert not refused(1_999, idle, idle)
    assert not refused(2_000, idle, working)
    # one that needs less than a microsecond for it has it on its way all the same
    working.rate = UNKNOWN
    assert not refused(2_000, idle, working)
    # nobody could take a copy, or at an unknown time
    assert not refused(2_000)
    idle.srtt = 0
    assert not refused(2_000, idle)


def test_what_another_way_back_told_of(lib):
    """1 MB/s over 60 ms: what the other end had may be known 60 KB before the subflow tells."""
    p = Path_(srtt=100_000, rate=1_000_000, behind=60_000, mss=1000)
    assert lib.until_done(9_000, 9_000, 80_000, 60_000, p.pack()) == 9_000
    assert lib.until_done(9_000, 9_000, 80_000, 60_001, p.pack()) == 80_000
    # a slow one has less on its way back
    p.rate = 10_000
    assert lib.until_done(9_000, 9_000, 80_000, 1_000, p.pack()) == 9_000
    assert lib.until_done(9_000, 9_000, 80_000, 1_001, p.pack()) == 80_000
