# SPDX-License-Identifier: GPL-2.0
"""The batches of policy/redundant.h: who leads, how far they grow, and when they end."""

import ctypes
import functools
import math
import random
import struct

import headers
import pytest
import test_copies
from headers import GROW, RATE, finish, verdict
from hostlib import ACTIVE, CARRIED, LOSS, MAX_BURST, SNDBUF, WAIT, Path_
from stateful import (
    COPIES,
    NO_ROOM,
    NO_SUBFLOW,
    UNKNOWN,
    Conn,
    available,
    draw,
    minrtt,
    most_bytes,
    room,
    takes,
    usable,
)
from test_copies import queue_room

STATES = 10_000
# the lead, fragments of the batch, who goes along, who bounds it; its bytes that have no copies
# yet; fragments of the last one
STATE = struct.Struct("=4BIB3x")
NEW = (0,) * 6
NEVER = 64


def leads(c, ready):
    """Who would finish all that is pending first; all right answers."""
    known = [i for i in ready if c.paths[i].srtt]
    if not known:
        return minrtt(c, ready)
    t = {i: finish(c.paths[i], c.pending, GROW | RATE) for i in known}
    return {min(known, key=lambda i: (t[i], i))}


def is_best(c, may, lead):
    """Nobody would finish all that is pending a quarter before the one that has the last batch."""
    t = {
        i: finish(c.paths[i], c.pending, GROW | RATE)
        for i in may
        if takes(c.paths[i]) and c.paths[i].srtt
    }
    if lead in t:
        t[lead] -= t[lead] // 5
    if t:
        return lead == min(t, key=lambda i: (t[i], i))
    return lead in minrtt(c, [i for i in may if available(c.paths[i])])


def begin(c, may, lead, windows):
    """Masks of who goes along, with a quarter of the room, and who bounds it, with a half."""
    first = queue_room(c.paths[lead], windows)
    quarter, half = min(first, c.pending) / 4, first / 2
    return tuple(
        test_copies.mask(
            i for i in may if takes(c.paths[i]) and queue_room(c.paths[i], windows) >= least
        )
        for least in (quarter, half)
    )


def grows(c, may, windows, lead, bound, opened):
    """Everybody who bounds it can take the batch and one more."""
    if lead not in may or queue_room(c.paths[lead], windows) < c.paths[lead].mss:
        return False
    others = [i for i in may if i != lead and bound >> i & 1]
    return all(queue_room(c.paths[i], windows) >= opened + c.unit for i in others)


def of_batch(c, i):
    """The whole fragment, whether or not the window has room for it."""
    return min(c.unit or most_bytes(c, i), c.wnd_left, MAX_BURST)


def begun(c, may, i, windows, last):
    nbytes = of_batch(c, i)
    return (i, 0, nbytes, i, 1, *begin(c, may, i, windows), nbytes, last)


def right(c, strict, most, windows, ahead, copies, lead, given, along, bound, opened, last):
    """All right answers: (path, reason, bytes, state afterwards)"""
    may = usable(c)
    ready = [i for i in may if available(c.paths[i])]
    if copies and c.unacked <= opened:
        given, opened, last = 0, 0, given or last
    takers = [i for i in may if not c.paths[i].flags & LOSS]
    if not strict or len(takers) < 2:
        state = (lead, 0, along, bound, 0, 0)
        if not ready:
            return {(WAIT, NO_ROOM if may else NO_SUBFLOW, 0, *state)}
        return {(i, 0, most_bytes(c, i), *state) for i in minrtt(c, ready)}
    state = (lead, given, along, bound, opened, last)
    if not c.unacked:
        if not ready:
            return {(WAIT, NO_ROOM, 0, lead, 0, 0, 0, 0, last)}
        return {begun(c, may, i, 1, last) for i in leads(c, ready)}
    if not given and last >= ahead:
        if not is_best(c, may, lead):
            return {(WAIT, COPIES, 0, *state)}
        if lead not in ready:
            return {(WAIT, NO_ROOM, 0, *state)}
        return {begun(c, may, lead, windows, last)}
    if not given or given >= most or not grows(c, may, windows, lead, bound, opened):
        return {(WAIT, COPIES, 0, *state)}
    nbytes = of_batch(c, lead)
    opened = (opened + nbytes) % (UNKNOWN + 1)
    return {(lead, 0, nbytes, lead, given + 1, along, bound, opened, last)}


def at_an_edge(c, rng, lead, windows):
    """Somebody has just half or a quarter of the lead's room, or just room for the batch and one more."""
    p = rng.choice(c.paths)
    for q in c.paths:
        q.flags |= ACTIVE | SNDBUF
        q.flags &= ~LOSS
        q.mss, q.cwnd, q.inflight, q.unsent = 2, 100, 0, 0
    p.cwnd = rng.choice([50, 25])
    c.pending = rng.choice([c.pending, 199, 200, 201])
    all_but_one = c.paths[lead].cwnd * 2 * windows - 1
    c.paths[lead].unsent = rng.choice([0, 1, 2, all_but_one])
    p.unsent = rng.choice([p.unsent, 0, 0, 1])
    c.unit = 10
    edge = rng.choice([room(p), queue_room(p, windows)])
    c.unacked = rng.choice([0, max(0, edge - c.unit + rng.randint(-1, 1))])


def as_good(c, rng, lead):
    """Somebody is done just a quarter before the lead, or not quite."""
    p, old = rng.choice(c.paths), c.paths[lead]
    for q in (p, old):
        q.mss, q.cwnd, q.inflight, q.unsent, q.rate = 1000, 1000, 0, 0, 0
        q.flags = ACTIVE | SNDBUF
    c.pending = 1000
    old.srtt = rng.randint(1, 100_000)
    p.srtt = max(1, old.srtt - old.srtt // 5 + rng.randint(-1, 1))


def any_state(rng):
    c = headers.any_snapshot(rng)
    windows = rng.choice([1, 1, 2, 8, 64])
    most = rng.choice([1, 2, 15, 63])
    # mostly in the middle of a batch that fits into somebody's room
    given = rng.choice([0, 1, 2, most, *[rng.randint(1, 63)] * 3])
    rooms = [queue_room(p, windows) for p in c.paths] or [0]
    if rng.random() < 0.7:
        c.unit = rng.choice([1, 1428, 32768, rng.choice(rooms) // 4]) & UNKNOWN
        edge = rng.choice(rooms) - c.unit + rng.randint(-1, 1)
        c.unacked = max(0, rng.choice([0, given * c.unit, edge, edge, rng.choice(rooms) // 3]))
    if len(c.paths) > 1 and rng.random() < 0.5:
        # all but the same, so that halves are met
        first = rng.choice(c.paths)
        for p in c.paths:
            p.mss, p.cwnd, p.unsent = first.mss, first.cwnd, first.unsent
            p.inflight = rng.choice([0, 0, first.cwnd // 2, first.inflight])
            p.unsent = rng.choice(
                [
                    p.unsent,
                    p.cwnd * p.mss * (windows - 1) + rng.randint(-2, 2) & UNKNOWN,
                ]
            )
    lead = rng.randrange(max(1, len(c.paths) + 1))
    along, bound = (rng.choice([0, 255, 255, rng.randrange(256)]) for _ in range(2))
    if lead < len(c.paths) and rng.random() < 0.4:
        at_an_edge(c, rng, lead, windows)
        given = rng.choice([given, 1])
    elif lead < len(c.paths) and rng.random() < 0.3:
        as_good(c, rng, lead)
        given = 0
    opened = rng.choice([0, draw(rng, UNKNOWN), *[min(c.unacked, UNKNOWN)] * 3])
    opened = max(0, min(UNKNOWN, opened + rng.choice([-1, 0, 0, 0, 1])))
    ahead = rng.choice([1, 2, 2, 16, 64])
    last = rng.choice([0, 1, ahead - 1, *[min(ahead, 63)] * 3, 63])
    given = rng.choice([given, given, 0])
    strict, copies = rng.choice([0, 1, 1, 1]), rng.choice([0, 0, 0, 1])
    options = (strict, most, windows, ahead)
    return c, *options, copies, lead, given, along, bound, opened, last


@functools.cache
def cases(seed, count):
    rng = random.Random(seed)
    made = [any_state(rng) for _ in range(count)]
    return [(*case, case[0].snapshot(), right(*case)) for case in made]


def ask(lib, snapshot, strict, most, windows, ahead, copies, *state):
    state = ctypes.create_string_buffer(STATE.pack(*state), STATE.size)
    options = (ctypes.c_uint32 * 4)(strict, most, windows, ahead)
    answer = verdict(lib.redundant_pick, snapshot, options, copies, state)
    return (*answer[:3], *STATE.unpack(state.raw))


def faults(lib, seed, count):
    wrong = set()
    for c, *asked, snapshot, answers in cases(seed, count):
        if ask(lib, snapshot, *asked) not in answers:
            wrong.add("pick")
        windows, along = asked[2], asked[7]
        copied = lib.redundant_copies_along(snapshot, along, windows)
        if copied != test_copies.redundant(c, along, windows):
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
        c.unacked > 0 and strict and min(a)[0] != WAIT for c, strict, *_, a in cases(1, STATES)
    )
    assert grown > STATES / 50


def batch(lib, paths, most=63, unit=32_000, pending=1 << 20, windows=1):
    """What is assigned from one acknowledgement of everything to the next."""
    c = Conn(paths, unit=unit, pending=pending, age=0)
    state, out = NEW, []
    while c.pending > 0:
        a = ask(lib, c.snapshot(), 1, most, windows, NEVER, 0, *state)
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
    full = wide(cwnd=330, inflight=330)
    assert batch(lib, [wide(cwnd=330), full]) == [0] * 11
    assert batch(lib, [wide(cwnd=330), full], most=1) == [0]
    assert batch(lib, [wide(cwnd=3300), full], most=15) == [0] * 15
    assert batch(lib, [wide(cwnd=330), wide(cwnd=330)]) == [0] * 10
    assert batch(lib, [wide(cwnd=330), wide(cwnd=165)]) == [0] * 5
    # several windows, as far as everybody's queue takes them
    assert batch(lib, [wide(cwnd=100), full], windows=4) == [0] * 13
    assert batch(lib, [wide(cwnd=100), wide(cwnd=60)], windows=4) == [0] * 7
    # not one that does not keep up
    assert batch(lib, [wide(cwnd=330), wide(cwnd=164)]) == [0] * 11


def test_alone_it_waits_for_nothing(lib):
    """There is nobody to copy to; one that recovers from a timeout is nobody."""
    wide = functools.partial(Path_, mss=1000, srtt=20_000)
    lost = wide(cwnd=330)
    lost.flags |= LOSS
    for others in ([], [lost]):
        given = batch(lib, [wide(cwnd=330), *others], most=1)
        assert given == [0] * math.ceil(330_000 / MAX_BURST)


def test_the_first_is_who_would_finish_it_all(lib):
    narrow = Path_(mss=1000, srtt=10_000, cwnd=40, ssthresh=1)
    broad = Path_(mss=1000, srtt=30_000, cwnd=400, ssthresh=1)
    assert set(batch(lib, [narrow, broad], pending=1000, unit=1000)) == {0}
    narrow.unsent = broad.unsent = 0
    assert set(batch(lib, [narrow, broad])) == {1}


def test_those_that_keep_up_get_all_of_the_batch(lib):
    """Although their windows are full for a moment; others only what they have room for."""
    wide = functools.partial(Path_, mss=1000, srtt=20_000)
    c = Conn([wide(cwnd=330), wide(cwnd=100), wide(cwnd=82)], unit=32_000, age=0)
    answer = ask(lib, c.snapshot(), 1, 63, 1, NEVER, 0, *NEW)
    assert answer[0] == 0
    along, bound = answer[5:7]
    assert (along, bound) == (0b011, 0b001)
    # what there is to send may be less than what the first has room for
    c.pending = 328_000
    assert ask(lib, c.snapshot(), 1, 63, 1, NEVER, 0, *NEW)[5:7] == (0b111, 0b001)
    c.unacked = 32_000
    c.paths[0].flags |= CARRIED
    assert lib.redundant_copies_along(c.snapshot(), along, 1) == 0b110
    for p in c.paths:
        p.inflight = p.cwnd
    assert lib.redundant_copies_along(c.snapshot(), along, 1) == 0b010
    c.paths[1].unsent = c.paths[1].cwnd * c.paths[1].mss
    assert lib.redundant_copies_along(c.snapshot(), along, 1) == 0
    assert lib.redundant_copies_along(c.snapshot(), along, 2) == 0b010
    c.paths[1].flags &= ~SNDBUF
    assert lib.redundant_copies_along(c.snapshot(), along, 2) == 0


def test_the_next_begins_before_the_last_is_acknowledged(lib):
    """After one that was long enough and was copied, by what queues take."""
    c = Conn(
        [Path_(mss=1000, srtt=20_000, cwnd=100) for _ in "ab"],
        unit=32_000,
        pending=1 << 20,
        unacked=64_000,
        age=0,
    )
    ask_on = functools.partial(ask, lib, c.snapshot(), 1, 2, 8)
    on = (0, 2, 3, 3, 64_000, 0)
    # its copies are not made yet
    assert ask_on(2, 0, *on)[:2] == (WAIT, COPIES)
    answer = ask_on(2, 1, *on)
    assert answer == (0, 0, 32_000, 0, 1, 3, 3, 32_000, 2)
    # it was too short
    assert ask_on(3, 1, *on)[:2] == (WAIT, COPIES)
    # what is in front of it is being acknowledged, and is no reason to copy
    c.unacked += 32_000
    answer = ask(lib, c.snapshot(), 1, 2, 8, 2, 1, *answer[3:])
    assert answer[4:8] == (2, 3, 3, 64_000)
    c.unacked = 64_000
    answer = ask(lib, c.snapshot(), 1, 2, 8, 2, 1, *answer[3:])
    assert answer[4:8] == (1, 3, 3, 32_000)


def test_the_next_has_the_same_lead_or_waits(lib):
    """What another one is ahead with would arrive before it can be copied."""
    old, other = (Path_(mss=1000, srtt=rtt, cwnd=100) for rtt in (20_000, 16_001))
    c = Conn([old, other], unit=32_000, pending=1000, unacked=1000, age=0)

    def follows():
        return ask(lib, c.snapshot(), 1, 63, 8, 2, 0, 0, 0, 3, 3, 0, 16)[:2]

    assert follows() == (0, 0)
    other.srtt -= 2
    assert follows() == (WAIT, COPIES)
    other.inflight = other.cwnd
    other.srtt = 20_000
    assert follows() == (0, 0)
    old.inflight = old.cwnd
    assert follows() == (WAIT, NO_ROOM)
    old.flags |= LOSS
    c.paths.append(Path_(mss=1000, srtt=30_000, cwnd=100))
    assert follows() == (WAIT, COPIES)
