# SPDX-License-Identifier: GPL-2.0
"""`mptcp-sched steer`: its tables, what they match, and what is wrong with them."""

import os
import socket
from pathlib import Path as Path_

import pytest
from command import PROGRAM, ok, sched, stats_of
from lab import Path, run
from traffic import connection, download, info, listen, make_socket

NAME = "bpf_steer"
FAILED, USAGE = 1, 2


def steer(text, **options):
    return ok("steer", *text.split(), **options)


def lines():
    """As the command prints the tables, and reads them."""
    result = sched("steer", "list")
    assert result.code == 0, result.err
    return result.out


@pytest.fixture
def loaded(_shared):
    _shared.need(NAME)
    yield
    steer("flush")


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "tables"
        path.write_text(text)
        return path

    return write


WHOLE = """\
path name dsl device eth9 id 0 rank 0 weight 60
path name lte remote 2001:db8::/32 remote-id 3 backup rank 1 weight 40 rtt 150ms metered
rule local 192.0.2.1 local-port 443 remote 10.0.0.0/8 dscp ef mode redundant  # 1
rule remote-port 5000-5999 mark 0x10/0xf0 priority 6 uid 1000 mode bpf_blest  # 2
rule mode priority deadline 250ms  # 3
"""


def test_what_is_printed_is_read(loaded, file):
    steer(f"replace {file(WHOLE)}")
    assert lines() == WHOLE
    steer("flush")
    assert lines() == ""
    steer(f"replace {file(WHOLE)}")
    assert lines() == WHOLE


def test_json_has_the_fields(loaded, file):
    steer(f"replace {file(WHOLE)}")
    found = steer("list")
    assert [r["rule"] for r in found["rules"]] == [1, 2, 3]
    assert found["rules"][0]["dscp"] == "ef"
    assert found["rules"][2]["deadline"] == "250ms"
    assert "deadline" not in found["rules"][0]
    assert found["paths"][1]["metered"] is True
    assert found["paths"][1]["text"] == WHOLE.splitlines()[1].removeprefix("path ")


def test_rows_come_and_go(loaded):
    steer("rule add mode auto")
    steer("rule add at 1 dscp ef mode redundant")
    steer("rule add at 2 dscp cs1 mode smallest-delay")
    assert [r["mode"] for r in steer("rule list")["rules"]] == [
        "redundant",
        "smallest-delay",
        "auto",
    ]
    steer("rule delete 2")
    assert [r["mode"] for r in steer("rule list")["rules"]] == ["redundant", "auto"]
    steer("path add name a")
    steer("path add name b rank 1")
    steer("path delete a")
    assert [p["name"] for p in steer("path list")["paths"]] == ["b"]
    steer("rule flush")
    assert steer("list")["rules"] == [] and len(steer("list")["paths"]) == 1


def test_which_rule_and_why(loaded, file):
    steer(f"replace {file(WHOLE)}")
    first = steer("test local 192.0.2.1 local-port 443 remote 10.1.2.3 dscp ef")
    assert (first["rule"], first["mode"], first["passed"]) == (1, "redundant", [])
    other = steer("test local 192.0.2.1 local-port 443 remote 10.1.2.3")
    assert other["rule"] == 3
    assert other["passed"][0] == {"rule": 1, "differs": "dscp ef"}
    assert other["passed"][1]["rule"] == 2
    steer("rule delete 3")
    none = steer("test dscp ef")
    assert none["rule"] is None and none["mode"] == "auto"


# words, code, what the error says
WRONG = {
    "nothing": ([""], USAGE, "no such thing to do"),
    "verb": (["rule", "move"], USAGE, "no such thing to do: move"),
    "kind": (["path", "test", "dscp", "ef"], USAGE, "no such thing to do"),
    "mode": (["rule", "add", "mode", "fast"], FAILED, "mode: none of auto, active-standby"),
    "no mode": (["rule", "add", "dscp", "ef"], USAGE, "the rule has no mode"),
    "field": (["rule", "add", "port", "1", "mode", "auto"], USAGE, "has no field port"),
    "no value": (["rule", "add", "mode"], USAGE, "mode is to have a value"),
    "twice": (["rule", "add", "mode", "auto", "mode", "auto"], USAGE, "mode is given twice"),
    "prefix": (["rule", "add", "local", "10.0.0.1/8", "mode", "auto"], FAILED, "first 8 bits"),
    "length": (["rule", "add", "local", "10.0.0.0/33", "mode", "auto"], FAILED, "0 to 32"),
    "address": (["rule", "add", "remote", "fd00::x", "mode", "auto"], FAILED, "not an address"),
    "ports": (["rule", "add", "local-port", "9-1", "mode", "auto"], FAILED, "greater"),
    "port": (["rule", "add", "local-port", "65536", "mode", "auto"], FAILED, "not a port"),
    "dscp": (["rule", "add", "dscp", "64", "mode", "auto"], FAILED, "neither a name"),
    "mark": (["rule", "add", "mark", "3/1", "mode", "auto"], FAILED, "under that mask"),
    "user": (["rule", "add", "uid", "nobody-at-all", "mode", "auto"], FAILED, "no such user"),
    "cgroup": (["rule", "add", "cgroup", "/none", "mode", "auto"], FAILED, "there is no cgroup"),
    "netns": (["rule", "add", "netns", "none", "mode", "auto"], FAILED, "no network namespace"),
    "deadline": (["rule", "add", "mode", "auto", "deadline", "1s"], USAGE, "mode auto has none"),
    "time": (["rule", "add", "mode", "priority", "deadline", "1"], FAILED, "not a time"),
    "at": (["rule", "add", "at", "7", "mode", "auto"], FAILED, "the last rule is 0"),
    "rule gone": (["rule", "delete", "1"], FAILED, "there is no rule 1"),
    "path gone": (["path", "delete", "x"], FAILED, "there is no path x"),
    "no name": (["path", "add", "rank", "1"], USAGE, "the path has no name"),
    "name": (["path", "add", "name", "a/b"], FAILED, "no blanks"),
    "long name": (["path", "add", "name", "n" * 16], FAILED, "1 to 15 characters"),
    "device": (["path", "add", "name", "a", "device", "d" * 16], FAILED, "name of a device"),
    "weight": (["path", "add", "name", "a", "weight", "0"], FAILED, "1 to 100"),
    "rank": (["path", "add", "name", "a", "rank", "100"], FAILED, "0 to 99"),
    "rtt": (["path", "add", "name", "a", "rtt", "0ms"], FAILED, "no path has an RTT of 0"),
    "file": (["replace", "/none"], FAILED, "No such file"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(loaded, name):
    """Each says what is wrong, and changes nothing."""
    words, code, text = WRONG[name]
    result = sched("--json", "steer", *words)
    assert result.code == code, result
    assert text in result.error["reason"], result.error
    assert lines() == ""


def test_a_wrong_line_leaves_all_as_it_was(loaded, file):
    steer(f"replace {file(WHOLE)}")
    for bad, place in (("rule mode auto\nrule mode no\n", ":2"), ("\n# x\ntable\n", ":3")):
        path = file(bad)
        result = sched("--json", "steer", "replace", path)
        assert result.code == FAILED
        assert result.error["object"] == f"{path}{place}"
        assert lines() == WHOLE


def test_too_many(loaded, file):
    rules = "".join(f"rule local-port {i} mode auto\n" for i in range(1024))
    steer(f"replace {file(rules)}")
    assert steer("test local-port 1023")["rule"] == 1024
    assert "1024 rules already" in sched("--json", "steer", "rule", "add", "mode", "auto").err
    paths = "".join(f"path name p{i} id {i}\n" for i in range(65))
    assert "64 paths already" in sched("--json", "steer", "replace", file(paths)).err
    assert len(steer("list")["rules"]) == 1024


NOTES = {
    "covered": ("rule mode auto\nrule dscp ef mode redundant", "rule 2 never matches: rule 1"),
    "covered prefix": (
        "rule remote 10.0.0.0/8 mode auto\nrule remote 10.1.0.0/16 local-port 4 mode auto",
        "rule 2 never matches",
    ),
    "path covered": ("path name a\npath name b device lo", "path b never matches: path a"),
    "weights": ("path name a id 1 weight 60\npath name b id 2 weight 60", "make 120 in all"),
    "device": ("path name a device gone0", "there is no device gone0"),
    "ranks": ("rule mode priority", "no path has one but 0"),
}


@pytest.mark.parametrize("name", NOTES)
def test_notes_say_what_will_happen(loaded, file, name):
    text, note = NOTES[name]
    assert any(note in n for n in steer(f"replace {file(text)}")["notes"])


def test_no_notes_without_reason(loaded, file):
    text = "path name a device lo weight 50\npath name b id 2 rank 1 weight 50\nrule mode priority"
    assert "notes" not in steer(f"replace {file(text)}")
    text = "rule remote 10.1.0.0/16 mode auto\nrule remote 10.0.0.0/8 mode auto"
    assert "notes" not in steer(f"replace {file(text)}")


def test_not_loaded(none_loaded):
    result = sched("--json", "steer", "list")
    assert result.code == FAILED
    assert "is not loaded" in result.error["reason"] and "load" in result.error["hint"]
    # the words come first
    assert sched("steer", "rule", "add", "no", "mode").code == USAGE


def test_the_tables_go_with_the_scheduler(none_loaded):
    ok("load", NAME)
    steer("rule add mode auto")
    ok("unload", NAME)
    ok("load", NAME)
    assert steer("list")["rules"] == []
    ok("unload", NAME)


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


def test_cgroups(loaded, lab):
    """The socket's own, and any above it."""
    made = "/sys/fs/cgroup/t-steer", "/sys/fs/cgroup/t-steer/inner", "/sys/fs/cgroup/t-other"
    for path in made:
        os.mkdir(path)
    home = Path_("/proc/self/cgroup").read_text().split("::")[1].strip()
    try:
        with open(f"{made[1]}/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))
        with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
            for cgroup, rule in (("t-steer", 1), ("t-steer/inner", 1), ("t-other", None)):
                steer("rule flush")
                steer(f"rule add cgroup /{cgroup} mode bpf_rr")
                assert steer("rule list")["rules"][0]["cgroup"] == f"/{cgroup}"
                assert mode_of(conn)["rule"] == rule, cgroup
    finally:
        with open(f"/sys/fs/cgroup{home}/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))
        for path in made[::-1][:1] + made[1::-1]:
            os.rmdir(path)


def test_ipv6(loaded, labs):
    lab = labs(Path(20, 10), Path(20, 10), v6=True)
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        for prefix, rule in (("fd99::/64", 1), ("fd98::/64", None), ("10.0.0.0/8", None)):
            steer("rule flush")
            steer(f"rule add local {prefix} mode bpf_rr")
            assert mode_of(conn)["rule"] == rule, prefix


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


def test_a_backup_of_the_peer_is_a_path(loaded, labs):
    lab = labs(Path(20, 10), Path(20, 10, backup=True))
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        steer("path add name spare backup rank 1 metered")
        download(conn, 20_000).finish().acknowledged()
        found = stats_of(info(conn.server).token)["subflows"]
        assert sorted(s["path"] or "" for s in found) == ["", "spare"]


def test_help_has_every_field_and_mode(loaded):
    """The text of `help steer` is by hand, the tables are not."""
    text = run(PROGRAM, "help", "steer").stdout
    said = sched("--json", "steer", "rule", "add", "x").error["hint"]
    said += sched("--json", "steer", "path", "add", "x").error["hint"]
    for word in said.replace(",", " ").split():
        if word.islower() and word not in ("a", "rule", "path", "has"):
            assert word in text, word


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
