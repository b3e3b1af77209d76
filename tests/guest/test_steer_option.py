# SPDX-License-Identifier: GPL-2.0
"""`mptcp-sched steer option`: an application names the mode of its socket."""

import contextlib
import errno
import os
import socket
import subprocess
import sys

import pytest
import tables
from cgroups import Cgroup
from command import PROGRAM, ok, sched, stats_of
from conftest import TOP
from lab import run
from tables import NAME, lines, steer
from traffic import connection, info, listen, upload

file, loaded, steer_loaded = tables.file, tables.loaded, tables.steer_loaded
pytestmark = pytest.mark.each_kernel
SOL_MPTCP, MODE = 284, 0x4D53
MPTCP_INFO = 1
EXAMPLES = TOP / "contrib" / "option"


@pytest.fixture
def cgroup():
    made = Cgroup()
    yield made
    made.close()


@pytest.fixture
def option(loaded, cgroup):
    """Its processes may name a mode."""
    steer(f"option --cgroup {cgroup.name}")
    yield cgroup
    steer(f"option off --cgroup {cgroup.name}")


def mptcp():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)


def name(sock, mode):
    sock.setsockopt(SOL_MPTCP, MODE, mode.encode() + b"\0")


def named(sock, size=16):
    return sock.getsockopt(SOL_MPTCP, MODE, size)


def error_of(call, *args):
    with pytest.raises(OSError) as failed:
        call(*args)
    return errno.errorcode[failed.value.errno]


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    program = tmp_path_factory.mktemp("option") / "mode"
    run("cc", "-Wall", "-Werror", "-o", str(program), str(EXAMPLES / "mode.c"))
    return (program,), (sys.executable, EXAMPLES / "mode.py")


def test_the_examples(option, examples):
    for words in examples:
        for mode in ("redundant", "active-standby", "bpf_redundant"):
            done = option.run(*words, mode)
            assert (done.returncode, done.stdout) == (0, f"{mode}\n"), done
        unknown = option.run(*words, "fast")
        assert unknown.returncode == 1 and unknown.stderr == "fast: No such file or directory\n"
        elsewhere = subprocess.run(
            [*map(str, words), "redundant"], capture_output=True, text=True, check=False
        )
        assert elsewhere.returncode == 1 and "redundant: " in elsewhere.stderr


def test_errno_as_of_a_real_option(option):
    with option.inside(), mptcp() as sock:
        assert named(sock) == bytes(16)
        name(sock, "priority")
        assert error_of(name, sock, "fast") == "ENOENT"
        assert error_of(name, sock, "redundant-") == "ENOENT"
        assert error_of(sock.setsockopt, SOL_MPTCP, MODE, b"") == "EINVAL"
        assert named(sock) == b"priority".ljust(16, b"\0"), "what is refused changes nothing"
        # without a NUL, and with more behind it
        sock.setsockopt(SOL_MPTCP, MODE, b"auto")
        assert named(sock).rstrip(b"\0") == b"auto"
        sock.setsockopt(SOL_MPTCP, MODE, b"bpf_rr\0" + b"x" * 8000)
        assert named(sock, 3) == b"bpf"
        assert named(sock, 1000) == b"bpf_rr".ljust(16, b"\0")
        name(sock, "")
        assert named(sock) == bytes(16)


def test_other_options_are_the_kernel_s(option):
    with option.inside(), mptcp() as sock, socket.socket() as plain:
        unknown = {
            error_of(sock.setsockopt, SOL_MPTCP, MODE + 1, b"auto"),
            error_of(sock.getsockopt, SOL_MPTCP, MODE + 1, 16),
        }
        assert unknown <= {"ENOPROTOOPT", "EOPNOTSUPP", "ENOTSUP"}
        assert error_of(plain.setsockopt, SOL_MPTCP, MODE, b"auto") == "ENOPROTOOPT"
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY) == 5
        # longer than the kernel hands to such programs
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, (16).to_bytes(4, "little") + bytes(8000))
        assert sock.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == 16
        assert len(plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1000)) > 100


def steered(sock):
    return stats_of(info(sock).token)["steer"]


def test_it_reaches_the_connection(option, labs):
    """In front of all rules, at once for one that is open, and back to the rules."""
    lab = labs().endpoints()
    lab.client.scheduler = NAME
    steer("rule add mode bpf_minrtt")
    with option.inside(), connection(lab) as conn:
        upload(conn, 1000).finish().acknowledged()
        assert steered(conn.client) == {"rule": 1, "mode": "bpf_minrtt"}
        for mode in ("redundant", "bpf_rr"):
            name(conn.client, mode)
            upload(conn, 1000).finish().acknowledged()
            assert steered(conn.client) == {"rule": None, "mode": mode}
        # other tables leave it
        steer("path add name x rank 3")
        upload(conn, 1000).finish().acknowledged()
        assert steered(conn.client)["mode"] == "bpf_rr"
        name(conn.client, "")
        upload(conn, 1000).finish().acknowledged()
        assert steered(conn.client) == {"rule": 1, "mode": "bpf_minrtt"}


def test_before_there_are_tables(none_loaded, steer_loaded, cgroup, labs):
    """And gone with the scheduler: nothing answers for it any more."""
    lab = labs()
    lab.client.scheduler = NAME
    steer(f"option --cgroup {cgroup.name}")
    assert steer("option")["cgroups"] == [cgroup.name]
    with cgroup.inside(), connection(lab, subflows=1) as conn:
        name(conn.client, "active-standby")
        upload(conn, 1000).finish().acknowledged()
        assert steered(conn.client)["mode"] == "active-standby"
        lab.client.scheduler = "default"
        ok("unload", NAME, "--force")
        error_of(name, conn.client, "auto")
    ok("load", NAME)
    assert steer("option")["cgroups"] == []


def test_accepted_sockets_have_their_listener_s(option, labs):
    lab = labs()
    lab.server.scheduler = NAME
    with option.inside():
        listener = listen(lab)
        name(listener, "smallest-delay")
        with contextlib.closing(listener), lab.client.inside(), mptcp() as client:
            client.connect(listener.getsockname()[:2])
            server, _ = listener.accept()
            with contextlib.closing(server):
                client.sendall(b"?")
                server.recv(1)
                server.sendall(b"!" * 1000)
                client.recv(1)
                assert named(server).rstrip(b"\0") == b"smallest-delay"
                assert steered(server)["mode"] == "smallest-delay"


def test_on_and_off(loaded, cgroup):
    path = f"/sys/fs/cgroup{cgroup.name}"
    on = sched("steer", "option", "--cgroup", path)
    assert on.out == f"{path}: its processes may name a mode for a socket\n", on
    assert steer("option")["cgroups"] == [cgroup.name]
    assert steer(f"option --cgroup {cgroup.name}")["notes"] == ["they could before"]
    steer(f"option off --cgroup {cgroup.name}")
    assert steer("option")["cgroups"] == []
    assert steer(f"option off --cgroup {cgroup.name}")["notes"] == ["they could not before"]
    with cgroup.inside(), mptcp() as sock:
        error_of(name, sock, "auto")
    assert lines() == ""


def test_a_cgroup_that_is_gone_leaves_room(loaded, cgroup):
    other = Cgroup()
    steer(f"option --cgroup {other.name}")
    number = other.path.stat().st_ino
    other.close()
    assert steer("option")["cgroups"] == [f"id:{number}"]
    steer(f"option --cgroup {cgroup.name}")
    assert steer("option")["cgroups"] == [cgroup.name]
    steer(f"option off --cgroup {cgroup.name}")


def test_those_out_of_sight_stay(loaded, cgroup):
    """The root, which has no name, and what a cgroup namespace does not show."""
    other = Cgroup()
    inner = other.path / "inner"
    inner.mkdir()
    words = (PROGRAM, "steer", "option", "--cgroup", "/inner")
    namespace = 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
    try:
        steer("option --cgroup /")
        steer(f"option --cgroup {cgroup.name}")
        done = other.run("unshare", "-Cm", "sh", "-ec", namespace, "sh", *words)
        assert done.returncode == 0, done
        assert set(steer("option")["cgroups"]) == {"/", cgroup.name, f"{other.name}/inner"}
    finally:
        for name in ("/", cgroup.name, f"{other.name}/inner"):
            steer(f"option off --cgroup {name}")
        inner.rmdir()
        other.close()


WRONG = {
    "not there": (("--cgroup", "/t-nowhere"), 1, "no such cgroup"),
    "no cgroup": (("--cgroup", "/sys/fs/cgroup/cgroup.procs"), 1, "no such cgroup"),
    "on": (("on",), 2, "neither off nor nothing"),
    "off where": (("off",), 2, "say for which"),
    "of another verb": (("--command", "x"), 2, "--command is for push"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong(case, loaded):
    words, code, reason = WRONG[case]
    result = sched("--json", "steer", "option", *words)
    assert result.code == code and reason in result.error["reason"], result
    assert result.error["hint"]
    assert not [p for p in os.listdir("/sys/fs/bpf/mptcp-sched") if "option" in p]
