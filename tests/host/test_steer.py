# SPDX-License-Identifier: GPL-2.0
"""Steering: which paths a mode lets carry, in its own words."""

import ctypes
import random

import pytest
from hostlib import ACTIVE, BACKUP, LOSS, NO_ROOM, NO_SUBFLOW, SNDBUF, WAIT, Path_
from stateful import Conn, any_path, available, draw, minrtt, most_bytes, usable
from steering import (
    AUTO,
    BACK_US,
    BALANCE,
    DELAY,
    LAST,
    METERED,
    NO_DEADLINE,
    OVER_LOSS,
    OVER_RTT,
    OVERFLOWS,
    PRIORITY,
    REDUNDANT,
    STANDBY,
    STANDS_BY,
    Steered,
    library,
    metric,
)


@pytest.fixture(scope="module")
def lib():
    return library()


def rank(p):
    return p.metric & 0xFF


def is_slow(p):
    return p.metric >> 16 & 1


def is_lossy(p):
    return p.metric >> 19 & 1


def is_out(p):
    return is_slow(p) or is_lossy(p)


def is_backup(p):
    return rank(p) >= LAST


def any_steered(rng):
    paths = [any_path(rng, "real") for _ in range(rng.randint(0, 8))]
    for p in paths:
        some = rng.choice([0, 0, 1, 2, METERED, METERED + 1, LAST])
        slow, lossy = rng.random() < 0.15, rng.random() < 0.15
        p.metric = metric(some, rng.choice([0, 1, 50, 100]), slow, lossy=lossy)
    return Conn(paths, pending=draw(rng, 1 << 24), unit=1428, now=rng.getrandbits(32))


def alive(c, mode):
    """Of each way to be worse than alive those that are not, as long as there is one."""
    left = [i for i, p in enumerate(c.paths) if p.flags & ACTIVE]
    for bad in (lambda p: mode == STANDBY and p.flags & LOSS, is_backup, is_out):
        left = [i for i in left if not bad(c.paths[i])] or left
    return left


def test_lowest_rank_alive(lib):
    """Active-standby at its first look, and priority without a deadline."""
    rng = random.Random(1)
    several = 0
    for _ in range(20_000):
        c = any_steered(rng)
        for mode in (STANDBY, PRIORITY):
            left = alive(c, mode)
            least = min((rank(c.paths[i]) for i in left), default=0)
            # all that is as good as those: in recovery or over a threshold as they are
            wanted = {i for i in left if rank(c.paths[i]) == least}
            if mode == PRIORITY and all(c.paths[i].flags & LOSS for i in wanted):
                continue  # below
            may, notes = Steered(lib).filter(c, mode, NO_DEADLINE)
            assert may == wanted, (c, mode)
            active = {i for i, p in enumerate(c.paths) if p.flags & ACTIVE}
            assert bool(notes & STANDS_BY) == (active > wanted)
            assert not notes & OVERFLOWS
        several += len(wanted) > 1
    assert several > 1000


def test_other_modes_go_by_thresholds_and_backups(lib):
    rng = random.Random(2)
    for _ in range(20_000):
        c = any_steered(rng)
        left = [i for i, p in enumerate(c.paths) if p.flags & ACTIVE]
        left = [i for i in left if not is_backup(c.paths[i])] or left
        left = [i for i in left if not is_out(c.paths[i])] or left
        cheap = [i for i in left if rank(c.paths[i]) < METERED]
        cheap = [i for i in cheap if not c.paths[i].flags & LOSS] or left
        for mode in (AUTO, DELAY, BALANCE, REDUNDANT):
            may, notes = Steered(lib).filter(c, mode)
            assert may == set(left)
            assert bool(notes & OVER_RTT) == any(map(is_slow, c.paths))
            assert bool(notes & OVER_LOSS) == any(map(is_lossy, c.paths))
            assert not notes & STANDS_BY
            copies = left if mode == REDUNDANT else cheap
            assert Steered(lib).filter(c, mode, copy=1)[0] == set(copies)


# 1 MB/s and 10 MB/s, without slow start
def ranked(*, flags=(0, 0), inflight=0):
    return [
        Path_(20_000, cwnd=20, ssthresh=2, rate=1_000_000, inflight=inflight, metric=metric(0)),
        Path_(20_000, cwnd=200, ssthresh=2, rate=10_000_000, metric=metric(METERED)),
    ]


def test_overflow_when_the_estimate_is_beyond_the_deadline(lib):
    """100 KB at 1 MB/s are 0.1 s and a round trip, 2 MB are 2 s."""
    for pending, deadline, wanted in (
        (100_000, 1_000_000, {0}),
        (2_000_000, 1_000_000, {0, 1}),
        (2_000_000, 3_000_000, {0}),
        (2_000_000, NO_DEADLINE, {0}),
        (100_000, 50_000, {0, 1}),
    ):
        c = Conn(ranked(), pending=pending, unit=1428)
        may, notes = Steered(lib).filter(c, PRIORITY, deadline)
        assert may == wanted, (pending, deadline)
        assert bool(notes & OVERFLOWS) == (wanted == {0, 1})


def test_overflow_only_to_what_helps(lib):
    """A rank that needs longer for one fragment than the lowest for all of it does not."""
    paths = ranked()
    paths[1].srtt, paths[1].rate = 5_000_000, 1000
    assert Steered(lib).filter(Conn(paths, pending=2_000_000, unit=1428), PRIORITY)[0] == {0}


def test_a_long_transfer_overflows_after_the_deadline(lib):
    """Little is at hand at any time, since the writer waits for room all the time."""
    s, when = Steered(lib), None
    for ms in range(0, 3000, 10):
        c = Conn(ranked(inflight=20), pending=30_000, unacked=20_000, unit=1428, now=ms * 1000)
        may, _ = s.filter(c, PRIORITY, head=ms * 1000, waits=1)
        if may == {0, 1} and when is None:
            when = ms
        assert (may == {0, 1}) == (when is not None), "it stays"
    assert when and 900 < when < 1000


def test_a_far_rank_helps_a_transfer_that_goes_on(lib):
    """It needs 1.2 s for a fragment, and what is at hand 0.05 s: by what is expected to follow."""
    paths = ranked(inflight=20)
    paths[1].srtt, paths[1].cwnd, paths[1].rate = 600_000, 10, 0
    s, may = Steered(lib), []
    for ms in range(0, 8000, 10):
        c = Conn(paths, pending=30_000, unacked=20_000, unit=20_000, now=ms * 1000)
        # every other time its writer has no more just now
        may.append(s.filter(c, PRIORITY, head=ms * 1000, waits=ms // 10 % 2)[0])
    first = next((10 * i for i, m in enumerate(may) if m == {0, 1}), None)
    assert first and 4500 < first < 5000
    assert {0, 1} not in may[0::2], "nothing is known to follow"
    assert {0} not in may[501::2], "it stays"


def test_data_that_finds_room_is_another_matter(lib):
    """A stream that is assigned as it comes never overflows, however long it is."""
    s = Steered(lib)
    for ms in range(0, 5000, 30):
        at = ms * 500
        c = Conn(ranked(inflight=5), pending=15_000, unacked=7000, unit=1428, now=ms * 1000)
        assert s.filter(c, PRIORITY, head=at)[0] == {0}, ms


def test_what_was_idle_begins_anew(lib):
    """Whatever the writer does meanwhile."""
    s = Steered(lib)
    for ms in (0, 400, 900, 5000):
        unacked = 20_000 if ms in (400, 900) else 0
        c = Conn(ranked(inflight=5), pending=90_000, unacked=unacked, unit=1428, now=ms * 1000)
        may, _ = s.filter(c, PRIORITY, head=ms, waits=1)
        assert may == ({0, 1} if ms == 900 else {0}), ms


def test_priority_is_patient_with_a_path_in_recovery(lib):
    """Up to a second, or the deadline; copies by the age of what they are of."""
    for deadline, patience in ((NO_DEADLINE, 1_000_000), (300_000, 300_000)):
        s = Steered(lib)
        paths = ranked(inflight=1)
        paths[0].flags |= LOSS
        paths[0].cwnd = 2
        for us in range(0, 1_500_000, 50_000):
            c = Conn(paths, pending=2000, unacked=20_000, unit=1428, now=us)
            may, _ = s.filter(c, PRIORITY, deadline, waits=1)
            if us < patience - 100_000:
                assert may == {0}, us
            if us > patience:
                assert may == {0, 1}, us
        for age, wanted in ((patience - 1, {0}), (patience, {1})):
            c = Conn(paths, unacked=2000, unit=1428, age=age)
            assert s.filter(c, PRIORITY, deadline, copy=1)[0] == wanted


def test_priority_leaves_a_path_that_is_silent(lib):
    """All else was repaired on a slower one, so that nothing is unacknowledged at any time."""
    for srtt in (20_000, 0):
        s, paths = Steered(lib), ranked()
        paths[0].flags |= LOSS
        paths[0].srtt = srtt
        paths[1].srtt, paths[1].rate = 5_000_000, 1000
        for us in range(0, 2_000_000, 50_000):
            c = Conn(paths, pending=2000, unit=1428, now=us)
            may, _ = s.filter(c, PRIORITY, NO_DEADLINE, head=us)
            assert may == ({0} if us < 1_000_000 else {0, 1}), (srtt, us)


def test_a_silent_rank_is_no_help(lib):
    """Where the first two are in recovery the third carries, and no more than one takes over."""
    s = Steered(lib)
    paths = [*ranked(), *ranked()]
    for i, p in enumerate(paths):
        p.metric = metric(i)
    for p in paths[:2]:
        p.flags |= LOSS
    for us in (0, 1_500_000):
        c = Conn(paths, pending=2000, unit=1428, now=us)
        may, _ = s.filter(c, PRIORITY, NO_DEADLINE)
    assert may == {0, 1, 2}


def test_copies_leave_what_is_noted(lib):
    s = Steered(lib)
    s.filter(Conn(ranked(), pending=2_000_000, unit=1428), PRIORITY)
    s.filter(Conn(ranked(), unacked=2000, unit=1428), PRIORITY, copy=1)
    assert lib.noted(s.priv) == OVERFLOWS
    s.filter(Conn(ranked(), pending=2000, unit=1428), PRIORITY)
    assert lib.noted(s.priv) == STANDS_BY


def test_no_probes_of_metered_paths(lib):
    """They are copies, which do not go there: to ask for them would be a pass for nothing."""
    for where, wanted in ((0, 1), (1, 1), (METERED, 0), (LAST, 0)):
        c = Conn([Path_(20_000), Path_(30_000)], pending=1000, unit=1000)
        snap = ctypes.create_string_buffer(c.snapshot())
        assert lib.probes(snap, metric(where)) == wanted, where


def test_backups_without_a_row_are_no_rank(lib):
    """Priority has them where nothing else lives, and not for what is late."""
    paths = ranked()
    paths[1].metric = metric(LAST)
    late = {"pending": 2_000_000, "unacked": 2000, "unit": 1428}
    s = Steered(lib)
    assert s.filter(Conn(paths, **late), PRIORITY, 100_000)[0] == {0}
    paths[0].flags |= LOSS
    assert s.filter(Conn(paths, **late, now=50_000), PRIORITY, 100_000)[0] == {0}
    assert s.filter(Conn(paths, **late, now=150_000), PRIORITY, 100_000)[0] == {0, 1}


def test_the_longest_wait(lib):
    """A transfer that goes on for days is late at any time, with an hour for a deadline."""
    s, late = Steered(lib), 0
    for minutes in range(60 * 24):
        now = minutes * 60_000_000
        c = Conn(ranked(inflight=20), pending=30_000, unacked=20_000, unit=1428, now=now % 2**32)
        may, _ = s.filter(c, PRIORITY, 3_600_000_000, head=minutes, waits=1)
        assert may == ({0, 1} if minutes >= 60 else {0}), minutes
        late += may == {0, 1}
    assert late > 1000


def test_standby_comes_back_with_hysteresis(lib):
    s = Steered(lib)
    dead, both = ranked(), ranked()
    dead[0].flags |= LOSS
    assert s.filter(Conn(both, now=1), STANDBY)[0] == {0}
    assert s.filter(Conn(dead, now=2), STANDBY)[0] == {1}
    since = 1_000
    for us in range(since, since + BACK_US, 100_000):
        assert s.filter(Conn(both, now=us), STANDBY)[0] == {1}
    # another failure begins it anew
    assert s.filter(Conn(dead, now=since + BACK_US), STANDBY)[0] == {1}
    assert s.filter(Conn(both, now=since + BACK_US), STANDBY)[0] == {1}
    assert s.filter(Conn(both, now=since + 2 * BACK_US - 1), STANDBY)[0] == {1}
    assert s.filter(Conn(both, now=since + 2 * BACK_US), STANDBY)[0] == {0}
    # it is the other one's turn at once when this one fails
    assert s.filter(Conn(dead, now=since + 2 * BACK_US), STANDBY)[0] == {1}


def place(c, p):
    """In its rank: an RTT that is not known is found out early, while more follows."""
    if not p.srtt and not p.inflight and not p.unsent and c.pending > c.unit:
        return 0
    return p.srtt or 1 << 32


def test_other_tables_end_a_standby(lib):
    """Else what carries by the old ones would go on for a second by its number."""
    s, paths = Steered(lib), ranked()
    s.begin(STANDBY, 1)
    assert s.filter(Conn([paths[1]], now=1), STANDBY)[0] == {0}
    s.begin(STANDBY, 2)
    assert s.filter(Conn(paths, now=2), STANDBY)[0] == {0}


def test_other_tables_leave_what_waits(lib):
    s = Steered(lib)
    for ms in (0, 500, 980):
        s.begin(PRIORITY, ms + 1)
        c = Conn(ranked(inflight=20), pending=30_000, unacked=20_000, unit=1428, now=ms * 1000)
        may, _ = s.filter(c, PRIORITY, head=ms, waits=1)
    assert may == {0, 1}
    s.begin(STANDBY, 1000)
    s.begin(PRIORITY, 1001)
    assert s.filter(c, PRIORITY, head=ms, waits=1)[0] == {0}


def test_ranks_pick(lib):
    rng, unknown = random.Random(3), 0
    for _ in range(20_000):
        c = any_steered(rng)
        answer = Steered(lib).pick("ranks", c)
        may = usable(c)
        ready = [i for i in may if available(c.paths[i])]
        if not ready:
            assert answer == (WAIT, NO_ROOM if may else NO_SUBFLOW, 0)
            continue
        best = min(ready, key=lambda i: (rank(c.paths[i]), place(c, c.paths[i])))
        assert answer == (best, 0, most_bytes(c, best))
        unknown += not c.paths[best].srtt and len(ready) > 1
    assert unknown > 100


def delays(lib, *rounds):
    """Which paths are chosen, one after the other, for these RTTs in ms or paths."""
    s = Steered(lib)
    s.begin(DELAY, 1)
    for paths in rounds:
        paths = [p if isinstance(p, Path_) else Path_(int(p * 1000)) for p in paths]
        yield s.pick("delay", Conn(paths, pending=2000, unit=1000))[0]


def test_the_smallest_delay_is_steady(lib):
    """Who carried last stays, until another one is shorter by more than an eighth, or it is full."""
    full, unknown = Path_(20_000, inflight=10), Path_(0)
    backup = Path_(20_000, flags=ACTIVE | SNDBUF | BACKUP)
    for rounds, wanted in (
        (([20, 21], [21, 20], [22, 20], [20, 20]), [0, 0, 0, 0]),
        (([20, 40], [40, 35], [40, 34], [36, 40]), [0, 0, 1, 1]),
        (([20, 40], [full, 40], [20, 40], [40, 36]), [0, 1, 0, 0]),
        (([20, 21], [full, 21], [21, 20], [40, 20], [20, 20]), [0, 1, 0, 1, 1]),
        (([20, 21], [backup, 21]), [0, 1]),
        (([20, 21, 22], [23]), [0, 0]),
        # the first sample, while more follows
        (([20, 30], [20, unknown], [20, 19]), [0, 1, 1]),
        (([unknown], [Path_(0, inflight=1), 90]), [0, 1]),
    ):
        assert list(delays(lib, *rounds)) == wanted, rounds


def test_the_smallest_delay_of_any_paths(lib):
    """At first as minRTT; then that, or one in use before where that is as good."""
    rng, stayed = random.Random(5), 0
    for _ in range(5_000):
        s, before = Steered(lib), set()
        s.begin(DELAY, 1)
        paths = any_steered(rng).paths
        for _ in range(4):
            c = Conn(paths, pending=draw(rng, 1 << 24), unit=1428)
            ready = [i for i in usable(c) if available(c.paths[i])]
            found, _, size = s.pick("delay", c)
            if not ready:
                assert found == WAIT
                continue
            best = minrtt(c, ready)
            if found not in best:
                least = min(c.paths[i].srtt for i in best)
                assert found in before and found in ready
                assert c.paths[found].srtt - c.paths[found].srtt // 8 <= least
                stayed += 1
            assert size == most_bytes(c, found)
            before.add(found)
            for p in paths:
                p.srtt += rng.randint(-p.srtt // 5, p.srtt // 5)
    assert stayed > 100


def test_other_tables_end_what_is_steady(lib):
    s = Steered(lib)
    s.begin(DELAY, 1)
    assert s.pick("delay", Conn([Path_(20_000), Path_(21_000)], pending=2000, unit=1000))[0] == 0
    s.begin(DELAY, 2)
    assert s.pick("delay", Conn([Path_(21_000), Path_(20_000)], pending=2000, unit=1000))[0] == 1


def test_the_rtt_threshold_has_hysteresis(lib):
    assert [lib.over_rtt(100, rtt, was) for rtt, was in ((100, 0), (101, 0))] == [0, 1]
    assert [lib.over_rtt(100, rtt, was) for rtt, was in ((100, 1), (89, 1), (88, 1))] == [1, 1, 0]
    assert not lib.over_rtt(0, 1 << 31, 0)
    assert not lib.over_rtt(100, 0, 1)


def test_a_path_over_its_threshold_is_tried_again(lib):
    """When it was idle for 16 of its RTO."""
    assert [lib.is_retried(idle, 50) for idle in (0, 799, 800)] == [0, 0, 1]
    assert not lib.is_retried((1 << 32) - 1, (1 << 32) - 1)
    assert not lib.is_retried(1000, 0)
