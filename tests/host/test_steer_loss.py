# SPDX-License-Identifier: GPL-2.0
"""Steering's loss threshold: which part of a path's last segments was lost, and for how long."""

import ctypes
import random
from fractions import Fraction

import pytest
from steering import library

SECOND = 1_000_000
LEAST, MANY, HALF = 128, 256, 10 * SECOND


@pytest.fixture(scope="module")
def lib():
    return library()


class Subflow:
    """TCP's totals of one, from anywhere on, and what steering says of it."""

    def __init__(self, lib, most, *, lost=0, sent=0, now=0):
        self.lib, self.most = lib, most
        self.total, self.now = [lost, sent], now
        self.state = (ctypes.c_uint32 * 6)(lost, sent, 0, 0, now)

    def send(self, sent, lost=0, us=1000):
        self.total = [self.total[0] + lost, self.total[1] + sent]
        self.now += us
        look = (ctypes.c_uint32 * 3)(*(n % 2**32 for n in (*self.total, self.now)))
        return self.lib.loss_look(self.state, look, self.most)


class Sums:
    """The same by fractions of segments."""

    def __init__(self, most):
        self.most, self.lost, self.sent = Fraction(most, 100), Fraction(0), Fraction(0)
        self.since, self.now, self.over = 0, 0, False

    def send(self, sent, lost, us):
        self.now += us
        times = (self.now - self.since) // HALF or int(self.sent >= MANY)
        if times:
            self.lost, self.sent = self.lost / 2**times, self.sent / 2**times
            self.since = self.now
        self.lost += lost
        self.sent += sent
        limit = self.most * (Fraction(7, 8) if self.over else 1) * max(self.sent, LEAST)
        self.over = self.lost > limit
        return self.over, abs(self.lost - limit)


def test_by_the_sums(lib):
    """Random looks, but where what halves lose would decide; with totals that begin again at 0."""
    rng, both = random.Random(1), [0, 0]
    for most in (1, 5, 20, 50):
        flow = Subflow(lib, most, lost=2**32 - 300, sent=2**32 - 900, now=2**32 - SECOND)
        sums = Sums(most)
        for _ in range(20_000):
            sent = rng.choice([0, 1, 2, 10, 45, 300])
            part = most / 100 * rng.choice([0, 0.5, 1, 1.5, 2])
            lost = sum(rng.random() < part for _ in range(sent))
            us = rng.choice([100, 20_000, SECOND, 11 * SECOND, 45 * SECOND] if sent < 3 else [500])
            found = flow.send(sent, lost, us)
            wanted, away = sums.send(sent, lost, us)
            if found != wanted:
                assert away < Fraction(1, 2), (most, found)
                sums.over = bool(found)
            both[found] += 1
    assert min(both) > 5000, both


def test_few_segments_say_little(lib):
    """Two of three that are lost; of 128 it takes as many as the threshold says."""
    assert not Subflow(lib, 2).send(3, 2)
    assert Subflow(lib, 2).send(3, 3)
    assert [Subflow(lib, 5).send(128, lost) for lost in (6, 7)] == [0, 1]
    assert [Subflow(lib, 50).send(10, lost) for lost in (10,)] == [0]


def test_the_loss_threshold_has_hysteresis(lib):
    """Over 8 %, and back below 7 %."""
    flow = Subflow(lib, 8)
    assert [flow.send(0), flow.send(200, 16), flow.send(0, 1)] == [0, 0, 1]
    assert [flow.send(40), flow.send(2), flow.send(2)] == [1, 1, 0]
    assert not flow.send(0)
    assert Subflow(lib, 8).send(200, 17)


def test_only_the_last_segments_count(lib):
    """A path that was good for a million segments is found bad within some hundred."""
    flow = Subflow(lib, 5)
    for _ in range(10_000):
        assert not flow.send(100, 1)
    assert any(flow.send(10, 2) for _ in range(30))


def test_time_forgives(lib):
    """A path without new data is tried again within a minute: it had a quarter lost, of 5 %."""
    flow = Subflow(lib, 5)
    for _ in range(20):
        flow.send(50, 12)
    assert flow.send(0)
    waited = next(s for s in range(1000) if s == 999 or not flow.send(0, us=SECOND))
    assert 20 <= waited <= 60
    # nobody looked meanwhile
    for _ in range(20):
        flow.send(50, 12)
    assert not flow.send(0, us=60 * SECOND)


def test_what_was_long_ago_says_nothing(lib):
    """A first look at a subflow of a million segments, of which a few per mille were lost."""
    for sent, lost in ((10_000_000, 30_000), (1_000_000, 2_500)):
        flow = Subflow(lib, 2)
        assert not flow.send(sent, lost)
        assert flow.send(200, 20)


def test_what_the_receiver_had_was_not_lost(lib):
    """A timeout that was too early: sent again, and taken back by D-SACK a round trip later."""
    flow = Subflow(lib, 5)
    assert [flow.send(200), flow.send(40, 40), flow.send(1, -40)] == [0, 1, 0]
    # more than is counted of late takes nothing from what comes
    assert not flow.send(0, -500, us=31 * SECOND)
    assert flow.send(200, 20)


def test_without_a_threshold_none_is_over(lib):
    assert not Subflow(lib, 0).send(1000, 1000)
