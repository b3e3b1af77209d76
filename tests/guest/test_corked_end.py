# SPDX-License-Identifier: GPL-2.0
"""The end of a corked stream comes when its writer closes it, as with TCP (nginx with tcp_nopush)."""

import socket

import pytest
from cells import bench_lab, netlab
from command import ok
from traffic import connection, download, info

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


def seconds(conn, close):
    """Of a download whose writer closes it, corked."""
    conn.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    transfer = download(conn, SIZE).written()
    close(conn.server)
    taken = transfer.finish().seconds
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
