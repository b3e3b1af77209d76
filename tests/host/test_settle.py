# SPDX-License-Identifier: GPL-2.0
"""state/attribution.h beside a connection whose every byte is known: who took it, and as what.

Between two rounds the core does what the header's comment tells of it. Where new data went to one
subflow and old data, unasked, to another one ("mixed"), only the sums can be right. Which bytes
a subflow took in a gap in which the core went back for the second time cannot be told. A
subflow's account is 0 until it is established, and again once it is closed.
"""

import ctypes
import random
from dataclasses import dataclass, field

from stateful import UNKNOWN

SOURCE = "store.c"

U32 = 1 << 32
# enum mps_subflow_counter, of the bytes
SENT, RETRANS, COPIED = 1, 3, 5
LIVES = 60
ROUNDS = 120
FRAGMENT = 32768
TICK = 1 << 13


@dataclass
class Subflow:
    store: object
    seq: int = 0
    bytes: list = field(default_factory=lambda: [0, 0, 0])  # sent, again, copied
    ranges: list = field(default_factory=list)
    closed: bool = False
    again: bool = False  # chosen for what was sent before, with no fragment in mind


class Connection:
    def __init__(self, lib, rng, mixed):
        size = lib.store_size()
        self.lib, self.rng = lib, rng
        self.subflows = [
            Subflow((ctypes.c_uint64 * (size // 8 + 1))(), rng.getrandbits(40))
            for _ in range(rng.randint(1, 8))
        ]
        for s in self.subflows[1:]:
            s.seq = rng.choice([s.seq, 0])
        self.una = self.head = self.sent = U32 - rng.randint(0, 1 << 20)
        self.now = rng.getrandbits(33)
        self.mixed, self.faults = mixed, set()
        self.way, self.straight = 0, True  # of the head, since the last round

    def took(self, s, start, n, what):
        s.seq += n
        s.bytes[what] += n
        s.ranges.append((start, start + n))

    def take_head(self, s, n):
        """The next bytes; until all was sent once these are sent again, and then new ones follow."""
        again = min(n, self.sent - self.head)
        self.took(s, self.head, n, 0)
        s.bytes[0] -= again
        s.bytes[1] += again
        self.head += n
        self.way += n
        self.sent = max(self.sent, self.head)

    def words(self, length=0):
        """struct mps_round"""
        fragment = (self.una, self.una + length)
        words = (self.now, self.una, self.head, self.sent, *fragment, 0, 0, 0)
        return (ctypes.c_uint32 * len(words))(*[x % U32 for x in words])

    def choose(self, s, account, length=0):
        s.again = account == RETRANS and not length
        self.lib.store_chosen(s.store, self.words(length), account)

    def come_and_go(self):
        """The first one stays; who comes is seen before it is chosen, who goes does not come back."""
        s = self.rng.choice(self.subflows)
        if not s.seq and not s.closed:
            s.seq = 1
            self.round()
        elif s is not self.subflows[0] and self.rng.random() < 0.1:
            s.seq, s.closed = 0, True

    def gap(self):
        """What the core does between two rounds."""
        rng, what = self.rng, self.rng.random()
        if rng.random() < 0.1:
            self.come_and_go()
        some = [s for s in self.subflows if s.seq]
        some = rng.sample(some, rng.randint(1, len(some)))
        s, n = some[0], rng.randint(1, 65428)
        oldest = min(self.head - self.una, rng.randint(1, FRAGMENT))
        for one in some:
            self.choose(one, RETRANS if self.head < self.sent else SENT)
        if what < 0.4:
            self.take_head(s, n)
            if rng.random() < 0.3 and oldest:
                # a retransmission came before the next round
                self.took(s, self.una, oldest, 1)
            elif self.mixed and oldest:
                self.took(some[-1], self.una, oldest, 1)
        elif what < 0.55:
            again = self.head < self.sent
            for one in some:
                if self.mixed or again == (self.head < self.sent):
                    most = self.sent - self.head if again and not self.mixed else n
                    self.take_head(one, min(n, most))
        elif what < 0.7 and oldest:
            self.took(s, self.una, oldest, 1)
        elif what < 0.9 and oldest:
            account = rng.choice([RETRANS, COPIED])
            # a delayed push, of one that had no room for what it was chosen for
            pushed = rng.random() < 0.3 and oldest > 1 and self.head == self.sent
            for one in some:
                self.choose(one, account, oldest)
                # the core stops where a subflow takes no more
                part = rng.choice([oldest, rng.randint(0, oldest)])
                if pushed:
                    part = 0 if one is s else oldest
                self.took(one, self.una, part, 2 if account == COPIED else 1)
            if pushed:
                self.take_head(s, rng.randint(1, oldest - 1))
        elif what < 0.93:
            # a delayed push, of one that was not chosen
            s = rng.choice([s for s in self.subflows if s.seq])
            if s not in some and self.head == self.sent and not s.again:
                self.take_head(s, n)
        elif what < 0.95:
            # a subflow is given up: back to the oldest data, which may go out at once
            whole, when = self.head == self.sent, rng.random()
            if whole and when < 0.6:
                # what it was given itself; all before that may be acknowledged, or some of it
                self.take_head(s, n)
            if whole and when < 0.3:
                self.una = rng.randint(self.una, self.head)
            self.head = self.una
            if whole and when > 0.5:
                self.take_head(s, rng.randint(1, n))
            self.straight = False

    def counters(self, s):
        found = (ctypes.c_uint64 * 3)()
        self.lib.store_counters(s.store, found)
        return list(found)

    def round(self):
        """All subflows are looked at, in any order; then something may be acknowledged."""
        self.now += self.rng.randint(0, 20_000)
        r, found = self.words(), 0
        for s in self.rng.sample(self.subflows, len(self.subflows)):
            found = self.lib.store_settle(s.store, r, s.seq % U32)
            if not self.mixed and self.counters(s) != s.bytes:
                self.faults.add("bytes")
            for start, end in s.ranges[-20:]:
                first = max(start, self.una)
                if end <= first or self.mixed:
                    continue
                age = self.lib.store_age(s.store, first % U32, end % U32, self.now % U32)
                if age == UNKNOWN:
                    self.faults.add("carrier missed")
        if self.straight and found != self.way:
            self.faults.add("way")
        self.way, self.straight = 0, True
        counted = [sum(x) for x in zip(*map(self.counters, self.subflows), strict=True)]
        if counted != [sum(x) for x in zip(*(s.bytes for s in self.subflows), strict=True)]:
            self.faults.add("sums")
        if self.rng.random() < 0.5:
            # of what is assigned again some may come in before that
            self.una = self.rng.randint(self.una, self.sent)
            if self.una > self.head:
                self.head, self.straight = self.una, False


def has_wrong_age(lib, rng):
    """What was taken when only a glance came after it, and is settled later."""
    store = (ctypes.c_uint64 * (lib.store_size() // 8 + 1))()
    now, late = rng.getrandbits(32), rng.randint(0, 1_000_000)
    rounds = ((now - late, 5000, 0, 1), (now, 6000, late, 1001))
    for at, head, ago, seq in rounds:
        words = (at, 5000, head, head, 5000, 5000, 0, 0, ago)
        lib.store_settle(store, (ctypes.c_uint32 * len(words))(*[x % U32 for x in words]), seq)
    return abs(lib.store_age(store, 5000, 6000, now) - late) >= TICK


def faults(lib, seed, count):
    rng = random.Random(seed)
    wrong = set()
    for i in range(count):
        c = Connection(lib, rng, mixed=i % 3 == 2)
        c.round()
        for _ in range(ROUNDS):
            c.gap()
            c.round()
        wrong |= c.faults
        if has_wrong_age(lib, rng):
            wrong.add("age")
    return wrong


def test_random_lives(lib):
    assert not faults(lib, 1, LIVES)
