# SPDX-License-Identifier: GPL-2.0
"""common/sndbuf.h: a subflow's share of the send buffer, against what one round trip takes."""

import functools
import random
from fractions import Fraction

import headers
from hostlib import BACKUP, MAX_PATHS, Path_
from stateful import Conn, usable

STATES = 10_000
LIMIT = 1 << 30


def share(c, i, buffered):
    """What all carry in the slowest's round trip, twice, in the part that is this path's."""
    p = c.paths[i]
    rtts = [c.paths[k].srtt for k in usable(c)]
    if not rtts or not p.srtt or buffered >= c.wnd_left:
        return 0
    rate = Fraction(min(p.cwnd * p.mss, LIMIT), p.srtt)
    return min(int(2 * rate * min(max(rtts), headers.MOST_RTT)), LIMIT)


BUFFERED = 1 << 16


def buffered_of(c, rng):
    """Some of what is to be sent is the writer's still; the window is about as long as the rest."""
    buffered = rng.choice([c.pending, rng.randint(0, c.pending)])
    c.wnd_left = max(0, buffered + rng.choice([-1, 0, 1, 1, 1 << 20]))
    return buffered


@functools.cache
def cases(seed, count):
    rng = random.Random(seed)
    made = [headers.any_snapshot(rng) for _ in range(count)]
    made = [(c, buffered_of(c, rng)) for c in made if c.paths]
    return [(b, c.snapshot(), [share(c, i, b) for i in range(len(c.paths))]) for c, b in made]


def faults(lib, seed, count):
    return {
        "share"
        for buffered, snapshot, right in cases(seed, count)
        if [lib.sndbuf_share(snapshot, i, buffered) for i in range(len(right))] != right
    }


def ample(*paths):
    """A snapshot: the peer's window has room for more than is there to send."""
    return Conn([*paths], pending=BUFFERED, wnd_left=1 << 20).snapshot()


def test_random_states(lib):
    assert not faults(lib, 1, STATES)
    seen = [s for *_, right in cases(1, STATES) for s in right]
    assert 0 in seen and LIMIT in seen and len(set(seen)) > STATES


def test_by_hand(lib):
    """10 MB/s at 20 ms and 1 MB/s at 300: 6 MB for one, and 600 KB for the other."""
    fast = Path_(srtt=20_000, cwnd=200, mss=1000)
    slow = Path_(srtt=300_000, cwnd=300, mss=1000)
    snapshot = ample(fast, slow)
    assert [lib.sndbuf_share(snapshot, i, BUFFERED) for i in (0, 1)] == [6_000_000, 600_000]


def test_the_peers_window_is_shorter(lib):
    c = Conn([Path_(), Path_(srtt=500_000)], pending=100_000, wnd_left=100_000)
    assert lib.sndbuf_share(c.snapshot(), 0, c.pending) == 0
    c.wnd_left += 1
    assert lib.sndbuf_share(c.snapshot(), 0, c.pending) == 500_000


def test_who_counts(lib):
    """The RTT of a backup that carries nothing is nobody's matter, unless all are backups."""
    fast, far = Path_(srtt=10_000), Path_(srtt=500_000)
    far.flags |= BACKUP
    assert lib.sndbuf_share(ample(fast, far), 0, BUFFERED) == 20_000
    fast.flags |= BACKUP
    assert lib.sndbuf_share(ample(fast, far), 0, BUFFERED) == 1_000_000


def test_nothing_known(lib):
    assert lib.sndbuf_share(ample(), 0, BUFFERED) == 0
    unknown = ample(*[Path_(srtt=0)] * MAX_PATHS)
    assert [lib.sndbuf_share(unknown, i, BUFFERED) for i in range(MAX_PATHS)] == [0] * MAX_PATHS
