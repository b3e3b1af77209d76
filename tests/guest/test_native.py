# SPDX-License-Identifier: GPL-2.0
"""A kernel that has the scheduler API itself: the bridge is for copies only.

`vmtest.sh native` makes one. What a scheduler does is the same there, so the
other modules are run on it as they are; here is what is different.
"""

import os
from pathlib import Path

import made
import pytest
from command import PIN_DIR, available, ok, sched, stats_of
from hygiene import KernelLog
from lab import run, until
from libbpf import Object
from test_unload import bridge_loaded, bridge_returns, rmmod
from traffic import connection, info, upload

OBJECT = Path("/usr/lib/mptcp-sched/bpf_ecf.bpf.o")
SIZE = 1 << 20
WITHOUT_MODULES = (
    "unshare",
    "-m",
    "sh",
    "-c",
    'mount -t tmpfs none /lib/modules && exec "$@"',
    "sh",
)


pytestmark = pytest.mark.usefixtures("none_loaded")


@pytest.fixture(autouse=True)
def _native_only(native):
    if not native:
        made.skip_for_want(made.API)


@pytest.fixture
def without_bridge():
    with bridge_returns():
        if bridge_loaded():
            run("rmmod", "mptcp_sched_bpf")
        yield


def load_alone(name):
    """Where there is no bridge module to be found: a note says what is missing."""
    said = sched("--json", "load", name, prefix=WITHOUT_MODULES)
    assert said.code == 0, said
    (note,) = said.data["notes"]
    assert "mptcp_sched_bpf" in note and "copies" in note
    assert not bridge_loaded()


def both_carry(lab, name):
    """A transfer by that scheduler: its hash is right and both paths took part."""
    lab.client.scheduler = name
    with connection(lab) as conn:
        before = lab.sent()
        upload(conn, SIZE).finish().acknowledged()
        found = stats_of(info(conn.client).token)
    moved = [b - a for a, b in zip(before, lab.sent(), strict=True)]
    assert found["scheduler"] == name
    assert min(moved) > SIZE / 10, moved
    lab.client.scheduler = "default"
    return found


def found_by_doctor(*prefix):
    said = sched("--json", "doctor", prefix=prefix)
    assert said.code == 0, said
    assert said.data["ready"]
    return {c["check"]: c["found"] for c in said.data["checks"]}


def test_schedulers_need_no_bridge(labs, without_bridge):
    assert ok("show")["kernel"]["support"] == "native"
    load_alone("bpf_ecf")
    both_carry(labs().endpoints(), "bpf_ecf")
    ok("unload", "bpf_ecf")
    assert not bridge_loaded()


def test_bpftool_needs_no_bridge(labs, without_bridge, tmp_path):
    """Nor does it crash here: the type that it looks up is in the kernel's own BTF."""
    directory = Path("/sys/fs/bpf") / tmp_path.name
    directory.mkdir()
    try:
        done = run("bpftool", "struct_ops", "register", OBJECT, directory, check=False)
        said = done.stdout + done.stderr
        assert "Registered mptcp_sched_ops bpf_ecf" in said
        # it goes on to the object's ACK clock, which takes the bridge: nothing else may fail
        assert "can't register struct_ops bpf_ecf_clock" in said and said.count("Error:") == 1
        assert not bridge_loaded()
        assert available() == {"default", "bpf_ecf"}
        both_carry(labs().endpoints(), "bpf_ecf")
    finally:
        for pin in directory.iterdir():
            pin.unlink()
        directory.rmdir()
    until(lambda: available() == {"default"}, 10, "unregistered with its pin")


def test_doctor(without_bridge):
    """Nothing is missing, whatever there is of the bridge."""
    for prefix, what in ((), "tried"), (WITHOUT_MODULES, "is not installed"):
        found = found_by_doctor(*prefix)
        assert "native" in found["BPF schedulers"]
        assert what in found["copies of data"]
    run("modprobe", "mptcp_sched_bpf")
    assert "loaded" in found_by_doctor()["copies of data"]


def test_the_bridge_adds_its_kfunc_and_no_more(labs, without_bridge, compiled):
    """A scheduler that was loaded without it goes on with the kernel's own functions."""
    load_alone("bpf_ecf")
    log = KernelLog()
    run("modprobe", "mptcp_sched_bpf")
    (said,) = [line for line in log.lines() if "mptcp_sched_bpf" in line and "API" in line]
    log.close()
    assert said.endswith("only the bridge's own functions are added")
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_ecf"
    with connection(lab) as conn, Object(compiled("asks")) as asks:
        # the one that calls it does hold the bridge
        busy = rmmod()
        assert busy.returncode != 0 and "in use" in busy.stderr
        asks.attach("asks")
        transfer = upload(conn, SIZE).reached(0.2)
        assert rmmod().returncode != 0
        transfer.finish().acknowledged()
        assert asks.u64("answers", 0) > 0, "asked, and granted"
        asks.detach()
        asks.close()
        until(lambda: rmmod().returncode == 0, 10, "rmmod of the unused bridge")
        # under a live connection of a scheduler that never asked
        assert os.path.exists(f"{PIN_DIR}/bpf_ecf")
        upload(conn, SIZE // 4).finish().acknowledged()
    lab.client.scheduler = "default"
    ok("unload", "bpf_ecf")


def test_load_brings_the_bridge_to_who_asks(labs, without_bridge, compiled):
    lab = labs().endpoints()
    ok("load", compiled("asking"))
    assert bridge_loaded()
    both_carry(lab, "t_asking")
    assert rmmod().returncode != 0
    ok("unload", "t_asking")
    until(lambda: rmmod().returncode == 0, 10, "rmmod after the one that asked")


def test_who_asks_works_without_it_too(labs, without_bridge, compiled):
    load_alone(compiled("asking"))
    both_carry(labs().endpoints(), "t_asking")
    ok("unload", "t_asking")
