# SPDX-License-Identifier: GPL-2.0
"""QueueAware: its choice against equation (3) taken packet by packet, its measure of S."""

import ctypes
import itertools
import random
from dataclasses import astuple, dataclass, replace

import hostlib
import pytest
from hostlib import ACTIVE, BACKUP, LOSS, MAX_BURST, NO_ROOM, NO_SUBFLOW, SNDBUF, WAIT

U32 = ctypes.c_uint32
QUEUE_MAX = 16383
ALPHA = 800
MSS = 1000


@pytest.fixture(scope="session")
def lib():
    found = hostlib.make_library("queueaware.c", hostlib.OUT / "queueaware.so")
    for name in ("metric", "queued", "service_us", "size", "leaves", "acked", "mean"):
        getattr(found, name).restype = U32
    found.pick.argtypes = [
        ctypes.c_void_p,
        U32,
        ctypes.c_uint64,
        ctypes.c_uint64,
        U32,
        ctypes.c_void_p,
    ]
    return found


# --- the choice


@dataclass
class P:
    packets: int = 0
    service: int = 20000
    srtt: int = 20000
    cwnd: int = 100
    inflight: int = 0
    mss: int = MSS
    unsent: int = 0
    flags: int = ACTIVE | SNDBUF

    def room(self):
        return max(0, (self.cwnd - self.inflight) * self.mss - self.unsent)

    def available(self):
        wanted = self.flags & (ACTIVE | SNDBUF | LOSS) == ACTIVE | SNDBUF
        return wanted and self.room() >= self.mss

    def known(self):
        return self.service or self.srtt

    def cost(self):
        """n_k * S_k, then S_k."""
        s = self.known()
        return (self.packets * s, s) if s else (float("inf"), float("inf"))


def ask(lib, paths, pending=1 << 20, wnd_left=1 << 30, unit=1):
    rows = (U32 * 8 * len(paths))(*[(U32 * 8)(*astuple(p)) for p in paths])
    answer = (ctypes.c_int32 * 3)()
    lib.pick(rows, len(paths), pending, wnd_left, unit, answer)
    return list(answer)


def expected(paths, pending, wnd_left, unit):
    """Equation (3), one packet after the other until it would change its mind."""
    usable = [p for p in paths if p.flags & ACTIVE]
    if not usable:
        return [WAIT, NO_SUBFLOW, 0]
    tier = min(p.flags & BACKUP for p in usable)
    fit = [
        i
        for i, p in enumerate(paths)
        if p.flags & ACTIVE and p.flags & BACKUP == tier and p.available()
    ]
    if not fit:
        return [WAIT, NO_ROOM, 0]
    for i in fit:
        p = paths[i]
        if not p.known() and not p.inflight and not p.unsent and pending > unit:
            break
    else:
        i = min(fit, key=lambda k: (paths[k].cost(), k))
    p = paths[i]
    most = min(p.room(), wnd_left, MAX_BURST)
    if not p.srtt and unit:
        most = min(most, unit)
    if not p.known():
        return [i, 0, most]
    rest = [paths[k].cost() for k in fit if k != i and paths[k].known()]
    now, given = replace(p), 0
    while given < most:
        if given and rest and min(rest) < now.cost():
            break
        given += p.mss
        now.packets += 1
    return [i, 0, min(given, most)]


def random_path(rng):
    known = rng.random() < 0.85
    service = rng.choice([rng.randrange(1, 60), rng.randrange(1, 8192)])
    cwnd = rng.randrange(1, 80)
    return P(
        packets=rng.choice([0, 0, 1, rng.randrange(50), rng.randrange(QUEUE_MAX + 1)]),
        service=service if known and rng.random() < 0.8 else 0,
        srtt=rng.randrange(1, 8192) if known else 0,
        cwnd=cwnd,
        inflight=rng.choice([0, 0, rng.randrange(cwnd + 2)]),
        mss=rng.choice([500, 1000, 1448]),
        unsent=rng.choice([0, 0, 0, rng.randrange(3000)]),
        flags=rng.choices(
            [ACTIVE | SNDBUF, ACTIVE | SNDBUF | BACKUP, ACTIVE, 0, ACTIVE | SNDBUF | LOSS],
            [8, 2, 1, 1, 1],
        )[0],
    )


def test_packet_by_packet(lib):
    """Random states against the oracle; each kind of answer occurs."""
    rng = random.Random(1)
    seen = {"waits": 0, "turns": 0, "ties": 0, "first": 0, "bursts": 0}
    for _ in range(10000):
        paths = [random_path(rng) for _ in range(rng.randrange(1, 9))]
        if rng.random() < 0.2:
            paths = [replace(p, packets=0) for p in paths]
        pending = rng.choice([1, 1 << 16, 1 << 20])
        wnd_left = rng.choice([rng.randrange(1, 5000), 1 << 30])
        unit = rng.choice([0, 1, 1448, 32768])
        want = expected(paths, pending, wnd_left, unit)
        assert ask(lib, paths, pending, wnd_left, unit) == want, (paths, want)
        i, _, given = want
        seen["waits"] += i < 0
        if i >= 0:
            p = paths[i]
            seen["first"] += not p.known()
            seen["turns"] += 1 < -(-given // p.mss) and given < min(p.room(), wnd_left, MAX_BURST)
            seen["bursts"] += given == MAX_BURST
            seen["ties"] += p.cost()[0] == 0
    assert all(count > 50 for count in seen.values()), seen


def test_the_longer_queue_loses_though_its_path_is_faster(lib):
    """minRTT would take the first: 10 packets at 20 ms against 1 at 50 ms."""
    fast, slow = P(packets=10, srtt=20000), P(packets=1, service=50000, srtt=50000)
    assert ask(lib, [fast, slow])[0] == 1
    # three more make it 200 ms, as much as the other's, whose service time is less
    assert ask(lib, [fast, slow])[2] == 3 * MSS
    assert ask(lib, [replace(fast, packets=2), slow])[0] == 0


def test_empty_queues_are_decided_by_the_service_time(lib):
    assert ask(lib, [P(service=30000, srtt=10000), P(service=20000, srtt=90000)])[0] == 1


def test_metric_keeps_both_numbers(lib):
    rng = random.Random(2)
    values = [0, 1, 8191, 8192, 16383, 16384, (1 << 32) - 1]
    values += [rng.randrange(1 << rng.randrange(1, 33)) for _ in range(20000)]
    for s in values:
        n = rng.choice([0, 1, QUEUE_MAX, QUEUE_MAX + 1, rng.randrange(20000), 2**32 - 1])
        word = lib.metric(U32(n), U32(s))
        word = U32(word)
        assert lib.queued(word) == min(n, QUEUE_MAX)
        back = lib.service_us(word, U32(0))
        assert s - s // 4096 <= back <= s if s > 8191 else back == s
        assert lib.service_us(word, U32(77)) == (back or 77)


# --- the measure


class Service:
    def __init__(self, lib):
        self.lib, self.state = lib, (ctypes.c_char * lib.size())()

    def leaves(self, end, now, handed, spacing=0):
        return self.lib.leaves(self.state, *(U32(x % 2**32) for x in (end, now, handed, spacing)))

    def acked(self, ack, now, holes=0, alpha=ALPHA):
        return self.lib.acked(self.state, *(U32(x % 2**32) for x in (ack, now, holes, alpha)))

    @property
    def mean(self):
        return self.lib.mean(self.state)


@pytest.fixture
def service(lib):
    return Service(lib)


def test_x_is_the_round_trip_without_the_wait(service):
    """RTT 90 ms, of which 40 in the queue; numbers and clock wrap on the way."""
    start, clock = 2**32 - 2500, 2**32 - 60000
    for k in range(1, 6):
        handed = clock + 100000 * k
        assert service.leaves(start + MSS * k, handed + 40000, handed) == 40000
        assert service.acked(start + MSS * k, handed + 90000) == 50000
    assert service.mean == 50000


def test_the_mean_is_the_papers(service):
    want, rng, now = 0, random.Random(3), 0
    for k in range(1, 2000):
        x = rng.randrange(1, 10**6)
        now += 2 * 10**6
        service.leaves(MSS * k, now, now)
        assert service.acked(MSS * k, now + x) == x
        want = 0.8 * want + 0.2 * x if want else x
        assert abs(service.mean - want) < 6  # what five truncations add up to
    before = service.mean
    service.leaves(MSS * 2000, now, now)
    service.acked(MSS * 2000, now + 5000, alpha=0)
    assert before != service.mean == 5000


def test_the_wait_never_reaches_the_mean(service):
    """The local queue grows to a second, the service stays at 30 ms."""
    now = 0
    for k in range(1, 101):
        now += 20000
        assert service.leaves(MSS * k, now + 10000 * k, now) == 10000 * k
        assert service.acked(MSS * k, now + 10000 * k + 30000) == 30000
    assert service.mean == 30000


def test_a_packet_that_was_sent_twice_gives_no_sample(service):
    service.leaves(1 * MSS, 100, 0)
    service.leaves(2 * MSS, 200, 0)
    service.leaves(1 * MSS, 9000, 8900)
    service.leaves(3 * MSS, 9100, 9000)
    assert service.acked(1 * MSS, 9500) == 0
    assert service.acked(2 * MSS, 9600) == 0
    assert service.mean == 0
    assert service.acked(3 * MSS, 9700) == 600  # was sent after it
    # covers both at once, and nothing newer is known
    service.leaves(4 * MSS, 10000, 10000)
    service.leaves(4 * MSS, 12000, 11000)
    assert service.acked(5 * MSS, 12500) == 0
    service.leaves(6 * MSS, 13000, 13000)
    assert service.acked(6 * MSS, 13400) == 400


def test_a_busy_driver_is_no_retransmission(service):
    """The same transmission leaves again: the time in the driver's queue counts as W."""
    service.leaves(MSS, 1000, 400)
    assert service.leaves(MSS, 5000, 400) == 4600
    assert service.acked(MSS, 6000) == 1000


def test_holes_give_no_sample(service):
    service.leaves(MSS, 100, 0)
    service.leaves(2 * MSS, 200, 0)
    assert service.acked(MSS, 900, holes=1) == 0
    assert service.acked(2 * MSS, 900) == 700


def test_the_newest_covered_packet_counts(service):
    """A delayed acknowledgement is the answer to the last one."""
    for k in (1, 2, 3):
        service.leaves(k * MSS, 1000 * k, 0)
    assert service.acked(2 * MSS, 2500) == 500
    assert service.acked(2 * MSS, 2600) == 0  # a duplicate
    assert service.acked(3 * MSS, 3500) == 500


def test_an_acknowledgement_of_a_later_packet_is_the_last_choice(service):
    """X would have the gap to that packet in it; without any other it has to do."""
    inexact = [0] * 7 + [600]
    for k, want in enumerate(inexact + inexact, 1):
        service.leaves(10 * k * MSS, 1000 * k, 0)
        assert service.acked(10 * k * MSS + MSS, 1000 * k + 600) == want
        service.leaves(10 * k * MSS + MSS, 1000 * k + 700, 0)
        if k == 8:
            assert service.acked(10 * k * MSS + MSS, 1000 * k + 800) == 100
        else:
            service.acked(10 * k * MSS + MSS, 1000 * k + 800, holes=1)


def test_a_large_flight_is_sampled_evenly(service):
    """400 packets in flight, 32 departures: every 13th is kept, each gives a sample."""
    spacing = 400 * MSS // 32
    at = []
    for k in range(1, 4000):
        service.leaves(k * MSS, 100 * k, 0, spacing)
        if k > 400 and service.acked((k - 400) * MSS, 100 * k):
            at.append(k)
    assert {b - a for a, b in itertools.pairwise(at)} == {13}
    assert at[-1] - at[0] > 3500
    assert service.mean == 100 * 400


def test_an_early_departure_time_is_no_wait(service):
    """TCP's pacing stamps packets ahead of their time."""
    assert service.leaves(MSS, 1000, 3000) == 0
    assert service.acked(MSS, 2000) == 1000
