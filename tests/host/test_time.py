# SPDX-License-Identifier: GPL-2.0
"""model/estimate.h: estimates against whole numbers without a limit, and what each switch does."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import headers
import pytest
from headers import ARRIVAL, GROW, MOST_BYTES, MOST_RTT, RATE, SECOND
from hostlib import Path_
from stateful import UNKNOWN, draw

STATES = 20_000
SIZES = (0, 1, 1 << 20, MOST_BYTES - 1, MOST_BYTES, MOST_BYTES + 1, 1 << 63, 2**64 - 1)


def any_bytes(rng, p):
    """Also those that just fit into what is free, or into one more round."""
    steps, _ = headers.rooms(p, GROW)
    edge = sum(steps[: rng.randint(1, len(steps))]) - p.unsent + rng.randint(-1, 1)
    return rng.choice([max(0, edge), draw(rng, 1 << 40), rng.choice(SIZES)])


def states(seed, count):
    """(path, bytes, switches)"""
    rng = random.Random(seed)
    for _ in range(count):
        p = headers.any_carrier(rng, rng.choice(["wide", "small", "real"]))
        yield p, any_bytes(rng, p), rng.randrange(4)


def samples(seed, count):
    """Of the delivery rate: segments, bytes of each, how long they took, the window, lowest RTT."""
    rng = random.Random(seed)
    for _ in range(count):
        rtt = rng.choice((0, 7, 20_000, 60_000, rng.randrange(UNKNOWN), UNKNOWN))
        limit = rtt + rtt // 8
        took = rng.choice((0, 1, rtt, limit - 1, limit, limit + 1, rng.randrange(UNKNOWN)))
        segments = rng.choice((0, 1, 2, 3, 10, 65535, 1 << 31))
        cwnd = min(rng.choice((1, 10, 4 * segments, 4 * segments + 1)), UNKNOWN)
        yield segments, rng.choice((1, 1448, 65535)), max(0, min(took, UNKNOWN)), cwnd, rtt


def extremes():
    fields = ("cwnd", "mss", "srtt", "inflight", "unsent", "ssthresh", "rate")
    ends = (
        (1, 10, UNKNOWN),
        (1, 1448, 65535),
        (1, MOST_RTT, MOST_RTT + 1, UNKNOWN),
        (0, 9, UNKNOWN),
        (0, UNKNOWN),
        (2, UNKNOWN),
        (0, 1, UNKNOWN),
    )
    for values in itertools.product(*ends):
        p = Path_(**dict(zip(fields, values, strict=True)))
        yield from ((p, n, how) for n in SIZES[1::2] for how in (0, GROW | RATE))


def faults(lib, seed, count):
    wrong, rng = set(), random.Random(seed)
    for p, n, how in states(seed, count):
        if lib.finish_us(p.pack(), n, how) != headers.finish(p, n, how):
            wrong.add("finish")
        p.behind = rng.choice((0, p.srtt, p.srtt // 2, UNKNOWN, rng.randrange(UNKNOWN)))
        for h in (how, how | ARRIVAL):
            if lib.done_us(p.pack(), n, h) != headers.done(p, n, h):
                wrong.add("done")
        if lib.duration(n, p.rate) != headers.duration(n, p.rate):
            wrong.add("duration")
        if lib.known_rate(p.pack()) != headers.known_rate(p):
            wrong.add("rate")
    for sample in samples(seed, count):
        if lib.full_rate(*sample) != headers.full_rate(*sample):
            wrong.add("sample")
    return wrong


def test_random_states(lib):
    assert not faults(lib, 1, STATES)


def test_extremes(lib):
    """The largest that the fields hold, and sizes beyond the limit: nothing overflows."""
    for p, n, how in extremes():
        assert lib.finish_us(p.pack(), n, how) == headers.finish(p, n, how), (p, n, how)
    for n, rate in itertools.product(SIZES, (0, 1, SECOND, 1 << 33, 2**64 - 1)):
        assert lib.duration(n, rate) == headers.duration(n, rate)
    assert lib.duration(2**64 - 1, 0) == MOST_BYTES * SECOND
    assert lib.full_rate(UNKNOWN, 65535, UNKNOWN, 0, 0) == MOST_BYTES * SECOND // UNKNOWN


def test_more_takes_longer(lib):
    rng = random.Random(2)
    for p, _, how in states(3, STATES // 4):
        sizes = sorted([*SIZES, *[any_bytes(rng, p) for _ in range(4)]])
        times = [lib.finish_us(p.pack(), n, how) for n in sizes]
        assert times == sorted(times), (p, how)
        assert times[0] >= min(p.srtt, MOST_RTT)


def test_without_switches_a_window_per_round_trip(lib):
    """The papers' speed, in rational numbers; neither ssthresh nor the rate counts."""
    for p, n, _ in states(4, STATES // 4):
        fluid = Fraction(min(p.srtt, MOST_RTT)) / headers.window(p, p.cwnd)
        free = headers.window(p, max(0, p.cwnd - p.inflight))
        left = min(min(n, MOST_BYTES) + p.unsent, MOST_BYTES) - free
        exact = min(p.srtt, MOST_RTT) + max(0, left) * fluid
        assert exact - 1 < lib.finish_us(p.pack(), n, 0) <= exact
        other = replace(p, ssthresh=2, rate=1)
        assert lib.finish_us(other.pack(), n, 0) == lib.finish_us(p.pack(), n, 0)


@pytest.mark.parametrize("rounds", range(1, 10))
def test_growth_doubles_the_window(lib, rounds):
    """Idle, 10 segments of 1000 bytes: k round trips carry 10,000 * (2^k - 1) bytes."""
    p = Path_(srtt=20_000, cwnd=10)
    carried = 10_000 * (2**rounds - 1)
    assert lib.finish_us(p.pack(), carried, GROW) == rounds * 20_000
    if rounds < 9:
        assert lib.finish_us(p.pack(), carried + 1, GROW) == (rounds + 1) * 20_000
    assert lib.finish_us(p.pack(), carried, 0) == 20_000 + (carried - 10_000) * 2
    # to ssthresh and no further: 10, 15, 15, ... segments
    limited = replace(p, ssthresh=15)
    if rounds > 2:
        more = 20_000 + (carried - 10_000 - 15_000) * 20_000 // 15_000
        assert lib.finish_us(limited.pack(), carried, GROW) == 20_000 + more
    # which it has reached already
    full = replace(p, ssthresh=10)
    assert lib.finish_us(full.pack(), carried, GROW) == lib.finish_us(full.pack(), carried, 0)


def test_no_faster_than_the_known_rate(lib):
    """With MPS_EST_RATE never earlier, and never more than the rate gives."""
    later = 0
    for p, n, how in states(5, STATES // 4):
        without = lib.finish_us(p.pack(), n, how & ~RATE)
        t = lib.finish_us(p.pack(), n, how | RATE)
        assert t >= without
        later += t > without
        if p.rate:
            everything = min(min(n, MOST_BYTES) + p.unsent, MOST_BYTES)
            assert (t + 1) * headers.known_rate(p) > everything * SECOND
        else:
            assert t == without
    assert later > STATES / 40


def test_in_its_first_slow_start_a_path_may_do_twice_its_rate(lib):
    p = Path_(srtt=1000, cwnd=1000, rate=1_000_000, ssthresh=999)
    assert lib.finish_us(p.pack(), 500_000, RATE) == 1000 + 500_000
    p.ssthresh = UNKNOWN
    assert lib.finish_us(p.pack(), 500_000, RATE) == 1000 + 250_000
    # what is in flight goes first, as far as the RTT does not have it already
    p.inflight = 100
    assert lib.finish_us(p.pack(), 500_000, RATE) == 50_000 + 250_000
    p.rate = UNKNOWN
    assert lib.known_rate(p.pack()) == 2 * UNKNOWN
