# SPDX-License-Identifier: GPL-2.0
"""common/quiet.h: a quiet path counts as after a timeout, where another one can carry."""

import random

import headers
from hostlib import BACKUP, LOSS, Path_
from stateful import Conn, usable

STATES = 10_000


def mask(which):
    return sum(1 << i for i in which)


def in_loss(c, quiet=0):
    """What the header's comment says, of a mask of quiet paths."""
    lossy = mask(i for i, p in enumerate(c.paths) if p.flags & LOSS)
    helps = [i for i in usable(c) if not (lossy | quiet) >> i & 1]
    return lossy | (quiet & (1 << len(c.paths)) - 1 if helps else 0)


def faults(lib, seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        c, quiet = headers.any_snapshot(rng), rng.choice((0, 1, 2, rng.getrandbits(8)))
        if lib.quiet_out(c.snapshot(), quiet) != in_loss(c, quiet):
            return {"quiet"}
    return set()


def test_random_states(lib):
    assert not faults(lib, 1, STATES)


def test_nobody_is_left_without_a_path(lib):
    """A lone one, all of them, and one beside a backup: what may come would be waited for."""
    one, other, backup = Path_(), Path_(), Path_()
    backup.flags |= BACKUP
    for paths, quiet in (([one], 1), ([one, other], 3), ([one, backup], 1)):
        assert lib.quiet_out(Conn(paths).snapshot(), quiet) == 0
    assert lib.quiet_out(Conn([one, other]).snapshot(), 1) == 1
