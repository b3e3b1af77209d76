# SPDX-License-Identifier: GPL-2.0
"""BLEST's decision against its formula in rational numbers, and wrong headers found out."""

import functools
import itertools
import random
import struct
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import hostlib
import pytest
from hostlib import LOSS, WAIT, Path_, pieces
from stateful import (
    BLEST,
    NO_ROOM,
    NO_SUBFLOW,
    UNKNOWN,
    WINDOW,
    Conn,
    any_path,
    available,
    draw,
    held,
    minrtt,
    most_bytes,
    mutants,
    plain,
    room,
    usable,
)

STATE = struct.Struct("=III36x")
U32 = 1 << 32
MAX_ROUNDS = 16
# What stands for rtt_s / rtt_f is smaller by less than this.
GRAIN = Fraction(1, 1024)
MAX_WINDOW = 1 << 34


@dataclass(frozen=True)
class State:
    updated: int = 0
    factor: int = 0  # lambda in thousandths
    blocked: int = 0

    def pack(self):
        return STATE.pack(self.updated, self.factor, self.blocked)


@dataclass(frozen=True)
class Options:
    start: int = 1200
    least: int = 1000
    most: int = 1300
    step: int = 40
    whole: int = 1
    rate: int = 1
    op: ClassVar[int] = BLEST

    def words(self):
        return (self.start, self.least, self.most, self.step, self.whole, self.rate)


def fast_bytes(f, rounds):
    """X of the paper: what f sends in that many of its round trips."""
    window = min(f.cwnd * f.mss, MAX_WINDOW)
    if f.cwnd < f.ssthresh:
        return window * (2 ** int(rounds) - 1)
    return (window + f.mss * (rounds - 1) / 2) * rounds


def delivered(f, s):
    """What f may deliver in a round trip of s, None: unknown. A first slow start may yet double."""
    known = f.rate * (2 if f.ssthresh == UNKNOWN else 1)
    return known * Fraction(s.srtt, 10**6) if known else None


def fast_most(f, s, rounds, o):
    x = fast_bytes(f, rounds)
    most = delivered(f, s) if o.rate else None
    return x if most is None else min(x, most)


def blocks(c, f, s, factor, o):
    """All right answers, one where the grain of the rounds makes no difference."""
    exact = min(Fraction(s.srtt, f.srtt), Fraction(MAX_ROUNDS))
    grains = exact / GRAIN
    segment = max(s.mss, c.unit) if o.whole else s.mss
    left = max(0, c.unacked + c.wnd_left - s.inflight * s.mss - s.unsent - segment)
    return {
        fast_most(f, s, rounds, o) * factor > left * 1000 for rounds in {exact, int(grains) * GRAIN}
    }


def next_state(c, state, rtt, o):
    if not state.factor:
        factor = o.start
    elif (c.now - state.updated) % U32 < rtt:
        return state
    elif c.blocked != state.blocked:
        factor = state.factor + o.step
    else:
        factor = state.factor - o.step // 4
    return State(c.now, max(o.least, min(o.most, factor)), c.blocked)


def right(c, state, o):
    """All right answers: (path, reason, state afterwards)."""
    may = usable(c)
    if not may:
        return {(WAIT, NO_SUBFLOW, state)}
    ready = [i for i in may if available(c.paths[i])]
    if not ready:
        return {(WAIT, NO_ROOM, state)}
    known = [i for i in may if c.paths[i].srtt and not c.paths[i].flags & LOSS]
    least = min((c.paths[i].srtt for i in known), default=0)
    answers = set()
    for s in minrtt(c, ready):
        if not known or c.paths[s].srtt <= least:
            answers.add((s, 0, state))
            continue
        after = next_state(c, state, c.paths[s].srtt, o)
        # of equally fast paths without room any may be x_f
        for f in (c.paths[i] for i in known if c.paths[i].srtt == least):
            waits = {False}
            if held(f):
                waits = blocks(c, f, c.paths[s], after.factor, o)
            answers |= {(WAIT, WINDOW, after) if w else (s, 0, after) for w in waits}
    return answers


def any_state(rng):
    kind = rng.choice(["wide", "small", "real"])
    c = Conn([any_path(rng, kind) for _ in range(rng.randint(0, 8))])
    c.pending = draw(rng, 1 << 63)
    c.unit = rng.choice([0, 1, 1428, 32768, rng.randint(0, 65535)])
    c.unacked, c.wnd_left = (draw(rng, rng.choice([1 << 20, 1 << 52])) for _ in "ab")
    c.now = draw(rng, 1 << 50) % U32
    o = Options(
        step=rng.choice([0, 3, 40, 1000]),
        whole=rng.randint(0, 1),
        rate=rng.randint(0, 1),
    )
    if rng.random() < 0.2:
        least, start, most = sorted(rng.randint(1, 16000) for _ in range(3))
        o = replace(o, least=least, start=start, most=most)
    low = rng.random() < 0.2
    if low:
        # the next step down goes below 0
        o = replace(o, least=1, step=1000)
    rtts = [p.srtt for p in c.paths if p.srtt] or [1]
    state = State(
        (c.now - max(0, rng.choice(rtts) + rng.randint(-2, 2))) % U32,
        rng.randint(1, 300)
        if low
        else rng.choice([0, o.least, o.most, rng.randint(o.least, o.most)]),
        c.blocked + rng.choice([0, 0, 1, 7]),
    )
    return c, state, o


def boundary_state(rng, fixed=None):
    """x_f full, and the window on or one byte beside the point where BLEST turns."""
    c, state, o = any_state(rng)
    o = fixed or o
    f, s = any_path(rng, "real"), any_path(rng, rng.choice(["real", "real", "wide"]))
    for p in (f, s):
        p.flags, p.unsent = Path_().flags, 0
    if rng.random() < 0.7:
        # rounds that the grain does not change
        f.srtt = rng.randint(1000, 50_000)
        s.srtt = f.srtt * rng.randint(3, 40) // 2 if f.srtt % 2 == 0 else f.srtt * 5
    else:
        f.srtt = rng.randint(1, 50_000)
        s.srtt = f.srtt + rng.randint(1, 900_000)
    s.inflight = rng.randrange(s.cwnd)
    s.unsent = rng.randint(0, min(room(s) - s.mss, 0xFFFFFFFF))
    f.inflight = f.cwnd
    state = replace(state, updated=c.now)
    factor = state.factor or max(o.least, min(o.most, o.start))
    rounds = min(Fraction(s.srtt, f.srtt), Fraction(MAX_ROUNDS))
    segment = max(s.mss, c.unit) if o.whole else s.mss
    # the rate is or is not what bounds it
    sent = fast_bytes(f, rounds) * 10**6 / s.srtt
    f.rate = int(min(sent * rng.choice([0, 0.3, 0.6, 1, 2]), 0xFFFFFFFF))
    turn = fast_most(f, s, rounds, o) * factor / 1000 + s.inflight * s.mss
    turn += s.unsent + segment
    window = max(1, int(turn) + rng.choice([-1, 0, 0, 1]))
    c.wnd_left = rng.randint(1, window)
    c.unacked = window - c.wnd_left
    c.paths = [f, s] if rng.random() < 0.5 else [s, f]
    return c, state, o


@functools.cache
def cases(seed, count):
    """(connection, state, options, right answers)"""
    rng = random.Random(seed)
    made = [(boundary_state if i % 2 else any_state)(rng) for i in range(count)]
    return [(*case, right(*case)) for case in made]


def wrong(driver, some):
    """The cases with a wrong answer, and what was reached on the way."""
    questions = [(o.op, o.words(), st.pack(), c) for c, st, o, _ in some]
    bad, reached = [], {}
    for (c, state, o, answers), a in zip(some, driver.ask(questions), strict=True):
        after = State(*STATE.unpack(a.priv))
        good = (a.path, a.reason, after) in answers
        good = good and (a.path == WAIT or a.bytes == most_bytes(c, a.path))
        if not good:
            bad.append((c, state, o, a, after, answers))
        if len(answers) == 1:
            what = a.reason if a.path == WAIT else "send"
            reached[what] = reached.get(what, 0) + 1
    return bad, reached


@pytest.fixture(scope="module")
def driver():
    return plain()


def test_the_formula(driver):
    """Random states and those around the turning point; both outcomes are decided often."""
    bad, reached = wrong(driver, cases(1, 20_000))
    assert not bad, bad[0]
    assert min(reached[what] for what in ("send", WINDOW, NO_ROOM, NO_SUBFLOW)) > 100


def test_an_example_by_hand(driver):
    """10 segments in 20 ms, 80 ms on the other path: X = 1000 * (10 + 1.5) * 4 = 46,000 bytes.

    With lambda 1.2, 4 segments in flight on the slow path and one more there, the window that is
    needed is 55,200 + 5,000.
    """
    fast = Path_(srtt=20_000, cwnd=10, inflight=10, ssthresh=10)
    slow = Path_(srtt=80_000, cwnd=10, inflight=4)
    tight = Conn([fast, slow], wnd_left=200, unacked=59_999)
    enough = replace(tight, wnd_left=201)
    paper = Options(whole=0, rate=0).words()
    a, b = driver.ask([(BLEST, paper, bytes(48), c) for c in (tight, enough)])
    assert (a.path, a.reason) == (WAIT, WINDOW)
    assert b.path == 1
    # in slow start: X = 10,000 * (2^4 - 1) = 150,000
    growing = replace(fast, ssthresh=1000)
    turns(driver, [growing, slow], 150_000 * 1.2, Options(whole=0, rate=0))
    # 500 kB/s are 40,000 bytes in 80 ms, twice that in the first slow start, or 46,000 as before
    for ssthresh, x in ((1000, 40_000), (UNKNOWN, 80_000), (10, 40_000)):
        seen = replace(fast, ssthresh=ssthresh, rate=500_000)
        turns(driver, [seen, slow], x * 1.2, Options(whole=0))
    turns(driver, [replace(fast, rate=600_000), slow], 55_200, Options(whole=0))


def turns(driver, paths, least, o):
    """With that much left of the window it sends, with a byte less it waits."""
    held = (paths[1].inflight + 1) * paths[1].mss
    enough = Conn(paths, wnd_left=int(least), unacked=held)
    tight = replace(enough, wnd_left=int(least) - 1)
    a, b = driver.ask([(BLEST, o.words(), bytes(48), c) for c in (tight, enough)])
    assert (a.path, a.reason) == (WAIT, WINDOW)
    assert b.path == 1


def test_lambda_moves_once_per_slow_rtt_within_its_bounds(driver):
    """A connection whose window fills for a time, and then does not any more."""
    slow, o = 80_000, Options()
    state, seen = State(), []
    with driver.session() as ask:
        for i in range(400):
            c = Conn(
                [Path_(srtt=20_000, cwnd=10, inflight=10), Path_(srtt=slow)],
                now=1_000_000 + i * slow // 4,
                blocked=min(i, 100),
            )
            a = ask(BLEST, o.words(), state.pack(), c)
            state = State(*STATE.unpack(a.priv))
            seen.append(state.factor)
    assert seen[0] == o.start
    assert max(seen) == o.most and min(seen) == o.least
    assert seen.index(o.most) < 100 < seen.index(o.least)
    changes = [i for i in range(1, 400) if seen[i] != seen[i - 1]]
    assert all(b - a >= 4 for a, b in itertools.pairwise(changes))


MUTANTS = {
    "lambda-ignored": ("(rounds - MPS_BLEST_ROUND) * f->mss) * rounds;",
                       "(rounds - MPS_BLEST_ROUND) * f->mss) * rounds / lambda * 1000;"),
    "growth-forgotten": ("(rounds - MPS_BLEST_ROUND) * f->mss", "0 * f->mss"),
    "growth-doubled": ("(rounds - MPS_BLEST_ROUND) *", "2 * (rounds - MPS_BLEST_ROUND) *"),
    "slow-start-forgotten": ("f->cwnd < f->ssthresh", "0"),
    "slow-start-at-ssthresh": ("f->cwnd < f->ssthresh", "f->cwnd <= f->ssthresh"),
    "one-round-more": ("(1ULL << (rounds / MPS_BLEST_ROUND)) - 1", "(2ULL << (rounds / MPS_BLEST_ROUND)) - 1"),
    "rounds-unbounded": ("MPS_BLEST_MAX_ROUNDS * MPS_BLEST_ROUND);", "40ULL * MPS_BLEST_ROUND);"),
    "rounds-the-other-way": ("(__u64)s->srtt_us * MPS_BLEST_ROUND / (f->srtt_us ?: 1)",
                             "(__u64)f->srtt_us * MPS_BLEST_ROUND / (s->srtt_us ?: 1)"),
    "rounds-of-32-bits": ("(__u64)s->srtt_us * MPS_BLEST_ROUND", "s->srtt_us * MPS_BLEST_ROUND"),
    "in-flight-ignored": ("(__u64)s->inflight * s->mss + s->unsent", "s->unsent"),
    "in-flight-of-32-bits": ("(__u64)s->inflight * s->mss", "s->inflight * s->mss"),
    "queue-ignored": ("s->mss + s->unsent + segment", "s->mss + segment"),
    "no-segment-more": ("+ s->unsent + segment", "+ s->unsent"),
    "fragment-always": ("whole && c->unit > s->mss", "c->unit > s->mss"),
    "fragment-never": ("whole && c->unit > s->mss", "0"),
    "unacknowledged-ignored": ("mps_min(c->unacked, MPS_BLEST_MAX_WINDOW / 2) +", "0 +"),
    "window-wraps": ("window > held ? window - held : 0", "window - held"),
    "or-equal": ("return mps_product_less(lambda_left, 2ULL", "return !mps_product_less(x, lambda, lambda_left, 2ULL * MPS_BLEST_ROUND * MPS_BLEST_ROUND); return mps_product_less(lambda_left, 2ULL"),
    "waits-for-what-never-comes": ("mps_has_inflight(fast) &&", ""),
    "never-waits": ("if (mps_has_inflight(fast) &&", "if (0 && mps_has_inflight(fast) &&"),
    "unknown-slow": ("if (slow->srtt_us <= fast->srtt_us)", "if (slow->srtt_us && slow->srtt_us <= fast->srtt_us)"),
    "start-ignored": ("lambda = o->start;", "lambda = MPS_BLEST_SCALE;"),
    "at-any-time": ("if (c->now_us - st->updated_us < rtt_us)", "if (0)"),
    "late": ("st->updated_us < rtt_us", "st->updated_us <= rtt_us"),
    "blocking-not-seen": ("if (c->blocked != st->blocked)", "if (0)"),
    "blocking-not-noted": ("st->blocked = c->blocked;", ""),
    "time-not-noted": ("st->updated_us = c->now_us;", ""),
    "down-as-up": ("o->step / MPS_BLEST_DOWN;", "o->step;"),
    "no-upper-bound": ("if (lambda > o->max)", "if (0)"),
    "no-lower-bound": ("if (lambda < o->min)", "if (0)"),
    "lambda-wraps": ("lambda > down ? lambda - down : 0", "lambda - down"),
    "rate-ignored": ("return !rate || ", "return 1 || !rate || "),
    "rate-always": ("(!o->rate || mps_blest", "(mps_blest"),
    "rate-alone": ("    mps_blest_blocks(fast, mps_blest_rounds(fast, slow), left, lambda) &&", ""),
    "no-sample-no-wait": ("return !rate || ", "return "),
    "rate-not-doubled": ("= mps_known_rate(f);", "= f->rate;"),
    "rate-without-lambda": ("mps_min(rtt_us, MPS_RTT_MAX), lambda);", "mps_min(rtt_us, MPS_RTT_MAX), MPS_BLEST_SCALE);"),
    "rate-in-the-fast-rtt": ("mps_blest_delivers(fast, slow->srtt_us,", "mps_blest_delivers(fast, fast->srtt_us,"),
    "another-reason": ("mps_wait_for(MPS_WAIT_WINDOW)", "mps_wait_for(MPS_WAIT_FASTER)"),
}  # fmt: skip

suspects = hostlib.suspects(mutants, "policy/blest.h", MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name, suspects):
    suspect = suspects[name].result()
    try:
        bad = any(wrong(suspect, some)[0] for some in pieces(cases(2, 4_000)))
    except AssertionError:
        return  # it crashed
    assert bad
