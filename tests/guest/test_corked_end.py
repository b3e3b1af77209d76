# SPDX-License-Identifier: GPL-2.0
"""The end of a corked stream comes when its writer closes it, as with TCP (nginx with tcp_nopush)."""

import socket
import time

import pytest
from cells import bench_lab, netlab
from command import ok
from traffic import connection, info, random_bytes

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

# A short segment at the end of what is more than the first windows.
SIZE = 96_300
PATHS = (
    netlab.Path("one", mbit=50, rtt_ms=20).roomy(),
    netlab.Path("two", mbit=20, rtt_ms=30).roomy(),
)
CLOSES = {
    "close": lambda sock: sock.close(),
    "shutdown": lambda sock: sock.shutdown(socket.SHUT_WR),
}


def received(sock, size):
    """All that comes, as soon as it is so many bytes."""
    data = b""
    while len(data) < size:
        data += sock.recv(size - len(data))
    return data


def seconds(conn, close):
    data = random_bytes(SIZE)
    conn.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    begun = time.monotonic()
    conn.server.sendall(data)
    close(conn.server)
    assert received(conn.client, SIZE) == data
    taken = time.monotonic() - begun
    assert conn.client.recv(1) == b""
    return taken


@pytest.mark.parametrize("how", CLOSES)
@pytest.mark.parametrize("paths", [PATHS[:1], PATHS], ids=["one", "two"])
@pytest.mark.parametrize("name", ["bpf_auto", "bpf_minrtt"])
def test_it_waits_for_no_timer(name, paths, how):
    """TCP's is 200 ms and more; a few round trips have it all."""
    ok("load", name)
    with bench_lab(*paths) as lab:
        lab.server.scheduler = name
        with connection(lab) as conn:
            assert info(conn.server).extra_subflows == len(paths) - 1
            assert seconds(conn, CLOSES[how]) < 0.2


def test_the_control():
    """The kernel's default waits for it."""
    with bench_lab(*PATHS[:1]) as lab, connection(lab) as conn:
        assert seconds(conn, CLOSES["close"]) > 0.2
