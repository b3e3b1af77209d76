# SPDX-License-Identifier: GPL-2.0
"""Steering's budget of copies: how much is copied, of what, and to whom."""

import ctypes
import random

import pytest
from hostlib import ACTIVE, CARRIED, SNDBUF, Path_
from stateful import Conn
from steering import AUTO, PRIORITY, REDUNDANT, library

NAMED = 11  # bpf_redundant, by name


@pytest.fixture(scope="module")
def lib():
    return library()


class Budget:
    """One connection, and what its paths have had by their counters: [sent, copied] each."""

    def __init__(self, lib, percent, paths=2):
        self.lib, self.percent = lib, percent
        self.priv = ctypes.create_string_buffer(48)
        self.counted = [[0, 0] for _ in range(paths)]

    def copies(self, carried, unit, *, pending=0):
        """The paths that get a copy of a fragment which these have."""
        flags = [ACTIVE | SNDBUF | (i in carried) * CARRIED for i in range(len(self.counted))]
        conn = Conn(
            [Path_(20_000, cwnd=100, flags=f) for f in flags],
            pending=pending,
            unacked=unit,
            unit=unit,
            age=100,
        )
        snap = ctypes.create_string_buffer(conn.snapshot())
        rows = (ctypes.c_uint64 * 2 * len(self.counted))(*map(tuple, self.counted))
        mask = self.lib.budget_copies(snap, self.priv, self.percent, rows, len(self.counted))
        return [i for i in range(8) if mask >> i & 1]

    def ends(self, given, pending):
        """After copies()."""
        paths = [Path_(20_000, cwnd=100) for _ in self.counted]
        snap = ctypes.create_string_buffer(Conn(paths, pending=pending).snapshot())
        return self.lib.budget_ends(snap, self.priv, given)

    def message(self, size):
        """A whole one, on any path, and its copies, as the counters have them in the end."""
        self.counted[0][0] += size
        got = self.copies({0}, size)
        for i in got:
            self.counted[i][1] += size
        return got

    @property
    def shares(self):
        sent, copied = (sum(path[i] for path in self.counted) for i in range(2))
        return copied * 100, sent * self.percent


def test_never_more_than_the_budget_and_little_less(lib):
    """Whatever is sent; with an end that leaves less than a message, or one for each path."""
    rng = random.Random(1)
    for percent in (1, 20, 55, 100):
        for paths in (2, 3, 8):
            b = Budget(lib, percent, paths)
            for _ in range(600):
                b.message(rng.choice([40, 200, 1400, 30_000]))
                copied, allowed = b.shares
                assert copied <= allowed
            assert allowed - copied <= 100 * 30_000, (percent, paths)


def test_each_fifth_message_of_two_paths(lib):
    b = Budget(lib, 20)
    assert [len(b.message(1000)) for _ in range(15)] == [0, 0, 0, 0, 1] * 3


def test_one_path_where_there_is_no_budget_for_all(lib):
    b = Budget(lib, 100, paths=3)
    assert b.message(1000) == [1]
    assert b.message(1000) == [1]
    b.counted[0][0] += 1_000_000
    assert b.message(1000) == [1, 2]


def test_to_nobody_who_has_it(lib):
    b = Budget(lib, 100, paths=3)
    b.counted[0][0] = 1_000_000
    assert b.copies({0, 2}, 1000) == [1]
    assert b.copies({0, 1, 2}, 1000) == []


def test_new_data_comes_first(lib):
    b = Budget(lib, 100)
    b.counted[1][0] = 1_000_000
    assert b.copies({0}, 1000, pending=1) == []
    assert b.copies({0}, 1000) == [1]


def test_more_than_32_bits(lib):
    b = Budget(lib, 20)
    b.counted = [[10 << 40, 0], [0, (2 << 40) - 999]]
    assert b.copies({0}, 1000) == []
    b.counted[1][1] -= 1
    assert b.copies({0}, 1000) == [1]


def test_a_pass_is_asked_for_at_the_end_of_what_is_written(lib):
    b = Budget(lib, 20)
    b.counted[0][0] = 1000
    b.copies({0}, 1)
    assert [b.ends(given, 500) for given in (499, 500, 501)] == [0, 1, 1]
    b.counted[1][1] = 200
    b.copies({0}, 1)
    assert not b.ends(500, 500), "nothing is left"
    alone = Budget(lib, 20, paths=1)
    alone.counted[0][0] = 1000
    alone.copies({0}, 1)
    assert not alone.ends(500, 500), "nobody else is there"


def test_whose_it_is(lib):
    priv = ctypes.create_string_buffer(48)
    assert lib.budget_of(priv, REDUNDANT, 20) == 20
    assert lib.budget_of(priv, REDUNDANT, 30) == 30
    for mode in (NAMED, AUTO, PRIORITY):
        assert lib.budget_of(priv, mode, 20) == 0
    assert lib.budget_of(priv, REDUNDANT, 0) == 0
