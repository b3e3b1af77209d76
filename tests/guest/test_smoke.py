# SPDX-License-Identifier: GPL-2.0
"""Does all of it work on this kernel? The few tests that every kernel has to pass (docs/reference/kernels.md).

From the module's load to its removal. On the kernels of CI they are a part of all tests; on the
others they are all that runs. boot.py looks at the kernel's log when the guest is done.
"""

import contextlib
import os
import socket
import subprocess
from pathlib import Path

import pytest
from cgroups import Cgroup
from command import available, ok, sched, stats_of, total
from lab import STANDS_STILL, run, until
from lab import Path as Link
from tables import replace, steer
from test_steer_option import name as name_mode
from traffic import connection, download, info

BRIDGE = "mptcp_sched_bpf"
INSTALLED = Path("/usr/lib/mptcp-sched")
SIZE = 512 << 10
NAMES = ["bpf_ecf", "bpf_redundant"]

pytestmark = pytest.mark.usefixtures("none_loaded")


@pytest.fixture
def lab(labs):
    """Two unlike paths, slow enough that a transfer is not over before a path dies."""
    made = labs(Link(8, 10), Link(4, 30)).endpoints()
    yield made
    made.server.scheduler = "default"


def test_the_bridge_is_loaded_and_doctor_is_content(by_the_bridge):
    assert os.path.isdir(f"/sys/module/{BRIDGE}")
    done = sched("doctor")
    assert done.code == 0, done.out + done.err
    assert ok("show")["kernel"]["support"] == "bridge"


def test_bpftool_registers_a_scheduler(suffix, tmp_path):
    """The object as it is installed, without our program; its own status: test_registration.py."""
    directory = Path("/sys/fs/bpf") / tmp_path.name
    directory.mkdir()
    try:
        done = subprocess.run(
            ["bpftool", "struct_ops", "register", INSTALLED / f"bpf_ecf{suffix}", directory],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert available() == {"default", "bpf_ecf"}, done.stdout + done.stderr
    finally:
        for pin in directory.iterdir():
            pin.unlink()
        directory.rmdir()
    until(lambda: available() == {"default"}, 20, "unregistered with its pin")


def served(conn):
    """The statistics of the server's end, which sends, and how much it has sent."""
    return stats_of(info(conn.server).token), info(conn.server)


def all_is_counted(conn, size):
    """Each byte as new on one subflow, and what went out again as that; "!" is the greeting."""
    found, socket_info = served(conn)
    assert total(found, "bytes_sent") == socket_info.bytes_sent == size + 1
    again = total(found, "bytes_retrans", "bytes_copied")
    assert again >= socket_info.bytes_retrans
    counters = found["counters"]
    assert counters["decisions"] == counters["picks"] + sum(found["waits"].values())
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_download(lab, name):
    """Over two paths: its content by the hash, its bytes by the counters."""
    ok("load", name)
    lab.server.scheduler = name
    with connection(lab) as conn:
        download(conn, SIZE).finish().acknowledged()
        found = all_is_counted(conn, SIZE)
    assert found["scheduler"] == name
    carried = [
        sum(s["counters"][c] for c in ("bytes_sent", "bytes_copied")) for s in found["subflows"]
    ]
    assert len(carried) == 2 and min(carried) > 0, found
    if name == "bpf_redundant":
        assert total(found, "bytes_copied") > SIZE // 4, found


@pytest.mark.parametrize("name", NAMES)
def test_a_path_dies_and_comes_back(lab, name):
    """In mid-transfer, without a sign; all arrives, and the path carries data again."""
    ok("load", name)
    lab.server.scheduler = name
    with (
        connection(lab) as conn,
        lab.outage(1, "loss") as (kill, revive),
    ):
        transfer = download(conn, 2 * SIZE).reached(0.2)
        kill()
        assert transfer.received < 1.6 * SIZE, "it was over before the path died"
        transfer.finish(90).acknowledged()
        revive()
        size = 2 * SIZE

        def carries():
            nonlocal size
            before = lab.sent(lab.server)[0]
            download(conn, SIZE // 4).finish(90).acknowledged()
            size += SIZE // 4
            return lab.sent(lab.server)[0] - before > 32 << 10

        until(carries, 60, "path 1 in use again")
        all_is_counted(conn, size)


def mostly_on(lab, conn, path):
    """Of a download, by what left the server's devices: a copy or two may go elsewhere."""
    before = lab.sent(lab.server)
    download(conn, SIZE // 2).finish(90).acknowledged()
    sent = [b - a for a, b in zip(before, lab.sent(lab.server), strict=True)]
    assert sent[path] > 0.7 * sum(sent), (path, sent)


def test_steering_acts_on_an_open_connection(lab):
    """Each path is the standby once; what is sent is on the other."""
    ok("load", "bpf_steer", "--set", STANDS_STILL)
    lab.server.scheduler = "bpf_steer"
    paths = [lab.local(i) for i in (1, 2)]
    steer("rule add mode active-standby")
    with connection(lab) as conn:
        for active in (0, 1):
            steer("path flush")
            for i, address in enumerate(paths):
                steer(f"path add name path{i} remote {address} rank {int(i != active)}")
            mostly_on(lab, conn, active)
        download(conn, SIZE).finish(90).acknowledged()
        all_is_counted(conn, 2 * SIZE)
    steer("flush")


def fields_of(lab, conn, mine, other):
    """What rules compare: {field: (what the server's end has, another value)}."""
    (_, port), (_, peer) = conn.server.getsockname(), conn.client.getsockname()
    conn.server.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 46 << 2)
    conn.server.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
    conn.server.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 0x21)
    return {
        "local": (f"{lab.address}/32", "10.98.0.0/16"),
        "remote": (lab.local(1), lab.local(2)),
        "local-port": (port, port + 1),
        "remote-port": (f"{peer - 1}-{peer + 1}", f"0-{peer - 1}"),
        "dscp": ("ef", "af41"),
        "mark": ("0x20/0xf0", "0x20"),
        "priority": (5, 6),
        "uid": ("root", 1),
        "cgroup": (mine.name, other.name),
        "netns": (lab.server.name, lab.client.name),
    }


def rows(lab, fields, cap):
    """The last rule has all fields, and each before it has one of them wrong. So have paths."""
    yield "path name none device p1 backup"
    yield "path name none2 id 1"
    yield f"path name one device {lab.device(1)} id 0 weight 80"
    yield f"path name two backup weight 20 cap {cap} period month"
    right = {field: values[0] for field, values in fields.items()}
    for field, (_, wrong) in fields.items():
        words = (f"{k} {v}" for k, v in (right | {field: wrong}).items())
        yield f"rule {' '.join(words)} mode redundant"
    yield f"rule {' '.join(f'{k} {v}' for k, v in right.items())} mode load-balancing"


def named(conn, size):
    """What each path was given of a download, by its name; the connection's statistics then."""
    before = {s["id"]: s["counters"]["bytes_sent"] for s in served(conn)[0]["subflows"]}
    download(conn, size).finish(90).acknowledged()
    found = served(conn)[0]
    sent = {
        s["path"]: s["counters"]["bytes_sent"] - before.get(s["id"], 0) for s in found["subflows"]
    }
    return sent, found


def test_steering_by_all_that_rows_have(labs, tmp_path):
    """Each field of a rule, paths by three, shares, a cap, and what the application names."""
    ok("load", "bpf_steer", "--set", STANDS_STILL)
    lab = labs(Link(8, 10), Link(4, 30, backup=True)).endpoints()
    lab.server.scheduler = "bpf_steer"
    with (
        contextlib.closing(Cgroup()) as mine,
        contextlib.closing(Cgroup()) as other,
        mine.inside(),
        connection(lab) as conn,
    ):
        fields = fields_of(lab, conn, mine, other)
        replace(tmp_path, rows(lab, fields, "1G"))

        def shared():
            """By weights, from the second transfer on: the options cost a route, and so a row by device."""
            shares, found = named(conn, 2 * SIZE)
            assert found["steer"] == {"rule": len(fields) + 1, "mode": "load-balancing"}, found
            assert set(shares) == {"one", "two"}, found
            return abs(shares["one"] / (2 * SIZE) - 0.8) < 0.08

        until(shared, 60, "80 to 20")
        # it has had more than that already
        replace(tmp_path, rows(lab, fields, "10K"))
        shares, found = named(conn, SIZE)
        assert shares == {"one": SIZE, "two": 0} and "over_cap" in found["notes"], found
        steer(f"option --cgroup {mine.name}")
        name_mode(conn.server, "bpf_rr")
        assert named(conn, 1000)[1]["steer"] == {"rule": None, "mode": "bpf_rr"}
        steer("flush")


def removed():
    return run("rmmod", BRIDGE, check=False).returncode == 0


def test_unloaded_and_removed(lab, by_the_bridge):
    """Refused while a connection has the scheduler; then nothing of it is left."""
    try:
        ok("load", "bpf_ecf")
        lab.server.scheduler = "bpf_ecf"
        with connection(lab, subflows=1) as conn:
            download(conn, 10_000).finish()
            busy = run("rmmod", BRIDGE, check=False)
            assert busy.returncode != 0 and "in use" in busy.stderr
        lab.server.scheduler = "default"
        ok("unload", "bpf_ecf")
        assert available() == {"default"}
        until(removed, 30, "rmmod of the unused bridge")
        assert not os.path.isdir(f"/sys/module/{BRIDGE}")
    finally:
        run("modprobe", BRIDGE)
