# SPDX-License-Identifier: GPL-2.0
"""policy/minrtt.h over whole transfers: an unknown path gets its first sample early, and harms none."""

import random

from headers import verdict
from hostlib import MAX_BURST, WAIT, Path_
from stateful import Conn, available, held

TRANSFERS = 400


def transfer(lib, rng):
    """What happened, in order: (path, was it known, a known one had room, bytes, left)."""
    known, new = rng.randint(1, 4), rng.randint(1, 4)
    paths = [Path_(srtt=rng.randint(1000, 90_000)) for _ in range(known)]
    paths += [Path_(srtt=0) for _ in range(new)]
    rng.shuffle(paths)
    c = Conn(paths, wnd_left=1 << 30, unit=rng.choice([1000, 4000, 10_000]))
    c.pending = rng.randint(1, 60) * 1000
    seen = []
    while c.pending:
        room = any(p.srtt and available(p) for p in paths)
        path, _, nbytes, _ = verdict(lib.minrtt_pick, c.snapshot())
        if path != WAIT:
            # the core gives whole fragments, or what is left
            n = min(c.pending, max(nbytes, c.unit))
            seen.append((path, bool(paths[path].srtt), room, nbytes, c.pending))
            paths[path].inflight += -(-n // 1000)
            c.pending -= n
        if path == WAIT or rng.random() < 0.3:
            # an acknowledgement, which is the first sample of an unknown path
            p = rng.choice([p for p in paths if held(p)] or paths)
            p.inflight = 0
            p.srtt = p.srtt or rng.choice([0, rng.randint(1000, 90_000)])
    return c.unit, seen


def faults(lib, seed, count):
    rng = random.Random(seed)
    wrong = set()
    for _ in range(count):
        unit, seen = transfer(lib, rng)
        # at once, if that does not carry the end
        if seen[0][4] > unit and seen[0][1]:
            wrong.add("no sample")
        for _, known, room, nbytes, left in seen:
            if not known and nbytes > min(unit, MAX_BURST):
                wrong.add("more than a fragment")
            if not known and left <= unit and room:
                wrong.add("the end of the data")
    return wrong


def test_transfers(lib):
    assert not faults(lib, 1, TRANSFERS)


def test_one_fragment_until_it_comes_back(lib):
    """Room on both, nothing is acknowledged: the unknown path is tried once."""
    fast, new = Path_(cwnd=1000), Path_(srtt=0)
    c = Conn([fast, new], unit=1000, pending=500_000)
    picks = []
    for _ in range(5):
        path, _, nbytes, _ = verdict(lib.minrtt_pick, c.snapshot())
        picks.append((path, nbytes))
        c.paths[path].inflight += nbytes // 1000
    assert picks[0] == (1, 1000)
    assert [path for path, _ in picks[1:]] == [0] * 4
