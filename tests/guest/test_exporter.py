# SPDX-License-Identifier: GPL-2.0
"""The exporter: what it serves, and that its counters never fall."""

import contextlib
import http.client
import itertools
import os
import re
import socket
import subprocess
import time
from collections import Counter

import pytest
from command import ok, stats_of, total
from lab import Netns, run, until
from scrape import AS_THE_UNIT, exporter, families, promtool, samples
from traffic import connection, download, info, make_socket, token_of, upload

SIZE = 300_000


@pytest.fixture(autouse=True)
def _loaded(both_loaded):
    pass


def series(text):
    return Counter((s.name, tuple(sorted(s.labels.items()))) for s in samples(text))


def sent(served, name, **labels):
    return served.sum(f"mptcp_sched_{name}_total", **labels)


def test_what_is_served(labs):
    """The same numbers as stats; promtool finds nothing to complain of."""
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_ecf"
    here = {"netns": lab.client.name, "scheduler": "bpf_ecf"}
    with exporter("--interval", "60") as served:
        with connection(lab) as conn:
            upload(conn, SIZE).finish().acknowledged()
            mine = stats_of(info(conn.client).token)
            text = served.text()
            found = samples(text)
            shown = ok("show")
        checked = promtool(text)
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
        assert max(series(text).values()) == 1, "no series twice"

        def value(name, **labels):
            (only,) = [s for s in found if s.name == name and s.has(**here, **labels)]
            return only.value

        for name, count in mine["counters"].items():
            assert value(f"mptcp_sched_{name}_total") == count, name
        for reason, count in mine["waits"].items():
            assert value("mptcp_sched_waits_total", reason=reason) == count, reason
        for subflow in mine["subflows"]:
            path = {
                "path": subflow["local"].rsplit(":", 1)[0],
                "remote_id": str(subflow["remote_id"]),
            }
            for name, count in subflow["counters"].items():
                assert value(f"mptcp_sched_path_{name}_total", **path) == count
            assert value("mptcp_sched_path_subflows", **path) == 1
            srtt = value("mptcp_sched_path_srtt_seconds", **path)
            assert srtt == pytest.approx(subflow["srtt_us"] / 1e6, rel=0.5)
        assert total(mine, "bytes_sent") == SIZE
        assert value("mptcp_sched_connections") == 1
        assert value("mptcp_sched_connections_begun_total") == 1
        by_name = {s["name"]: s for s in shown["schedulers"]}
        for name, s in by_name.items():
            (mine,) = [
                f for f in found if f.name == "mptcp_sched_namespaces" and f.has(scheduler=name)
            ]
            assert mine.value == len(s["namespaces"])
        code, _, err = served.end()
        assert (code, err) == (0, "")


def test_counters_never_fall(labs):
    """Connections close and begin; the sums go on, and every byte is counted once."""
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_minrtt"
    with exporter("--interval", "0.3") as served:
        seen = []

        def look():
            seen.append(
                {
                    (s.name, tuple(sorted(s.labels.items()))): s.value
                    for s in samples(served.text())
                    if s.name.endswith("_total")
                }
            )

        for _ in range(3):
            with connection(lab) as conn:
                look()
                upload(conn, SIZE).finish().acknowledged()
                look()
            until(
                lambda: served.sum("mptcp_sched_path_subflows", netns=lab.client.name) == 0,
                20,
                "the connection gone",
            )
            look()
        for before, now in itertools.pairwise(seen):
            for key, value in before.items():
                assert now[key] >= value, key
        decided = [sent(served, n, netns=lab.client.name) for n in ("decisions", "picks", "waits")]
        assert decided[0] == decided[1] + decided[2]
        here = {"netns": lab.client.name}
        assert sent(served, "path_bytes_sent", **here) == 3 * SIZE
        assert sent(served, "connections_begun", **here) == 3
        # A later exporter begins with what it finds, or a rate would jump when it starts.
        with connection(lab) as conn:
            upload(conn, SIZE).finish().acknowledged()
            with exporter() as later:
                assert sent(later, "path_bytes_sent", **here) == 0
                upload(conn, 1000).finish().acknowledged()
                until(lambda: sent(later, "path_bytes_sent", **here) >= 1000, 20, "a look")
                assert sent(later, "path_bytes_sent", **here) == 1000


def test_few_labels(labs):
    """Beyond the limits there is one more label, and no byte is lost; tokens only when asked."""
    first, second = labs().endpoints(), labs().endpoints()
    for lab in (first, second):
        lab.client.scheduler = "bpf_minrtt"
    spaces = {first.client.name, second.client.name}
    with (
        exporter("--namespaces", "0", "--paths", "1", "--per-connection") as few,
        exporter() as all_of_them,
        connection(first) as one,
        connection(second) as two,
    ):
        for conn in (one, two):
            upload(conn, SIZE).finish().acknowledged()
        text = few.text()
        labelled = {s.labels["netns"] for s in samples(text) if "netns" in s.labels}
        assert labelled == {"other"}
        paths = {s.labels["path"] for s in samples(text) if "path" in s.labels}
        assert len(paths) == 2 and "other" in paths
        for s in samples(text):
            assert (s.labels.get("path") == "other") == (s.labels.get("remote_id") == "other")
        assert sent(few, "path_bytes_sent") == 2 * SIZE
        assert sent(few, "connections_begun", scheduler="bpf_minrtt") == 2
        tokens = {s.labels["connection"] for s in samples(text) if "connection" in s.labels}
        assert tokens == {token_of(c.client) for c in (one, two)}
        assert sent(few, "subflow_bytes_sent") == 2 * SIZE
        assert promtool(text).returncode == 0
        text = all_of_them.text()
        labelled = {s.labels["netns"] for s in samples(text) if "netns" in s.labels}
        assert spaces <= labelled and "other" not in labelled
        assert not any("connection" in s.labels for s in samples(text))
        assert sent(all_of_them, "path_bytes_sent") == 2 * SIZE


def test_paths_of_a_server_with_one_address(labs):
    """Its clients have several: both paths have series of their own, and few of them."""
    lab = labs().endpoints()
    lab.server.scheduler = "bpf_minrtt"
    here = {"netns": lab.server.name, "scheduler": "bpf_minrtt"}
    with exporter() as served:
        for _ in range(2):
            with connection(lab) as conn:
                download(conn, SIZE).finish().acknowledged()
                mine = stats_of(info(conn.server).token)
                found = [
                    s
                    for s in samples(served.text())
                    if s.name == "mptcp_sched_path_bytes_sent_total" and s.has(**here)
                ]
        assert {s["local"].rsplit(":", 1)[0] for s in mine["subflows"]} == {lab.address}
        assert {s.labels["path"] for s in found} == {lab.address}
        by_id = {s.labels["remote_id"]: s.value for s in found}
        assert set(by_id) == {"0", "2"}, "the first subflow's, and the client's endpoint"
        assert all(by_id.values()) and sum(by_id.values()) == 2 * (SIZE + 1)


def reads_of(served):
    (only,) = [s for s in samples(served.request()[2]) if s.name.endswith("exporter_reads_total")]
    return only.value


def test_however_often_it_is_asked(labs):
    """The kernel is read once a second, and everybody is answered."""
    labs().endpoints()
    with exporter("--interval", "60") as served:
        before, begun, answered, reads = reads_of(served), time.monotonic(), 0, 0
        while reads < 3:
            assert served.request()[0] == 200
            answered += 1
            reads = reads_of(served) - before
        seconds = time.monotonic() - begun
    assert reads <= seconds + 1, (reads, seconds, answered)


@pytest.mark.parametrize("begin", [b"", b"GET /metrics HTTP/1.1\r\nX: "])
def test_connections_that_say_nothing_keep_nobody_out(begin):
    """200 of them, more than it takes at a time, some with a byte now and then."""
    with exporter() as served, contextlib.ExitStack() as stack:
        host, port = re.search(r"//(.*):(\d+)/", served.where).groups()
        idle = []
        for _ in range(200):
            sock = stack.enter_context(socket.create_connection((host, int(port))))
            sock.sendall(begin)
            idle.append(sock)
        took = []
        for _ in range(8):
            for sock in idle:
                with contextlib.suppress(OSError):
                    sock.sendall(begin[-1:])
            begun = time.monotonic()
            assert served.request()[0] == 200
            took.append(time.monotonic() - begun)
            time.sleep(1)
        # the rest may be the machine's; who waits for one of them to time out waits for seconds each time
        assert min(took) < 2, took
        with open(f"/proc/{served.process.pid}/status") as f:
            assert int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) < 40_000
        assert len(os.listdir(f"/proc/{served.process.pid}/fd")) < 150
        assert served.end()[0] == 0


def test_one_that_asks_goes_on_though_others_come(labs):
    """A connection that is kept open and used is not the one that makes room."""
    with exporter() as served, contextlib.ExitStack() as stack:
        host, port = re.search(r"//(.*):(\d+)/", served.where).groups()
        kept = stack.enter_context(contextlib.closing(http.client.HTTPConnection(host, int(port))))
        for _ in range(10):
            kept.request("GET", "/metrics")
            answer = kept.getresponse()
            assert answer.status == 200 and answer.read()
            for _ in range(20):
                stack.enter_context(socket.create_connection((host, int(port))))


def test_names_that_need_care():
    """A namespace may be called almost anything."""
    name = 'a"b\\c {x} \u00e9'
    run("ip", "netns", "add", name)
    net = Netns(name)
    try:
        net.ip("link set lo up")
        net.scheduler = "bpf_minrtt"
        with (
            exporter() as served,
            contextlib.closing(make_socket(net, 4)) as listener,
            contextlib.closing(make_socket(net, 4)) as client,
        ):
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            client.connect(listener.getsockname())
            with contextlib.closing(listener.accept()[0]) as server:
                client.sendall(b"x")
                assert server.recv(1) == b"x"
                assert name in {c["netns"] for c in ok("stats")["connections"]}
                text = served.text()
        assert promtool(text).returncode == 0
        assert 'netns="a\\"b\\\\c {x} \\\\xC3\\\\xA9"' in text
    finally:
        net.close()
        run("ip", "netns", "del", name)


def test_openmetrics_and_other_requests():
    with exporter() as served:
        status, headers, text = served.request(Accept="application/openmetrics-text")
        assert status == 200
        assert headers["Content-Type"].startswith("application/openmetrics-text")
        assert text.endswith("# EOF\n")
        assert not any(name.endswith("_total") for name in families(text))
        status, headers, text = served.request()
        assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert "# EOF" not in text
        assert served.request("/nosuch")[0] == 404
        assert served.request("/")[0] == 200
        assert served.request(method="POST")[0] == 405
        status, headers, text = served.request(method="HEAD")
        assert status == 200 and text == ""
        # one that sends nothing keeps nobody from being served
        host, port = re.search(r"//(.*):(\d+)/", served.where).groups()
        with socket.create_connection((host, int(port))) as silent:
            silent.send(b"GET /met")
            assert served.request()[0] == 200


def test_with_the_capabilities_of_the_unit(labs):
    """Of another user than root, as the systemd unit starts it."""
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_ecf"
    with exporter(prefix=AS_THE_UNIT) as served, connection(lab) as conn:
        upload(conn, SIZE).finish().acknowledged()
        here = {"netns": lab.client.name, "scheduler": "bpf_ecf"}
        assert sent(served, "path_bytes_sent", **here) == SIZE
        assert served.sum("mptcp_sched_connections", **here) == 1


def test_the_other_commands_do_not_pay_for_it():
    """What serves HTTP is in a program of its own."""
    libraries = subprocess.run(
        ["ldd", "/usr/sbin/mptcp-sched"], capture_output=True, text=True, check=True
    )
    assert "libjson-c" in libraries.stdout
    assert "microhttpd" not in libraries.stdout


def test_a_look_costs_little_memory(labs):
    with exporter() as served:
        for _ in range(20):
            served.text()
        with open(f"/proc/{served.process.pid}/status") as f:
            peak = int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])
        assert peak < 20_000, f"{peak} kB"
