# SPDX-License-Identifier: GPL-2.0
"""Load-balancing by weights: shares over many picks, and wrong headers found out."""

import random

import hostlib
import pytest
from hostlib import ACTIVE, NO_ROOM, SNDBUF, WAIT, Path_
from hostlib import CARRIED as BEGAN
from stateful import TURN, Conn
from steering import Steered, library, metric, suspects_of


@pytest.fixture(scope="module")
def lib():
    return library()


# Of 100 segments: room for a fragment, for a small part of it, for nothing.
FLIGHTS = (1, 1, 98, *[100] * 4)


def run_shares(lib, weights, picks, rng):
    """Bytes that each path gets of that many picks, each full at times; picks that waited.

    The core hands a path the whole fragment where it has room for a segment of it.
    """
    s, got, waited = Steered(lib), [0] * len(weights), 0
    for _ in range(picks):
        paths = [
            Path_(20_000, cwnd=100, metric=metric(0, w), inflight=rng.choice(FLIGHTS))
            for w in weights
        ]
        i, reason, nbytes = s.pick("shares", Conn(paths, unit=32 << 10))
        if i == WAIT:
            waited += reason == TURN
            assert reason in (TURN, NO_ROOM)
        else:
            assert 0 < nbytes <= 32 << 10
            got[i] += 32 << 10
    return got, waited


@pytest.mark.parametrize("weights", [(50, 50), (80, 20), (99, 1), (1, 1, 2), (100,) * 8])
def test_shares(lib, weights):
    """Within 128 KB of what is asked for, whatever is full when."""
    got, waited = run_shares(lib, weights, 3000, random.Random(4))
    whole = sum(got)
    assert waited > 0 or len(weights) == 8
    for w, part in zip(weights, got, strict=True):
        assert abs(part - whole * w / sum(weights)) < 128 << 10, got


def test_shares_never_wait_for_what_nothing_wakes(lib):
    """The path whose turn it is has no room and nothing on its way: the others go on."""
    s = Steered(lib)
    stuck = Path_(20_000, flags=ACTIVE, metric=metric(0, 50))
    free = Path_(20_000, cwnd=100, metric=metric(0, 50))
    for _ in range(100):
        assert s.pick("shares", Conn([stuck, free], unit=32 << 10))[0] == 1


def test_a_path_that_was_away_does_not_make_up_for_it(lib):
    s = Steered(lib)
    one, two = (Path_(20_000, cwnd=100, metric=metric(0, 50)) for _ in range(2))
    away = Path_(20_000, cwnd=100, flags=SNDBUF, metric=metric(0, 50))
    for _ in range(200):
        assert s.pick("shares", Conn([one, away], unit=32 << 10))[0] == 0
    after = [s.pick("shares", Conn([one, two], unit=32 << 10))[0] for _ in range(20)]
    assert abs(after.count(0) - 10) <= 1


def test_shares_count_what_is_handed_over(lib):
    """One path has room for little of a fragment each time, and gets all of it all the same."""
    s, got = Steered(lib), [0, 0]
    wide = Path_(20_000, cwnd=100, metric=metric(0, 80))
    tight = Path_(20_000, cwnd=100, inflight=98, metric=metric(0, 20))
    for _ in range(500):
        got[s.pick("shares", Conn([wide, tight], unit=32 << 10))[0]] += 1
    assert abs(got[0] - 400) <= 2, got


def test_shares_of_what_was_begun(lib):
    """What a slow path has the beginning of stays with the path whose turn it is.

    Where the rest went with the beginning, as in other modes, the path that was chosen was charged.
    """
    s, got = Steered(lib), [0, 0]
    slow = Path_(900_000, cwnd=100, inflight=90, rate=10_000, metric=metric(0, 50))
    slow.flags |= BEGAN
    fast = Path_(20_000, cwnd=100, rate=10_000_000, ssthresh=2, metric=metric(0, 50))
    for _ in range(500):
        i = s.pick("shares_with_rest", Conn([slow, fast], unit=1000, age=1000))[0]
        got[i] += 1
    assert abs(got[0] - 250) <= 66, got


MUTANTS = {
    "charged-for-others": (
        "policy/steer.h",
        "return mode == MPS_STEER_CFS || mode == MPS_STEER_BALANCE;",
        "return mode == MPS_STEER_CFS;",
        test_shares_of_what_was_begun,
    ),
    "counts-the-room": (
        "policy/shares.h",
        "mps_max(v->bytes, c->unit)",
        "v->bytes",
        test_shares_count_what_is_handed_over,
    ),
    "made-up-for": (
        "policy/shares.h",
        "mps_shares_level(c, s, (__u32)tier, clock);",
        "",
        test_a_path_that_was_away_does_not_make_up_for_it,
    ),
    "waits-for-nothing": (
        "policy/shares.h",
        "mps_has_inflight(&c->path[last & (MPS_MAX_PATHS - 1)])",
        "1",
        test_shares_never_wait_for_what_nothing_wakes,
    ),
}

suspects = hostlib.suspects(suspects_of, MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name, suspects):
    with pytest.raises(AssertionError):
        MUTANTS[name][-1](suspects[name].result())
