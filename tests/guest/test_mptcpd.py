# SPDX-License-Identifier: GPL-2.0
"""mptcpd makes the subflows, not `ip mptcp`: of connections that have one of our schedulers."""

import contextlib
import re
import subprocess
import sys

import pytest
from command import stats_of
from conftest import TOP
from lab import Path, until
from traffic import connection, info, listen, upload

MPTCPD = "/usr/libexec/mptcpd"
SCHEDULER = "bpf_minrtt"


def command_of_the_document():
    """As docs/use/mptcpd.md says to start it."""
    text = (TOP / "docs/use/mptcpd.md").read_text()
    (line,) = re.findall(rf"^(?:sudo )?ip netns exec \S+ {MPTCPD} (.*)$", text, re.MULTILINE)
    return [MPTCPD, *line.split()]


@contextlib.contextmanager
def mptcpd(net):
    with net.inside():
        daemon = subprocess.Popen(command_of_the_document(), stderr=subprocess.PIPE, text=True)
    try:
        yield daemon
    finally:
        daemon.terminate()
        said = daemon.communicate(timeout=120)[1]
        assert daemon.returncode == 0, said


def endpoints(net):
    """{address: flags} of the in-kernel path manager."""
    lines = net.run("ip", "mptcp", "endpoint", "show").stdout.splitlines()
    return {line.split()[0]: line for line in lines}


def subflows(conn):
    """What stats has of those that are established, by local address.

    One that was closed without its address stays for a while: it cannot say goodbye.
    """
    found = stats_of(info(conn.client).token)
    assert found["scheduler"] == SCHEDULER
    made = [s for s in found["subflows"] if s["state"] == "established"]
    return {s["local"].rpartition(":")[0]: s["counters"] for s in made}


def bytes_by_address(conn):
    """Of new data, that each of them was given."""
    return {address: c["bytes_sent"] for address, c in subflows(conn).items()}


def made_again(lab, i):
    """The remedy of docs/use/mptcpd.md for an endpoint that was made before its address was there."""
    line = endpoints(lab.client)[lab.local(i)]
    number = re.search(r"\bid (\d+)", line)[1]
    lab.client.ip(
        f"mptcp endpoint delete id {number}",
        f"mptcp endpoint add {lab.local(i)} id {number} dev {lab.device(i)} subflow",
    )


def tries(lab):
    """How often the client sent a join, and how often it could not even bind."""
    names = ("MPJoinSynTx", "MPJoinSynTxBindErr")
    return tuple(lab.client.mib(name) for name in names)


def goes(lab, i):
    """The address of path i, and with it the routes of its device."""
    lab.client.ip(f"addr del {lab.local(i)}/24 dev {lab.device(i)}")


def comes_back(lab, i):
    """The address and its route: adding that fails unless it went, too."""
    address = f"{lab.local(i)}/24 dev {lab.device(i)}"
    lab.client.ip(f"{lab.own_route(i)} onlink", f"addr add {address}")


def comes_back_for_mptcpd(lab, i):
    """Until a join of the subflow is on its way.

    The kernel tells of an address before a socket can be bound to it (__inet_insert_ifa() in
    devinet.c). mptcpd may be quicker, and the kernel tries each endpoint once per connection.
    """
    joins, failures = tries(lab)
    comes_back(lab, i)
    until(lambda: lab.local(i) in endpoints(lab.client), 20, "its endpoint")
    until(lambda: tries(lab) != (joins, failures), 20, "a try to make the subflow")
    if tries(lab) == (joins, failures + 1):
        print("mptcpd was quicker than the kernel")
        made_again(lab, i)


@pytest.fixture
def lab(_shared, labs):
    _shared.need(SCHEDULER)
    made = labs(Path(4, 20), Path(4, 20))
    made.client.scheduler = SCHEDULER
    return made


def test_it_makes_the_subflows(lab):
    assert endpoints(lab.client) == {}
    with mptcpd(lab.client):
        first, second = lab.local(1), lab.local(2)
        until(lambda: set(endpoints(lab.client)) >= {first, second}, 20, "endpoints")
        assert "subflow" in endpoints(lab.client)[second]
        with connection(lab) as conn:
            upload(conn, 1 << 20).finish().acknowledged()
            carried = bytes_by_address(conn)
    assert set(carried) == {first, second}
    assert min(carried.values()) > 128 << 10, carried
    assert sum(carried.values()) == 1 << 20


def test_it_drops_and_adds_a_path_in_mid_transfer(lab):
    """What a lost address carried is sent again on the other; one that comes back is used."""
    first, second = lab.local(1), lab.local(2)
    size = 14 << 20
    with mptcpd(lab.client):
        until(lambda: second in endpoints(lab.client), 20, "the second endpoint")
        with connection(lab) as conn:
            transfer = upload(conn, size).reached(0.15)
            both = bytes_by_address(conn)
            goes(lab, 2)
            until(lambda: second not in endpoints(lab.client), 20, "the endpoint is gone")
            until(lambda: not info(conn.client).extra_subflows, 20, "its subflow is gone")
            alone = bytes_by_address(conn)
            transfer.reached(transfer.received / size + 0.1)
            later = bytes_by_address(conn)
            # nothing but what the receive buffer takes moves while commands run, however long they do
            transfer.reading.clear()
            comes_back_for_mptcpd(lab, 2)
            conn.wait_subflows(1)
            assert transfer.received < 0.8 * size, "it was over too soon to tell"
            before = lab.sent()
            transfer.reading.set()
            transfer.finish(60).acknowledged()
            end = bytes_by_address(conn)
            wire = [now - then for now, then in zip(lab.sent(), before, strict=True)]
            kept = subflows(conn)[first]
    again = kept["bytes_retrans"] + kept["bytes_copied"]
    print("bytes per address:", both, alone, later, end, "sent again on the first:", again)
    print("on the wire, per path, since the second was back:", wire)
    assert min(both[first], both[second]) > 64 << 10
    assert set(alone) == set(later) == {first}
    assert later[first] - alone[first] > size // 20, "the first one went on alone"
    assert again > 0, "what was on its way on the lost one went again"
    assert set(end) == {first, second}
    assert end[second] > 128 << 10, "the subflow that came back was used"
    assert wire[1] > end[second] // 2, "it went over its own path"


def test_an_endpoint_before_its_address(lab):
    """The connection does not use it when the address comes, but does when it is made again."""
    with connection(lab, subflows=1) as conn:
        goes(lab, 2)
        before = tries(lab)
        lab.endpoint(2)
        assert tries(lab) == (before[0], before[1] + 1)
        comes_back(lab, 2)
        assert not info(conn.client).extra_subflows
        made_again(lab, 2)
        conn.wait_subflows(1)
        start = lab.sent()
        upload(conn, 1 << 20).finish().acknowledged()
        carried = bytes_by_address(conn)
        wire = lab.sent()[1] - start[1]
    assert wire > 128 << 10, (carried, wire)
    assert carried[lab.local(2)] > 128 << 10, (carried, wire)


def test_what_it_made_stays_when_it_ends(lab):
    with mptcpd(lab.client):
        until(lambda: lab.local(2) in endpoints(lab.client), 20, "the second endpoint")
    assert lab.local(2) in endpoints(lab.client)


def test_mptcpize_for_the_application(lab):
    """A program that asks for TCP has a connection that the scheduler serves, over both paths."""
    program = (
        "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])));"
        "s.recv(1); s.sendall(bytes(1 << 20)); s.recv(1)"
    )
    listener = listen(lab)
    address, port = listener.getsockname()[:2]
    with mptcpd(lab.client), contextlib.closing(listener), lab.client.inside():
        until(lambda: lab.local(2) in endpoints(lab.client), 20, "the second endpoint")
        plain = [sys.executable, "-c", program, address, str(port)]
        with subprocess.Popen(["mptcpize", "run", *plain]) as client:
            server = listener.accept()[0]
            server.sendall(b"!")
            until(lambda: info(server).extra_subflows == 1, 20, "a second subflow")
            received = 0
            while received < 1 << 20:
                received += len(server.recv(1 << 20))
            before = lab.sent()
            server.sendall(b"!")
            server.close()
        assert client.returncode == 0
    assert min(before) > 64 << 10, f"bytes per path: {before}"
