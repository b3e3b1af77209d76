# SPDX-License-Identifier: GPL-2.0
"""Inside `ip netns exec` the machine's pins are out of sight: nothing is said of them that is false."""

import os

import pytest
from command import PIN_DIR, available, ok, sched
from hygiene import pins
from lab import run

pytestmark = pytest.mark.usefixtures("none_loaded")
OUT = "out of sight"


@pytest.fixture
def inside(net):
    """What runs a command in there, with that namespace's own /sys."""
    return ("ip", "netns", "exec", net.name)


def noted(data):
    return [n for n in data.get("notes", []) if OUT in n and "--netns" in n]


@pytest.mark.usefixtures("by_the_bridge")
def test_early_copies_are_not_said_to_be_off(net, inside):
    ok("use", "default", "--reinject", "--netns", net.name)
    try:
        for prefix, wanted in ((), True), (inside, None):
            data = ok("show", prefix=prefix)
            (row,) = (n for n in data["namespaces"] if n["inode"] == net.inode)
            assert row["reinject"] is wanted
            assert bool(noted(data)) is (wanted is None)
        assert noted(ok("use", "default", prefix=inside)), "it cannot turn them off there"
    finally:
        ok("use", "default", "--netns", net.name)


def test_whose_a_scheduler_is_is_not_made_up(inside):
    ok("load", "bpf_minrtt")
    data = ok("show", prefix=inside)
    (row,) = (s for s in data["schedulers"] if s["name"] == "bpf_minrtt")
    assert row["held_by"] == "unknown" and noted(data)
    data = ok("list", prefix=inside)
    (row,) = (s for s in data["schedulers"] if s["name"] == "bpf_minrtt")
    assert row["origin"] == "unknown" and noted(data)
    assert not noted(ok("show")) and not noted(ok("list"))


@pytest.mark.parametrize("words", [["bpf_minrtt"], ["--all"]], ids=" ".join)
def test_unload_says_why_it_cannot(words, inside):
    ok("load", "bpf_minrtt")
    before = available(), pins()
    result = sched("--json", "unload", *words, prefix=inside)
    assert result.code == 1
    assert OUT in result.error["reason"] and "--netns" in result.error["hint"]
    assert (available(), pins()) == before
    ok("unload", *words)


def test_apply_is_for_outside(inside, tmp_path):
    path = tmp_path / "a.conf"
    path.write_text("[load]\nbpf_minrtt =\n")
    for dry in ([], ["--dry-run"]):
        result = sched("--json", "apply", "--config", path, *dry, prefix=inside)
        assert result.code == 1
        assert OUT in result.error["reason"] and "outside" in result.error["hint"]
    assert available() == {"default"}


def test_use_selects_there_what_is_registered(net, inside):
    """No pin is needed for that; one that is not registered would need one."""
    ok("load", "bpf_minrtt")
    ok("use", "bpf_minrtt", prefix=inside)
    assert net.scheduler == "bpf_minrtt"
    result = sched("--json", "use", "bpf_rr", prefix=inside)
    assert result.code == 1 and "--netns NAME" in result.error["hint"]
    shell = "mount -t bpf bpf /sys/fs/bpf && exec mptcp-sched --json use bpf_rr"
    done = run(*inside, "sh", "-c", shell, check=False)
    assert done.returncode == 1 and "of this mount namespace alone" in done.stderr
    assert net.scheduler == "bpf_minrtt" and "bpf_rr" not in available()
    assert os.path.isdir(PIN_DIR)
    net.scheduler = "default"
