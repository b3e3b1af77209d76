# SPDX-License-Identifier: GPL-2.0
"""Tables at work: full ones, such as change under load, and a namespace's own rule."""

import itertools
import subprocess

import pytest
import tables
from command import PROGRAM, sched, stats_of
from lab import Path
from tables import NAME, replace, steer, write
from tracer import trace
from traffic import connection, download, info

loaded = tables.loaded
RULES, PATHS = 1024, 64


@pytest.fixture
def lab(labs):
    return labs(Path(20, 10), Path(20, 10))


def counted(conn):
    return stats_of(info(conn.server).token)


def steered(conn):
    """What its next data is sent by."""
    download(conn, 20_000).finish().acknowledged()
    return counted(conn)["steer"]


def test_the_last_rows_count(loaded, lab, tmp_path):
    """Of tables that are full, and of whose rows no other one matches."""
    paths = [f"path name p{i} remote 192.0.2.{i}" for i in range(1, PATHS)]
    rules = [f"rule local-port {i} mode redundant" for i in range(1, RULES)]
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        replace(tmp_path, [*paths, "path name last", *rules, "rule mode bpf_rr"])
        assert steered(conn) == {"rule": RULES, "mode": "bpf_rr"}
        assert [s["path"] for s in counted(conn)["subflows"]] == ["last", "last"]


def test_each_namespace_has_its_rule(loaded, labs):
    """Connections of two at once; what one's rule says now is nothing to the other."""
    first, second = labs(Path(20, 10)), labs(Path(20, 10))
    with (
        first.lent(NAME) as one,
        second.lent(NAME) as two,
        connection(one) as a,
        connection(two) as b,
    ):
        steer(f"rule add netns {one.server.name} mode bpf_rr")
        steer(f"rule add netns {two.server.name} mode redundant")
        for mode in ("bpf_rr", "active-standby"):
            transfers = [download(conn, 200_000) for conn in (a, b)]
            for transfer in transfers:
                transfer.finish().acknowledged()
            assert counted(a)["steer"] == {"rule": 1, "mode": mode}
            assert counted(b)["steer"] == {"rule": 2, "mode": "redundant"}
            steer("rule delete 1")
            steer(f"rule add at 1 netns {one.server.name} mode active-standby")


def test_a_rule_of_tables_that_are_gone(loaded, lab):
    """An idle connection keeps its mode until its next decision; its rule's number is another's."""
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        steer("rule add mode bpf_rr")
        assert steered(conn) == {"rule": 1, "mode": "bpf_rr"}
        assert "  rule 1, mode bpf_rr\n" in sched("stats").out
        steer("rule add at 1 dscp ef mode redundant")
        assert counted(conn)["steer"] == {"rule": None, "mode": "bpf_rr"}
        assert "  mode bpf_rr until the next decision, by tables of before\n" in sched("stats").out
        assert steered(conn) == {"rule": 2, "mode": "bpf_rr"}


# Two tables, and what goes with each: rule and mode in `stats`, policy and the path's rank in `trace`.
WHOLE = {
    "even": ["path name even rank 3", "rule mode bpf_minrtt"],
    "odd": ["path name odd rank 5", "rule local-port 1 mode bpf_rr", "rule mode redundant"],
}
STEERED = ({"rule": 1, "mode": "bpf_minrtt"}, {"rule": 2, "mode": "redundant"})
DECIDED = (("steer_plain", {3}), ("steer_redundant", {5}))
REPLACES = 200
REPLACE = (
    'for i in $(seq "$1"); do "$0" steer replace "$2" && "$0" steer replace "$3" || exit; done'
)


def by_what(decision):
    """The policy, and the ranks of the paths that it saw."""
    return decision["policy"], {p["metric"] & 0xFF for p in decision["inputs"]["paths"]}


def test_no_half_of_a_table_is_seen(loaded, labs, tmp_path):
    """Two tables in turn, under downloads that go on, whose every decision is traced.

    One that is under way may have its rule by the old tables, and a row by the new ones: never two.
    """
    files = []
    for name, rows in WHOLE.items():
        (tmp_path / name).mkdir()
        files.append(write(tmp_path / name, "".join(f"{row}\n" for row in rows)))
    seen = []
    replace(tmp_path, WHOLE["even"])
    with (
        labs(Path(4, 10), Path(4, 10)).lent(NAME) as lent,
        connection(lent.endpoints()) as conn,
        trace("--netns", lent.server.name, "--no-glances") as traced,
    ):
        words = ["sh", "-c", REPLACE, PROGRAM, str(REPLACES // 2), *map(str, files)]
        with subprocess.Popen(words) as changes:
            while changes.poll() is None:
                transfer = download(conn, 1 << 20).reached(0.5)
                seen.append(counted(conn)["steer"])
                transfer.finish().acknowledged()
        assert changes.returncode == 0
        traced.end()
    # none is known between a change and the next decision
    modes = {s["mode"] for s in STEERED}
    known = [s for s in seen if s["rule"] is not None]
    assert known and all(s in STEERED for s in known), seen
    assert all(s["mode"] in modes for s in seen), seen
    decided = [by_what(d) for d in traced.events("decision") if d["inputs"]]
    mixed = [found not in DECIDED for found in decided]
    assert all(found in decided for found in DECIDED)
    assert not any(a and b for a, b in itertools.pairwise(mixed))
