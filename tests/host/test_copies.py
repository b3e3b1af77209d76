# SPDX-License-Identifier: GPL-2.0
"""Who carries a second copy: common/copy.h, policy/cfs.h, policy/redundant.h in the words of lists."""

import copy
import functools
import random

import headers
import pytest
from headers import GROW, NEVER, RATE, carriers, lackers, may_copy, takers
from hostlib import ACTIVE, BACKUP, CARRIED, DROPPED, LOSS, SNDBUF, Path_
from stateful import (
    UNKNOWN,
    Conn,
    available,
    room,
    takes,
    usable,
)

STATES = 10_000


def mask(which):
    return sum(1 << i for i in which)


def that_pays(c):
    """The first to finish, if that is a quarter before its carriers do."""
    t = {i: headers.finish(c.paths[i], c.unit, GROW | RATE) for i in takers(c)}
    if not t or not may_copy(c):
        return 0
    left = min((headers.remaining(c, p) for p in carriers(c)), default=NEVER)
    best = min(t, key=lambda i: (t[i], i))
    return mask([best]) if t[best] + t[best] // 4 < left else 0


def of_cfs(c):
    """x_f, once nothing is left to assign, if a slower path has the fragment."""
    fit = takers(c)
    if not fit or not may_copy(c) or c.pending:
        return 0
    fastest = min(fit, key=lambda i: (c.paths[i].srtt, i))
    alive = [p for p in carriers(c) if p.flags & ACTIVE]
    slower = [p for p in alive if p.srtt > c.paths[fastest].srtt or p.flags & LOSS]
    return mask([fastest]) if (slower if alive else carriers(c)) else 0


def queue_room(p, windows):
    """Bytes until a path has so many windows, most of them in its queue."""
    owed = p.inflight * p.mss + p.unsent
    return max(0, p.cwnd * p.mss * windows - owed) if takes(p) else 0


def redundant(c, along=0, windows=1):
    """Every usable path with room that has not carried it; those that go along have a queue."""
    if not c.unacked or not c.unit or c.age == UNKNOWN:
        return 0
    fit = [
        i
        for i in usable(c)
        if available(c.paths[i]) or (along >> i & 1 and queue_room(c.paths[i], 2 * windows))
    ]
    return mask(i for i in fit if not c.paths[i].flags & CARRIED)


POLICIES = {
    "copy_if_it_pays": that_pays,
    "cfs_copies": of_cfs,
    "redundant_copies": redundant,
}


def lost_behind(c):
    """The receiver has dropped it, and nobody carries it any more."""
    dropped = any(p.flags & (DROPPED | CARRIED) == DROPPED for p in c.paths)
    return bool(c.unacked and c.unit and dropped and not carriers(c))


def under_way(c):
    """Somebody who delivers was given it, less than its round trip ago."""
    alive = [p for p in carriers(c) if p.flags & (ACTIVE | LOSS) == ACTIVE]
    return any(c.age < p.srtt for p in alive)


def repaired(c):
    """The first to finish, with room or without."""
    t = {i: headers.finish(c.paths[i], c.unit, GROW | RATE) for i in lackers(c)}
    return mask([min(t, key=lambda i: (t[i], i))]) if t else 0


@functools.cache
def cases(seed, count):
    """(connection, its snapshot, the masks of the policies)"""
    rng = random.Random(seed)
    made = [headers.any_snapshot(rng) for _ in range(count)]
    return [(c, c.snapshot(), [right(c) for right in POLICIES.values()]) for c in made]


def faults(lib, seed, count):
    wrong = set()
    for c, snapshot, right in cases(seed, count):
        for name, answer in zip(POLICIES, right, strict=True):
            if getattr(lib, name)(snapshot) != answer:
                wrong.add(name)
        for i, p in enumerate(c.paths):
            if lib.remaining_us(snapshot, i) != headers.remaining(c, p):
                wrong.add("remaining")
        left = min((headers.remaining(c, p) for p in carriers(c)), default=NEVER)
        if lib.carriers_us(snapshot) != left:
            wrong.add("carriers")
        if lib.may_copy(snapshot) != may_copy(c):
            wrong.add("may_copy")
        if lib.is_under_way(snapshot) != under_way(c):
            wrong.add("under_way")
        if lib.lost_behind(snapshot) != lost_behind(c):
            wrong.add("lost_behind")
        if lib.repair_first(snapshot) != repaired(c):
            wrong.add("repair_first")
    return wrong


def test_random_states(lib):
    """Each policy copies, and does not although it might, in many of the states."""
    assert not faults(lib, 1, STATES)
    for which in range(len(POLICIES)):
        copied = sum(bool(right[which]) for _, _, right in cases(1, STATES))
        held = sum(
            not right[which] and may_copy(c) and bool(takers(c)) for c, _, right in cases(1, STATES)
        )
        assert copied > STATES / 20
        assert held > STATES / 50 or which == 2


def test_some_are_lost(lib):
    lost = [c for c, *_ in cases(1, STATES) if lost_behind(c)]
    assert STATES / 20 < len(lost) < STATES / 2
    assert sum(bool(repaired(c)) and not takers(c) for c in lost) > STATES / 200


@pytest.mark.parametrize("policy", POLICIES)
def test_never(lib, policy):
    """What no copy may ever do, apart from the statements above."""
    for c, snapshot, _ in cases(1, STATES):
        answer = getattr(lib, policy)(snapshot)
        if not answer:
            continue
        assert c.unacked and c.unit
        one = policy != "redundant_copies"
        assert not (one and c.pending and c.wnd_left), "fresh data goes first"
        assert not (one and answer & (answer - 1)), "one path at most"
        for i in range(32):
            if not answer >> i & 1:
                continue
            p = c.paths[i]
            assert p.flags & (ACTIVE | SNDBUF | LOSS | CARRIED) == ACTIVE | SNDBUF
            assert room(p) >= p.mss
            assert p.srtt or not one
            others = [q for q in c.paths if q.flags & (ACTIVE | BACKUP) == ACTIVE]
            assert not (p.flags & BACKUP and others), "backups only where all is lost"


def stuck():
    """10 KB that the second path delivers in 100 ms; the first one takes 10 ms."""
    fast = Path_(srtt=10_000, cwnd=100)
    slow = Path_(srtt=50_000, rate=100_000, inflight=10)
    slow.flags |= CARRIED
    return Conn([fast, slow], pending=0, unacked=10_000, unit=10_000, age=0)


def copies(lib, policy, c):
    return getattr(lib, policy)(c.snapshot())


def test_a_copy_must_be_a_quarter_earlier(lib):
    c = stuck()
    ask = functools.partial(copies, lib, "copy_if_it_pays", c)
    assert lib.carriers_us(c.snapshot()) == 100_000
    for srtt, right in ((79_999, 1), (80_000, 0)):
        c.paths[0].srtt = srtt
        assert ask() == right
    # data that was just sent needs the rest of a round trip, however fast the path
    c.paths[1].rate = 0xFFFFFFFF
    for age, srtt, right in ((0, 39_999, 1), (0, 40_000, 0), (40_000, 8_000, 0)):
        c.age, c.paths[0].srtt = age, srtt
        assert ask() == right
    # corked: a queue although the window is open
    c.paths[1].inflight, c.paths[1].unsent = 0, 100
    c.paths[0].srtt = 10**6
    assert ask() == 1


def test_what_was_copied_is_still_in_front(lib):
    """The last 400 bytes, behind ten packets that the peer has had from the other path."""
    slow = Path_(srtt=400_000, cwnd=10, inflight=11, rate=40_000)
    slow.flags |= CARRIED
    c = Conn([slow, Path_(srtt=60_000, cwnd=20)], pending=0, unit=400, age=400_000)
    # much of what came later went elsewhere, and has arrived
    c.unacked = c.unit + 200_000
    assert lib.remaining_us(c.snapshot(), 0) == 275_000
    assert lib.copy_if_it_pays(c.snapshot()) == 0b10
    # unless they are what came later
    slow.behind = 11_000
    assert lib.remaining_us(c.snapshot(), 0) == 10_000
    assert lib.copy_if_it_pays(c.snapshot()) == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_who_delivered_its_part(lib, policy):
    """It has no copy of the rest to take, and nothing to deliver."""
    c = stuck()
    c.paths[0].flags |= CARRIED | DROPPED
    assert copies(lib, policy, c) == 0
    assert lib.carriers_us(c.snapshot()) == 100_000
    assert not lib.lost_behind(c.snapshot())
    # nor has a third one been dropped because of it
    c.paths[1].flags &= ~CARRIED
    assert not lib.lost_behind(c.snapshot())
    c.paths[1].flags |= DROPPED
    assert lib.lost_behind(c.snapshot())


@pytest.mark.parametrize("policy", POLICIES)
def test_the_peers_window_is_full(lib, policy):
    """CFS waits for the tail; the others may copy while nothing can be assigned."""
    c = stuck()
    assert copies(lib, policy, c) == 1
    c.pending, c.wnd_left = 1 << 20, 0
    assert copies(lib, policy, c) == (policy != "cfs_copies")


def test_cfs_copies_from_the_slower_only(lib):
    c = stuck()
    slow = c.paths[1]
    slow.srtt = 10_000
    assert copies(lib, "cfs_copies", c) == 0
    slow.srtt += 1
    assert copies(lib, "cfs_copies", c) == 1
    slow.srtt = 5_000
    for flags in (CARRIED, CARRIED | ACTIVE | LOSS):
        slow.flags = flags
        assert copies(lib, "cfs_copies", c) == 1


def test_cfs_leaves_to_others_what_the_core_sent_again(lib):
    """Of a subflow that was given up: not to a third that is slower than the one that has it now."""
    c = stuck()
    given_up, other = c.paths[1], copy.deepcopy(c.paths[1])
    given_up.flags = CARRIED
    other.srtt = 5_000
    c.paths.append(other)
    assert copies(lib, "cfs_copies", c) == 0
    other.srtt = 10_001
    assert copies(lib, "cfs_copies", c) == 1
    other.flags = CARRIED
    assert copies(lib, "cfs_copies", c) == 1
