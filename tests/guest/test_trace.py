# SPDX-License-Identifier: GPL-2.0
"""`trace`: each decision of the schedulers, with real connections, against their counters."""

import concurrent.futures
import contextlib
import re
import signal
import subprocess
import threading
import time

import pytest
from command import PROGRAM, sched, stats_of, total
from hygiene import links, pins
from lab import Path, until
from tracer import FAR, nothing_left, observers, trace
from traffic import Connection, connection, download, info, listen, token_of, upload

FAILED, PERMISSION = 1, 4


@pytest.fixture(scope="module")
def two_paths(shared_lab):
    return shared_lab(Path(20, 20), Path(10, 60))


@pytest.fixture
def lab(two_paths, _shared):
    """bpf_ecf at both ends of two paths."""
    _shared.need("bpf_ecf", "bpf_redundant")
    with two_paths.lent("bpf_ecf") as lent:
        yield lent.endpoints()


# --- what is shown, against the counters and against the inputs


def room(path):
    free = max(0, path["cwnd"] - path["inflight"]) * path["mss"]
    return max(0, free - path["unsent"])


def takes_data(path):
    return {"active", "sndbuf"} <= set(path["flags"]) and "loss" not in path["flags"]


def is_available(path, fit):
    """model/decision.h, mps_is_available()"""
    enough = room(path) >= fit or room(path) * 8 >= path["cwnd"] * path["mss"]
    return takes_data(path) and room(path) >= path["mss"] and enough


def check_sent(event):
    inputs = event["inputs"]
    path = inputs["paths"][event["path"]]
    assert "active" in path["flags"] and event["bytes"] <= inputs["wnd_left"], event
    assert event["bytes"] or not inputs["wnd_left"], event
    # the rest of a fragment goes with its beginning: common/fragment.h
    rest = "began" in path["flags"] and event["bytes"] == min(inputs["unit"], inputs["wnd_left"])
    if not rest:
        assert takes_data(path), event
    # on the fastest one that may be less than a segment: policy/ecf_extended.h
    if event["scheduler"] == "bpf_ecf" and not rest:
        assert event["bytes"] <= room(path), event


def check_wait(event):
    inputs = event["inputs"]
    able = [p for p in inputs["paths"] if is_available(p, inputs["fit"])]
    if event["reason"] == "no_room" and event["scheduler"] == "bpf_ecf":
        assert not able, event
    if event["reason"] == "faster":
        assert able, event
    assert (event["reason"] == "peer_window") == (not inputs["wnd_left"]), event


def check_plausible(event):
    assert event["token"] and event["netns"] and event["local"] and event["remote"]
    if event["inputs"] is None:
        assert event["glance"] and event["reason"] == "no_room" and event["state"] is None
        return
    assert len(bytes.fromhex(event["state"])) == 48
    assert all(p["mss"] and p["cwnd"] for p in event["inputs"]["paths"])
    if event["event"] == "copies":
        assert set(event["paths"]) <= set(range(len(event["inputs"]["paths"])))
    elif event["verdict"] == "send":
        check_sent(event)
    else:
        check_wait(event)


def check_times(told):
    """The first of a connection has none before it; the others add up."""
    first, *rest = told
    assert first["since_us"] is None
    whole = told[-1]["time"] - first["time"]
    # each without what is behind the last microsecond
    added = sum(e["since_us"] for e in rest) / 1e6
    assert added - 1e-5 < whole < added + len(rest) * 1e-6 + 1e-5
    assert abs(first["time"] - time.time()) < 600


def check_counters(told, now):
    """Each kind of line, against what the scheduler itself counted."""
    decisions = [e for e in told if e["event"] == "decision"]
    counters, waits = now["counters"], now["waits"]
    assert len(decisions) == counters["decisions"]
    assert sum(e["verdict"] == "send" for e in decisions) == counters["picks"]
    for reason, count in waits.items():
        assert sum(e.get("reason") == reason for e in decisions) == count, reason
    copies = [e for e in told if e["event"] == "copies"]
    assert sum(e["verdict"] == "copy" for e in copies) == counters["copies"]
    assert sum(len(e["paths"]) for e in copies) == total(now, "copy_picks")
    assert sum(e["verdict"] == "none" for e in copies) >= counters["copies_none"]


def at_rest(token, net):
    """Copies may still be asked for where all has arrived."""
    before, now = None, stats_of(token, net)["counters"]
    while now != before:
        time.sleep(0.5)
        before, now = now, stats_of(token, net)["counters"]


@pytest.mark.each_kernel
@pytest.mark.parametrize("name", ["bpf_ecf", "bpf_redundant"])
def test_a_download(lab, name):
    """All that the counters count, and nothing else; what is decided fits the inputs."""
    lab.server.scheduler = name
    with trace("--netns", lab.server.name) as traced:
        assert traced.events("scheduler-traced", scheduler=name)
        with connection(lab) as conn:
            download(conn, 4 << 20).finish().acknowledged()
            token = info(conn.server).token
            ended = traced.end()
            now = stats_of(token, lab.server)
    told = traced.decisions()
    assert traced.tokens() == {token}
    assert ended["lost"] == 0 and ended["seen"] == ended["shown"] == len(told) > 50
    assert {e["scheduler"] for e in told} == {name}
    assert {e["policy"] for e in told} <= {name.removeprefix("bpf_"), None}
    assert {e["netns"] for e in told} == {lab.server.name}
    assert {e["local"] for e in told} == {now["local"]}
    check_counters(told, now)
    check_times(told)
    for event in told:
        check_plausible(event)
    paths = {e["path"] for e in told if e.get("verdict") == "send"}
    paths |= {p for e in told for p in e.get("paths", [])}
    assert paths == {0, 1}
    if name == "bpf_redundant":
        assert any(e["verdict"] == "copy" for e in told)
    nothing_left()


@pytest.mark.each_kernel
def test_a_glance(labs, _shared):
    """A window is full for most of the time where the path is slow, whatever the host is like."""
    _shared.need("bpf_ecf", "bpf_redundant")
    lab = labs(Path(1, 20))
    lab.server.scheduler = "bpf_ecf"
    with trace("--netns", lab.server.name) as traced, connection(lab) as conn:
        download(conn, 128 << 10).finish().acknowledged()
        traced.end()
    glances = [e for e in traced.decisions() if e.get("glance")]
    assert glances
    for event in glances:
        check_plausible(event)


@contextlib.contextmanager
def busy(conn):
    """A connection that has data for as long as this lasts."""
    over = threading.Event()

    def go_on():
        while not over.is_set():
            upload(conn, 256 << 10).finish()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        sender = pool.submit(go_on)
        try:
            yield
        finally:
            over.set()
        sender.result()


def test_it_comes_and_goes_amid_decisions(lab):
    """Each that is told has the state that it began with, the first and the last, too."""
    with connection(lab) as conn, busy(conn):
        for _ in range(8):
            with trace("--netns", lab.client.name) as traced:
                until(lambda traced=traced: len(traced.decisions()) > 20, FAR, "decisions")
                traced.end()
            for event in traced.decisions():
                check_plausible(event)
    nothing_left()


# --- whose


def test_filters(lab):
    """By token, namespace and port, each from a connection's first decision on."""
    listener = listen(lab)
    port = listener.getsockname()[1]
    with (
        connection(lab) as old,
        contextlib.closing(listener),
        trace() as every,
        trace("--connection", f"{info(old.client).token:x}") as one,
        trace("--netns", lab.client.name) as net,
        trace("--port", port) as by_port,
    ):
        new = Connection(lab, listener)
        with contextlib.closing(new):
            for conn in (old, new):
                upload(conn, 100_000).finish().acknowledged()
            ends = {
                name: info(sock).token
                for name, sock in (
                    ("old client", old.client),
                    ("old server", old.server),
                    ("new client", new.client),
                    ("new server", new.server),
                )
            }
            for traced in (every, one, net, by_port):
                assert traced.end()["lost"] == 0
            now = stats_of(ends["new client"], lab.client)
    assert one.tokens() == {ends["old client"]}
    check_times(one.decisions())  # it had decided nothing before
    assert net.tokens() == {ends["old client"], ends["new client"]}
    assert by_port.tokens() == {ends["new client"], ends["new server"]}
    assert every.tokens() >= net.tokens() | by_port.tokens()
    for traced in (net, by_port, every):
        mine = [e for e in traced.decisions() if int(e["token"], 16) == ends["new client"]]
        check_counters(mine, now)
    nothing_left()


def test_a_sample_and_a_limit(lab):
    with trace("--sample", 4, "--netns", lab.client.name) as some:
        with trace("--limit", 20) as few, connection(lab) as conn:
            # a busy guest decides about up to 32 KB at once
            upload(conn, 4 << 20).finish().acknowledged()
            assert few.end(number=None)["shown"] == len(few.decisions()) == 20
        ended = some.end()
    assert ended["lost"] == 0 and ended["shown"] == len(some.decisions())
    seen = ended["seen"]
    # five standard deviations
    assert seen > 100 and abs(ended["shown"] - seen / 4) < 5 * (seen * 3 / 16) ** 0.5, ended


def test_without_glances(lab):
    """What they saw is not counted either, and a policy's own decisions are all there."""
    with (
        trace("--netns", lab.client.name) as every,
        trace("--no-glances", "--netns", lab.client.name) as some,
    ):
        # two of some 300 uploads had none, and why is not known; most have more than a hundred
        for _ in range(4):
            with connection(lab) as conn:
                upload(conn, 1 << 20).finish().acknowledged()
        counts = [traced.end()["seen"] for traced in (every, some)]
    glances = [e.get("glance", False) for e in every.decisions()]
    assert 0 < sum(glances) < len(glances), every.decisions()[-3:]
    assert not any(e.get("glance") for e in some.decisions())
    assert counts == [len(glances), len(glances) - sum(glances)]


def said_amid_uploads(process, conn):
    """Until it has as many decisions as it wants: a busy guest decides about up to 64 KB at once."""
    with concurrent.futures.ThreadPoolExecutor(1) as reader:
        text = reader.submit(process.stdout.read)
        while not text.done():
            upload(conn, 1 << 20).finish()
        return text.result()


def test_text(lab):
    """One line per decision, and one per path where that is asked for.

    Whose the token is comes first, whether the first decision is in the sample or not.
    """
    words = [PROGRAM, "trace", "--limit", "20", "--sample", "2"]
    words += ["--each-path", "--netns", lab.client.name]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert re.fullmatch(r"bpf_\w+ is traced\n", process.stdout.readline())
        assert process.stdout.readline().endswith("is traced\n")
        with connection(lab) as conn:
            token = token_of(conn.client)
            lines = said_amid_uploads(process, conn).splitlines()
    print("\n".join(lines))
    number = r"\d+"
    assert re.fullmatch(rf"{token} is \S+ > \S+ in {lab.client.name}", lines[0])
    head = rf"\d\d:\d\d:\d\d\.\d{{6}} +(-|\+[0-9.]+)  {token}  bpf_ecf  "
    inputs = rf"  +pending {number}  window {number}  unacked {number}  unit {number}"
    what = rf"(send {number} B to path \d|wait [a-z_]+|copy to path [0-9,]+|no copy){inputs}"
    decisions = [x for x in lines if re.match(head, x)]
    assert len(decisions) == 20
    for line in decisions:
        assert re.fullmatch(rf"{head}({what}|wait no_room \(glance\) *)", line), line
    path = r"    path \d  srtt \d+ us  cwnd \d+  in flight \d+  unsent \d+ B  rate .*  [a-z_,]+"
    below = [x for x in lines if re.fullmatch(path, x)]
    assert len(below) >= sum("pending" in x for x in decisions)
    assert re.fullmatch(rf"{number} decisions seen, 20 shown, 0 lost", lines[-1])


def test_text_has_what_a_policy_measures(lab, _shared):
    """Of bpf_daps that is what a path was given."""
    _shared.need("bpf_daps")
    lab.client.scheduler = "bpf_daps"
    words = [PROGRAM, "trace", "--limit", "20", "--each-path", "--netns", lab.client.name]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().endswith("is traced\n")
        with connection(lab) as conn:
            text = said_amid_uploads(process, conn)
    assert re.search(
        r"^    path \d .* rate [^ ].*  metric [1-9]\d*  [a-z_,]+$", text, re.MULTILINE
    ), text


# --- what stays behind, and what is wrong


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_nothing_stays_attached(lab, how):
    """Nothing is there without it, and nothing behind it; SIGINT ends the tests above."""
    assert observers() == []
    number = getattr(signal, how)
    with trace() as traced:
        # decide and copies, before and behind, of two schedulers
        assert len(observers()) >= 2 * 4
        assert links() > len(pins())
        traced.process.send_signal(number)
        assert traced.process.wait(FAR) == (-number if how == "SIGKILL" else 0)
        nothing_left()
    with connection(lab) as conn:
        upload(conn, 10_000).finish().acknowledged()


def test_who_reads_has_gone(lab):
    """It ends at once, without a decision to print, and says nothing."""
    words = [PROGRAM, "--json", "trace"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while b'"started"' not in process.stdout.readline():
            pass
        assert observers()
        process.stdout.close()
        assert process.wait(FAR) == 0
        assert process.stderr.read() == b""
    nothing_left()


def refused(*words, code=FAILED, **options):
    result = sched("--json", "trace", *words, **options)
    assert result.code == code and result.out == "", result
    assert observers() == []
    return result.error


def test_tokens_that_cannot_be_traced(lab):
    error = refused("--connection", "0x1")
    assert error["object"] == "0x00000001" and "no connection" in error["reason"]
    assert "stats" in error["hint"]
    lab.client.scheduler = "default"
    with connection(lab) as conn:
        token = token_of(conn.client)
        error = refused("--connection", token)
    assert error["object"] == token and "its scheduler is default" in error["reason"]


def test_programs_that_the_kernel_refuses(lab):
    """A user namespace's root has the capabilities, but they do not count for the machine."""
    error = refused(code=PERMISSION, prefix=("unshare", "--user", "--map-root-user"))
    assert "not permitted" in error["reason"] and "CAP_PERFMON" in error["hint"]
