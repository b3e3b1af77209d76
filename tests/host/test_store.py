# SPDX-License-Identifier: GPL-2.0
"""state/subflow_state.h: rates, penalties and idle times beside plain statements of them.

Times of the statements have no limit; the header sees their low halves.
"""

import random
from ctypes import c_uint32
from fractions import Fraction

import pytest
from hostlib import CARRIED, DROPPED, Path_
from stateful import UNKNOWN, draw

SOURCE = "store.c"

U32 = 1 << 32
RATE_US = 10_000_000
TICK_US = 8192
SHARE = 256
LEAST_SHARE = SHARE // 4
RTTS = 32
STATES = 20_000


def start(rng):
    """A time, often just before the low half wraps."""
    return rng.choice([0, U32 - rng.randint(0, 3 * RATE_US), rng.getrandbits(40)])


def wrong_rates(lib, rng, steps):
    """The highest rate of the last while, longer in slow start."""
    state, now = (c_uint32 * 2)(), start(rng)
    believed, since = 0, None
    for _ in range(steps):
        now += rng.choice([0, 1000, RATE_US // 4, rng.randint(0, 7 * RATE_US)])
        if since is not None and rng.random() < 0.2:
            # on the limit or beside it
            limit = since + rng.choice([1, 6]) * RATE_US + rng.choice([-1, 0, 1])
            now = max(now, limit)
        sample = rng.choice([0, believed, draw(rng, UNKNOWN), rng.randint(0, believed)])
        cwnd, ssthresh = rng.choice([(9, 10), (10, 10), (11, 10), (9, UNKNOWN)])
        limit = RATE_US * (6 if cwnd < ssthresh else 1)
        aged = since is None or now - since > limit
        if sample and (sample >= believed or aged):
            believed, since = sample, now
        if lib.filter_rate(state, cwnd, ssthresh, sample, now % U32) != believed:
            return True
    return False


def withheld(penalty, since, rtt, now):
    """Of SHARE parts; all of it is back after RTTS round trips."""
    back = Fraction((now - since) * SHARE, max(rtt, 1) * RTTS)
    return max(0, penalty - int(back))


def wrong_penalties(lib, rng, steps):
    """What may be used is halved at most once per round trip, and comes back evenly."""
    state, now = (c_uint32 * 2)(), start(rng)
    penalty, since = 0, now
    rtt = rng.choice([0, 1, rng.randint(1000, 600_000), 1 << 22])
    for _ in range(steps):
        gaps = [
            0,
            1,
            rtt // 3,
            rtt - 1,
            rtt,
            rtt + 1,
            RTTS * rtt,
            rng.randint(0, 40 * rtt),
        ]
        now += max(0, rng.choice(gaps))
        if rng.random() < 0.5:
            carried = rng.random() < 0.8
            first = rng.random() < 0.2
            ssthresh = UNKNOWN if first else draw(rng, UNKNOWN - 1)
            if carried and not first and not (penalty and now - since < rtt):
                used = SHARE - withheld(penalty, since, rtt, now)
                penalty = min(SHARE - used + used // 2, SHARE - LEAST_SHARE)
                since = now
            if lib.penalise(state, rtt, ssthresh, carried, now % U32) != penalty:
                return True
        else:
            cwnd = rng.choice([1, 2, 10, draw(rng, UNKNOWN), UNKNOWN])
            left = withheld(penalty, since, rtt, now) if penalty else 0
            penalty = penalty if left else 0
            right = max(1, cwnd * (SHARE - left) // SHARE)
            if lib.withhold(state, rtt, cwnd, now % U32) != right:
                return True
            if state[0] != penalty:
                return True
    return False


def restart(cwnd, idle, rto):
    """tcp_slow_start_after_idle_check() and tcp_cwnd_restart() of the kernel."""
    if idle <= rto or not rto:
        return cwnd
    least = min(cwnd, 10)
    idle -= rto
    while idle > 0 and cwnd > least:
        cwnd >>= 1
        idle -= rto
    return max(cwnd, least)


def idle_states(rng, count):
    for _ in range(count):
        rto = rng.choice([0, 1, 204, draw(rng, 120_000)])
        idle = rto * rng.randint(0, 40) + rng.choice([-1, 0, 1, rng.randint(0, rto)])
        idle = rng.choice([idle, draw(rng, 1 << 31)])
        yield rng.choice([1, 9, 10, 11, draw(rng, UNKNOWN)]), max(0, idle), rto


def six(*given):
    """One range that a path was given, or two: start, end, when."""
    return (c_uint32 * 6)(*(x % U32 for x in given))


def wrong_drops(lib, rng):
    """Two bursts, of which TCP has everything; the oldest byte, not acknowledged, is lost then."""
    mss, srtt = rng.choice([100, 1428]), rng.choice([0, 20_000, 300_000])
    start = rng.getrandbits(32)
    end = start + rng.randint(1, 60_000)
    given = rng.getrandbits(32)
    frag = start + rng.choice([0, 0, -1, -rng.randint(1, 1000), rng.randint(0, end - start - 1)])
    stop = min(end, max(start, frag) + rng.randint(1, 32_768))
    una = frag if rng.random() < 0.8 else frag - 1
    p = Path_(srtt=srtt, mss=mss, cwnd=100, flags=0)
    last = end + rng.choice([0, 1, rng.randint(1, 40_000)])
    after = last - una - 1
    p.inflight = max(0, after // mss + rng.choice([-3, -2, -1, 0, 1]))
    p.unsent = rng.choice([0, after % mss, after % mss + 1])
    owed = p.inflight * mss + p.unsent
    gap = rng.choice([0, 1000, srtt, UNKNOWN])
    trip = srtt + 2 * TICK_US + (gap if gap != UNKNOWN else 0)
    age = rng.choice([0, trip - trip % TICK_US, trip + TICK_US, 2 * trip])
    now = given // TICK_US * TICK_US + age // TICK_US * TICK_US
    seen = age // TICK_US * TICK_US
    stop = rng.choice([stop, max(stop, last)])
    words = [now, una, last, last, frag, stop, 0]
    words = (c_uint32 * 7)(*(x % U32 for x in words))
    bursts = six(start, end, given, end, last, given + rng.randint(0, age))
    flags = lib.completed(bursts, p.pack(), words, gap)
    lost = gap != UNKNOWN and srtt and seen > trip and owed + min(owed, 2 * mss) <= after
    if una != frag:
        right = CARRIED
    elif una < start:
        right = CARRIED | DROPPED  # it is others that have what is waited for
    else:
        right = DROPPED if lost else CARRIED
    return flags != right or words[6] != last - stop


def flags_of(lib, given, fragment, head=None):
    """What a path that was given these bytes says of the fragment, or of what is before the head."""
    (start, end), (frag, stop) = given, fragment
    words = [0, frag - 1, stop if head is None else head, stop, frag, stop]
    words.append(head is not None)
    return lib.completed(
        six(start, end, 0, 0, 0, 0),
        Path_(flags=0).pack(),
        (c_uint32 * 7)(*(x % U32 for x in words)),
        0,
    )


def wrong_carriers(lib, rng):
    """Any byte of the fragment counts; of what is begun the last one that was assigned."""
    base = rng.getrandbits(32)
    frag = base + rng.randint(0, 60)
    stop = frag + rng.randint(1, 120)
    start = base + rng.randint(0, 180)
    given = (start, start + rng.randint(1, 60))
    has = {*range(*given)}
    if bool(flags_of(lib, given, (frag, stop)) & CARRIED) != bool(has & {*range(frag, stop)}):
        return True
    head = base + rng.randint(1, 180)
    flags = flags_of(lib, given, (frag, frag), head)
    return flags != (CARRIED if head - 1 in has else 0)


def gap_of(missing, owed, sent, now):
    if not owed:
        return 0
    return UNKNOWN if missing or not sent else (now - sent) % U32


def wrong_owner(lib, rng):
    """What is stored is of the connection that is there, or of the one that was last."""
    known, token = (rng.choice([0, draw(rng, UNKNOWN)]) for _ in "ab")
    token = rng.choice([token, known])
    return bool(lib.store_is_of(known, token)) != (token in (0, known))


def faults(lib, seed, count):
    rng = random.Random(seed)
    wrong = set()
    for _ in range(count):
        if wrong_owner(lib, rng):
            wrong.add("owner")
        if wrong_drops(lib, rng):
            wrong.add("dropped")
        if wrong_carriers(lib, rng):
            wrong.add("carrier")
        some = [rng.choice([0, 0, draw(rng, UNKNOWN)]) for _ in "abcd"]
        if lib.gap(*some) != gap_of(*some):
            wrong.add("gap")
    for _ in range(count // 100):
        if wrong_rates(lib, rng, 50):
            wrong.add("rate")
        if wrong_penalties(lib, rng, 50):
            wrong.add("penalty")
    for cwnd, idle, rto in idle_states(rng, count):
        if lib.idle_cwnd(cwnd, idle, rto) != restart(cwnd, idle, rto):
            wrong.add("idle window")
        srtt, least = (rng.choice([0, 10, draw(rng, UNKNOWN)]) for _ in "ab")
        right = min(srtt, least) if idle > rto else srtt
        if lib.idle_rtt(srtt, least, idle, rto) != right:
            wrong.add("idle rtt")
    return wrong


def test_random_lives(lib):
    assert not faults(lib, 1, STATES)


def test_an_end_that_the_window_cut_off(lib):
    """The 64 KB that a peer begins with hold all of two fragments but the last 300 bytes."""
    second = (32_728, 65_456)
    for given in ((32_728, 65_159), (65_159, 65_456)):
        assert flags_of(lib, given, second) & CARRIED
    # before they are assigned, the one that has the beginning is known
    assert flags_of(lib, (32_728, 65_159), (0, 0), 65_159) == CARRIED
    assert flags_of(lib, (0, 32_728), (0, 0), 65_159) == 0


def test_an_end_is_not_waited_for(lib):
    """Nor was it dropped: the peer has it, or will, and waits for the beginning on another path."""

    def flags(una, frag, start, inflight=0):
        words = [100_000, una, 3000, 3000, frag, 2000, 0]
        return lib.completed(
            six(start, 2000, 0, 0, 0, 0),
            Path_(srtt=20_000, inflight=inflight, flags=0).pack(),
            (c_uint32 * 7)(*words),
            0,
        )

    assert flags(1000, 1000, 1000) == DROPPED
    assert flags(1000, 1000, 1000, inflight=1) == CARRIED
    assert flags(1000, 1000, 1001) == CARRIED | DROPPED
    assert flags(1000, 1000, 1001, inflight=1) == CARRIED | DROPPED
    assert flags(900, 1000, 1000) == CARRIED


def test_a_later_part_of_it_does_not_count(lib):
    """The oldest byte was dropped long ago, though more of its fragment is on its way."""

    def flags(inflight):
        words = (c_uint32 * 7)(100_000, 1000, 3000, 3000, 1000, 3000, 0)
        path = Path_(srtt=20_000, inflight=inflight, mss=499, flags=0)
        return lib.completed(six(1000, 2000, 0, 2000, 3000, 99_000), path.pack(), words, 0)

    assert flags(0) == flags(2) == DROPPED
    # but not while the data-level acknowledgement may be a segment or two behind
    assert flags(3) == CARRIED


def test_a_high_rate_is_believed_for_a_while(lib):
    state = (c_uint32 * 2)()

    def sample(rate, now, cwnd=10):
        return lib.filter_rate(state, cwnd, 10, rate, now)

    assert sample(0, 5) == 0
    assert sample(1000, 5) == 1000
    assert sample(700, RATE_US + 5) == 1000
    assert sample(0, RATE_US + 6) == 1000
    # in slow start longer
    assert sample(700, 6 * RATE_US + 5, cwnd=9) == 1000
    assert sample(700, RATE_US + 6) == 700
    assert sample(700, 2 * RATE_US) == 700
    # which counts as seen again
    assert sample(600, 3 * RATE_US) == 700


def test_penalties_by_hand(lib):
    """Of 100 segments 50, 25 and no less are left; a window comes back in 32 round trips."""
    state, rtt = (c_uint32 * 2)(), 10_000
    cwnd = []
    for now in (0, rtt - 1, rtt, 2 * rtt, 3 * rtt):
        lib.penalise(state, rtt, 20, 1, now)
        cwnd.append(lib.withhold(state, rtt, 100, now))
    # a part of what was taken is back after one round trip
    assert cwnd == [50, 52, 26, 25, 25]
    # three quarters of it need three quarters of the time
    assert lib.withhold(state, rtt, 1000, 3 * rtt + 12 * rtt) == 625
    assert lib.withhold(state, rtt, 1000, 3 * rtt + 24 * rtt - 1) < 1000
    assert lib.withhold(state, rtt, 1000, 3 * rtt + 24 * rtt) == 1000
    assert state[0] == 0
    # one segment is left of the smallest window, which TCP itself would not go below
    lib.penalise(state, rtt, 20, 1, 0)
    assert lib.withhold(state, rtt, 1, 0) == 1
    # who does not carry the oldest data is left alone
    state = (c_uint32 * 2)()
    assert lib.penalise(state, rtt, 20, 0, 0) == 0
    # nor who is in its first slow start, which a window half used would end
    assert lib.penalise(state, rtt, UNKNOWN, 1, 0) == 0
    assert lib.withhold(state, rtt, 100, 0) == 100
    assert lib.penalise(state, rtt, UNKNOWN - 1, 1, 0) > 0


def test_what_happened_after_the_clock_was_read(lib):
    for now, last, right in (
        (5000, 4000, 1000),
        (5000, 5000, 0),
        (5000, 5001, 0),
        (5000, 6000, 0),
        (5000, 6001, UNKNOWN - 1000),
        (0, UNKNOWN, 1),
        (UNKNOWN, 0, 0),
        (1 << 31, 0, 1 << 31),
    ):
        assert lib.elapsed(now, last) == right, (now, last)


@pytest.mark.parametrize(
    ("cwnd", "idle", "rto", "right"),
    [
        (100, 200, 200, 100),
        (100, 201, 200, 50),
        (100, 401, 200, 25),
        (100, 601, 200, 12),
        (100, 801, 200, 10),
        (7, 10_000, 200, 7),
        (100, 10_000, 0, 100),
        (UNKNOWN, 1 << 31, 1, 10),
    ],
)
def test_windows_after_idle_times(lib, cwnd, idle, rto, right):
    assert lib.idle_cwnd(cwnd, idle, rto) == right == restart(cwnd, idle, rto)
