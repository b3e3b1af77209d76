# SPDX-License-Identifier: GPL-2.0
"""What is passed over after a path was given up, or closed (bpf/frame/over.h): no byte of it is lost.

How little goes again is in test_outage.py. Here is what could go wrong about it: checksums, the end
of the stream, subflows that are gone, and paths on which only data is lost.
"""

import contextlib

import pytest
from command import ok, stats_of, total
from lab import Path, until
from traffic import connection, info, upload

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

PATHS = Path(20, 20), Path(20, 60)
FASTER, SLOWER = 1, 2
SIZE = 4 << 20  # 0.8 s of both paths
WINDOW = 512 << 10  # more than either of them holds


@pytest.fixture(params=["bpf_minrtt", "bpf_auto"])
def lab(request, labs):
    ok("load", request.param)
    made = labs(*PATHS).endpoints()
    for net in (made.client, made.server):
        net.scheduler = request.param
    return made


def sent_twice(conn):
    """Of the whole connection, copies not counted."""
    return total(stats_of(info(conn.client).token), "bytes_retrans")


@contextlib.contextmanager
def in_the_middle(lab, conn, victim):
    """An upload whose path `victim` dies when a fifth has arrived."""
    with lab.outage(victim, "loss") as (kill, _):
        transfer = upload(conn, SIZE).reached(0.2)
        kill()
        yield transfer


@pytest.mark.parametrize("victim", [FASTER, SLOWER])
def test_with_checksums(lab, victim):
    """A mapping that ends where something was passed over has the checksum of what it has."""
    for net in (lab.client, lab.server):
        net.sysctl("mptcp/checksum_enabled", 1)
    with connection(lab) as conn, in_the_middle(lab, conn, victim) as transfer:
        assert info(conn.client).checksums
        transfer.finish().acknowledged()
        assert transfer.seconds < 4
        assert 0 < sent_twice(conn) < WINDOW
    assert lab.server.mib("DataCsumErr") == 0


@pytest.mark.parametrize("victim", [FASTER, SLOWER])
def test_the_end_of_the_stream(lab, victim):
    """It comes with the last data, of which nothing may be sent any more."""
    with connection(lab) as conn, lab.outage(victim, "loss") as (kill, _):
        transfer = upload(conn, SIZE).written().reached(0.5)
        kill()
        conn.client.close()
        transfer.finish()
        assert transfer.seconds < 4
        assert conn.server.recv(1) == b""
        conn.server.close()
        until(lambda: not established(lab), 20, "both ends are closed")


def established(lab):
    return lab.client.run("ss", "-MHnO", "state", "all").stdout.strip()


@pytest.mark.parametrize("victim", [FASTER, SLOWER])
def test_only_data_is_lost(lab, victim):
    """The path is taken back by what comes from the peer, and what it owes is nowhere still."""
    with connection(lab) as conn:
        transfer = upload(conn, SIZE).reached(0.2)
        shape = f"qdisc change dev {lab.device(victim)} root netem "
        lab.client.tc(shape + lab.paths[victim - 1].netem(100))
        transfer.finish().acknowledged()
        assert transfer.seconds < 4
        assert 0 < sent_twice(conn) < 2 * WINDOW
        lab.client.tc(shape + lab.paths[victim - 1].netem(0))


def test_a_subflow_is_taken_away(lab):
    """What it was given is with nobody, whatever the ranges of the others span."""
    with connection(lab) as conn:
        transfer = upload(conn, SIZE).reached(0.2)
        lab.client.ip("mptcp endpoint flush")
        transfer.finish().acknowledged()
        assert transfer.seconds < 4
        assert info(conn.client).extra_subflows == 0
