# SPDX-License-Identifier: GPL-2.0
"""`monitor`: one line for each thing that happens, with real connections."""

import contextlib
import json
import os
import queue
import re
import secrets
import signal
import subprocess
import threading
import time
from pathlib import Path as Path_

import pytest
import tables
from command import PROGRAM, ok, sched
from lab import Netns, Path, run, until
from tables import NAME, steer
from traffic import Connection, connection, listen, token_of, upload

INTERVAL = "0.3"
DOCUMENT = Path_(__file__).resolve().parents[2] / "docs/reference/json.md"
steer_loaded = tables.steer_loaded


class Monitor:
    def __init__(self, *args, net=None, prefix=()):
        with net.inside() if net else contextlib.nullcontext():
            self.process = subprocess.Popen(
                [*prefix, PROGRAM, "monitor", "--interval", INTERVAL, *map(str, args)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        self.lines = queue.Queue()
        self.told = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def line(self, seconds=60):
        return self.lines.get(timeout=seconds)

    def event(self, name, seconds=60, **fields):
        """The next event of that name with these fields; others are kept in `told`."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                event = json.loads(self.line(max(0.01, deadline - time.monotonic())))
            except queue.Empty:
                raise AssertionError(f"no {name} {fields}: {self.told}") from None
            self.told.append(event)
            if event["event"] == name and fields.items() <= event.items():
                assert abs(event["time"] - time.time()) < 60
                return event

    def names(self):
        return [e["event"] for e in self.told]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(30)
        return code, self.process.stderr.read()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def monitor(*args, **options):
    made = Monitor(*args, **options)
    try:
        yield made
    finally:
        made.close()


def test_schedulers(none_loaded, net):
    """Loaded, chosen, unloaded; another namespace's choice is not told."""
    other = Netns()
    try:
        with monitor("--json", "--netns", net.name) as told:
            began = told.event("started")
            assert (began["scheduler"], began["netns"]) == ("default", net.name)
            ok("load", "bpf_minrtt")
            assert told.event("scheduler-loaded")["scheduler"] == "bpf_minrtt"
            ok("use", "bpf_minrtt", "--netns", other.name)
            ok("use", "bpf_minrtt", "--netns", net.name)
            chosen = told.event("scheduler-chosen")
            assert (chosen["scheduler"], chosen["before"]) == ("bpf_minrtt", "default")
            assert chosen["netns"] == net.name
            ok("use", "default", "--netns", net.name)
            ok("use", "default", "--netns", other.name)
            assert told.event("scheduler-chosen")["scheduler"] == "default"
            ok("unload", "bpf_minrtt")
            assert told.event("scheduler-unloaded")["scheduler"] == "bpf_minrtt"
            assert told.names().count("scheduler-chosen") == 2
            assert told.end() == (0, "")
    finally:
        other.close()


def test_connections_and_paths(labs, both_loaded):
    """Opened and closed, at both ends; further subflows as well."""
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_minrtt"
    with (
        monitor("--json", net=lab.client) as client,
        monitor("--json", "--netns", lab.server.name) as server,
    ):
        for end in (client, server):
            end.event("started")
        with connection(lab) as conn:
            tokens = [token_of(s) for s in (conn.client, conn.server)]
            host, port = conn.client.getsockname()[:2]
            opened = client.event("connection-opened")
            assert opened["token"] == tokens[0]
            assert opened["local"] == f"{host}:{port}"
            assert opened["remote"].startswith(f"{lab.address}:")
            assert opened["side"] == "client"
            path = client.event("path-opened")
            assert path["token"] == tokens[0]
            assert path["local"].startswith(f"{lab.local(2)}:")
            assert server.event("connection-opened", token=tokens[1])["side"] == "server"
            assert server.event("path-opened")["token"] == tokens[1]
            upload(conn, 1000).finish()
        for end, token in ((client, tokens[0]), (server, tokens[1])):
            end.event("connection-closed", token=token)
            assert end.names().count("connection-opened") == 1
            assert "connection-fallback" not in end.names()
            assert end.end() == (0, "")


def test_a_path_that_is_taken_away(labs, both_loaded):
    lab = labs().endpoints()
    with monitor("--json", net=lab.client) as told:
        told.event("started")
        with connection(lab) as conn:
            token = token_of(conn.client)
            lab.endpoint(2, "del")
            gone = told.event("path-closed", token=token)
            assert gone["local"].startswith(f"{lab.local(2)}:")
            lab.endpoint(2)
            told.event("path-opened", token=token)


def test_fallback(labs, both_loaded):
    """A peer without MPTCP: the connection goes on as TCP."""
    lab = labs()
    with monitor("--json", net=lab.client) as told:
        told.event("started")
        lab.server.sysctl("mptcp/enabled", 0)
        with contextlib.closing(listen(lab, protocol=6)) as listener:
            conn = Connection(lab, listener)
            try:
                host, port = conn.client.getsockname()[:2]
                fell = told.event("connection-fallback")
                assert fell["local"] == f"{host}:{port}"
                assert fell["pid"] > 1
                time.sleep(3 * float(INTERVAL))
                assert "connection-opened" not in told.names()
            finally:
                conn.close()
        lab.server.sysctl("mptcp/enabled", 1)
        # once, however often it was looked at; one that does not fall back is none
        with connection(lab, subflows=1):
            told.event("connection-opened")
        told.event("connection-closed")
        assert told.names().count("connection-fallback") == 1


def test_a_path_that_dies_and_comes_back(labs, both_loaded):
    """Stale when it does not answer any more, recovered when it does.

    It takes rounds of the retransmission timer without progress: the other path is a slow one.
    """
    lab = labs(Path(20, 10), Path(0.2, 40)).endpoints()
    lab.client.scheduler = "bpf_minrtt"
    lab.client.sysctl("mptcp/stale_loss_cnt", 1)
    with monitor("--json", net=lab.client) as told:
        told.event("started")
        with connection(lab) as conn, lab.outage(1, "loss") as (kill, revive):
            token = token_of(conn.client)
            transfer = upload(conn, 3 << 20)
            transfer.reached(0.1)
            kill()
            stale = told.event("path-stale", seconds=60)
            assert stale["token"] == token
            assert stale["local"].startswith(f"{lab.local(1)}:")
            revive()
            recovered = told.event("path-recovered", seconds=60)
            assert (recovered["token"], recovered["local"]) == (token, stale["local"])
            transfer.finish(90)
        told.event("connection-closed", token=token)


def test_text(labs, both_loaded):
    """A line for people, and what is by event and what by looking is in the help."""
    lab = labs()
    with monitor("--netns", lab.client.name) as told:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  started +default", told.line())
        with connection(lab, subflows=1) as conn:
            line = told.line()
            assert re.search(rf"connection-opened +{token_of(conn.client)}  \S+ > \S+", line)
        assert "connection-closed" in told.line()
        assert told.end(signal.SIGINT) == (0, "")
    text = sched("help", "monitor").out
    assert re.search(r"--interval seconds \(1\)", text)
    by = dict(re.findall(r"^  (\S+) \((event|look)\): ", text, re.MULTILINE))
    assert by["connection-opened"] == "event" and by["connection-fallback"] == "look"
    table = DOCUMENT.read_text().split("## monitor")[1].split("\n## ")[0]
    documented = re.findall(
        r"`([a-z-]+)`", " ".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE))
    )
    assert sorted(by) == sorted(documented)


def test_no_privilege_for_events(net):
    without = ("setpriv", "--bounding-set=-net_admin", "--inh-caps=-all")
    result = sched("--json", "monitor", "--netns", net.name, prefix=without)
    assert result.code == 4 and result.out == ""
    assert "CAP_NET_ADMIN" in result.error["reason"]


def is_over(told):
    """Behind its last event it ends by itself, in order."""
    assert (told.process.wait(30), told.process.stderr.read()) == (0, "")
    assert told.lines.empty() and told.names()[-1] == "netns-gone"


@pytest.mark.parametrize("again", [False, True])
def test_a_namespace_that_is_gone(none_loaded, again):
    """By its name, though another one has that: it ends, and lets the namespace go."""
    made = Netns()
    device = f"v{secrets.token_hex(4)}"
    run("ip", "link", "add", device, "type", "veth", "peer", "name", "v", "netns", made.name)
    with monitor("--json", "--netns", made.name) as told:
        told.event("started")
        made.close()
        if again:
            run("ip", "netns", "add", made.name)
        assert told.event("netns-gone")["netns"] == made.name
        is_over(told)
    until(lambda: not Path_(f"/sys/class/net/{device}").exists(), 30, "nobody keeps it")
    if again:
        run("ip", "netns", "del", made.name)


def test_a_process_that_ends_before_its_namespace(both_loaded):
    """Whoever else has it, it is told of."""
    first = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    own = f"/proc/{first.pid}/ns/net"
    until(lambda: os.stat(own).st_ino != os.stat("/proc/self/ns/net").st_ino, 30, "it is there")
    second = subprocess.Popen(["nsenter", f"--net={own}", "sleep", "600"])
    there = f"/proc/{second.pid}/ns/net"
    until(lambda: os.stat(there).st_ino == os.stat(own).st_ino, 30, "and the other in it")
    try:
        with monitor("--json", "--netns", first.pid) as told:
            told.event("started")
            first.kill()
            first.wait()
            time.sleep(3 * float(INTERVAL))
            ok("use", "bpf_minrtt", "--netns", second.pid)
            assert told.event("scheduler-chosen")["netns"] == f"(pid {first.pid})"
            second.kill()
            second.wait()
            told.event("netns-gone")
            is_over(told)
    finally:
        for process in (first, second):
            process.kill()
            process.wait()


@pytest.fixture
def lab(labs, none_loaded, steer_loaded):
    """One whose client has bpf_steer."""
    made = labs().endpoints()
    made.client.scheduler = NAME
    return made


def test_steering(lab):
    """A cap that is used up, and the standby that takes over and gives back."""
    steer("path add name one local 10.0.1.0/24 cap 100K period month")
    steer("path add name two local 10.0.2.0/24 rank 1")
    steer("rule add mode active-standby")
    with monitor("--json", "--netns", lab.client.name) as told, connection(lab) as conn:
        told.event("started")
        token = token_of(conn.client)
        upload(conn, 100).finish().acknowledged()
        # whoever tells of the second has looked at the connection's first choice
        for name in ("default", NAME):
            lab.client.scheduler = name
            told.event("scheduler-chosen", scheduler=name)
        upload(conn, 1_000_000).finish().acknowledged()
        over = told.event("path-over-cap", path="one", cap=100_000)
        assert over["bytes"] >= 100_000
        upload(conn, 100).finish().acknowledged()
        chosen = told.event("standby-chosen", token=token)
        assert (chosen["paths"], chosen["before"]) == (["two"], ["one"])
        steer("account reset one")
        assert told.event("path-within-cap", path="one")["bytes"] < 100_000
        for _ in range(3):
            upload(conn, 100).finish().acknowledged()
            time.sleep(1)
        back = told.event("standby-chosen", token=token)
        assert (back["paths"], back["before"]) == (["one"], ["two"])
        assert told.names().count("path-over-cap") == 1
        assert told.end() == (0, "")


def test_a_loss_over_its_threshold(lab):
    steer("path add name two local 10.0.2.0/24 loss 1%")
    steer("rule add mode bpf_rr")
    with monitor("--json", "--netns", lab.client.name) as told, connection(lab) as conn:
        upload(conn, 100_000).finish().acknowledged()
        lab.client.tc(f"qdisc change dev {lab.device(2)} root netem {lab.paths[1].netem(30)}")
        upload(conn, 1_000_000).finish(60).acknowledged()
        over = told.event("connection-over-loss")
        assert set(over) == {"time", "event", "token", "local", "remote", "path"}
        assert over["token"] == token_of(conn.client) and over["path"] == "two"
        assert over["local"].startswith(f"{lab.local(2)}:")
        steer("path delete two")
        upload(conn, 1000).finish(60).acknowledged()
        within = told.event("connection-within-loss")
        fields = ("token", "local", "remote", "path")
        assert [within[f] for f in fields] == [over[f] for f in fields]


def test_an_rtt_over_its_threshold(lab):
    steer("path add name two local 10.0.2.0/24 rtt 1ms")
    with monitor("--netns", lab.client.name) as told, connection(lab) as conn:
        upload(conn, 500_000).finish().acknowledged()
        line = ""
        while "connection-over-rtt" not in line:
            line = told.line()
        ends = rf"{re.escape(lab.local(2))}:\d+ > {re.escape(lab.address)}:\d+"
        token = r"0x[0-9a-f]{8}"
        assert re.fullmatch(rf"\S+Z  connection-over-rtt {{2,}}{token}  {ends}  two\n", line)
        steer("path delete two")
        upload(conn, 100_000).finish().acknowledged()
        while "connection-within-rtt" not in line:
            line = told.line()


@pytest.mark.virtual_time  # a host that stands still makes a path slow
def test_paths_that_are_over_one_after_the_other(lab):
    """Each has its event, though the connection has a path over its threshold all the time."""
    steer("path add name one local 10.0.1.0/24 rtt 150ms")
    steer("path add name two local 10.0.2.0/24 rtt 1ms")
    steer("rule add mode bpf_rr")
    # a path that is slower all of a sudden is no path that is silent
    ok("set", NAME, "silence=0")
    with monitor("--json", "--netns", lab.client.name) as told, connection(lab) as conn:
        upload(conn, 300_000).finish().acknowledged()
        first = told.event("connection-over-rtt", path="two")
        # twice the threshold and more, as RTTs are seen through their smoothing
        slow = Path(20, 700).netem()
        lab.client.tc(f"qdisc change dev {lab.device(1)} root netem {slow}")
        upload(conn, 1_000_000).finish(60).acknowledged()
        second = told.event("connection-over-rtt", path="one")
        assert (first["token"], first["remote"]) == (second["token"], second["remote"])
        for over, i in ((first, 2), (second, 1)):
            assert over["local"].startswith(f"{lab.local(i)}:")
        assert "connection-within-rtt" not in told.names()
        steer("path delete two")
        upload(conn, 1000).finish(60).acknowledged()
        assert told.event("connection-within-rtt")["path"] == "two"
        steer("path delete one")
        upload(conn, 1000).finish(60).acknowledged()
        assert told.event("connection-within-rtt")["path"] == "one"
        assert told.names().count("connection-over-rtt") == 2
