# SPDX-License-Identifier: GPL-2.0
"""What `trace` tells between decisions: paths that die, caps, standbys, penalties; virtual time.

What follows from what in the snapshots: tests/host/test_trace_changes.py.
"""

import itertools
import time

import pytest
import steered
from cells import bench_lab, netlab
from command import ok
from lab import Path
from steered import FREE, KB, MB, PAID, served
from tables import ACCOUNTS, steer
from tracer import nothing_left, trace
from traffic import connection, download, token_of

pytestmark = pytest.mark.virtual_time

tables = steered.tables


def told(traced, name, *fields):
    """Of such events these fields, in order."""
    return [tuple(e[f] for f in fields) for e in traced.events(name)]


def of_path(traced, path):
    return [change for at, change in told(traced, "path", "path", "change") if at == path]


def check_places(traced):
    """An event comes before a decision of its connection that saw it, at that one's time."""
    between = [
        e for e in traced.told if e["event"] in ("path", "paths", "note", "decision", "copies")
    ]
    for event, after in itertools.pairwise(between):
        if event["event"] not in ("decision", "copies") and event.get("change") != "penalty":
            assert (event["token"], event["time"]) == (after["token"], after["time"]), event


def flags_behind(traced, event):
    """What the path's flags are in the decision that saw it."""
    rest = traced.told[traced.told.index(event) :]
    decision = next(e for e in rest if e["event"] in ("decision", "copies"))
    return decision["inputs"]["paths"][event["path"]]["flags"]


def test_a_path_dies_and_comes_back(labs, _shared):
    """In between nothing goes there, and each event is in the flags of the decision behind it."""
    _shared.need("bpf_minrtt")
    lab = labs(Path(4, 20), Path(4, 40)).endpoints()
    lab.server.scheduler = "bpf_minrtt"
    with (
        trace("--netns", lab.server.name) as traced,
        connection(lab) as conn,
        lab.outage(1, "loss") as (kill, revive),
    ):
        token = token_of(conn.server)
        transfer = download(conn, 3 * MB).reached(0.1)
        assert "given-up" not in of_path(traced, 0)
        kill()
        traced.wait("path", path=0, change="given-up")
        # the other one has room again by then
        time.sleep(1)
        revive()
        traced.wait("path", path=0, change="back")
        transfer.finish().acknowledged()
        assert traced.end()["lost"] == 0
    assert set(told(traced, "path", "token", "scheduler")) == {(token, "bpf_minrtt")}
    assert told(traced, "paths", "before", "paths") == [(1, 2)]
    assert "given-up" not in of_path(traced, 1)
    (gone,), (back,) = (traced.events("path", path=0, change=c) for c in ("given-up", "back"))
    assert "active" not in flags_behind(traced, gone) and "active" in flags_behind(traced, back)
    away = traced.told[traced.told.index(gone) : traced.told.index(back)]
    assert {e["path"] for e in away if e.get("verdict") == "send"} == {1}
    check_places(traced)
    nothing_left()


@pytest.fixture
def fresh():
    """No accounts of another test."""
    ACCOUNTS.unlink(missing_ok=True)
    yield
    ACCOUNTS.unlink(missing_ok=True)


def test_a_cap_and_the_standby_that_takes_over(tables, fresh):
    tables(
        "path name paid device paid rank 0 cap 300K period month",
        "path name free device free rank 1",
        "rule mode active-standby",
    )
    with served(PAID, FREE) as (lab, conn), trace("--netns", lab.server.name) as traced:
        download(conn, 200 * KB).finish().acknowledged()
        assert (of_path(traced, 0), of_path(traced, 1)) == ([], ["stands-by"])
        assert told(traced, "note", "note", "holds") == [("standby", True)]
        download(conn, 400 * KB).finish().acknowledged()
        assert of_path(traced, 0) == ["stands-by", "over-cap"]
        assert of_path(traced, 1) == ["stands-by", "may-carry"]
        steer("account reset paid")
        download(conn, 64 * KB).finish().acknowledged()
        assert traced.end()["lost"] == 0
    assert of_path(traced, 0)[2:] == ["may-carry", "within-cap"]
    assert told(traced, "note", "note", "holds") == [("standby", True)]
    check_places(traced)


def test_the_next_rank_helps(tables):
    """Where data would be late on the lowest."""
    tables(
        "path name free device free rank 0",
        "path name paid device paid rank 1",
        "rule mode priority deadline 700ms",
    )
    with served(FREE, PAID) as (lab, conn), trace("--netns", lab.server.name) as traced:
        download(conn, 64 * KB).finish().acknowledged()
        assert ("overflow", True) not in told(traced, "note", "note", "holds")
        download(conn, 4 * MB).finish().acknowledged()
        assert traced.end()["lost"] == 0
    assert ("overflow", True) in told(traced, "note", "note", "holds")
    assert of_path(traced, 1)[:2] == ["stands-by", "may-carry"]
    check_places(traced)


@pytest.mark.each_kernel
def test_a_penalty(_shared, tmp_path):
    """The slow path has less of its window in the decisions behind it; a recording does without."""
    _shared.need("bpf_minrtt")
    slow = netlab.Path("slow", mbit=1, rtt_ms=100, limit=20)
    fast = netlab.Path("fast", mbit=20, rtt_ms=20).roomy()
    file = tmp_path / "penalty.rec"
    with bench_lab(slow, fast) as lab:
        lab.client.sysctl("ipv4/tcp_rmem", f"4096 {128 * KB} {128 * KB}")
        lab.server.scheduler = "bpf_minrtt"
        words = ("--netns", lab.server.name)
        with (
            trace(*words) as traced,
            trace(*words, "--record", file) as recorded,
            connection(lab) as conn,
        ):
            download(conn, 4 * MB).finish().acknowledged()
            assert traced.end()["lost"] == recorded.end()["lost"] == 0
    penalties = traced.events("path", change="penalty")
    assert penalties and {e["path"] for e in penalties} <= {0, 1}, penalties
    first = penalties[0]
    assert first["withheld"] == 0.5
    at = traced.told.index(first)

    def window(looks):
        return next(e for e in looks if e.get("inputs"))["inputs"]["paths"][first["path"]]["cwnd"]

    assert window(traced.told[at:]) <= 0.6 * window(traced.told[at::-1])
    check_places(traced)
    # what tests before it left is in the recording, too
    replayed = ok("replay", file)["schedulers"]
    (same,) = (s for s in replayed if s["scheduler"] == "bpf_minrtt (as recorded)")
    assert same["same"] == same["decisions"] > 0
    nothing_left()
