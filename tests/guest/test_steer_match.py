# SPDX-License-Identifier: GPL-2.0
"""What rules and paths match: each field, with real connections and what the machine has."""

import contextlib
import errno
import json
import os
import re
import socket
import subprocess
from pathlib import Path as Path_

import jsonschema
import pytest
import tables
from command import ok, sched, stats_of
from conftest import TOP
from lab import Path, run
from tables import NAME, lines, steer
from traffic import connection, download, info, listen, make_socket

file, loaded = tables.file, tables.loaded


CAP = "cap 1G period month"


def mode_of(conn):
    download(conn, 20_000).finish().acknowledged()
    return stats_of(info(conn.server).token)["steer"]


@pytest.fixture
def lab(labs):
    return labs(Path(20, 10), Path(20, 10))


def test_what_a_rule_can_match(loaded, lab):
    """Each field by itself, on an open connection: it has the rule, or with another value none."""
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        server = conn.server
        port, peer = server.getsockname()[1], conn.client.getsockname()[1]
        server.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 46 << 2)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 0x21)
        for right, wrong in (
            (f"local {lab.address}/32", "local 10.98.0.0/16"),
            (f"local-port {port}", f"local-port {port + 1}"),
            (f"remote {lab.local(1)}", f"remote {lab.local(2)}"),
            (f"remote-port {peer - 1}-{peer + 1}", f"remote-port 0-{peer - 1}"),
            ("dscp ef", "dscp af41"),
            ("mark 0x20/0xf0", "mark 0x20"),
            ("priority 5", "priority 6"),
            ("uid root", "uid 1"),
            (f"netns {lab.server.name}", f"netns {lab.client.name}"),
        ):
            steer("rule flush")
            steer(f"rule add {right} mode bpf_rr")
            assert mode_of(conn) == {"rule": 1, "mode": "bpf_rr"}, right
            steer("rule flush")
            steer(f"rule add {wrong} mode bpf_rr")
            assert mode_of(conn) == {"rule": None, "mode": "auto"}, wrong


CGROUPS = Path_("/sys/fs/cgroup")


@contextlib.contextmanager
def inside(cgroup):
    """This process: a socket is of the cgroup in which it is made."""
    home = Path_("/proc/self/cgroup").read_text().split("::")[1].strip()
    (cgroup / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        Path_(f"{CGROUPS}{home}/cgroup.procs").write_text(str(os.getpid()))


@pytest.fixture
def cgroup():
    """cgroup(name): it is made, and with those in it gone afterwards."""
    made = []

    def make(name):
        made.append(CGROUPS / name)
        made[-1].mkdir()
        return made[-1]

    yield make
    for path in reversed(made):
        if path.exists():
            path.rmdir()


def test_cgroups(loaded, lab, cgroup):
    """The socket's own, and any above it."""
    cgroup("t-steer")
    cgroup("t-other")
    own = cgroup("t-steer/inner")
    with inside(own), lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        for name, rule in (("t-steer", 1), ("t-steer/inner", 1), ("t-other", None)):
            steer("rule flush")
            steer(f"rule add cgroup /{name} mode bpf_rr")
            assert steer("rule list")["rules"][0]["cgroup"] == f"/{name}"
            assert mode_of(conn)["rule"] == rule, name
            assert steer("test cgroup /t-steer/inner")["rule"] == rule, name
            assert steer(f"test cgroup id:{os.stat(own).st_ino}")["rule"] == rule


def test_a_rule_for_the_cgroup_above_outlives_restarts(loaded, lab, cgroup):
    """As a slice's does, whose service has a new cgroup each time; one for the service does not."""
    cgroup("t-slice")
    cgroup("t-slice/unit")
    steer("rule add cgroup /t-slice/unit mode bpf_minrtt")
    steer("rule add cgroup /t-slice mode bpf_rr")
    with lab.lent(NAME) as lent:
        lent.endpoints()
        for rule in (1, 2, 2):
            with inside(CGROUPS / "t-slice/unit"), connection(lab) as conn:
                assert mode_of(conn)["rule"] == rule
            (CGROUPS / "t-slice/unit").rmdir()
            (CGROUPS / "t-slice/unit").mkdir()


def test_the_document_s_socket_options(loaded, lab):
    """An application's own wish, by the page's example: its rule is there with the first byte."""
    text = (TOP / "docs/use/steering.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    steer("rule add dscp ef priority 4 mode bpf_minrtt")
    steer("rule add dscp ef priority 5 mark 0x20 mode bpf_rr")
    with lab.lent(NAME), listen(lab) as listener, lab.client.inside():
        address, port = listener.getsockname()
        for old, new in (("server.example.net", address), ("443", str(port))):
            assert example.count(old) == 1
            example = example.replace(old, new)
        names = {}
        exec(example, names)  # noqa: S102
        with names["sock"] as sock, listener.accept()[0] as peer:
            sock.sendall(b"x")
            assert peer.recv(1) == b"x"
            assert stats_of(info(sock).token)["steer"] == {"rule": 2, "mode": "bpf_rr"}


def saved(file):
    """The tables as a file has them, put back: they are the same."""
    before = lines()
    steer(f"replace {file(before)}")
    assert lines() == before
    return before


def test_a_cgroup_that_is_made_anew_is_another(loaded, file):
    made = "/sys/fs/cgroup/t-steer"
    os.mkdir(made)
    first = os.stat(made).st_ino
    steer("rule add cgroup /t-steer mode auto")
    assert lines() == "rule cgroup /t-steer mode auto  # 1\n"
    os.rmdir(made)
    os.mkdir(made)
    try:
        assert steer("test cgroup /t-steer")["rule"] is None
        notes = steer("list")["notes"]
        assert [f"cgroup id:{first} of rule 1 is gone" in n for n in notes] == [True]
        printed = saved(file)
        assert f"rule cgroup id:{first} mode auto" in printed
        assert "# note: " in printed and "note: " not in printed.replace("# note: ", "")
        steer(f"rule add at 1 cgroup id:{os.stat(made).st_ino} mode auto")
        assert "rule cgroup /t-steer mode auto" in saved(file)
    finally:
        os.rmdir(made)


def test_namespaces_by_what_they_have(loaded, file, tmp_path):
    """A process, a path, a name; and none of these any more."""
    process = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
    path = tmp_path / "mounted"
    path.touch()
    while os.stat(f"/proc/{process.pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino:
        pass
    inode = os.stat(f"/proc/{process.pid}/ns/net").st_ino
    try:
        steer("rule add netns 1 mode auto")
        steer(f"rule add netns {process.pid} mode auto")
        assert f"rule netns net:[{inode}] mode auto  # 2" in saved(file)
        assert not any("gone" in n for n in steer("list").get("notes", []))
        run("mount", "--bind", f"/proc/{process.pid}/ns/net", path)
        assert f"rule netns {path} mode auto  # 2" in saved(file)
        run("ip", "netns", "attach", "t-steer", str(process.pid))
        assert "rule netns t-steer mode auto  # 2" in saved(file)
        run("ip", "netns", "delete", "t-steer")
    finally:
        if os.path.ismount(path):
            run("umount", path)
        process.kill()
        process.wait()
    assert f"rule netns net:[{inode}] mode auto  # 2" in saved(file)
    assert any(f"net:[{inode}] of rule 2 is gone" in n for n in steer("list")["notes"])
    # a number is a name where it is one
    net = os.stat("/proc/self/ns/net").st_ino
    run("ip", "netns", "add", str(process.pid))
    try:
        steer("rule flush")
        steer(f"rule add netns {process.pid} mode auto")
        assert f"rule netns {process.pid} mode auto" in saved(file)
        assert steer(f"test netns net:[{net}]")["rule"] is None
    finally:
        run("ip", "netns", "delete", str(process.pid))


def test_the_mode_is_what_stats_has(loaded, lab):
    """Load-balancing without weights goes by rates."""
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        steer("rule add mode load-balancing")
        for path, mode in ((None, "auto"), ("name a weight 100", "load-balancing")):
            if path:
                steer(f"path add {path}")
            assert mode_of(conn)["mode"] == steer("test dscp 0")["mode"] == mode


def test_ipv6(loaded, labs):
    lab = labs(Path(20, 10), Path(20, 10), v6=True)
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        for words, rule in (
            ("local fd99::/64", 1),
            ("local fd98::/64", None),
            ("local 10.0.0.0/8", None),
            (f"remote {lab.local(1)}", 1),
            ("remote fd00:1::/64", 1),
            ("remote fd00:2::/64", None),
            ("remote 8000::/1", 1),
            ("remote ::/1", None),
        ):
            steer("rule flush")
            steer(f"rule add {words} mode bpf_rr")
            assert mode_of(conn)["rule"] == rule, words


def named(conn):
    """Which of the server's subflows have a row: by the peer's address, in order."""
    download(conn, 20_000).finish().acknowledged()
    found = stats_of(info(conn.server).token)["subflows"]
    return sorted(s["remote"].rpartition(":")[0].strip("[]") for s in found if s["path"] == "it")


def test_paths_of_ipv6(loaded, labs):
    """By the prefixes of both ends, and not by one of IPv4 that has the same bits."""
    lab = labs(Path(20, 10), Path(20, 10), v6=True)
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        for words, which in (
            ("remote fd00:2::/64", [2]),
            ("remote fd00:2::/32", [2]),
            ("remote fd00::/16", [1, 2]),
            (f"remote {lab.local(1)}", [1]),
            ("local fd99::/64", [1, 2]),
            ("local fd98::/64 remote fd00::/16", []),
            ("remote 0.0.0.0/0", []),
        ):
            steer("flush")
            steer(f"path add name it {words}")
            assert named(conn) == [lab.local(i) for i in which], words


def test_dscp_of_ipv6(loaded, labs):
    """What IP_TOS says of such a socket counts; the kernel knows no IPV6_TCLASS of MPTCP's."""
    lab = labs(Path(20, 10), v6=True)
    with lab.lent(NAME) as lent, connection(lent) as conn:
        steer("rule add dscp ef mode bpf_rr")
        with pytest.raises(OSError) as refused:
            conn.server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 46 << 2)
        assert refused.value.errno == errno.EOPNOTSUPP
        assert mode_of(conn)["rule"] is None
        conn.server.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 46 << 2)
        # found anew
        steer("path add name any")
        assert mode_of(conn)["rule"] == 1


def test_ipv4_in_ipv6(loaded, lab):
    """A server that listens for both: the peer's address counts as what it is."""
    with lab.lent(NAME) as lent:
        lent.endpoints()
        steer(f"rule add remote {lab.local(1)}/32 mode bpf_rr")
        listener = make_socket(lab.server, 6)
        with listener:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            listener.bind(("::", 7001))
            listener.listen()
            with make_socket(lab.client, 4) as client:
                client.connect((lab.address, 7001))
                served = listener.accept()[0]
                with served:
                    served.sendall(b"x" * 20_000)
                    assert stats_of(info(served).token)["steer"]["rule"] == 1


def test_what_a_path_can_match(loaded, lab):
    """Which subflow has the row, by its rank in the statistics."""
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        for words, which in (
            (f"device {lab.device(1)}", [1]),
            (f"device {lab.device(2)}", [2]),
            (f"remote {lab.local(2)}", [2]),
            (f"local {lab.address}", [1, 2]),
            ("remote-id 2", [2]),
            ("backup", []),
            ("id 0", [1, 2]),
        ):
            steer("flush")
            steer(f"path add name it {words}")
            download(conn, 20_000).finish().acknowledged()
            found = stats_of(info(conn.server).token)["subflows"]
            ends = [s["remote"].rpartition(":")[0] for s in found if s["path"] == "it"]
            assert sorted(ends) == [lab.local(i) for i in which], words


SAID = ("path", "rank", "weight", "metered", "period_bytes", "cap")


def said(conn, *keys):
    """What stats says of each subflow, the first one's first."""
    found = stats_of(info(conn.server).token)["subflows"]
    return [tuple(s[k] for k in keys) for s in sorted(found, key=lambda s: s["id"])]


def test_what_stats_says_of_paths(loaded, lab):
    """Shares are wanted by weights where these count; what is not of a row is null."""
    schema = json.loads((TOP / "docs/reference/stats.schema.json").read_text())
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        steer("path add name one rank 3 weight 30 device nosuch0")
        steer(f"path add name two rank 7 weight 70 metered remote {lab.local(2)} {CAP}")
        steer("rule add mode load-balancing")
        download(conn, 200_000).finish().acknowledged()
        row = {a["name"]: a["sent"] + a["received"] for a in steer("account show")["accounts"]}
        nothing = (None,) * len(SAID)
        assert said(conn, *SAID) == [nothing, ("two", 7, 70, True, row["two"], 1_000_000_000)]
        jsonschema.Draft202012Validator(schema).validate(ok("stats"))
        text = sched("stats").out
        line = f"  path two: rank 7, weight 70, metered, {row['two']} of 1000000000 bytes\n"
        assert "  rule 1, mode load-balancing\n" + line in text and "path one" not in text
        steer("flush")
        steer(f"path add name all remote {lab.local(1)}")
        steer(f"path add name two remote {lab.local(2)}")
        download(conn, 20_000).finish().acknowledged()
        assert said(conn, *SAID) == [(n, 0, None, False, None, None) for n in ("all", "two")]
        assert (
            "  no rule, mode auto\n  path all: rank 0\n  path two: rank 0\n" in sched("stats").out
        )


def test_a_backup_of_the_peer_is_a_path(loaded, labs):
    lab = labs(Path(20, 10), Path(20, 10, backup=True))
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        steer("path add name spare backup rank 1 metered")
        download(conn, 20_000).finish().acknowledged()
        found = stats_of(info(conn.server).token)["subflows"]
        assert sorted(s["path"] or "" for s in found) == ["", "spare"]


def test_many_connections_change_at_once(loaded, lab):
    with lab.lent(NAME) as lent:
        lent.endpoints()
        with listen(lab) as listener:
            ends = []
            for _ in range(50):
                client = make_socket(lab.client, 4)
                client.connect(listener.getsockname())
                ends.append((client, listener.accept()[0]))
            steer("rule add mode bpf_rr")
            for client, served in ends:
                served.sendall(b"y")
                assert client.recv(1) == b"y"
            modes = [stats_of(info(s).token)["steer"]["mode"] for _, s in ends[::10]]
            assert set(modes) == {"bpf_rr"}
            for pair in ends:
                for sock in pair:
                    sock.close()
