# SPDX-License-Identifier: GPL-2.0
"""Round robin: whose turn it is, and wrong headers found out."""

import functools
import random
import struct

import hostlib
import pytest
from hostlib import WAIT, Path_, pieces
from stateful import (
    NO_ROOM,
    NO_SUBFLOW,
    RR,
    Conn,
    any_path,
    available,
    draw,
    most_bytes,
    mutants,
    plain,
    usable,
)

STATE = struct.Struct("=I44x")


def right(c, following, segments):
    """(path, reason, bytes, state afterwards)"""
    may = usable(c)
    ready = [i for i in may if available(c.paths[i])]
    if not ready:
        return WAIT, NO_ROOM if may else NO_SUBFLOW, 0, following
    # all indices in the order of the turns
    i = next(i for i in [*range(following, 8), *range(8)] if i in ready)
    return i, 0, min(most_bytes(c, i), segments * c.paths[i].mss), i + 1


def any_state(rng):
    kind = rng.choice(["wide", "small", "real"])
    c = Conn([any_path(rng, kind) for _ in range(rng.randint(0, 8))])
    c.pending, c.wnd_left = draw(rng, 1 << 63), draw(rng, 1 << 40)
    c.unit = rng.choice([0, 1, 1428, 32768])
    return c, rng.randint(0, 8), rng.choice([1, 1, 2, 45])


@functools.cache
def cases(seed, count):
    rng = random.Random(seed)
    made = [any_state(rng) for _ in range(count)]
    return [(*case, right(*case)) for case in made]


def wrong(driver, some):
    questions = [(RR, (n,), STATE.pack(state), c) for c, state, n, _ in some]
    return [
        (case, a)
        for case, a in zip(some, driver.ask(questions), strict=True)
        if (a.path, a.reason, a.bytes, *STATE.unpack(a.priv)) != case[-1]
    ]


@pytest.fixture(scope="module")
def driver():
    return plain()


def test_every_decision(driver):
    some = cases(1, 10_000)
    assert not (bad := wrong(driver, some)), bad[0]
    answers = {answer[:2] for *_, answer in some}
    assert {(WAIT, NO_ROOM), (WAIT, NO_SUBFLOW), *((i, 0) for i in range(8))} <= answers


def test_turns_go_round(driver):
    """Five paths, one of them full: the others one after the other."""
    paths = [Path_(inflight=10 if i == 3 else 0) for i in range(5)]
    order, state = [], bytes(48)
    with driver.session() as ask:
        for _ in range(12):
            a = ask(RR, (1,), state, Conn(paths))
            state = a.priv
            order.append(a.path)
    assert order == [0, 1, 2, 4] * 3


MUTANTS = {
    "always-the-first": ("if (i >= next)", "if (1)"),
    "not-round": ("if (first < 0)\n\t\t\tfirst = (__s32)i;", ""),
    "the-last-of-all": ("if (first < 0)", "if (1)"),
    "the-same-again": ("st->next = (__u32)i + 1;", "st->next = (__u32)i;"),
    "one-left-out": ("st->next = (__u32)i + 1;", "st->next = (__u32)i + 2;"),
    "full-ones-too": ("|| !mps_is_available(c, &c->path[i])", ""),
    "backups-too": ("!mps_is_usable(&c->path[i], tier) || ", ""),
    "turn-unbounded": ("if (v.bytes > most)", "if (0)"),
    "one-segment-only": ("(__u64)segments * c->", "1ULL * c->"),
}

suspects = hostlib.suspects(mutants, "policy/rr.h", MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name, suspects):
    suspect = suspects[name].result()
    assert any(wrong(suspect, some) for some in pieces(cases(2, 2_000)))
