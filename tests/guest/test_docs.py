# SPDX-License-Identifier: GPL-2.0
"""The how-tos of docs/, done: the scheduler of the worked example, the first steps, the symptoms."""

import os
import re
import subprocess

import documented
import pytest
import reader
from command import available, ok, sched, stats, stats_of
from conftest import TOP
from lab import STANDS_STILL, Path, run, until
from traffic import connection, info, token_of, upload

EXAMPLE = "bpf_spill"


def blocks(document, language):
    text = (TOP / "docs" / document).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def shell(script, cwd, net):
    """As a reader would type it."""
    words = ["bash", "-euc", reader.script(script)]
    with net.inside():
        done = subprocess.run(
            words, cwd=cwd, capture_output=True, text=True, timeout=400, check=False
        )
    assert done.returncode == 0, f"{script}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def build(tmp_path):
    """The document's code, built by the document's commands; returns those that follow."""
    code, _ = blocks("dev/writing-a-scheduler.md", "c")
    assert len(code.splitlines()) < 60
    (tmp_path / "spill.bpf.c").write_text(code)
    compile_it, use_it, _ = blocks("dev/writing-a-scheduler.md", "sh")
    run("bash", "-euc", f"cd {tmp_path}; " + compile_it)
    return use_it


def carried(lab, conn, size):
    """Bytes that each subflow was given of an upload, the first one first; and its statistics."""

    def now():
        token = info(conn.client).token
        found = [c for c in stats() if int(c["token"], 16) == token]
        if not found:  # until it sends
            return [0, 0], None
        assert found[0]["scheduler"] == EXAMPLE
        by_path = {
            s["local"].rpartition(":")[0]: s["counters"]["bytes_sent"] for s in found[0]["subflows"]
        }
        return [by_path.get(lab.local(i), 0) for i in (1, 2)], found[0]

    before, _ = now()
    upload(conn, size).finish().acknowledged()
    after, found = now()
    return [b - a for a, b in zip(before, after, strict=True)], found


def test_the_worked_example(build, none_loaded, labs, tmp_path):
    """It does what the document says of it, with real traffic."""
    lab = labs(Path(8, 20), Path(8, 20)).endpoints()
    said = shell(build, tmp_path, lab.client)
    assert EXAMPLE in available() and "no connection" in said
    assert lab.client.scheduler == EXAMPLE
    ok("set", EXAMPLE, STANDS_STILL)
    with connection(lab) as conn:
        little, found = carried(lab, conn, 96 << 10)
        assert little == [96 << 10, 0], "below 128 KB the first subflow has all"
        assert found["waits"]["turn"] > 0
        much, found = carried(lab, conn, 4 << 20)
        assert sum(much) == 4 << 20
        assert much[1] > 1 << 20, f"the other one helps: {much}"
    lab.client.scheduler = "default"
    ok("unload", EXAMPLE)
    # without patience, a little goes over both
    ok("load", tmp_path / "spill.bpf.o", "--set", "backlog=0", "--set", "copy=0")
    lab.client.scheduler = EXAMPLE
    with connection(lab) as conn:
        little, _ = carried(lab, conn, 96 << 10)
        assert little[1] > 16 << 10, little
    lab.client.scheduler = "default"


def test_the_worked_example_describes_itself(build, none_loaded, tmp_path):
    result = sched("--json", "load", tmp_path / "spill.bpf.o", "--set", "backlog=65536")
    assert result.code == 1 and "out of range" in result.error["reason"]
    assert "backlog" in result.error["hint"]
    assert available() == {"default"}


def test_two_paths_in_the_guest(build, none_loaded, net, tmp_path):
    """Where there is no second line: the document's, with data under the document's scheduler."""
    *_, two_paths = blocks("dev/writing-a-scheduler.md", "sh")
    shell(build, tmp_path, net)
    try:
        shell(two_paths, tmp_path, net)
        # iperf3 has a connection for its words, too
        until(
            lambda: [len(c["subflows"]) for c in stats() if c["scheduler"] == EXAMPLE] == [2, 2],
            20,
            "two connections of two subflows",
        )
    finally:
        run("pkill", "iperf3", check=False)
        run("ip", "netns", "del", "peer")
        net.scheduler = "default"


def test_the_example_of_three_policies(build, none_loaded, labs, tmp_path):
    """Each serves a connection that has begun under another one."""
    _, code = blocks("dev/writing-a-scheduler.md", "c")
    assert len(code.splitlines()) < 60
    (tmp_path / "spill.bpf.c").write_text(code)
    compile_it, _, _ = blocks("dev/writing-a-scheduler.md", "sh")
    run("bash", "-euc", f"cd {tmp_path}; " + compile_it)
    ok("load", tmp_path / "spill.bpf.o")
    lab = labs(Path(8, 20), Path(8, 20)).endpoints()
    lab.client.scheduler = "bpf_three"
    with connection(lab) as conn:
        for which in (0, 1, 2, 0):
            ok("set", "bpf_three", f"which={which}")
            upload(conn, 256 << 10).finish().acknowledged()
    lab.client.scheduler = "default"


def test_first_use(none_loaded, labs):
    """Its commands, with this lab's address, device and router for the document's."""
    lab = labs()
    names = {
        "192.0.2.7": lab.local(2),
        "192.0.2.1": lab.local(2, 2),
        "wwan0": "p2",
        "default via": "10.98.0.0/16 via",  # the lab has that table's default already
        "table 100": "table 110",
        "lookup 100": "lookup 110",
    }
    endpoint, route, mptcpize, back = blocks("use/first-use.md", "sh")
    # what the page has with its output, which test_shown.py compares
    checks, load, look = (command for command, _ in documented.shown("docs/use/first-use.md"))
    for block in (checks, load, endpoint, route, look):
        for word, here in names.items():
            block = block.replace(word, here)
        shell(block, "/", lab.client)
    server, client = mptcpize.strip().splitlines()
    assert lab.client.scheduler == "bpf_auto"
    with connection(lab) as conn:
        upload(conn, 1 << 20).finish()
        assert len(stats_of(info(conn.client).token)["subflows"]) == 2
    # what the page's client gets goes by both, from an end that has the scheduler
    lab.server.scheduler = "bpf_auto"
    with lab.server.inside():
        listening = subprocess.Popen([*server.split(), "-1"], stdout=subprocess.DEVNULL)
    until(lambda: ":5201 " in lab.server.run("ss", "-HlnM").stdout, 20, "iperf3 listens")
    with lab.client.inside():
        run(*client.replace("SERVER", lab.local(1, 2)).replace("-t 60", "-t 2").split())
    assert listening.wait(20) == 0
    lab.server.scheduler = "default"
    shell(back, "/", lab.client)
    assert lab.client.scheduler == "default" and available() == {"default"}


def test_what_troubleshooting_says_of_the_kernel(none_loaded, labs):
    text = (TOP / "docs/use/troubleshooting.md").read_text()
    lab = labs().endpoints()
    # its counters
    names = re.findall(r"`MPTcpExt(MPCapable\w+)`", text)
    assert len(names) == 2
    assert [lab.client.mib(name) for name in names] == [0, 0]
    # a name that is not loaded is refused
    with pytest.raises(OSError):
        lab.client.sysctl("mptcp/scheduler", "bpf_ecf")
    # what ss shows of MPTCP
    with connection(lab):
        assert lab.server.run("ss", "-HlM").stdout
        assert lab.client.run("ss", "-HM").stdout
    # a socket keeps what it was made with, and the module stays while one has a scheduler
    ok("load", "bpf_minrtt")
    lab.client.scheduler = "bpf_minrtt"
    if os.path.exists("/sys/module/mptcp_sched_bpf"):
        done = run("rmmod", "mptcp_sched_bpf", check=False)
        assert "Module mptcp_sched_bpf is in use" in done.stderr
    with connection(lab) as conn:
        lab.client.scheduler = "default"
        assert token_of(conn.client) not in {c["token"] for c in stats()}, "it has sent nothing yet"
        upload(conn, 1000).finish()
        assert stats_of(info(conn.client).token)["scheduler"] == "bpf_minrtt"
        result = sched("--json", "show")
        assert result.code == 0
    # under `ip netns exec` /sys is another one
    words = ["ip", "netns", "exec", lab.client.name, "mptcp-sched", "--json", "doctor"]
    assert "not a bpffs" in run(*words, check=False).stdout
    missing = run("modprobe", "--dry-run", "mptcp_no_such", check=False)
    assert "Module mptcp_no_such not found" in missing.stderr
