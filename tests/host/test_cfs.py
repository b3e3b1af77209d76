# SPDX-License-Identifier: GPL-2.0
"""Who gets new data of bpf_cfs: minRTT, or BLEST as far as more waits than the window takes."""

import functools
import random
from dataclasses import dataclass
from typing import ClassVar

import hostlib
import pytest
from hostlib import WAIT, Path_, pieces
from stateful import (
    CFS,
    NO_ROOM,
    NO_SUBFLOW,
    WINDOW,
    Conn,
    available,
    minrtt,
    mutants,
    plain,
    usable,
)
from test_blest import Options, any_state, boundary_state, right, wrong


@dataclass(frozen=True)
class Factor(Options):
    """A lambda that stays as it is; 0: none."""

    op: ClassVar[int] = CFS

    @classmethod
    def of(cls, factor):
        return cls(start=factor, least=factor, most=factor, step=0)

    def words(self):
        return (self.start,)


def right_minrtt(c, state):
    may = usable(c)
    ready = [i for i in may if available(c.paths[i])]
    if not ready:
        return {(WAIT, NO_ROOM if may else NO_SUBFLOW, state)}
    return {(i, 0, state) for i in minrtt(c, ready)}


def any_case(rng, boundary):
    o = Factor.of(rng.choice([0, 1000, 1000, rng.randint(1, 16000)]))
    if boundary:
        c, state, _ = boundary_state(rng, o if o.start else None)
    else:
        c, state, _ = any_state(rng)
    if rng.random() < 0.6:
        c.pending = max(0, c.wnd_left + rng.choice([-1, 0, 1, 1, 1]))
    more = o.start and c.pending > c.wnd_left
    return c, state, o, right(c, state, o) if more else right_minrtt(c, state)


@functools.cache
def cases(seed, count):
    """(connection, state, options, right answers)"""
    rng = random.Random(seed)
    return [any_case(rng, i % 2) for i in range(count)]


def test_the_rule():
    bad, reached = wrong(plain(), cases(1, 20_000))
    assert not bad, bad[0]
    assert min(reached[what] for what in ("send", WINDOW, NO_ROOM, NO_SUBFLOW)) > 100


def test_an_example_by_hand():
    """The fast path sends 10,000 * (2^3 - 1) bytes in the slow one's 60 ms, the window takes 20,000."""
    paths = [Path_(srtt=20_000, cwnd=10, inflight=10), Path_(srtt=60_000, cwnd=10)]
    for pending, factor, path in (
        (20_001, 1000, WAIT),
        (20_000, 1000, 1),
        (20_001, 0, 1),
    ):
        c = Conn(paths, pending=pending, wnd_left=20_000)
        (a,) = plain().ask([(CFS, (factor,), bytes(48), c)])
        assert (a.path, a.reason) == (path, WINDOW if path == WAIT else 0)


MUTANTS = {
    "always": ("factor && c->pending > c->wnd_left", "factor"),
    "or-equal": ("c->pending > c->wnd_left", "c->pending >= c->wnd_left"),
    "never": ("if (factor && ", "if (0 && "),
    "never-off": ("factor && c->pending", "c->pending"),
    "no-lower-bound": (".min = factor,", ".min = 0,"),
    "no-upper-bound": (".max = factor,", ".max = ~0U,"),
    "one-segment": (".whole = 1,", ".whole = 0,"),
    "rate-ignored": (".rate = 1,", ".rate = 0,"),
}

suspects = hostlib.suspects(mutants, "policy/cfs.h", MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name, suspects):
    suspect = suspects[name].result()
    assert any(wrong(suspect, some)[0] for some in pieces(cases(2, 4_000)))
