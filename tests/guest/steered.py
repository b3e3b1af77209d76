# SPDX-License-Identifier: GPL-2.0
"""Connections of bpf_steer in the benchmarks' lab, and what their paths were given."""

import contextlib

import pytest
from cells import bench_lab, netlab, sent
from command import stats_of
from tables import NAME, replace, steer
from traffic import connection, info

KB = 1 << 10
MB = 1 << 20
FREE = netlab.Path("free", mbit=20, rtt_ms=40).roomy()
PAID = netlab.Path("paid", mbit=50, rtt_ms=20).roomy()


@pytest.fixture
def tables(_shared, tmp_path):
    """tables(line, ...): these lines are the tables."""
    _shared.need(NAME)
    yield lambda *lines: replace(tmp_path, lines)
    steer("flush")


@contextlib.contextmanager
def served(*paths, name=NAME):
    """A connection on which the server has that scheduler."""
    with bench_lab(*paths) as lab:
        lab.server.scheduler = name
        with connection(lab) as conn:
            yield lab, conn


def counted(conn):
    return stats_of(info(conn.server).token)


def flags(conn):
    """Of each path, the first one's first."""
    found = sorted(counted(conn)["subflows"], key=lambda s: s["id"])
    return [set(s["flags"]) for s in found]


def given(conn):
    """Bytes of new data that each path was given, the first one's first."""
    found = counted(conn)
    return sent({"subflows": sorted(found["subflows"], key=lambda s: s["id"])})
