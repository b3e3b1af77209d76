# SPDX-License-Identifier: GPL-2.0
"""No subflow carries a byte twice: not as a copy either, whatever cut the fragment."""

import contextlib
import time

import pytest
from cells import BenchLab, netlab
from command import ok
from mptcplab.benchmarks import timeline
from traffic import connection, download

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

RTT_MS = 40
# What is cut is at the end of the peer's first window, so each is a new connection's first.
CASES = [
    *(("bpf_minrtt", (1, 10), kib) for kib in (96, 128, 300)),
    ("bpf_minrtt", (8.6, 0.3), 128),
    ("bpf_cfs", (0.3, 8.6), 96),
    *(("bpf_redundant", (8, 8), kib) for kib in (96, 128, 300)),
]


def received(file, lab, name, rates, size):
    """What came at the client in a first download: pieces of data, retransmissions too."""
    with contextlib.closing(BenchLab(lab)) as ends:
        ends.server.scheduler = name
        # TCP's own probes of the tail are no copies
        ends.server.sysctl("ipv4/tcp_early_retrans", 0)
        with timeline.capture(lab, "client", file):
            with connection(ends) as conn:
                download(conn, size).finish().acknowledged()
                # what the slower path has left
                time.sleep(4 + size * 8e-6 / min(rates))
            # tcpdump writes what it has when it is stopped, but for the last block
            time.sleep(3)
    return timeline.read(file, lab)


def twice(pieces, path):
    """Bytes that came more than once on a path."""
    seen, again = set(), 0
    for piece in pieces:
        if piece.path == path:
            some = set(range(piece.begin, piece.end))
            again += len(some & seen)
            seen |= some
    return again


@pytest.mark.parametrize(("name", "rates", "kib"), CASES)
def test_no_byte_twice(tmp_path, name, rates, kib):
    ok("load", name)
    paths = [
        netlab.Path(f"path{i}", mbit=mbit, rtt_ms=RTT_MS, limit=1000)
        for i, mbit in enumerate(rates)
    ]
    with netlab.Lab(paths) as lab:
        pieces = received(tmp_path / "pcap", lab, name, rates, kib << 10)
    assert sum(p.end - p.begin for p in pieces) >= kib << 10
    assert {p.name: twice(pieces, p.name) for p in paths} == {p.name: 0 for p in paths}
