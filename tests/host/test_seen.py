# SPDX-License-Identifier: GPL-2.0
"""state/seen.h: which subflows of the core's list a decision sees, and as which path."""

import ctypes
import random

from hostlib import ACTIVE, MAX_PATHS, SENDS

SOURCE = "store.c"

LISTS = 3_000
MOST = 255


def seen(flags):
    """The rule: place in the list, or None, of each path."""
    paths = []
    for at, flag in enumerate(flags[:MOST]):
        if not flag & SENDS:
            continue
        stale = [i for i, other in enumerate(paths) if not flags[other] & ACTIVE]
        if len(paths) < MAX_PATHS:
            paths.append(at)
        elif flag & ACTIVE and stale:
            paths[stale[0]] = at
    return paths


def answer(lib, flags, mask=(1 << MAX_PATHS) - 1):
    """The path that each subflow became, or None."""
    path = (ctypes.c_uint32 * len(flags))()
    lib.seen_list((ctypes.c_uint32 * len(flags))(*flags), len(flags), mask, path)
    return [i if i < MAX_PATHS else None for i in path]


def faults(lib, seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        length = rng.choice([1, 2, 8, 9, 10, 65, rng.randint(0, 20), 300])
        some = rng.choice([[0, SENDS, SENDS | ACTIVE], [SENDS, SENDS | ACTIVE]])
        weights = [rng.choice([1, 1, 20, 200]) for _ in some]
        flags = rng.choices(some, weights, k=length)
        if length > MOST and rng.random() < 0.5:
            flags = [0] * (length - 8) + flags[:8]
        mask = rng.choice([255, rng.getrandbits(8)])
        right = [None] * length
        for i, at in enumerate(seen(flags)):
            right[at] = i if mask >> i & 1 else None
        if answer(lib, flags, mask) != right:
            return {"place"}
    return set()


def test_random_lists(lib):
    assert not faults(lib, 1, LISTS)


def test_a_list_of_paths_only(lib):
    """mps_seen_all() is what so many looks come to."""
    for n in range(1, MAX_PATHS + 1):
        flags = [SENDS | ACTIVE] * n
        for mask in range(1 << n):
            path = (ctypes.c_uint32 * n)()
            lib.seen_all(n, mask, path)
            found = [i if i < MAX_PATHS else None for i in path]
            assert found == answer(lib, flags, mask), (n, mask)


def test_eight_that_died_give_way(lib):
    """Each of them to one that is alive, the first first."""
    stale, alive = SENDS, SENDS | ACTIVE
    assert answer(lib, [stale] * 8 + [alive] * 2)[8:] == [0, 1]
    assert answer(lib, [alive] * 8 + [alive] * 2)[8:] == [None, None]


def test_a_closed_one_takes_no_place(lib):
    assert answer(lib, [0] + [SENDS | ACTIVE] * 8) == [None, *range(8)]
