# SPDX-License-Identifier: GPL-2.0
"""Into the kernel, by bpftool alone and by the program; the wrong object is refused."""

import os
import subprocess
import warnings
from pathlib import Path

import pytest
from command import PIN_DIR, available, ok, sched
from lab import SLOW, run, until
from traffic import connection, info, upload

INSTALLED = Path("/usr/lib/mptcp-sched")
SOURCES = Path(__file__).resolve().parents[2] / "bpf/schedulers"
NAMES = sorted(f"bpf_{p.name.partition('.')[0]}" for p in SOURCES.glob("*.bpf.c"))
assert NAMES, "no scheduler in the tree: nothing here would be tested"

pytestmark = pytest.mark.usefixtures("none_loaded")


def wrong(suffix):
    return ".pre615.bpf.o" if suffix == ".bpf.o" else ".bpf.o"


def test_every_scheduler_is_here_in_both_forms():
    assert {"bpf_minrtt", "bpf_ecf"} <= set(NAMES)
    for name in NAMES:
        for suffix in (".bpf.o", ".pre615.bpf.o"):
            assert (INSTALLED / f"{name}{suffix}").is_file()
    listed = {s["name"] for s in ok("list")["schedulers"] if s["builtin"]}
    assert listed == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_bpftool_alone(labs, name, suffix, tmp_path):
    """As a user without our program does it; then it carries data.

    bpftool 7.5 can crash when it is done and prints the result: its status is
    warned about, the kernel's own list is what counts.
    """
    directory = Path("/sys/fs/bpf") / tmp_path.name
    directory.mkdir()
    try:
        done = subprocess.run(
            ["bpftool", "struct_ops", "register", INSTALLED / f"{name}{suffix}", directory],
            capture_output=True,
            text=True,
            timeout=300 * SLOW,
            check=False,
        )
        if done.returncode:
            warnings.warn(f"bpftool ended with {done.returncode}", stacklevel=1)
        assert available() == {"default", name}, done.stdout + done.stderr
        assert len(os.listdir(directory)) == 1, "bpftool pins the link"
        # nobody needs our program to select it
        lab = labs()
        lab.client.scheduler = name
        with connection(lab, subflows=1) as conn:
            upload(conn, 100_000).finish().acknowledged()
            # which sees what others have registered
            (mine,) = ok("stats")["connections"]
            assert int(mine["token"], 16) == info(conn.client).token
            assert mine["scheduler"] == name
        entry = next(s for s in ok("list")["schedulers"] if s["name"] == name)
        assert entry["registered"] and entry["origin"] == "other program"
        refused = sched("unload", name)
        assert refused.code == 1 and "another program" in refused.err
        assert str(directory) in refused.err, "who holds it"
        assert available() == {"default", name}
    finally:
        for pin in directory.iterdir():
            pin.unlink()
        directory.rmdir()
    until(lambda: available() == {"default"}, 10, "unregistered with its pin")


def test_bpftool_refuses_the_wrong_form(suffix, has_get_send, tmp_path):
    directory = Path("/sys/fs/bpf") / tmp_path.name
    directory.mkdir()
    try:
        path = INSTALLED / f"bpf_minrtt{wrong(suffix)}"
        done = run("bpftool", "struct_ops", "register", path, directory, check=False)
        assert done.returncode > 0
        assert ("get_subflow" if has_get_send else "get_send") in done.stderr
        assert os.listdir(directory) == []
        assert available() == {"default"}
    finally:
        directory.rmdir()


def test_load():
    """Registered and pinned; other modules use each of them (conftest's Shared)."""
    name = "bpf_minrtt"
    said = ok("load", name)
    assert said["loaded"] == name
    assert said["pin"] == f"{PIN_DIR}/{name}"
    assert os.path.exists(said["pin"])
    assert available() == {"default", name}
    # the pin is the link's: without it the scheduler is gone
    os.unlink(said["pin"])
    until(lambda: available() == {"default"}, 10, "unregistered with its pin")
    for pin in os.listdir(PIN_DIR):
        os.unlink(f"{PIN_DIR}/{pin}")
    os.rmdir(PIN_DIR)


def test_load_a_file(suffix):
    said = ok("load", INSTALLED / f"bpf_minrtt{suffix}")
    assert said["loaded"] == "bpf_minrtt"
    assert available() == {"default", "bpf_minrtt"}
    ok("unload", "bpf_minrtt")


def test_load_refuses_the_wrong_form(suffix, has_get_send):
    path = INSTALLED / f"bpf_minrtt{wrong(suffix)}"
    result = sched("load", path)
    assert result.code == 1
    assert result.out == ""
    assert str(path) in result.err
    hooks = ("get_subflow", "get_send") if has_get_send else ("get_send", "get_subflow")
    assert f"it has the hook {hooks[0]}" in result.err
    assert f"this one wants {hooks[1]}" in result.err
    assert ".pre615.bpf.o" in result.err, "which one to take"
    assert available() == {"default"}
