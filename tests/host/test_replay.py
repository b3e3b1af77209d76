# SPDX-License-Identifier: GPL-2.0
"""`replay` of recordings that are written here, byte by byte, by docs/reference/recording.md."""

import json
import subprocess
from pathlib import Path

import pytest
from recordings import (
    DECISION,
    END,
    FUNCTION,
    GLANCE,
    HEAD,
    MSS,
    chunk,
    decision,
    end,
    function,
    glance,
    header,
    path,
    send,
)

TOP = Path(__file__).resolve().parents[2]
PROGRAM = TOP / "build/mptcp-sched"
FAILED, USAGE = 1, 2


@pytest.fixture(scope="module", autouse=True)
def program():
    subprocess.run(["make", "-s", "loader"], cwd=TOP, check=True, capture_output=True)


@pytest.fixture
def replay(tmp_path):
    def run(*parts, options=(), code=0):
        file = tmp_path / "recording"
        file.write_bytes(b"".join(parts))
        done = subprocess.run(
            [PROGRAM, "--json", "replay", file, *options],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout or done.stderr)

    return run


# The second has the smaller RTT, and room for ten segments.
TWO = [path(60_000), path(20_000)]


def test_the_smallest_rtt(replay):
    told = replay(
        header(),
        function(0),
        decision(send(1, 10 * MSS), TWO),
        decision(send(0, 10 * MSS), TWO),
        end(2, 2),
        options=("--differences", "9"),
    )
    (recorded,) = told["schedulers"]
    assert (recorded["decisions"], recorded["same"]) == (2, 1)
    assert told["instead"] == [
        {
            "scheduler": "bpf_minrtt (as recorded)",
            "recorded": "send",
            "instead": "another send",
            "count": 1,
        }
    ]
    (one,) = told["differences"]
    assert one["recorded"] == "send 10000 B to path 0"
    assert one["instead"] == "send 10000 B to path 1"
    assert told["complete"] and told["kernel"] == "7.3.4"


def test_why_not(replay):
    """A full path is a reason to wait for one that waits, and no room for one that does not."""
    fast_is_full = [path(400_000), path(20_000, inflight=10)]
    pure = function(0, tunables=b"min_room=0 queue_cap=0")
    parts = [header(), pure, decision(send(0, 10 * MSS), fast_is_full, pending=2000)]
    told = replay(*parts, end(1, 1), options=("--scheduler", "bpf_ecf:min_room=0"))
    recorded, ecf = told["schedulers"]
    assert recorded["same"] == 1 and ecf["same"] == 0
    (row,) = told["instead"]
    assert (row["recorded"], row["instead"]) == ("send", "wait faster")


def test_state_of_another_scheduler_goes_on(replay):
    """bpf_rr takes turns, each connection its own."""
    alike = [path(20_000), path(20_000)]
    parts = [decision(send(0, 10 * MSS), alike, token=t) for t in (7, 7, 8, 8)]
    told = replay(header(), function(0), *parts, end(4, 4), options=("--scheduler", "bpf_rr"))
    _, turns = told["schedulers"]
    assert (turns["decisions"], turns["same"]) == (4, 2)


def test_what_is_not_decided_again(replay):
    told = replay(header(), function(0), function(1, GLANCE, policy=b""), glance(1), end(1, 1))
    assert (told["decisions"], told["glances"]) == (1, 1)
    assert told["schedulers"] == []


def test_loaded_is_not_decided(replay):
    """Other schedulers were loaded meanwhile, one of the same name and one from elsewhere."""
    told = replay(
        header(),
        function(0, tunables=b"copy=0"),
        function(1, sched=b"bpf_auto", policy=b"auto"),
        function(2, sched=b"bpf_mine"),
        function(3),
        decision(send(1, 10 * MSS), TWO, number=3),
        end(1, 1),
    )
    (recorded,) = told["schedulers"]
    assert recorded["scheduler"] == "bpf_minrtt (as recorded)"
    assert recorded["decisions"] == 1
    assert not told.get("notes")


def test_a_scheduler_of_somebody_else(replay):
    told = replay(
        header(),
        function(0, sched=b"bpf_mine"),
        decision(send(0, 10 * MSS), TWO),
        end(1, 1),
        options=("--scheduler", "bpf_minrtt"),
    )
    (minrtt,) = told["schedulers"]
    assert (minrtt["decisions"], minrtt["same"]) == (1, 0)
    assert any("bpf_mine" in note for note in told["notes"])


def test_tunables_as_recorded(replay):
    parts = [decision(send(0, 0), TWO), end(1, 1)]
    replay(header(), function(0, tunables=b"min_room=0.25 copy=0"), *parts)
    told = replay(header(), function(0, tunables=b"min_room=9"), *parts, code=FAILED)
    assert "min_room=9" in json.dumps(told) and "out of range" in json.dumps(told)


def tunables():
    listed = subprocess.run(
        [PROGRAM, "--json", "list", "--verbose"], capture_output=True, check=True
    )
    return [
        (s["name"], t)
        for s in json.loads(listed.stdout)["schedulers"]
        for t in s.get("tunables", [])
    ]


def test_a_tunable_given_twice(replay):
    """Neither of the two is chosen, as with `load --set`."""
    words = ("--scheduler", "bpf_ecf:beta=0.5:more_data=0:beta=0.6")
    told = replay(header(), end(0, 0), options=words, code=USAGE)
    told = told["error"]
    assert told["object"] == "bpf_ecf" and told["hint"] == "leave one of them out"
    assert told["reason"] == "beta is given twice: beta=0.5 and beta=0.6"


def test_tunables_are_those_of_the_objects(replay):
    """Each has the name and the range that the object says."""
    found = tunables()
    assert len(found) > 60
    for name, t in found:
        for value, code in ((t["min"], 0), (t["max"], 0), (t["max"] + 1, USAGE)):
            words = ("--scheduler", f"{name}:{t['name']}={value:g}")
            replay(header(), end(0, 0), options=words, code=code)


BROKEN = {
    "empty": b"",
    "magic": header(magic=b"mpstrac."),
    "version": header(version=2),
    "layout": header(head=HEAD + 8),
    "kind": header() + chunk(9, bytes(8)),
    "odd": header() + chunk(END, bytes(23)),
    "function-short": header() + chunk(FUNCTION, bytes(8)),
    "function-what": header() + function(0, what=GLANCE + 1),
    "function-order": header() + function(1),
    "name-without-end": header() + function(0, sched=b"x" * 16),
    "decision-short": header() + function(0) + chunk(DECISION, bytes(HEAD + 8)),
    "nine-paths": header() + function(0) + decision(0, [path(1)] * 9),
    "no-window": header() + function(0) + decision(0, [path(1, cwnd=0)]),
    "no-mss": header() + function(0) + decision(0, [path(1, mss=0)]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_damaged(replay, name):
    """One line, nothing else."""
    told = replay(BROKEN[name] + end(0, 0) if name != "empty" else b"", code=FAILED)
    assert "recording" in json.dumps(told)


def test_a_file_that_was_not_finished(replay):
    parts = [header(), function(0), decision(send(1, 10 * MSS), TWO)]
    told = replay(*parts, decision(send(1, 10 * MSS), TWO)[:100])
    assert not told["complete"] and told["decisions"] == 1
