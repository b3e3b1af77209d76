# SPDX-License-Identifier: GPL-2.0
"""Steering's caps: what a path over its cap may carry, and the periods of accounts."""

import ctypes
import datetime
import random

import pytest
from hostlib import ACTIVE, BACKUP, LOSS, SENDS
from stateful import Conn
from steering import (
    AUTO,
    BALANCE,
    DELAY,
    NO_DEADLINE,
    OVER_CAP,
    PRIORITY,
    REDUNDANT,
    STANDBY,
    Steered,
    library,
    metric,
)
from test_steer import any_steered

NO_PERIOD, DAY, WEEK, MONTH = range(4)
OVER, BLOCKED = 1 << 17, 1 << 18
EPOCH = datetime.date(1970, 1, 1)
MODES = (AUTO, STANDBY, DELAY, BALANCE, PRIORITY, REDUNDANT)


@pytest.fixture(scope="module")
def lib():
    return library()


class Account(ctypes.Structure):
    """struct mps_steer_account"""

    _fields_ = [
        ("cap", ctypes.c_uint64),
        ("base", ctypes.c_uint64 * 2),
        ("before", ctypes.c_uint64 * 2),
        ("start", ctypes.c_int32),
        ("before_start", ctypes.c_int32),
        ("seen", ctypes.c_int32),
        ("period", ctypes.c_uint8),
        ("day", ctypes.c_uint8),
        ("slot", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8),
    ]


class Kept:
    """An account, and what the kernel has counted for it."""

    def __init__(self, lib, period=MONTH, day=1):
        self.lib, self.account = lib, Account(period=period, day=day)
        self.slot = (ctypes.c_uint64 * 2)()

    def count(self, sent, received=0):
        self.slot[0] += sent
        self.slot[1] += received

    def look(self, date):
        return self.lib.period_look(ctypes.byref(self.account), self.slot, days(date))

    def bytes(self):
        return tuple(
            self.lib.account_bytes(ctypes.byref(self.account), self.slot, way) for way in range(2)
        )

    @property
    def start(self):
        return str(EPOCH + datetime.timedelta(self.account.start))


def days(date):
    return (datetime.date.fromisoformat(date) - EPOCH).days


# --- what may carry


def is_over(p):
    return p.metric >> 17 & 1


def test_no_data_over_the_cap_while_another_path_lives(lib):
    """In every mode, for new data and copies; one in recovery lives, and so does any backup."""
    rng = random.Random(1)
    seen = 0
    for _ in range(10_000):
        c = any_steered(rng)
        for p in c.paths:
            p.metric |= (rng.random() < 0.4) << 17
        active = [i for i, p in enumerate(c.paths) if p.flags & ACTIVE]
        spared = {i for i in active if is_over(c.paths[i])}
        for mode in MODES:
            for copy in (0, 1):
                may, notes = Steered(lib).filter(c, mode, NO_DEADLINE, copy=copy)
                assert may or not active
                if set(active) != spared:
                    assert not may & spared, (c, mode, copy)
                if not copy:
                    assert bool(notes & OVER_CAP) == any(map(is_over, c.paths))
        seen += bool(spared) and set(active) != spared
    assert seen > 3000


def test_over_the_cap_ranks_count_as_before(lib):
    """Where all are over it, as if none were."""
    rng = random.Random(2)
    for _ in range(3_000):
        c, over = (any_steered(random.Random(seed)) for seed in [rng.random()] * 2)
        for p in over.paths:
            p.metric |= OVER
        for mode in (AUTO, STANDBY, REDUNDANT):
            assert Steered(lib).filter(c, mode)[0] == Steered(lib).filter(over, mode)[0]


def test_standby_leaves_a_path_at_its_cap_at_once(lib):
    rng = random.Random(3)
    c = any_steered(rng)
    while len(c.paths) != 2 or any(p.flags & (LOSS | BACKUP) for p in c.paths):
        c = any_steered(rng)
    for p in c.paths:
        p.flags |= ACTIVE
    s = Steered(lib)
    c.paths[0].metric, c.paths[1].metric = metric(0, over=1), metric(1, over=1)
    assert s.filter(c, STANDBY)[0] == {0}
    # the other one's period is over: there is nothing to stay for
    c.paths[1].metric = metric(1)
    assert s.filter(c, STANDBY)[0] == {1}
    c.paths[0].metric = metric(0)
    # a lower rank is back: only after a second
    assert s.filter(c, STANDBY)[0] == {1}
    c.paths[1].metric = metric(1, over=1)
    assert s.filter(c, STANDBY)[0] == {0}


def test_what_is_blocked_carries_nothing(lib):
    """Neither new data nor old: idle, it would be the timer's first choice."""
    both = ACTIVE | SENDS
    for over, wanted in ((0, both), (OVER, both), (OVER | BLOCKED, 0)):
        c = any_steered(random.Random(4))
        while not c.paths:
            c = any_steered(random.Random(5))
        c.paths[0].flags |= both
        snap = ctypes.create_string_buffer(c.snapshot())
        assert lib.capped(snap, over) & both == wanted


def test_over_the_cap_no_probes(lib):
    paths = any_steered(random.Random(6))
    while len(paths.paths) < 2:
        paths = any_steered(random.Random(7))
    c = Conn(paths.paths[:2], pending=1000, unit=1000)
    found = []
    for over in (0, 1):
        snap = ctypes.create_string_buffer(c.snapshot())
        found.append(lib.probes(snap, metric(0, over=over)))
    assert not found[1]


# --- accounts


def test_both_ways_and_what_waits_count(lib):
    a = Account(cap=1000)
    for sent, received, queued, over in (
        (999, 0, 0, 0),
        (1000, 0, 0, 1),
        (500, 500, 0, 1),
        (500, 499, 0, 0),
        (500, 499, 1, 1),
        (0, 0, 1000, 1),
    ):
        slot = (ctypes.c_uint64 * 2)(sent, received)
        assert lib.account_is_over(ctypes.byref(a), slot, queued) == over
    a.cap = 0
    assert not lib.account_is_over(ctypes.byref(a), (ctypes.c_uint64 * 2)(1 << 62, 0), 0)


def test_less_than_nothing_is_nothing(lib):
    """Looks overtake each other, and for a moment there are fewer bytes than when it was reset."""
    a = Account(cap=1000, base=(100, 100))
    slot = (ctypes.c_uint64 * 2)(90, 150)
    assert lib.account_bytes(ctypes.byref(a), slot, 0) == 0
    assert lib.account_bytes(ctypes.byref(a), slot, 1) == 50
    assert not lib.account_is_over(ctypes.byref(a), slot, 0)


# --- periods


def test_dates(lib):
    """Every day until 2110, there and back."""
    for n in range(days("2110-01-01")):
        date = EPOCH + datetime.timedelta(n)
        got = (ctypes.c_int32 * 3)()
        lib.date_of(n, got)
        assert tuple(got) == (date.year, date.month, date.day)
        assert lib.days_of(*got) == n
    assert lib.days_of(1969, 12, 31) == 0


def started(lib, date, period, day=1):
    return str(EPOCH + datetime.timedelta(lib.period_start(days(date), period, day)))


@pytest.mark.parametrize(
    ("date", "day", "start"),
    [
        ("2026-11-26", 1, "2026-11-01"),
        ("2026-11-01", 1, "2026-11-01"),
        ("2026-11-14", 15, "2026-10-15"),
        ("2026-11-15", 15, "2026-11-15"),
        ("2027-01-14", 15, "2026-12-15"),
        # no 31st: the last day
        ("2026-11-29", 31, "2026-10-31"),
        ("2026-11-30", 31, "2026-11-30"),
        ("2026-12-30", 31, "2026-11-30"),
        ("2026-12-31", 31, "2026-12-31"),
        ("2027-02-28", 29, "2027-02-28"),
        ("2028-02-28", 29, "2028-01-29"),
        ("2028-02-29", 29, "2028-02-29"),
        ("2028-02-29", 31, "2028-02-29"),
        ("2100-02-28", 30, "2100-02-28"),
        ("2000-02-28", 30, "2000-01-30"),
    ],
)
def test_months(lib, date, day, start):
    assert started(lib, date, MONTH, day) == start


def test_weeks_begin_on_monday(lib):
    for n in range(3000):
        date = EPOCH + datetime.timedelta(n)
        monday = date - datetime.timedelta(date.weekday())
        if monday >= EPOCH:
            assert started(lib, str(date), WEEK) == str(monday)
    assert started(lib, "2026-11-26", DAY) == "2026-11-26"


def test_each_period_begins_where_the_one_before_ends(lib):
    for period, day in [(DAY, 1), (WEEK, 1), *((MONTH, day) for day in (1, 15, 29, 30, 31))]:
        before = days("2019-12-05")
        at = lib.period_start(before, period, day)
        for n in range(before, before + 4000):
            start = lib.period_start(n, period, day)
            assert start in (at, lib.period_next(at, period, day)) and start <= n
            assert start == n or start == at
            at = start


def test_a_period_ends_once(lib):
    """And all bytes are in one of them, whenever one looks."""
    rng = random.Random(8)
    for _ in range(300):
        k, all_bytes, had = Kept(lib, rng.choice([DAY, WEEK, MONTH]), rng.randint(1, 31)), 0, 0
        day = days("2026-01-01")
        for _ in range(60):
            start, before = k.account.start, sum(k.bytes())
            k.look(str(EPOCH + datetime.timedelta(day)))
            if start and k.account.start != start:
                assert sum(k.bytes()) == 0 and sum(k.account.before) == before
                had += before
            some = rng.randrange(1000), rng.randrange(1000)
            k.count(*some)
            all_bytes += sum(some)
            day += rng.choice([0, 0, 1, 6, 20])
        assert had + sum(k.bytes()) == all_bytes


def test_the_same_look_twice_changes_nothing(lib):
    k = Kept(lib)
    assert k.look("2026-11-26")
    k.count(5)
    assert not k.look("2026-11-27")
    assert k.bytes() == (5, 0)


def test_a_clock_that_goes_back_over_the_border(lib):
    """The new period has begun, and goes on: it ends no second time."""
    k = Kept(lib)
    k.look("2026-11-30")
    k.count(100)
    k.look("2026-12-01")
    k.count(7)
    for date in ("2026-11-30", "2026-12-01", "2026-11-30", "2026-12-01", "2026-12-31"):
        k.look(date)
        assert (k.start, k.bytes()) == ("2026-12-01", (7, 0)), date
    k.look("2027-01-01")
    assert k.bytes() == (0, 0)


def test_a_clock_without_a_battery(lib):
    """It begins long ago, until it is set: the period goes on."""
    k = Kept(lib)
    k.look("2026-11-20")
    k.count(100)
    for date in ("1970-01-01", "1971-05-05", "2025-03-03", "2026-11-20"):
        k.look(date)
        k.count(1)
        assert k.start == "2026-11-01"
    assert k.bytes() == (104, 0)


def test_a_clock_that_leaps_and_comes_back(lib):
    """What was before the leap and what came in it are one period again."""
    k = Kept(lib)
    k.look("2026-11-20")
    k.count(100, 50)
    k.look("2099-01-01")
    assert k.bytes() == (0, 0)
    k.count(7)
    k.look("2026-11-20")
    assert (k.start, k.bytes()) == ("2026-11-01", (107, 50))
    k.look("2026-12-01")
    assert (k.start, k.bytes()) == ("2026-12-01", (0, 0))


def test_a_clock_that_was_ahead_for_long(lib):
    """The account was opened then: months end all the same."""
    k = Kept(lib)
    k.look("2099-01-01")
    k.count(100)
    k.look("2026-11-20")
    assert k.bytes() == (100, 0)
    k.look("2026-12-02")
    assert (k.start, k.bytes()) == ("2026-12-01", (0, 0))


def test_before_there_is_a_clock(lib):
    """The first look at 1970-01-01 opens nothing; what is counted until the clock is set stays."""
    for period, day, start in (
        (DAY, 1, "2026-11-20"),
        (WEEK, 1, "2026-11-16"),
        (MONTH, 15, "2026-11-15"),
    ):
        k = Kept(lib, period, day)
        k.look("1970-01-01")
        assert k.account.start == k.account.seen == 0
        k.count(3)
        k.look("2026-11-20")
        assert (k.start, k.bytes()) == (start, (3, 0))
