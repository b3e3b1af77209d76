# SPDX-License-Identifier: GPL-2.0
"""DAPS's schedule against its formula in rational numbers, its turns, and what it settles."""

import functools
import random
import struct
from dataclasses import dataclass
from fractions import Fraction

import hostlib
import pytest
from hostlib import (
    ACTIVE,
    BACKUP,
    LOSS,
    MAX_BURST,
    MAX_PATHS,
    SNDBUF,
    WAIT,
    Path_,
    pieces,
)
from stateful import (
    DAPS,
    NO_ROOM,
    NO_SUBFLOW,
    TURN,
    Conn,
    any_path,
    available,
    draw,
    held,
    minrtt,
    most_bytes,
    mutants,
    plain,
    unmeasured,
    usable,
)

STATE = struct.Struct("=8h8H2IH2B4x")
UNIT = 64
PERIOD = (128 << 10, 1 << 20)
# A burst and the rest of its last fragment fit in; what is more was not given by a pick.
MOST = 96 << 10


@dataclass
class State:
    left: list
    ratio: list
    delay: int = 0
    seq: int = 0
    rest: int = 0
    last: int = 0
    nr: int = 0

    @classmethod
    def new(cls):
        return cls([0] * MAX_PATHS, [0] * MAX_PATHS)

    @classmethod
    def unpack(cls, data):
        words = STATE.unpack(data)
        return cls(list(words[:8]), list(words[8:16]), *words[16:])

    def pack(self):
        return STATE.pack(
            *self.left,
            *self.ratio,
            *(self.delay, self.seq, self.rest, self.last, self.nr),
        )


def delay(p):
    return max(1, p.srtt // 2)


def members(c):
    ok = [i for i in usable(c) if c.paths[i].srtt and not c.paths[i].flags & LOSS]
    return {i: c.paths[i] for i in ok}


def settled(c, before):
    """The state once what the last pick gave is taken off its share."""
    now = State.unpack(before.pack())
    last, now.last = now.last - 1, 0
    if 0 <= last < len(c.paths):
        given = (c.paths[last].metric - before.seq) % (1 << 32)
        if given <= MOST:
            units, now.rest = divmod(given + before.rest, UNIT)
            now.left[last] = max(now.left[last] - units, -MOST // UNIT)
    return now


def stale(c, state, inside):
    """Must the schedule be made anew?"""
    if state.nr != len(c.paths) or set(inside) != {
        i for i in range(len(c.paths)) if state.ratio[i]
    }:
        return True
    for i, p in inside.items():
        then = Fraction(state.delay * state.ratio[i], 256)
        longer = delay(p) > then
        if longer and state.ratio[i] == 0xFFFF:
            continue  # as far as ratios go
        if abs(delay(p) - then) > then / 4:
            return True
    return not any(state.left[i] > 0 for i in inside)


def shares(inside):
    """Bytes of each: Q * D_f / D_i * min(W_i, W_f) / W_f."""
    f = min(inside.values(), key=delay)
    window = {i: min(p.cwnd * p.mss, 1 << 34) for i, p in inside.items()}
    w_f = min(f.cwnd * f.mss, 1 << 34)
    longest = max(map(delay, inside.values()))
    q = min(max(Fraction(w_f * longest, delay(f)), PERIOD[0]), PERIOD[1])
    return {
        i: q * Fraction(delay(f), delay(p)) * Fraction(min(window[i], w_f), w_f)
        for i, p in inside.items()
    }


def plan_fault(c, old, after, inside):
    """What is wrong with a new schedule; ratios and units leave some room."""
    least = min(map(delay, inside.values()))
    # equally fast ones may have different windows: any of them can be f
    fits = False
    for f in (p for p in inside.values() if delay(p) == least):
        order = {i: p for i, p in inside.items() if p is f} | inside
        want = shares(order)
        good = True
        for i in range(MAX_PATHS):
            debt = min(0, old.left[i]) if old.nr == len(c.paths) else 0
            got = after.left[i] * UNIT - (debt * UNIT if i in inside else 0)
            share = want.get(i, 0)
            # the ratio is a whole number of 256ths from 256 on, and ends at 65535
            slack = share / 256 + 2 * UNIT
            if i in inside and delay(inside[i]) > 255 * least:
                slack += share + PERIOD[1] // 255
            good &= share - slack <= got <= share + slack if i in inside else got == 0
        fits |= good
    if not fits:
        return "shares"
    for i in range(MAX_PATHS):
        ratio = Fraction(delay(inside[i]) * 256, least) if i in inside else 0
        if after.ratio[i] != min(int(ratio), 0xFFFF):
            return "ratios"
    if (after.delay, after.nr) != (least, len(c.paths)):
        return "head"
    return None


def fault(c, before, a, patient):
    """What is wrong with an answer, or None; and what kind of decision it was."""
    after, now = State.unpack(a.priv), settled(c, before)
    may, inside = usable(c), members(c)
    ready = [i for i in may if available(c.paths[i])]

    def sends(right, nbytes=MAX_BURST):
        if a.path not in right:
            return "path"
        if a.bytes != min(most_bytes(c, a.path), nbytes):
            return "bytes"
        if (after.last, after.seq) != (a.path + 1, c.paths[a.path].metric):
            return "note"
        after.last, after.seq = now.last, now.seq
        return None

    def waits(reason):
        return None if (a.path, a.reason) == (WAIT, reason) else "reason"

    def same(what, kind):
        return what or (None if after == now else "state"), kind

    if not may:
        return same(waits(NO_SUBFLOW), "no-subflow")
    if new := unmeasured(c, ready):
        return same(sends(new[:1]), "first-sample")
    if not inside:
        return same(sends(minrtt(c, ready)) if ready else waits(NO_ROOM), "nothing-known")
    again = stale(c, now, inside)
    if again:
        if what := plan_fault(c, now, after, inside):
            return what, "plan"
        now.left, now.ratio = after.left, after.ratio
        now.delay, now.nr = after.delay, after.nr
    kind = "plan" if again else "turn"
    wants = [i for i in inside if after.left[i] > 0]
    if not patient:
        wants = [i for i in wants if available(c.paths[i])]
    if wants:
        most = max(after.left[i] * after.ratio[i] for i in wants)
        turns = [i for i in wants if after.left[i] * after.ratio[i] == most]
        quickest = min(after.ratio[i] for i in turns)
        turn = min(i for i in turns if after.ratio[i] == quickest)
        if available(c.paths[turn]):
            return same(sends([turn], after.left[turn] * UNIT), kind)
        if held(c.paths[turn]):
            return same(waits(TURN), "wait")
    kind = "lapse" if patient else "beyond"
    return same(sends(minrtt(c, ready)) if ready else waits(NO_ROOM), kind)


def any_state(rng):
    kind = rng.choice(["wide", "small", "real", "real"])
    c = Conn([any_path(rng, kind) for _ in range(rng.randint(0, 8))])
    c.pending = draw(rng, 1 << 63)
    c.unit = rng.choice([0, 1, 1428, 32768])
    c.wnd_left = draw(rng, 1 << 40)
    state = State.new()
    for p in c.paths:
        p.metric = rng.getrandbits(32)
    patient = rng.randint(0, 1)
    if rng.random() < 0.2 or not c.paths:
        return c, state, patient
    # a schedule that was made for nearly these paths
    inside = members(c)
    state.nr = len(c.paths) + (rng.random() < 0.05)
    if inside:
        state.delay = min(map(delay, inside.values()))
        for i, p in inside.items():
            state.ratio[i] = min(delay(p) * 256 // state.delay, 0xFFFF)
        if rng.random() < 0.5:
            # now one of them is at the edge of being another, or is another
            p = rng.choice(list(inside.values()))
            change = rng.choice([Fraction(5, 4), Fraction(3, 4)])
            p.srtt = min((1 << 29) - 1, max(1, int(p.srtt * change) + rng.randint(-3, 3)))
        if rng.random() < 0.1:
            state.ratio[rng.choice(list(inside))] = 0
    share = rng.choice([2, 600, 16384])
    for i in range(len(c.paths)):
        state.left[i] = rng.randint(-min(1536, share), share)
    if rng.random() < 0.2:
        state.left = [min(x, 0) for x in state.left]
    if rng.random() < 0.7:
        state.last = rng.randint(1, len(c.paths))
        given = rng.choice([0, 1, 63, 64, rng.randint(0, MOST), MOST, MOST + 1])
        state.seq = (c.paths[state.last - 1].metric - given) % (1 << 32)
    state.rest = rng.randint(0, UNIT - 1)
    return c, state, patient


@functools.cache
def cases(seed, count):
    rng = random.Random(seed)
    return [any_state(rng) for _ in range(count)]


def faults(driver, some):
    found, reached = [], {}
    answers = driver.ask([(DAPS, (p,), state.pack(), c) for c, state, p in some])
    for (c, state, patient), a in zip(some, answers, strict=True):
        what, kind = fault(c, state, a, patient)
        reached[kind] = reached.get(kind, 0) + 1
        if what:
            found.append((what, c, state, patient, a, State.unpack(a.priv)))
    return found, reached


@pytest.fixture(scope="module")
def driver():
    return plain()


def test_every_decision(driver):
    found, reached = faults(driver, cases(1, 20_000))
    assert not found, found[0]
    kinds = (
        "no-subflow",
        "first-sample",
        "nothing-known",
        "plan",
        "turn",
        "wait",
        "lapse",
        "beyond",
    )
    assert min(reached[kind] for kind in kinds) > 100, reached


def flow(driver, paths, picks, fragment):
    """What each path is given when all always have room: whole fragments, as the kernel does."""
    given, state = [0] * len(paths), bytes(48)
    order = []
    with driver.session() as ask:
        for _ in range(picks):
            c = Conn(paths, unit=fragment, wnd_left=1 << 30, pending=1 << 30)
            a = ask(DAPS, (0,), state, c)
            state = a.priv
            n = -(-a.bytes // fragment) * fragment
            given[a.path] += n
            paths[a.path].metric = (paths[a.path].metric + n) % (1 << 32)
            order.append((a.path, n))
    return given, order


@pytest.mark.parametrize("fragment", [1428, 32768])
def test_shares_are_as_one_over_the_delay(driver, fragment):
    """20, 40 and 100 ms: 5, 2.5 and 1, however large the pieces are."""
    paths = [Path_(srtt=s * 1000, cwnd=100, mss=1428) for s in (40, 100, 20)]
    paths[0].metric = (1 << 32) - 100_000  # a counter that wraps on the way
    given, _ = flow(driver, paths, 600, fragment)
    whole = sum(given)
    for p, got in zip(paths, given, strict=True):
        want = Fraction(1, p.srtt) / sum(Fraction(1, q.srtt) for q in paths)
        assert abs(got / whole - want) < 0.02, (given, p)


def test_a_small_window_gets_no_more_than_it_carries(driver):
    """Equal delays, a window of a quarter: a fifth of the bytes."""
    paths = [Path_(srtt=40_000, cwnd=100), Path_(srtt=40_000, cwnd=25)]
    given, _ = flow(driver, paths, 600, 8000)
    assert abs(given[1] / sum(given) - 0.2) < 0.02


def test_turns_are_spread_over_the_period(driver):
    """At no time is a path more than three pieces away from its share."""
    paths = [Path_(srtt=s * 1000, cwnd=100) for s in (20, 60)]
    _, order = flow(driver, paths, 400, 4000)
    done = [0, 0]
    for path, n in order:
        done[path] += n
        assert abs(done[0] - 3 * done[1]) <= 3 * (MAX_BURST + 4000)


def test_a_change_of_delay_changes_the_shares(driver):
    paths = [Path_(srtt=20_000, cwnd=100), Path_(srtt=20_000, cwnd=100)]
    even, _ = flow(driver, paths, 100, 8000)
    paths[1].srtt = 80_000
    uneven, _ = flow(driver, paths, 400, 8000)
    assert even[0] / even[1] == pytest.approx(1, rel=0.1)
    assert uneven[0] / uneven[1] == pytest.approx(4, rel=0.1)


def test_backups_wait_for_the_others_to_go(driver):
    flags = ACTIVE | SNDBUF
    regular, backup = Path_(flags=flags), Path_(flags=flags | BACKUP, srtt=1000)
    with driver.session() as ask:
        a = ask(DAPS, (0,), bytes(48), Conn([backup, regular]))
        assert a.path == 1
        regular.flags = 0
        assert ask(DAPS, (0,), a.priv, Conn([backup, regular])).path == 0


MUTANTS = {
    "delay-ignored": ("(__u64)q * MPS_DAPS_RATIO / ratio", "(__u64)q"),
    "delay-upside-down": ("(__u64)q * MPS_DAPS_RATIO / ratio", "(__u64)q * ratio / MPS_DAPS_RATIO"),
    "window-ignored": ("mps_min(mps_bytes(p->cwnd, p), wnd)", "wnd"),
    "larger-window-gets-more": ("mps_min(mps_bytes(p->cwnd, p), wnd)", "mps_bytes(p->cwnd, p)"),
    "period-unbounded": ("MPS_DAPS_SHARE_MIN), MPS_DAPS_SHARE_MAX);", "MPS_DAPS_SHARE_MIN), 2U << 20);"),
    "period-short": ("#define MPS_DAPS_SHARE_MIN (128U << 10)", "#define MPS_DAPS_SHARE_MIN (32U << 10)"),
    "period-of-one-window": (" * mps_min(longest_us, MPS_RTT_MAX) / mps_daps_delay(f);", ";"),
    "debts-forgotten": ("st->left[i] < 0 ? st->left[i] : 0;", "0;"),
    "shares-left-over": ("same && st->left[i] < 0 ?", "same ?"),
    "strangers-debts": ("const bool same = st->nr_paths == c->nr_paths;", "const bool same = true;"),
    "ratio-wraps": ("MPS_DAPS_RATIO / base, 0xffff)", "MPS_DAPS_RATIO / base, 0xfffff)"),
    "lossy-inside": ("&& !(p->flags & MPS_PATH_LOSS) && p->srtt_us;", "&& p->srtt_us;"),
    "unknown-inside": ("&& !(p->flags & MPS_PATH_LOSS) && p->srtt_us;", "&& !(p->flags & MPS_PATH_LOSS);"),
    "not-settled": ("left = st->left[i] - ", "left = st->left[i] - 0 * "),
    "settled-twice": ("st->last = 0;\n\tif", "if"),
    "rest-lost": ("st->rest = (given + st->rest) % MPS_DAPS_UNIT;", "st->rest = 0;"),
    "debt-unbounded": ("if (left < -(__s32)(MPS_DAPS_MOST / MPS_DAPS_UNIT))", "if (0)"),
    "anything-counts": ("if (given > MPS_DAPS_MOST)", "if (0)"),
    "never-anew": ("if (mps_daps_moved(st, ratio, p))", "if (0)"),
    "anew-when-slower-only": ("now < 3 * then ||", ""),
    "anew-when-faster-only": ("return now < 3 * then || (now > 5 * then && ratio < 0xffff);", "return now < 3 * then;"),
    "anew-at-a-fifth": ("5 * then", "5 * then - then / 5"),
    "at-a-quarter": ("now > 5 * then", "now >= 5 * then"),
    "members-unchecked": ("if (mps_daps_in_schedule(p, tier) != !!ratio)", "if (0)"),
    "number-unchecked": ("if (st->nr_paths != c->nr_paths)", "if (0)"),
    "used-up-unseen": ("left |= st->left[i] > 0;", "left |= 1;"),
    "debtors-turn": ("if (!st->ratio[i] || st->left[i] <= 0)", "if (!st->ratio[i])"),
    "most-bytes-first": ("time = (__u32)st->left[i] * st->ratio[i];", "time = (__u32)st->left[i];"),
    "slower-of-equals": ("st->ratio[i] < ratio))", "st->ratio[i] > ratio))"),
    "beyond-the-share": ("(__u64)st->left[turn & (MPS_MAX_PATHS - 1)] * MPS_DAPS_UNIT);", "MPS_MAX_BURST);"),
    "waits-for-nothing": ("if (patient && mps_has_inflight(p))", "if (patient)"),
    "never-waits": ("if (patient && mps_has_inflight(p))", "if (0)"),
    "always-waits": ("if (patient && mps_has_inflight(p))", "if (mps_has_inflight(p))"),
    "turn-of-the-full": ("if (room && !mps_is_available(c, &c->path[i]))", "if (0)"),
    "turn-of-those-with-room": ("if (room && !mps_is_available(c, &c->path[i]))", "if (!mps_is_available(c, &c->path[i]))"),
    "no-first-sample": ("(f < 0 || mps_wants_first_sample(c, p))", "(f < 0)"),
    "seq-not-noted": ("st->seq = c->path[i & (MPS_MAX_PATHS - 1)].metric;", ""),
    "pick-not-noted": ("st->last = (__u8)(i + 1);", ""),
    "slowest-as-base": ("|| mps_daps_delay(p) >= least)", "|| (least != ~0ULL && mps_daps_delay(p) <= least))"),
    "shortest-as-longest": ("most = mps_max(most, mps_daps_delay(&c->path[i]));", "most = mps_min(most ?: ~0ULL, mps_daps_delay(&c->path[i]));"),
}  # fmt: skip

suspects = hostlib.suspects(mutants, "policy/daps.h", MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name, suspects):
    suspect = suspects[name].result()
    try:
        found = any(faults(suspect, some)[0] for some in pieces(cases(2, 4_000)))
    except (ValueError, AssertionError):
        return  # nobody's turn it could have been, or it crashed
    assert found
