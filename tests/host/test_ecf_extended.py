# SPDX-License-Identifier: GPL-2.0
"""ECF's extended form against its two inequalities in whole numbers; switched off, the paper."""

import functools
import math
import random
from ctypes import c_uint32
from dataclasses import dataclass, replace
from fractions import Fraction

import exact
import headers
from headers import ARRIVAL, GROW, RATE, done, finish, rate_of, verdict
from hostlib import ACTIVE, CARRIED, LOSS, SNDBUF, WAIT, Path_
from stateful import (
    FASTER,
    NO_ROOM,
    NO_SUBFLOW,
    UNKNOWN,
    Conn,
    any_path,
    available,
    draw,
    held,
    minrtt,
    most_bytes,
    room,
    usable,
)

STATES = 10_000


@dataclass(frozen=True)
class Options:
    beta: int = 250
    estimate: int = GROW | RATE | ARRIVAL
    whole: int = 1
    buffer: int = 1
    grow: int = 0
    ahead: int = 0  # no option: of the pending bytes, those that the writer still has

    def words(self):
        return (c_uint32 * 5)(self.beta, self.estimate, self.whole, self.buffer, self.grow)


def ask(lib, snapshot, waiting, o):
    return verdict(lib.ecf_pick, snapshot, waiting, o.ahead, o.words())


def unit(c, p, o):
    """What a choice hands over at least."""
    return max(p.mss, c.unit) if o.whole else p.mss


def at_hand(c, f, o):
    """What f can have until s is done: the buffer, and the room that others' data leaves there."""
    others = max(0, c.unacked - headers.window(f, f.inflight))
    return c.pending - o.ahead + min(o.ahead, others)


def runs_dry(c, f, s, o):
    """f has sent what there is before the fragment on s is acknowledged."""
    if not o.buffer or not o.ahead or s.ssthresh == UNKNOWN:
        return False
    t_s = finish(s, unit(c, s, o), o.estimate) + max(f.mdev, s.mdev)
    sent = finish(f, at_hand(c, f, o), o.estimate) - min(f.srtt, headers.MOST_RTT)
    return rate_of(s) < rate_of(f) and sent < t_s


def at_stake(c, s, o):
    """What s owes once it has the fragment: f repeats that if nothing follows."""
    return headers.window(s, s.inflight) + s.unsent + unit(c, s, o)


def in_a_trip(f, s):
    """Bytes that f delivers while one of s goes there and back."""
    return Fraction(rate_of(f) * s.srtt, headers.SECOND)


def grows(c, f, s, o):
    """s is in slow start, much is to come, and a quarter of that pays for it."""
    if not o.grow or s.cwnd >= s.ssthresh:
        return False
    return at_stake(c, s, o) <= Fraction(o.ahead, 4) and in_a_trip(f, s) <= o.ahead


def waits(c, f, s, waiting, o):
    """(waits for f, waiting afterwards) by the two inequalities, the buffer's and slow start's."""
    if runs_dry(c, f, s, o):
        return True, waiting
    if grows(c, f, s, o):
        return False, waiting
    delta = max(f.mdev, s.mdev)
    margin = 1 + waiting * Fraction(o.beta, 1000)
    d_s = done(s, unit(c, s, o), o.estimate)
    if done(f, c.pending, o.estimate) >= margin * (d_s + delta):
        return False, 0
    if finish(s, c.pending, o.estimate) < 2 * f.srtt + delta:
        return False, waiting
    return True, 1


def right(c, waiting, o):
    """All right answers: (path, reason, waiting afterwards)."""
    may = usable(c)
    if not may:
        return {(WAIT, NO_SUBFLOW, waiting)}
    ready = [i for i in may if available(c.paths[i])]

    def first(which):
        t = {i: done(c.paths[i], unit(c, c.paths[i], o), o.estimate) for i in which}
        return [i for i in t if t[i] == min(t.values())]

    known = [i for i in may if c.paths[i].srtt and not c.paths[i].flags & LOSS]
    second = minrtt(c, ready)
    samples = {i for i in second if not known or not c.paths[i].srtt}
    if samples:
        return {(i, 0, waiting) for i in samples}
    answers = set()
    for f in first(known):
        fast = c.paths[f]
        if fast.flags & SNDBUF and room(fast):
            answers.add((f, 0, waiting))
        elif not ready:
            answers.add((WAIT, NO_ROOM, waiting))
        else:
            for s in first([i for i in ready if i in known]):
                wait, after = False, waiting
                if held(fast):
                    wait, after = waits(c, fast, c.paths[s], waiting, o)
                answers.add((WAIT, FASTER, after) if wait else (s, 0, after))
    return answers or {(WAIT, NO_ROOM, waiting)}


def any_options(rng, pending):
    return Options(
        rng.choice([0, 250, 1000, 10_000]),
        rng.choice([0, GROW, RATE, GROW | RATE]) | rng.choice([0, ARRIVAL]),
        rng.randint(0, 1),
        rng.randint(0, 1),
        rng.randint(0, 1),
        rng.choice([0, draw(rng, max(1, pending))]) if pending else 0,
    )


def any_state(rng):
    kind = rng.choice(["wide", "small", "real"])
    c = Conn([headers.any_carrier(rng, kind) for _ in range(rng.randint(0, 8))])
    for p in c.paths:
        if rng.random() < 0.5:
            p.inflight = p.cwnd
        if rng.random() < 0.5:
            p.mdev = draw(rng, max(1, p.srtt))
    c.pending = draw(rng, 30 if kind == "small" else 1 << 63)
    c.wnd_left = draw(rng, 1 << 63)
    c.unacked = draw(rng, 30 if kind == "small" else 1 << 63)
    c.unit = rng.choice([0, 1, 1428, 32768, rng.randint(0, 65535)])
    return c, rng.randint(0, 1), any_options(rng, c.pending)


def turning(c, f, s, waiting, o, which):
    """The least backlog with which one of the inequalities is the other way."""
    low, high = 0, headers.MOST_BYTES
    delta = max(f.mdev, s.mdev)
    margin = 1 + waiting * Fraction(o.beta, 1000)
    limit = margin * (done(s, unit(c, s, o), o.estimate) + delta)
    while low < high:
        k = (low + high) // 2
        if which == 2:
            beyond = not runs_dry(replace(c, pending=k), f, s, replace(o, ahead=1))
        elif which == 1:
            beyond = finish(s, k, o.estimate) >= 2 * f.srtt + delta
        else:
            beyond = done(f, k, o.estimate) >= limit
        low, high = (low, k) if beyond else (k + 1, high)
    return low


def boundary_state(rng):
    """x_f full, and a backlog on or one byte beside the point where the form turns."""
    c, waiting, o = any_state(rng)
    kind = rng.choice(["wide", "real", "small"])
    f, s = any_path(rng, kind), any_path(rng, kind)
    f.srtt, s.srtt = sorted((max(1, f.srtt), max(1, s.srtt)))
    f.srtt = max(1, f.srtt // rng.choice([1, 2, 5]))
    for p in (f, s):
        p.flags, p.unsent = ACTIVE | SNDBUF, 0
        p.mdev = rng.choice([0, draw(rng, p.srtt)])
        p.behind = rng.choice([0, p.srtt // 2, p.srtt, UNKNOWN])
        if rng.random() < 0.5:
            p.rate = min(0xFFFFFFFF, headers.rate_of(p))
    f.inflight, s.inflight = f.cwnd, rng.randrange(s.cwnd)
    turn = turning(c, f, s, waiting, o, rng.choice([0, 0, 1, 2]))
    c.pending = max(0, turn + rng.choice([-1, -1, 0, 1]))
    if o.ahead:
        o = replace(o, ahead=rng.choice([1, draw(rng, max(1, c.pending))]))
        o = o if c.pending else replace(o, ahead=0)
    c.unit = min(c.unit, max(1, c.pending))
    turn = max(4 * at_stake(c, s, o), math.ceil(in_a_trip(f, s))) + rng.choice([-1, 0, 1])
    if o.grow and 0 < turn <= c.pending:
        o = replace(o, ahead=turn)
    c.paths = [f, s] if rng.random() < 0.5 else [s, f]
    return c, waiting, o


def wrapping_state(rng):
    """x_f takes 2^61 us, of which nothing is left in 64 bits once it is in thousandths."""
    f = Path_(srtt=1 << 27, cwnd=1, inflight=1, mss=1, ssthresh=1)
    s = Path_(srtt=headers.MOST_RTT, cwnd=rng.randint(1, 100), ssthresh=1)
    return Conn([f, s], pending=headers.MOST_BYTES), 0, any_options(rng, 0)


@functools.cache
def cases(seed, count):
    """(connection, waiting, options, its snapshot, right answers)"""
    rng = random.Random(seed)
    kinds = [any_state, boundary_state] * 20 + [wrapping_state]
    made = [kinds[i % len(kinds)](rng) for i in range(count)]
    return [(*case, case[0].snapshot(), right(*case)) for case in made]


def of_paper(lib, seed, count):
    """States, any and those around the paper's turning points, where "off" is not the paper."""
    bad = []
    for case in exact.states(random.Random(seed), count):
        c = Conn(case.paths, case.pending, case.wnd_left, unit=case.unit)
        off = ask(lib, c.snapshot(), case.waiting, Options(case.beta, 0, 0))
        paper = verdict(lib.ecf_paper_pick, c.snapshot(), case.waiting, case.beta)
        path, reason, _, waiting = off
        if off != paper or (path, reason, waiting) not in exact.ecf(case):
            bad.append((case, off, paper))
    return bad


def faults(lib, seed, count):
    wrong = set()
    for c, waiting, o, snapshot, answers in cases(seed, count):
        path, reason, nbytes, after = ask(lib, snapshot, waiting, o)
        paper = not o.estimate and not o.whole
        if not paper and (path, reason, after) not in answers:
            wrong.add("pick")
        if nbytes % 2**32 != (0 if path == WAIT else most_bytes(c, path)):
            wrong.add("bytes")
    if of_paper(lib, seed, count // 4):
        wrong.add("paper")
    return wrong


def test_random_states(lib):
    """Any states and those around the turning points; each outcome is decided often."""
    assert not faults(lib, 1, STATES)
    reached = {}
    for _, waiting, _, _, answers in cases(1, STATES):
        if len(answers) == 1:
            path, reason, after = next(iter(answers))
            what = (path == WAIT and reason, waiting, after)
            reached[what] = reached.get(what, 0) + 1
    for waiting in (0, 1):
        assert reached[FASTER, waiting, 1] > STATES / 50
        assert reached[False, waiting, waiting] > STATES / 50
        assert reached[NO_ROOM, waiting, waiting] > STATES / 500
        assert reached[NO_SUBFLOW, waiting, waiting] > STATES / 500
    assert reached[False, 1, 0] > STATES / 50


def test_switched_off_it_is_the_paper(lib):
    assert not of_paper(lib, 2, STATES)


def test_waits_only_for_what_comes_back(lib):
    """With nothing in flight and no queue anywhere nothing is left to wait for."""
    waited = 0
    for c, waiting, o, snapshot, _ in cases(1, STATES):
        path, reason, _, after = ask(lib, snapshot, waiting, o)
        if (path, reason) != (WAIT, FASTER):
            continue
        waited += 1
        assert any(held(c.paths[i]) and c.paths[i].srtt for i in usable(c))
        idle = replace(c, paths=[replace(p, inflight=0, unsent=0) for p in c.paths])
        path, reason, *_ = ask(lib, idle.snapshot(), after, o)
        assert reason != FASTER
    assert waited > STATES / 20


def pick(lib, c, **options):
    return ask(lib, c.snapshot(), 0, Options(**options))[:2]


def test_what_each_option_changes(lib):
    """By hand: 10 segments of 1000 bytes in 20 ms, full; one segment in 45 ms on the other path."""
    fast = Path_(srtt=20_000, cwnd=10, inflight=10, ssthresh=10)
    slow = Path_(srtt=45_000, cwnd=10, ssthresh=10)
    c = Conn([fast, slow], pending=13_000, unit=10_000)
    # 20 + 26 = 46 ms is later, even than a fragment of a window
    assert pick(lib, c, estimate=0, whole=1) == (1, 0)
    # of two fragments' length, which takes 90 ms
    c.unit = 20_000
    assert pick(lib, c, estimate=0, whole=1) == (WAIT, FASTER)
    assert pick(lib, c, estimate=0, whole=0) == (1, 0)
    # a growing window has the second 10 segments out after one round trip more
    fast.ssthresh = 0xFFFFFFFF
    assert pick(lib, c, estimate=GROW, whole=0) == (WAIT, FASTER)
    # which helps nothing where the bottleneck is known
    fast.rate = 100_000
    assert pick(lib, c, estimate=GROW | RATE, whole=0) == (1, 0)


def test_the_way_back_of_an_acknowledgement_is_nobodys_wait(lib):
    """By hand: 60 segments of 6 ms wait for a path of 10 ms; on one of 400 ms nothing does."""
    near = Path_(srtt=120_000, cwnd=20, inflight=20, unsent=30_000, ssthresh=20, behind=10_000)
    far = Path_(srtt=400_000, cwnd=320, inflight=165, ssthresh=320, behind=400_000)
    c = Conn([near, far], pending=10_000, unit=10_000)
    assert pick(lib, c, estimate=GROW | RATE) == (WAIT, FASTER)
    assert pick(lib, c, estimate=GROW | RATE | ARRIVAL) == (1, 0)
    # what the RTT has more than the lowest is a queue in front of the data
    far.srtt = 700_000
    assert pick(lib, c, estimate=GROW | RATE | ARRIVAL) == (WAIT, FASTER)


def test_the_buffer_does_not_run_dry(lib):
    """By hand: a fragment that takes 200 ms, and 100 bytes a ms of which the buffer has 15,000."""
    fast = Path_(srtt=10_000, cwnd=1, inflight=1, ssthresh=1, rate=100_000)
    slow = Path_(srtt=10_000, cwnd=20, ssthresh=20, rate=10_000)
    c = Conn([fast, slow], pending=65_000, unacked=1000, unit=1900)
    assert pick(lib, c) == (1, 0)
    assert pick(lib, c, ahead=50_000, buffer=0) == (1, 0)
    assert pick(lib, c, ahead=50_000) == (WAIT, FASTER)
    # 20,000 are enough: in the buffer, or because those of a third path leave it
    assert pick(lib, c, ahead=45_000) == (1, 0)
    c.unacked = 6000
    assert pick(lib, c, ahead=50_000) == (1, 0)
    c.unacked = 5999
    assert pick(lib, c, ahead=50_000) == (WAIT, FASTER)
    # how slow it is, is not known yet
    slow.ssthresh = UNKNOWN
    assert pick(lib, c, ahead=50_000) == (1, 0)
    slow.ssthresh = 20
    assert pick(lib, c, ahead=50_000) == (WAIT, FASTER)
    # the one waited for is not the faster one: it only has the shorter way
    fast.rate = 10_000
    assert pick(lib, c, ahead=50_000) == (1, 0)


def test_slow_start_goes_on(lib):
    """By hand: DSL and a satellite, whose window was never used; the writer waits."""
    fast = Path_(srtt=30_000, cwnd=40, inflight=40, ssthresh=40, rate=200_000)
    slow = Path_(srtt=600_000, mdev=300_000, cwnd=10, ssthresh=UNKNOWN)
    c = Conn([fast, slow], pending=200_000, unit=29_000)
    assert pick(lib, c, ahead=120_000) == (WAIT, FASTER)
    assert pick(lib, c, ahead=120_000, grow=1) == (1, 0)
    # so much comes in 600 ms by DSL
    assert pick(lib, c, ahead=119_999, grow=1) == (WAIT, FASTER)
    # what it owes is a quarter of what is to come at most
    slow.inflight, slow.unsent = 5, 500
    owed = 5 * slow.mss + 500 + c.unit
    assert pick(lib, c, ahead=4 * owed - 1, grow=1) == (WAIT, FASTER)
    assert pick(lib, c, ahead=4 * owed, grow=1) == (1, 0)
    # a wait's hysteresis is for what is not growing
    assert ask(lib, c.snapshot(), 1, Options(ahead=4 * owed, grow=1))[3] == 1
    # grown up
    slow.ssthresh = slow.cwnd
    assert pick(lib, c, ahead=4 * owed, grow=1) == (WAIT, FASTER)


def test_a_gap_of_less_than_a_segment_is_room(lib):
    fast, slow = Path_(srtt=20_000, cwnd=10, inflight=9, unsent=1), Path_(srtt=90_000)
    c = Conn([fast, slow], pending=100)
    assert ask(lib, c.snapshot(), 0, Options())[:3] == (0, 0, 999)
    fast.flags &= ~SNDBUF
    assert pick(lib, c) != (0, 0)


def test_carried_data_makes_no_difference(lib):
    for c, waiting, o, snapshot, _ in cases(1, STATES)[: STATES // 10]:
        other = replace(c, paths=[replace(p, flags=p.flags ^ CARRIED) for p in c.paths])
        before = ask(lib, snapshot, waiting, o)
        assert ask(lib, other.snapshot(), waiting, o) == before
