# SPDX-License-Identifier: GPL-2.0
"""One ACK clock for all: a segment of a connection makes its scheduler's program run, and no other.

Every figure is of this guest, where nothing else speaks TCP; the programs' runs are the kernel's own
statistics. What should have run is told by a tracing program at the same tracepoint.
"""

import contextlib
import json
import os
import socket
from pathlib import Path as File

import pytest
from command import BRIDGE, PIN_DIR, available, ok, sched
from hygiene import pins
from lab import run, until
from libbpf import Object, links
from test_registration import NAMES
from traffic import both_ways, connection, info, upload

HIDE_CLOCK = """
LC_ALL=C sed s/bpf_struct_ops_mptcp_sched_clock/xpf_struct_ops_mptcp_sched_clock/ \\
    /sys/kernel/btf/mptcp_sched_bpf >/run/t-btf &&
mount --bind /run/t-btf /sys/kernel/btf/mptcp_sched_bpf && rm /run/t-btf && exec "$@"
"""

pytestmark = pytest.mark.usefixtures("none_loaded")


@pytest.fixture(autouse=True)
def statistics():
    switch = File("/proc/sys/kernel/bpf_stats_enabled")
    switch.write_text("1")
    yield
    switch.write_text("0")


def programs():
    return json.loads(run("bpftool", "-j", "prog", "show").stdout)


def at_the_tracepoint():
    """Names of tracing programs of ours; what measures queues or keeps accounts is no clock."""
    found = {p["name"] for p in programs() if p["type"] == "tracing"}
    return {n for n in found if n.startswith("bpf_") and not n.endswith(("_leaves", "_ends"))}


def runs():
    """Of each scheduler's clock, how often its program ran."""
    return {
        p["name"].removesuffix("_segment"): p.get("run_cnt", 0)
        for p in programs()
        if p["type"] == "struct_ops" and p["name"].endswith("_segment")
    }


@contextlib.contextmanager
def counted(compiled):
    """Segments by scheduler, as another program sees them."""
    with Object(compiled("segments")) as loaded:
        loaded.attach("t_segments")

        def seen():
            return {key: loaded.u64("seen", key, 2)[0] for key in loaded.keys("seen")}

        yield seen


def key_of(name):
    return int.from_bytes(name[4:12].ljust(8, "\0").encode(), "little")


def settled():
    """The runs, when no segment arrives any more."""
    last, now = None, runs()
    while now != last:
        last, now = now, runs()
    return now


@contextlib.contextmanager
def probe_hits(compiled):
    """hits(): how often the bridge's probe was entered, by a kprobe on it."""
    with Object(compiled("probed")) as loaded:
        loaded.attach("t_probed")
        yield lambda: loaded.u64("hits", 0)


def load_all():
    for name in NAMES:
        ok("load", name)


def test_with_all_loaded_one_program_runs_per_segment(labs, compiled):
    """For each scheduler in turn; the peer's end has the kernel's own, which has no clock."""
    load_all()
    assert set(runs()) == set(NAMES)
    assert at_the_tracepoint() == set()
    lab = labs().endpoints()
    with counted(compiled) as seen:
        for name in NAMES:
            lab.client.scheduler = name
            before = settled()
            with connection(lab) as conn:
                upload(conn, 1 << 17).finish().acknowledged()
            ran = {n: now - before[n] for n, now in settled().items()}
            assert {n for n, count in ran.items() if count} == {name}
        after = settled()
        assert min(after.values()) > 20
        assert after == {name: seen()[key_of(name)] for name in NAMES}
    lab.client.scheduler = "default"


def test_plain_tcp_makes_none_run(labs, compiled):
    load_all()
    lab = labs()
    lab.client.scheduler = lab.server.scheduler = "bpf_ecf"
    with counted(compiled) as seen:
        with connection(lab, protocol=socket.IPPROTO_TCP) as conn:
            upload(conn, 1 << 18).finish()
        assert seen()[0] > 100 and set(seen()) == {0}
    assert set(settled().values()) == {0}
    lab.client.scheduler = lab.server.scheduler = "default"


def test_two_schedulers_at_once(labs, compiled):
    """Each end with another one, and a third loaded besides: exact for both."""
    for name in ("bpf_ecf", "bpf_redundant", "bpf_rr"):
        ok("load", name)
    lab = labs().endpoints()
    lab.client.scheduler, lab.server.scheduler = "bpf_ecf", "bpf_redundant"
    with counted(compiled) as seen:
        with connection(lab) as conn:
            both_ways(conn, 1 << 18)
        ran = settled()
        assert ran.pop("bpf_rr") == 0 and min(ran.values()) > 100
        assert ran == {name: seen()[key_of(name)] for name in ran}
    lab.client.scheduler = lab.server.scheduler = "default"


def test_the_probe_is_there_only_while_a_clock_is(labs, compiled):
    """Nothing loaded, or nothing that copies: a segment costs what it costs without us."""
    lab = labs()
    tcp = socket.IPPROTO_TCP

    def hits_of(*load):
        if load:
            ok("load", *load)
        before = hits()
        with connection(lab, protocol=tcp) as conn:
            upload(conn, 1 << 16).finish()
        return hits() - before

    with probe_hits(compiled) as hits:
        assert hits_of() == 0
        assert hits_of("bpf_ecf", "--set", "copy=0") == 0
        one = hits_of("bpf_minrtt")
        assert one > 10
        # one more clock, and still one probe
        assert hits_of("bpf_rr") < 2 * one
        ok("unload", "--all")
        assert hits_of() == 0


def test_rmmod_right_behind():
    load_all()
    assert run("rmmod", BRIDGE, check=False).returncode != 0
    ok("unload", "--all")
    try:
        assert run("rmmod", BRIDGE, check=False).stderr == ""
    finally:
        run("modprobe", BRIDGE)


def test_loads_and_unloads_amid_traffic(labs):
    """The clock comes and goes under connections that it is for, and others."""
    lab = labs().endpoints()
    with connection(lab) as other, contextlib.ExitStack() as stack:
        moving = [upload(other, 3 << 20)]
        for i in range(6):
            name = ("bpf_ecf", "bpf_redundant")[i % 2]
            ok("load", name)
            lab.client.scheduler = name
            conn = stack.enter_context(connection(lab))
            moving.append(upload(conn, 1 << 18))
            lab.client.scheduler = "default"
            ok("unload", name)
        for transfer in moving:
            transfer.finish()
    assert runs() == {} or until(lambda: runs() == {}, 10, "every clock gone")


@pytest.mark.virtual_time  # a host that is busy delays a subflow, and a copy of its data pays
def test_a_clock_does_not_outlive_its_scheduler(labs):
    """A connection that keeps the scheduler has no clock; one of the same name leaves it alone."""
    lab = labs().endpoints()
    ok("load", "bpf_rr")
    ok("load", "bpf_ecf")
    lab.client.scheduler = "bpf_ecf"
    with connection(lab) as conn:
        upload(conn, 1 << 17).finish()
        assert runs()["bpf_ecf"] > 0
        lab.client.scheduler = "default"
        ok("unload", "bpf_ecf")
        assert set(runs()) == {"bpf_rr"}
        upload(conn, 1 << 17).finish()
        assert runs() == {"bpf_rr": 0}
        # it has no state of that connection, and asks for nothing
        ok("load", "bpf_ecf")
        upload(conn, 1 << 17).finish().acknowledged()
        assert runs()["bpf_ecf"] > 0
        assert info(conn.client).bytes_retrans == 0


def test_who_else_holds_it(labs, compiled):
    """Somebody's second pin does not keep a clock ticking."""
    ok("load", "bpf_ecf")
    other = "/sys/fs/bpf/t_other"
    run("bpftool", "link", "pin", "pinned", f"{PIN_DIR}/bpf_ecf@bpf_ecf_clock", other)
    try:
        with probe_hits(compiled) as hits:
            said = ok("unload", "bpf_ecf")
            assert "notes" not in said
            with connection(labs().endpoints()) as conn:
                upload(conn, 1 << 16).finish()
            assert hits() == 0
    finally:
        os.unlink(other)
    until(lambda: links() == 0, 10, "the last link gone")


# --- what an earlier version has left there: a tracing program's link at the same path


@contextlib.contextmanager
def old_pin(compiled, name):
    path = f"{PIN_DIR}/{name}@{name}_clock"
    with Object(compiled("segments")) as old:
        old.attach("t_segments")
        old.pin(path)
    yield path


def test_unload_removes_an_old_pin(compiled):
    ok("load", "bpf_ecf", "--set", "copy=0")
    with old_pin(compiled, "bpf_ecf") as path:
        assert links() == 2 and os.path.exists(path)
        ok("unload", "bpf_ecf")
    until(lambda: (pins(), links()) == ([], 0), 10, "nothing left")


@pytest.mark.parametrize("clear", [("load", "bpf_ecf"), ("unload", "bpf_ecf")])
def test_an_old_pin_without_its_scheduler(compiled, clear):
    os.mkdir(PIN_DIR, 0o700)
    with old_pin(compiled, "bpf_ecf"):
        said = ok(*clear)
    if clear[0] == "load":
        assert any("it is removed" in note for note in said["notes"])
        until(lambda: links() == 2, 10, "the new links alone")
        assert set(runs()) == {"bpf_ecf"}
        ok("unload", "bpf_ecf")
    until(lambda: (pins(), links()) == ([], 0), 10, "nothing left")


# --- what is refused


def test_a_bridge_without_clocks(net):
    """Of an earlier version: loaded without copies, and told."""
    missing = ("unshare", "-m", "sh", "-c", HIDE_CLOCK, "sh")
    result = sched("--json", "load", "bpf_ecf", prefix=missing)
    assert result.code == 0, result
    assert result.data["copies"] == "off"
    (note,) = result.data["notes"]
    assert "no bpf_struct_ops_mptcp_sched_clock" in note and "DKMS" in note
    assert os.listdir(PIN_DIR) == ["bpf_ecf"]
    assert runs() == {}


def test_a_clock_for_another_scheduler(compiled):
    result = sched("--json", "load", compiled("otherclock", '-DCLOCK_NAME="bpf_ecf"'))
    assert result.code == 1
    assert 't_other_clock is for a scheduler named "bpf_ecf", not t_other' in result.error["reason"]
    assert available() == {"default"}


def test_a_clock_without_a_program(compiled):
    """The scheduler is not registered either."""
    options = ("-DNO_PROGRAM", '-DCLOCK_NAME="t_other"')
    result = sched("--json", "load", compiled("otherclock", *options))
    assert result.code == 1
    assert "refused to register its clock t_other_clock" in result.error["reason"]
    assert (available(), pins(), links()) == ({"default"}, [], 0)
