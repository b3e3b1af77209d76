# SPDX-License-Identifier: GPL-2.0
"""What `stats` says of steered subflows (loader/stats/steer.c), beside what a decision did with them."""

import ctypes
import json
import random
import re
from ctypes import c_uint32 as u32

import pytest
from hostlib import OUT, TOP, TRAPS, make_library

STEER = (TOP / "include/state/steer.h").read_text()
NAMES = re.findall(r'^\s+X\(\w+, "([\w-]+)", [A-Z]+,', STEER, re.MULTILINE)
MODES = {name: i for i, name in enumerate(NAMES)}
OVERFLOW = 1 << 4
GENERATION = 7
CASES = 600


class Row(ctypes.Structure):
    _fields_ = [(n, u32) for n in ("rank", "weight", "metered", "cap", "used")]


class Subflow(ctypes.Structure):
    _fields_ = [(n, u32) for n in ("row", "backup", "slow", "lossy", "active", "loss", "srtt_us")]


@pytest.fixture(scope="module")
def lib():
    flags = [*TRAPS, f"-I{TOP / 'loader'}", "-Wno-unused-parameter", "-Wno-unused-function"]
    flags += [str(TOP / "loader/cli" / name) for name in ("table.c", "util.c", "wrap.c")]
    libraries = ["-Wl,--no-as-needed", "-ljson-c", "-lbpf"]
    made = make_library("stats_steer.c", OUT / "stats_steer.so", flags=[*flags, *libraries])
    made.tell.argtypes = [u32, ctypes.c_bool]
    return made


@pytest.fixture
def tell(lib, capfd):
    def told(generation=GENERATION, json_=True):
        lib.tell(generation, json_)
        out = capfd.readouterr().out
        return json.loads(out)["subflows"] if json_ else out

    return told


def subflow(row, **more):
    return Subflow(**{"row": row, "active": 1, "srtt_us": 20_000} | more)


def decide(lib, rows, subflows, deadline_us=1000, now_us=1, pending=1):
    """Which of them got no new data, by their places."""
    how = (Row * len(rows))(*rows), len(rows), (Subflow * len(subflows))(*subflows), len(subflows)
    off = lib.decide(*how, deadline_us, now_us, pending)
    return [bool(off >> i & 1) for i in range(len(subflows))]


def drawn(rng, mode):
    rows = [
        Row(
            rank=rng.randint(0, 3),
            metered=rng.random() < 0.2,
            cap=rng.choice([0, 0, 100]),
            used=rng.choice([99, 100]),
        )
        for _ in range(rng.randint(1, 4))
    ]
    subflows = [
        subflow(
            rng.choice([0, *range(1, len(rows) + 1)]),
            backup=rng.random() < 0.2,
            slow=rng.random() < 0.2,
            lossy=rng.random() < 0.2,
            active=rng.random() < 0.9,
            # which of one rank is in recovery `stats` does not know
            loss=mode == "priority" and rng.random() < 0.2,
            srtt_us=rng.choice([1000, 20_000, 300_000]),
        )
        for _ in range(rng.randint(1, 6))
    ]
    return rows, subflows


@pytest.mark.parametrize("mode", ["active-standby", "priority", "auto"])
def test_standby_is_what_the_decision_kept_off(lib, tell, mode):
    rng = random.Random(mode)
    helped = set()
    for case in range(CASES):
        lib.begin(MODES[mode])
        rows, subflows = drawn(rng, mode)
        now_us = 1
        for _ in range(3):
            now_us += rng.choice([1, 1000, 600_000, 1_500_000])
            deadline = rng.choice([1000, 200_000])
            off = decide(lib, rows, subflows, deadline, now_us, rng.choice([1, 10**6, 10**8]))
            said = ["standby" in s["flags"] for s in tell()]
            assert said == (off if mode != "auto" else [False] * len(off)), (case, off)
            if lib.notes() & OVERFLOW:
                helped.add(len(off) - sum(off))
            rows, subflows = rng.choice([(rows, subflows), drawn(rng, mode)])
    # three ranks and more at once among them
    assert helped >= {2, 3} if mode == "priority" else not helped


def test_what_is_not_known(lib, tell):
    """Of tables that are others by now, and of a path without a row."""
    lib.begin(MODES["active-standby"])
    rows = [Row(rank=1, weight=30, metered=1, cap=100, used=120), Row(rank=2)]
    assert decide(lib, rows, [subflow(1), subflow(0), subflow(2, slow=1, lossy=1)])
    keys = ("path", "rank", "weight", "metered", "period_bytes", "cap", "flags")
    found = [tuple(s[k] for k in keys) for s in tell()]
    nothing = (None,) * 6
    assert found == [
        ("p1", 1, None, True, 120, 100, ["over_cap", "standby"]),
        (*nothing, []),
        ("p2", 2, None, False, None, None, ["over_rtt", "over_loss", "standby"]),
    ]
    other = [tuple(s[k] for k in keys) for s in tell(GENERATION + 1)]
    assert other == [(*nothing, [])] * 3
    until = "  mode active-standby until the next decision, by tables of before\n"
    assert tell(GENERATION + 1, json_=False) == until


def test_lines_of_rows(lib, tell):
    """Each that is in use, once; its weight where shares go by weights."""
    lib.begin(MODES["load-balancing"])
    rows = [Row(rank=3, weight=30, metered=1, cap=100, used=20), Row(weight=70), Row()]
    assert not any(decide(lib, rows, [subflow(1), subflow(2), subflow(2), subflow(3)]))
    assert [s["weight"] for s in tell()] == [30, 70, 70, 1]
    assert tell(json_=False).splitlines() == [
        "  rule 1, mode load-balancing",
        "  path p1: rank 3, weight 30, metered, 20 of 100 bytes",
        "  path p2: rank 0, weight 70",
        "  path p3: rank 0, weight 1",
    ]
