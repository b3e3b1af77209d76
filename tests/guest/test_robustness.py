# SPDX-License-Identifier: GPL-2.0
"""Peers without MPTCP, receivers that stop reading, and many short connections."""

import socket
import time

import pytest
from command import stats, stats_of
from lab import Path, until
from traffic import Connection, connection, download, info, listen, upload

NAMES = ["bpf_minrtt", "bpf_ecf"]


@pytest.fixture(autouse=True)
def _loaded(both_loaded):
    pass


@pytest.mark.parametrize("name", NAMES)
def test_client_without_mptcp(labs, name):
    """The server's socket falls back to TCP: no scheduler is asked, data flows."""
    lab = labs()
    lab.server.scheduler = name
    with connection(lab, protocol=socket.IPPROTO_TCP) as conn:
        download(conn, 300_000).finish()
        upload(conn, 300_000).finish()
        for found in stats(lab.server):
            assert found["counters"]["picks"] == 0
    assert lab.server.mib("MPCapableSYNRX") == 0


@pytest.mark.parametrize("name", NAMES)
def test_server_without_mptcp(labs, name):
    lab = labs()
    lab.client.scheduler = name
    listener = listen(lab, socket.IPPROTO_TCP)
    try:
        conn = Connection(lab, listener)
        try:
            upload(conn, 300_000).finish()
        finally:
            conn.close()
    finally:
        listener.close()
    assert lab.client.mib("MPCapableFallbackSYNACK") == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_receiver_that_stops_reading(labs, name):
    """The window closes, is probed, and opens; nothing is lost meanwhile.

    The receive buffer is the kernel's: shrinking that of a live connection hangs
    6.12's receiver, with its own scheduler too.
    """
    lab = labs(Path(50, 4), Path(50, 8)).endpoints()
    lab.client.scheduler = name
    with connection(lab) as conn:
        transfer = upload(conn, 6 << 20).reached(0.05)
        transfer.reading.clear()
        token = info(conn.client).token

        def full():
            """Nothing moves any more, though there is more to send."""
            first = info(conn.client).snd_una
            time.sleep(0.7)
            now = info(conn.client)
            return now.snd_una == first

        until(full, 30, "the window is shut")
        waiting = stats_of(token)
        assert waiting["pending"] > 0
        assert transfer.received < transfer.size
        # the peer's window, and that the kernel keeps asking
        assert (
            waiting["waits"]["peer_window"] + waiting["counters"]["window_probes"] > 0
        )
        transfer.reading.set()
        transfer.finish().acknowledged()


def unreclaimable_kb():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("SUnreclaim"))


def many_short(labs, name, count):
    """Connections with two subflows' worth of state each, in a lab of their own."""
    lab = labs(Path(1000, 0), Path(1000, 0)).endpoints()
    for net in (lab.client, lab.server):
        net.scheduler = name
    listener = listen(lab)
    try:
        for _ in range(count):
            conn = Connection(lab, listener)
            try:
                conn.client.sendall(b"x" * 3000)
                left = 3000
                while left:
                    left -= len(conn.server.recv(left))
            finally:
                conn.close()
    finally:
        listener.close()
    until(
        lambda: not stats(lab.client) and not stats(lab.server),
        40,
        "no state of a connection left",
    )
    assert lab.client.mib("MPCapableSYNTX") == count
    lab.close()
    labs.forget(lab)


def test_short_connections_leave_nothing(labs):
    """200 in a row: the maps are empty after them, and so is the kernel's memory.

    The first round fills caches; the second may not cost more than a fifth of
    what its sockets and their state would take.
    """
    many_short(labs, "bpf_ecf", 100)
    before = unreclaimable_kb()
    many_short(labs, "bpf_ecf", 200)
    until(
        lambda: unreclaimable_kb() - before < 400,
        30,
        "the memory of the connections back",
    )
