# SPDX-License-Identifier: GPL-2.0
"""Whatever the scheduler: one to eight subflows, peers without MPTCP, many short connections."""

import os
import socket
import time

import pytest
from command import stats, stats_of, total
from lab import Path, until
from traffic import (
    Connection,
    both_ways,
    connection,
    download,
    info,
    listen,
    upload,
)

SIZE = 128 << 10
RECORD = 3000
# MPS_CONNECTIONS=1000 for a long look; each takes 10 to 30 ms without KVM.
ROUND = int(os.environ.get("MPS_CONNECTIONS", "150"))
WARM_UP = ROUND // 4
# a third of what the state of those connections and their two subflows takes
LOST_KB = min(ROUND // 3, 100)
ROUNDS = 5


@pytest.fixture(scope="module")
def eight(shared_lab):
    return shared_lab(*[Path(200, 0)] * 8)


@pytest.fixture(scope="module")
def two_of_ipv6(shared_lab):
    return shared_lab(Path(50, 4), Path(50, 10), v6=True)


@pytest.fixture
def lab(eight, every):
    with eight.lent(every) as lent:
        yield lent


def of_both_ends(conn):
    return [stats_of(info(sock).token) for sock in (conn.client, conn.server)]


def test_one_to_eight_subflows(lab, every):
    """Subflows come while the connection lives: 1, 2, 4 and 8 of them."""
    with connection(lab, subflows=1) as conn:
        have = 1
        for count in (1, 2, 4, 8):
            lab.endpoints(have + 1, count)
            have = count
            conn.wait_subflows(count - 1)
            assert info(conn.client).extra_subflows == count - 1
            both_ways(conn, SIZE)
        for found, greeting in zip(of_both_ends(conn), (0, 1), strict=True):
            assert found["scheduler"] == every
            assert len(found["subflows"]) == count
            # each byte counts as new once, on whatever subflow
            assert total(found, "bytes_sent") == 4 * SIZE + greeting, found


def test_ipv6_checksums_and_records(two_of_ipv6, every):
    """Each message ends with MSG_EOR, so fragments are short and many; each has its checksum."""
    with two_of_ipv6.lent(every) as lab:
        for net in (lab.client, lab.server):
            net.sysctl("mptcp/checksum_enabled", 1)
        before = [net.mib("DataCsumErr") for net in (lab.client, lab.server)]
        with connection(lab.endpoints()) as conn:
            assert info(conn.client).checksums and info(conn.server).checksums
            both_ways(conn, SIZE, record=RECORD)
            both_ways(conn, SIZE)
            for found in of_both_ends(conn):
                assert (found["family"], found["scheduler"]) == ("ipv6", every)
                assert not found["fallback"]
                assert len(found["subflows"]) == 2
        assert [net.mib("DataCsumErr") for net in (lab.client, lab.server)] == before


def test_client_without_mptcp(lab):
    """The server's socket falls back to TCP: no scheduler is asked, data flows."""
    before = lab.server.mib("MPCapableSYNRX")
    with connection(lab, protocol=socket.IPPROTO_TCP) as conn:
        download(conn, SIZE).finish()
        upload(conn, SIZE).finish()
        for found in stats(lab.server):
            assert found["counters"]["picks"] == 0
    assert lab.server.mib("MPCapableSYNRX") == before


def test_server_without_mptcp(lab):
    before = lab.client.mib("MPCapableFallbackSYNACK")
    listener = listen(lab, socket.IPPROTO_TCP)
    try:
        conn = Connection(lab, listener)
        try:
            download(conn, SIZE).finish()
            upload(conn, SIZE).finish()
        finally:
            conn.close()
    finally:
        listener.close()
    assert lab.client.mib("MPCapableFallbackSYNACK") == before + 1


def unreclaimable_kb():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("SUnreclaim"))


def many_short(lab, count):
    """Connections that come and go, with two subflows where there is time for the second."""
    before = lab.client.mib("MPCapableSYNTX")
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
    until(lambda: not stats(), 40, "no state of a connection left")
    assert lab.client.mib("MPCapableSYNTX") == before + count


def lost_in_a_round(lab):
    """KB that do not come back within 10 s."""
    before = unreclaimable_kb()
    many_short(lab, ROUND)
    deadline = time.monotonic() + 10
    while (lost := unreclaimable_kb() - before) >= LOST_KB:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return lost


def test_short_connections_leave_nothing(lab):
    """Many in a row: the maps are empty after them, and so is the kernel's memory.

    The first ones fill caches. A third of what a scheduler keeps of each of the
    others would be noticed. What else the machine does meanwhile counts, too, but
    not every time: a leak does.
    """
    lab.endpoints(2, 2)
    for net in (lab.client, lab.server):
        # what waits for its time to pass would count as lost
        net.sysctl("ipv4/tcp_max_tw_buckets", 0)
    many_short(lab, WARM_UP)
    lost = [lost_in_a_round(lab)]
    while lost[-1] >= LOST_KB and len(lost) < ROUNDS:
        lost.append(lost_in_a_round(lab))
    assert lost[-1] < LOST_KB, f"KB lost in each round of {ROUND}: {lost}"
