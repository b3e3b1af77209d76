# SPDX-License-Identifier: GPL-2.0
"""The batches of mps_redundant.h: who leads, how far they grow, and when they end."""

import ctypes
import functools
import random
import struct

import headers
import pytest
import test_copies
from headers import GROW, NEVER, RATE, finish, verdict
from hostlib import WAIT, Path_
from stateful import (
    COPIES,
    NO_ROOM,
    NO_SUBFLOW,
    UNKNOWN,
    Conn,
    available,
    minrtt,
    most_bytes,
    room,
    usable,
)

STATES = 10_000
STATE = struct.Struct("=2B")  # the lead, fragments of the batch


def leads(c, ready):
    """Who would finish all that is pending first; all right answers."""
    known = [i for i in ready if c.paths[i].srtt]
    if not known:
        return minrtt(c, ready)
    t = {i: finish(c.paths[i], c.pending, GROW | RATE) for i in known}
    return {min(known, key=lambda i: (t[i], i))}


def grows(c, ready, lead):
    """Everybody with half the lead's room at the start can take the batch and one more."""
    if lead not in ready:
        return False
    half = (room(c.paths[lead]) + c.unacked) / 2
    others = [room(c.paths[i]) for i in ready if i != lead]
    return all(r >= c.unacked + c.unit for r in others if r >= half)


def right(c, strict, most, copies, lead, given):
    """All right answers: (path, reason, bytes, state afterwards)"""
    may = usable(c)
    ready = [i for i in may if available(c.paths[i])]
    given = 0 if copies else given
    if not strict or not may:
        if not ready:
            reason = NO_ROOM if may else NO_SUBFLOW
            return {(WAIT, reason, 0, lead, given)}
        return {(i, 0, most_bytes(c, i), lead, given) for i in minrtt(c, ready)}
    if c.unacked:
        if not given or given >= most or not grows(c, ready, lead):
            return {(WAIT, COPIES, 0, lead, given)}
        first = {lead}
    else:
        given = 0
        first = leads(c, ready) if ready else set()
    if not first:
        return {(WAIT, NO_ROOM, 0, lead, given)}
    limit = c.unit or NEVER
    return {(i, 0, min(limit, most_bytes(c, i)), i, given + 1) for i in first}


def any_state(rng):
    c = headers.any_snapshot(rng)
    most = rng.choice([1, 2, 15, 31])
    # mostly in the middle of a batch that fits into somebody's room
    given = rng.choice([0, 1, 2, most, *[rng.randint(1, 31)] * 3])
    rooms = [room(p) for p in c.paths] or [0]
    if rng.random() < 0.7:
        c.unit = rng.choice([1, 1428, 32768, rng.choice(rooms) // 4]) & UNKNOWN
        edge = rng.choice(rooms) - c.unit + rng.randint(-1, 1)
        c.unacked = max(
            0, rng.choice([0, given * c.unit, edge, edge, rng.choice(rooms) // 3])
        )
    if len(c.paths) > 1 and rng.random() < 0.5:
        # all but the same, so that halves are met
        first = rng.choice(c.paths)
        for p in c.paths:
            p.mss, p.cwnd, p.unsent = first.mss, first.cwnd, first.unsent
            p.inflight = rng.choice([0, 0, first.cwnd // 2, first.inflight])
    lead = rng.randrange(max(1, len(c.paths) + 1))
    if lead < len(c.paths) and rng.random() < 0.3:
        # somebody has just half the room
        half = 2 * room(rng.choice(c.paths)) - room(c.paths[lead])
        c.unacked = half if half > 0 else c.unacked
    return c, rng.choice([0, 1, 1, 1]), most, rng.choice([0, 0, 0, 1]), lead, given


@functools.cache
def cases(seed, count):
    rng = random.Random(seed)
    made = [any_state(rng) for _ in range(count)]
    return [(*case, case[0].snapshot(), right(*case)) for case in made]


def ask(lib, snapshot, strict, most, copies, lead, given):
    state = ctypes.create_string_buffer(STATE.pack(lead, given), STATE.size)
    answer = verdict(lib.redundant_pick, snapshot, strict, most, copies, state)
    return (*answer[:3], *STATE.unpack(state.raw))


def faults(lib, seed, count):
    wrong = set()
    for c, strict, most, copies, lead, given, snapshot, answers in cases(seed, count):
        answer = ask(lib, snapshot, strict, most, copies, lead, given)
        if answer not in answers:
            wrong.add("pick")
        if lib.redundant_copies(snapshot) != test_copies.redundant(c):
            wrong.add("redundant_copies")
    return wrong


@pytest.fixture(scope="module")
def lib():
    return headers.plain("headers.c")


def test_random_states(lib):
    assert not faults(lib, 1, STATES)
    answers = [min(a)[:2] for *_, a in cases(1, STATES)]
    for kind in ((WAIT, COPIES), (WAIT, NO_ROOM), (WAIT, NO_SUBFLOW), (0, 0), (1, 0)):
        assert answers.count(kind) > STATES / 100, kind
    grown = sum(
        c.unacked > 0 and strict and min(a)[0] != WAIT
        for c, strict, *_, a in cases(1, STATES)
    )
    assert grown > STATES / 50


def batch(lib, paths, most=31, unit=32_000, pending=1 << 20):
    """What is given out from one acknowledgement of everything to the next."""
    c = Conn(paths, unit=unit, pending=pending, age=0)
    state, out = (0, 0), []
    while c.pending > 0:
        a = ask(lib, c.snapshot(), 1, most, 0, *state)
        if a[0] == WAIT:
            break
        state = a[3:]
        out.append(a[0])
        c.unacked += a[2]
        c.pending -= a[2]
        c.paths[a[0]].unsent += a[2]
    return out


def test_a_batch_is_what_the_first_has_room_for(lib):
    """And as many fragments as a pass can copy; one per round trip where passes do not go on."""
    wide = functools.partial(Path_, mss=1000, srtt=20_000)
    assert batch(lib, [wide(cwnd=330)]) == [0] * 11
    assert batch(lib, [wide(cwnd=330)], most=1) == [0]
    assert batch(lib, [wide(cwnd=3300)], most=15) == [0] * 15
    assert batch(lib, [wide(cwnd=330), wide(cwnd=330)]) == [0] * 10
    assert batch(lib, [wide(cwnd=330), wide(cwnd=165)]) == [0] * 5
    # not one that does not keep up
    assert batch(lib, [wide(cwnd=330), wide(cwnd=164)]) == [0] * 11
    assert batch(lib, [wide(cwnd=330), wide(cwnd=330, inflight=330)]) == [0] * 11


def test_the_first_is_who_would_finish_it_all(lib):
    narrow = Path_(mss=1000, srtt=10_000, cwnd=40, ssthresh=1)
    broad = Path_(mss=1000, srtt=30_000, cwnd=400, ssthresh=1)
    assert set(batch(lib, [narrow, broad], pending=1000, unit=1000)) == {0}
    narrow.unsent = broad.unsent = 0
    assert set(batch(lib, [narrow, broad])) == {1}
