# SPDX-License-Identifier: GPL-2.0
"""A slower subflow gets no queue whose loss would fill the peer's window, in virtual time."""

import contextlib

import pytest
from cells import bench_lab, downloads, netlab, sent
from traffic import connection, ss, upload

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("_shared")]
SIZE, SHORT = 24_000_000, 1_500_000
# One download is one sample: of eight, one had 0.99 of the bytes, and the others 0.86 to 0.90.
SIZES = (SIZE, SIZE + 300_000, SIZE + 600_000)
# The thin one's RTT grows from 20 to 80 ms before its queue drops a segment. That one is there
# again after two of them, in which both paths carry 1.6 MB.
UNLIKE = tuple(
    netlab.Path(n, mbit=mbit, rtt_ms=20).roomy() for n, mbit in (("thin", 20), ("fat", 60))
)
TIGHT = 700_000
AMPLE = 16 << 20


def on_the_thin_one(shared, cover):
    """Its bytes of downloads into a small receive buffer; a quarter is what its rate is worth."""
    shared.need("bpf_minrtt", values=("copy=0", f"queue_cap={cover}"))
    return [sent(downloads("bpf_minrtt", UNLIKE, [size], receive=TIGHT))[0] for size in SIZES]


def test_a_tight_window(_shared):
    """The fat one does not stand still while the thin one sends again what it lost."""
    without, covered = on_the_thin_one(_shared, 0), on_the_thin_one(_shared, 2)
    assert sum(covered) < 0.95 * sum(without), (covered, without)


@contextlib.contextmanager
def warm(shared, cover):
    """(connection, bytes that the thin one had to send again) after a long upload, ample window"""
    shared.need("bpf_minrtt", values=("copy=0", f"queue_cap={cover}"))
    with bench_lab(*UNLIKE) as lab:
        lab.client.scheduler = "bpf_minrtt"
        lab.server.sysctl("ipv4/tcp_rmem", f"4096 {AMPLE} {AMPLE}")
        with connection(lab) as conn:
            upload(conn, SIZE).finish().acknowledged()
            thin, _ = (subflow for _, subflow in sorted(ss(lab.client).items()))
            yield conn, thin.get("bytes_retrans", 0)


def test_a_window_that_takes_it(_shared):
    """Then the queue is TCP's own business, which fills it until a segment is dropped."""
    with warm(_shared, 2) as (_, again):
        assert again


def short_ones(shared, cover):
    """Seconds that ten uploads take, each of which fits into the send buffer."""
    with warm(shared, cover) as (conn, _):
        return sum(upload(conn, SHORT).finish().acknowledged().seconds for _ in range(10))


def test_the_end_of_the_data(_shared):
    """No writer waits with more, so the thin one gets no queue that outlasts the fat one's."""
    without, covered = short_ones(_shared, 1), short_ones(_shared, 2)
    assert covered < 0.97 * without, (covered, without)
