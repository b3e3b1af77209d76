# SPDX-License-Identifier: GPL-2.0
"""A scheduler of several policies: each connection has one, and may have another one later."""

import pytest
from command import ok, stats_of
from lab import Path
from traffic import connection, download, info

pytestmark = pytest.mark.usefixtures("none_loaded")
NAME = "t_three"
FIRST, LAST, TURNS, BEYOND = range(4)
SIZE = 256 << 10


def given(conn):
    """Bytes that each subflow was given so far, the first one's first."""
    subflows = stats_of(info(conn.server).token)["subflows"]
    ordered = sorted(subflows, key=lambda s: s["id"])
    return [s["counters"]["bytes_sent"] for s in ordered]


def shares(conn, policy):
    """Of a download under that policy what each subflow was given."""
    ok("set", NAME, f"which={policy}")
    before = given(conn)
    download(conn, SIZE).finish().acknowledged()
    shared = [b - a for a, b in zip(before, given(conn), strict=True)]
    assert sum(shared) == SIZE, shared
    return [s / SIZE for s in shared]


@pytest.fixture
def conn(labs, compiled):
    lab = labs(Path(20, 10), Path(20, 10))
    # copies would go elsewhere than the policy says
    ok("load", compiled("three"), "--set", "copy=0")
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        download(conn, 10_000).finish().acknowledged()
        yield conn
    ok("unload", NAME)


def test_a_connection_changes_its_policy(conn):
    for policy in (LAST, TURNS, FIRST, TURNS, LAST, FIRST):
        shared = shares(conn, policy)
        if policy == TURNS:
            # not halves: on a busy host a path whose timer fires misses turns (halves: test_daps_rr.py)
            assert min(shared) > 0, (policy, shared)
        else:
            assert shared[policy] == 1, (policy, shared)


def test_an_answer_beyond_the_list_is_the_first(conn):
    assert shares(conn, LAST) == [0, 1]
    assert shares(conn, BEYOND) == [1, 0]
