# SPDX-License-Identifier: GPL-2.0
"""state/ranges.h beside a plain list of all that a subflow was ever given.

Sequence numbers and times of the list have no limit; the header sees their low halves.
"""

import ctypes
import itertools
import random
from dataclasses import dataclass, field

import pytest
from stateful import UNKNOWN

SOURCE = "store.c"

RANGES = 15
TICK_US = 8192
TICKS = 1024
GUARD = 64
U32 = 1 << 32
LIVES = 150
STEPS = 200


@dataclass
class Life:
    """What one subflow was given: bursts (start, end, time), oldest first."""

    lib: object
    una: int
    head: int
    now: int
    bursts: list = field(default_factory=list)  # what can still be asked for
    claims: int = 0  # up to here there were more of them than there is place for ...
    vague: int = 0  # ... without those that are contiguous, and with them
    rough: bool = False  # it has long ones, whose ends are rounded up
    faults: set = field(default_factory=set)
    history: list = field(default_factory=list)  # every burst there was

    def __post_init__(self):
        self.size = self.lib.ranges_size()
        self.memory = (ctypes.c_uint8 * (self.size + GUARD))()
        self.memory[self.size :] = [0xA5] * GUARD

    def give(self, start, end):
        nr = self.lib.ranges_add(
            self.memory, start % U32, end % U32, self.una % U32, self.now % U32
        )
        if end > start:
            self.bursts.append((start, end, self.now))
            self.history.append((start, end))
            self.bursts = [b for b in self.bursts if b[1] > self.una]
            self.crowd()
        if nr > RANGES or nr != int.from_bytes(self.memory[:4], "little"):
            self.faults.add("number")
        if set(self.memory[self.size :]) != {0xA5}:
            self.faults.add("beyond")

    def crowd(self):
        apart = [a[1] != b[0] for a, b in itertools.pairwise(self.bursts)]
        far = max((b[1] for b in self.bursts), default=0)
        if sum(apart) >= RANGES:
            self.claims = far
        if len(apart) >= RANGES:
            self.vague = far

    def age(self, start, end):
        found = self.lib.ranges_age(self.memory, start % U32, end % U32, self.now % U32)
        return None if found == UNKNOWN else found

    def behind(self, start, end):
        """Nothing is claimed that was not given, but what hulls claim; all that may still count."""
        found = self.lib.ranges_behind(self.memory, start % U32, end % U32)
        mine = [i for i, b in enumerate(self.history) if b[0] < end and start < b[1]]
        after = self.history[mine[-1] + 1 :] if mine else []
        rest = max(0, self.history[mine[-1]][1] - end) if mine else 0
        most = rest + sum(b - a for a, b in after)
        least = rest + sum(b - a for a, b in after) if self.una <= start else 0
        if any(b <= self.una for _, b in [*after, *(self.history[i] for i in mine)]):
            least = 0
        exact = start >= self.vague and not self.rough
        if exact and found > most:
            self.faults.add("behind: too much")
        if exact and found < least:
            self.faults.add("behind: too little")

    def reach(self, start, end):
        """Nothing that was not given is in it, hulls or not; a burst is, unless one may hide it."""
        found = start + (self.lib.ranges_reach(self.memory, start % U32, end % U32) - start) % U32
        if found > end:
            self.faults.add("reach beyond")
        at = start
        while at < found and (ends := [b for a, b in self.history if a <= at < b]):
            at = max(ends)
        if at < found:
            self.faults.add("reach: too far")
        mine = [min(b, end) for a, b, _ in self.bursts if a <= start < b]
        if mine and found < max(mine) and start >= self.claims and not self.rough:
            self.faults.add("reach: too short")

    def last(self, end):
        """What was given last says its age by its end alone."""
        found = self.lib.ranges_last_age(self.memory, end % U32, self.now % U32)
        found = None if found == UNKNOWN else found
        if found is not None and found != self.age(end - 1, end):
            self.faults.add("last")
        known = self.bursts and self.bursts[-1][1] == end
        if found is None and known and end > self.una and not self.rough:
            self.faults.add("last missed")

    def forget(self):
        nr = self.lib.ranges_forget(self.memory, self.una % U32)
        if nr and all(end <= self.una for _, end, _ in self.bursts):
            self.faults.add("number")

    def look(self, start, end):
        """One question; start is not acknowledged yet."""
        age = self.age(start, end)
        self.behind(start, end)
        self.reach(start, end)
        self.last(end)
        mine = [b for b in self.bursts if b[0] < end and start < b[1]]
        if age is None:
            if mine:
                self.faults.add("carrier missed")
            return "none"
        if not mine:
            if start >= self.claims and not self.rough:
                self.faults.add("no carrier")
            return "hull"
        ages = [self.now // TICK_US - b[2] // TICK_US for b in mine]
        ages = [a % TICKS * TICK_US for a in ages]
        exact = start >= self.vague and not self.rough
        if exact and age < min(ages):
            self.faults.add("too young")
        # what was joined is as young as its youngest part; old ages come round
        if (exact or max(ages) < TICKS // 2 * TICK_US) and age > min(ages):
            self.faults.add("too old")
        return "exact" if exact else "old"


def live(lib, rng):
    """(faults, how often each kind of answer was met) of one connection's subflow."""
    una = rng.choice([0, U32 - rng.randint(0, 1 << 22), rng.getrandbits(40)])
    now = rng.choice([0, U32 - rng.randint(0, 1 << 22), rng.getrandbits(40)])
    one = Life(lib, una, una, now)
    most = rng.choice([3000, 32768, 1 << 26])
    one.rough = most > 1 << 20
    met = {}
    for _ in range(STEPS):
        one.now += rng.choice([0, 1, rng.randint(0, 8000), rng.randint(0, 300_000)])
        what = rng.random()
        size = rng.choice([0, *[rng.randint(0, most)] * 9])
        if what < 0.55:
            # this subflow's turn, often after another one's
            one.head += rng.choice([0, 0, 1, rng.randint(0, most)])
            one.give(one.head, one.head + size)
            one.head += size
        elif what < 0.65 and one.head > one.una:
            # a copy of the oldest data, or all of it anew
            one.give(one.una, min(one.head, one.una + size))
            if rng.random() < 0.3:
                one.head = max(one.una, rng.randint(one.una, one.head))
        elif what < 0.8:
            one.una += rng.randint(0, one.head - one.una)
        if one.head - one.una > 20 * most or rng.random() < 0.02:
            one.una = rng.randint(one.una, one.head)
        if rng.random() < 0.5:
            one.forget()
        for _ in range(3):
            start = rng.randint(one.una, one.head + 10)
            if one.bursts and rng.random() < 0.6:
                # at an edge
                start = rng.choice(rng.choice(one.bursts[-2 * RANGES :])[:2])
                start += rng.choice([-1, 0, 0, 1])
            start = max(one.una, start)
            one.last(one.head)
            answer = one.look(start, start + rng.choice([1, 1, 1428, size + 1]))
            met[answer] = met.get(answer, 0) + 1
    return one.faults, met


def used_again(lib, rng, gigabytes):
    """Faults of a path that rests while others carry so much, and every decision looks at it.

    What was acknowledged then must not look like data that is still to come.
    """
    one = Life(lib, 0, 0, 0)
    one.give(0, rng.randint(1, 1 << 20))
    while one.una < gigabytes << 30:
        one.una += rng.randint(1, 1 << 29)
        one.forget()
    for _ in range(3 * RANGES):
        start = one.una + rng.randint(0, 1 << 20)
        one.give(start, start + 1428)
        one.now += TICK_US
        one.look(start, start + 1)
        if one.age(one.una + (2 << 20), one.una + (1 << 31) - 1) is not None:
            one.faults.add("stale")
    return one.faults


def crowded(lib, rng):
    """Faults of one burst too many, each with another gap before it: the narrowest is claimed."""
    one = Life(lib, 0, 0, 0)
    gaps = rng.sample(range(10, 10_000), RANGES)
    edges = []
    for gap in [0, *gaps]:
        one.head += gap
        one.give(one.head, one.head + 100)
        edges.append(one.head)
        one.head += 100
    for i, gap in enumerate(gaps):
        claimed = one.age(edges[i] + 100, edges[i + 1]) is not None
        # the last one has to come in first
        if claimed != (gap == min(gaps[:-1])):
            one.faults.add("claims more")
    return one.faults


def hulls(lib, rng):
    """Faults where hulls are joined to others: what lies in their gaps is nobody's for certain."""
    one = Life(lib, 0, 0, 0)
    for _ in range(4 * RANGES):
        one.head += rng.choice([0, 10, rng.randint(10, 10_000)])
        one.now += TICK_US
        one.give(one.head, one.head + 100)
        one.head += 100
        for start, end in one.history:
            one.reach(start, end + 1)
            one.reach(start, one.head)
    return one.faults


def copied_hull(lib):
    """Faults of a hull that swallows a copy of its own data: it stays one."""
    one = Life(lib, 0, 0, 0)
    for gap in [*[1000] * (RANGES - 1), 10]:
        one.now += TICK_US
        one.give(one.head + gap, one.head + gap + 100)
        one.head += gap + 100
    start = one.history[-2][0]
    for begin in (start, one.head + 5000):
        one.now += TICK_US
        one.give(begin, begin + 50)
    one.reach(start, one.head)
    return one.faults


def long_hull(lib):
    """Faults of a hull that is joined on for a gigabyte and more, always before it is done with."""
    one = Life(lib, 0, 0, 0, rough=True)
    for _ in range(6 * RANGES):
        one.head += 1 << 20
        one.now += TICK_US
        one.give(one.head, one.head + (24 << 20))
        one.head += 24 << 20
        one.una = max(one.una, one.head - (500 << 20))
        for start, end, _ in one.bursts:
            one.look(max(start, one.una), end)
    return one.faults


def faults(lib, seed, count):
    rng = random.Random(seed)
    wrong = copied_hull(lib) | long_hull(lib)
    for _ in range(count):
        wrong |= live(lib, rng)[0] | used_again(lib, rng, 3) | crowded(lib, rng) | hulls(lib, rng)
    return wrong


def test_random_lives(lib):
    """A carrier is never missed; others are taken for one only where there was no place."""
    rng = random.Random(1)
    met = {}
    for _ in range(LIVES):
        wrong, answers = live(lib, rng)
        assert not wrong
        for what, times in answers.items():
            met[what] = met.get(what, 0) + times
    assert min(met[what] for what in ("none", "exact", "old", "hull")) > LIVES // 10, met


def test_hulls_are_not_certain(lib):
    assert not copied_hull(lib)
    for seed in range(50):
        assert not hulls(lib, random.Random(seed))


def test_a_hull_of_more_than_a_gigabyte(lib):
    assert not long_hull(lib)


def test_the_narrowest_gap_is_claimed(lib):
    for seed in range(200):
        assert not crowded(lib, random.Random(seed))


@pytest.mark.parametrize("gigabytes", range(1, 9))
def test_idle_for_gigabytes(lib, gigabytes):
    for seed in range(20):
        assert not used_again(lib, random.Random(seed), gigabytes)
