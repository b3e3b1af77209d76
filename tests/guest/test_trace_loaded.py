# SPDX-License-Identifier: GPL-2.0
"""`trace` where schedulers are loaded, replaced and unloaded."""

import pytest
from command import ok
from lab import Path, until
from test_registration import INSTALLED
from test_trace import refused
from tracer import FAR, trace
from traffic import connection, download


@pytest.fixture(scope="module")
def two_paths(shared_lab):
    return shared_lab(Path(20, 20), Path(10, 60))


def test_no_scheduler_is_loaded(none_loaded):
    error = refused()
    assert "no BPF scheduler is loaded" in error["reason"] and "use NAME" in error["hint"]


def test_the_state_is_that_before(none_loaded, two_paths):
    """bpf_rr keeps whose turn is next (policy/rr.h)."""
    # or the end of a fragment may go elsewhere
    ok("load", "bpf_rr", "--set", "copy=0")
    with (
        two_paths.lent("bpf_rr") as lab,
        trace("--netns", lab.server.name) as traced,
        connection(lab.endpoints()) as conn,
    ):
        download(conn, 200_000).finish().acknowledged()
        traced.end()
    turn, turns = 0, set()
    for event in traced.events("decision"):
        if event["state"]:
            assert int.from_bytes(bytes.fromhex(event["state"])[:4], "little") == turn, event
        if event["verdict"] == "send" and event["bytes"]:
            turn = event["path"] + 1
            turns.add(turn)
    assert turns == {1, 2}


def test_policies_of_one_scheduler(none_loaded, two_paths):
    """Each decision has the name of the one that made it."""
    ok("load", "bpf_steer")
    with (
        two_paths.lent("bpf_steer") as lab,
        trace("--netns", lab.server.name) as traced,
        connection(lab.endpoints()) as conn,
    ):
        download(conn, 50_000).finish().acknowledged()
        ok("steer", "rule", "add", "mode", "redundant")
        download(conn, 50_000).finish().acknowledged()
        traced.end()
    seen = [e["policy"] for e in traced.events("decision") if e["policy"]]
    assert set(seen) == {"steer_thin", "steer_redundant"} and seen == sorted(seen, reverse=True)


def test_schedulers_that_come_and_go(none_loaded, suffix, tmp_path):
    """Also while it is traced one can be unloaded; one without the frame is named."""
    other = tmp_path / "other.bpf.o"
    built = (INSTALLED / f"bpf_rr{suffix}").read_bytes()
    assert b"rr_decide\0" in built
    # as of a frame that gives the function another name
    other.write_bytes(built.replace(b"rr_decide\0", b"rr_choose\0"))
    ok("load", other)
    error = refused()
    assert error["object"] == "bpf_rr" and "frame" in error["reason"]
    ok("load", "bpf_minrtt")
    with trace() as traced:
        (told,) = traced.events("scheduler-not-traced")
        assert (told["scheduler"], told["reason"]) == ("bpf_rr", error["reason"])
        ok("unload", "bpf_minrtt")
        traced.wait("scheduler-gone")
        ok("load", "bpf_minrtt")
        until(lambda: len(traced.events("scheduler-traced")) == 2, FAR, "it is found again")
        assert traced.end()["lost"] == 0
    for event in ("scheduler-traced", "scheduler-gone"):
        assert {e["scheduler"] for e in traced.events(event)} == {"bpf_minrtt"}
