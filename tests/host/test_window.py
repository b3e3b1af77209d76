# SPDX-License-Identifier: GPL-2.0
"""state/peer_window.h beside a receiver whose window is known, and the kernel's account of it.

A look is what the frame does when the core asks for data: while an acknowledgement is handled,
before snd_una moves, or later, with everything in place, for instance when the application writes.
"""

import ctypes
import random
from dataclasses import dataclass

SOURCE = "store.c"

U32 = 1 << 32
SLACK = 2 * 1460
SEGMENT = 1428
LIVES = 60
STEPS = 300


class Seen(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint32) for name in ("una", "wl1", "wnd", "segs", "missing", "inflight")
    ]


@dataclass
class Subflow:
    una: int
    wnd: int
    segs: int = 0
    missing: bool = False


class Life:
    """The sender's side of a connection over two or three subflows."""

    def __init__(self, lib, rng):
        self.lib, self.rng = lib, rng
        self.nr = rng.randint(2, 3)
        self.una = rng.choice([0, U32 - rng.randint(0, 1 << 21), rng.getrandbits(33)])
        self.granted = self.core = self.una + 100_000
        self.subflows = [Subflow(rng.getrandbits(32), 100_000) for _ in range(self.nr)]
        self.stores = (ctypes.c_uint64 * (32 * self.nr))()
        self.memo = (ctypes.c_uint32 * (lib.memo_size() // 4))()
        assert lib.store_size() == 256
        self.faults = set()
        self.doubt = False
        self.clean = 0  # looks, one per segment, since a subflow had one missing
        self.beyond = 0  # times that the core's account was wrong

    def look(self, inflight=True, unit=0):
        """(bytes that may be assigned, their end, doubt), at a place that the core thinks free."""
        seen = (Seen * self.nr)(
            *(Seen(s.una % U32, 7, s.wnd, s.segs % U32, s.missing, inflight) for s in self.subflows)
        )
        head = max(self.una, self.granted - self.rng.randint(0, 50_000))
        words = (ctypes.c_uint32 * 4)(self.una % U32, head % U32, self.core % U32, unit)
        answer = (ctypes.c_uint32 * 3)()
        self.for_clock(self.doubt)
        self.lib.window_look(self.memo, self.stores, seen, self.nr, words, answer)
        self.doubt = bool(answer[2])
        return head, *answer

    def for_clock(self, doubt):
        """The ACK clock knows no other end than the core's, unless that was in doubt."""
        end = self.lib.window_for_clock(self.memo, self.core % U32)
        if (end - self.core) % U32 < U32 // 8 and not doubt:
            self.faults.add("clock")
        if doubt and SLACK < (end - self.granted) % U32 < U32 // 2:
            self.faults.add("clock")

    def glance(self):
        """In place of a look, where one may be had (bpf/frame/glance.h)."""
        if self.doubt or any(s.missing for s in self.subflows):
            return False
        self.lib.window_glanced(self.memo, self.core % U32)
        return True

    def acknowledge(self, moved):
        """One segment comes in; what it says, and what TCP and the core make of it."""
        s = self.rng.choice(self.subflows)
        una = self.una + moved
        self.granted = max(self.granted, una + self.rng.randint(0, 200_000))
        window = self.granted - una
        s.segs += 1
        # one that tells the subflow of its loss is none that it takes a smaller window from
        if not s.missing:
            s.una += SEGMENT
            s.wnd = window
        elif window > s.wnd:
            s.wnd = window
        self.core = max(self.core, una + s.wnd)
        self.beyond += self.core > self.granted
        return una

    def settled(self):
        """Everything is in place, and no subflow had a segment missing for a while."""
        head, left, _, doubt = self.look()
        short = (self.granted - head - left) % U32
        if 0 < short < U32 // 2:
            self.faults.add("held back")
        if doubt and self.core == self.granted:
            self.faults.add("doubt for ever")

    def check(self):
        head, left, end, doubt = self.look()
        told = (head + left) % U32
        over = (told - self.granted) % U32
        if left and over < U32 // 2 and over > SLACK:
            self.faults.add("beyond the window")
        # with nothing on its way the core's account counts, or nobody would ask again
        head, left, *_ = self.look(inflight=False)
        if (head + left) % U32 != self.core % U32:
            self.faults.add("stall")
        head, left, end, doubt = self.look(unit=30_000)
        real = (end - head) % U32
        if doubt and real < 30_000 and real < self.core - head and left:
            self.faults.add("part of a fragment")

    def step(self):
        rng = self.rng
        for s in self.subflows:
            if rng.random() < 0.1:
                s.missing = rng.random() < 0.4
        moved = rng.choice([0, SEGMENT, 2 * SEGMENT, rng.randint(0, 80_000)])
        missing = any(s.missing for s in self.subflows)
        self.clean = 0 if missing else self.clean + 1
        if rng.random() < 0.8:
            # the core asks first and moves snd_una then
            una = self.acknowledge(moved)
            if rng.random() < 0.5 or not self.glance():
                self.check()
            self.una = una
            if self.clean > 2 and rng.random() < 0.5:
                self.settled()
        else:
            # nobody asks: the window is shut, or the application holds the lock
            for _ in range(rng.randint(2, 5)):
                self.una = self.acknowledge(moved)
            self.clean = 0
            self.check()


def faults(lib, seed, count):
    rng = random.Random(seed)
    wrong, beyond = set(), 0
    for _ in range(count):
        life = Life(lib, rng)
        life.look()
        for _ in range(STEPS):
            life.step()
        wrong |= life.faults
        beyond += life.beyond
    assert beyond > count, "the core's account was never wrong"
    return wrong


def test_random_lives(lib):
    assert not faults(lib, 1, LIVES)
