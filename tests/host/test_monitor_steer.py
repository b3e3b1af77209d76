# SPDX-License-Identifier: GPL-2.0
"""What `monitor` tells of subflows over a threshold (loader/cmd/monitor_steer.c), look by look."""

import json
from ctypes import c_uint32 as u32

import pytest
from hostlib import OUT, TOP, TRAPS, make_library

TOKEN = 77
# include/state/steer.h: not looked up yet, none, and a bit beside the row: over its RTT threshold
UNKNOWN, NONE, OVER = 0, 127, 128


@pytest.fixture(scope="module")
def lib():
    flags = [*TRAPS, f"-I{TOP / 'loader'}", "-Wno-unused-parameter", "-Wno-unused-function"]
    flags += [str(TOP / "loader/cli" / name) for name in ("table.c", "util.c", "wrap.c")]
    libraries = ["-Wl,--no-as-needed", "-ljson-c", "-lbpf"]
    return make_library("monitor_steer.c", OUT / "monitor_steer.so", flags=[*flags, *libraries])


@pytest.fixture
def look(lib, capfd):
    """look(row, ...): events, each (threshold, subflow, path), a subflow less by its local port."""

    def told(*rows, lossy=(), token=TOKEN, generation=1, loaded=True):
        n = len(rows)
        loses = [int(i in lossy) for i in range(n)]
        lib.look(loaded, token, generation, (u32 * n)(*rows), (u32 * n)(*loses), n)
        found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        for event in found:
            assert (event["token"], event["remote"]) == (token, 200)
        kind = "connection-"
        return [(e["event"].removeprefix(kind), e["local"] - 100, e["path"]) for e in found]

    lib.forget()
    lib.tables(1, 3, 1)
    return told


def test_each_subflow_has_its_event(look):
    """Once, though another one is over all the time."""
    assert look(1, 2) == []
    assert look(1, 2 | OVER) == [("over-rtt", 1, "p2")]
    assert look(1 | OVER, 2 | OVER) == [("over-rtt", 0, "p1")]
    assert look(1 | OVER, 2 | OVER) == []
    assert look(1 | OVER, 2) == [("within-rtt", 1, "p2")]
    assert look(1, 2) == [("within-rtt", 0, "p1")]


def test_both_thresholds(look):
    assert look(1 | OVER, lossy=[0]) == [("over-rtt", 0, "p1"), ("over-loss", 0, "p1")]
    assert look(1, lossy=[0]) == [("within-rtt", 0, "p1")]
    assert look(1) == [("within-loss", 0, "p1")]


def test_one_that_is_over_at_the_first_look(look):
    assert look(1, 3, lossy=[1]) == [("over-loss", 1, "p3")]


def test_tables_that_change(lib, look):
    """Until a decision has seen the new ones all is as it was; a path that goes keeps its name."""
    assert look(1, 2 | OVER) == [("over-rtt", 1, "p2")]
    lib.tables(2, 1, 9)
    assert look(1, 2 | OVER) == []
    # looked up anew with the next one
    assert look(UNKNOWN, UNKNOWN, generation=2) == []
    assert look(NONE, 1, generation=2) == [("within-rtt", 1, "p2")]
    assert look(1 | OVER, NONE, generation=2) == [("over-rtt", 0, "p9")]
    # what is left of a flag says nothing without a row
    assert look(NONE, NONE, lossy=[0], generation=2) == [("within-rtt", 0, "p9")]


def test_a_name_that_is_not_known(lib, look):
    """The first look comes between the tables and the decision."""
    lib.tables(2, 1, 9)
    assert look(1 | OVER) == [("over-rtt", 0, None)]
    assert look(1 | OVER, generation=2) == []
    assert look(1, generation=2) == [("within-rtt", 0, "p9")]


def test_what_ends_is_not_told(lib, look):
    """Nor is a connection that has lost its token, or another one on its socket what it was."""
    assert look(1 | OVER, 2) == [("over-rtt", 0, "p1")]
    assert look(1 | OVER, 2, token=0) == []
    assert look(1 | OVER, 2) == [("over-rtt", 0, "p1")]
    assert look(1, 2, token=78) == []
    assert look(1, 2 | OVER, token=78) == [("over-rtt", 1, "p2")]
    assert look(1, token=78) == []
    assert look(1 | OVER, loaded=False) == []
    assert look(1 | OVER) == [("over-rtt", 0, "p1")]
