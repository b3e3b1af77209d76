# SPDX-License-Identifier: GPL-2.0
"""Data that TCP has delivered and the receiver's MPTCP has dropped goes out again soon.

Either the receiver has no room for what it had granted, or it is data beyond its window
(state/peer_window.h).
"""

import random
import socket
import statistics
import time

import pytest
from cells import bench_lab, first_upload, netlab
from command import ok, stats_of, total
from traffic import connection, download, info

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

SIZE = 100 << 10
PATHS = [netlab.Path(name, mbit=50, rtt_ms=20) for name in ("one", "two")]
SMALL, LARGE = 1, 1 << 20  # bytes of the receive buffer
ROUNDS = 5
# Windows begin anew after it, whether they are restarted once per pause or once per segment.
PAUSE = 3
BUFFER = (socket.SOL_SOCKET, socket.SO_RCVBUF)
NO_DROPS = "the kernel has no such drops: 6.12's receiver keeps what is too much"
FEW_DROPS = "the kernel has no such drops in most uploads: 6.12's receiver keeps more"


def one_round(conn, more=SIZE):
    """Seconds from the moment when there is room again to the last byte.

    more: bytes that are sent then, whose acknowledgements tell that the rest has not got through.
    """
    conn.server.sendall(bytes(SIZE))
    conn.client.setsockopt(*BUFFER, SMALL)
    time.sleep(0.02 if more else 0.028)
    conn.client.setsockopt(*BUFFER, LARGE)
    begun, rest = time.monotonic(), SIZE + more
    conn.server.sendall(bytes(more))
    while rest:
        rest -= len(conn.client.recv(rest))
    seconds = time.monotonic() - begun
    time.sleep(PAUSE)
    return seconds


def rounds(lab, look=lambda conn: None, **options):
    """Seconds of all rounds, segments dropped, what look() finds then."""
    with connection(lab) as conn:
        conn.client.setsockopt(*BUFFER, LARGE)
        download(conn, 256 << 10).finish().acknowledged()
        time.sleep(PAUSE)
        before = lab.mib("client")["RcvPruned"]
        seconds = sum(one_round(conn, **options) for _ in range(ROUNDS))
        return seconds, lab.mib("client")["RcvPruned"] - before, look(conn)


def measure(copy):
    ok("load", "bpf_minrtt", "--set", f"copy={copy}")
    with bench_lab(*PATHS) as lab:
        lab.server.scheduler = "bpf_minrtt"
        found = rounds(lab, lambda conn: stats_of(info(conn.server).token))
    ok("unload", "bpf_minrtt")
    return found


def skip_without_drops(has_get_send, dropped):
    if not has_get_send:
        assert dropped == 0, "this kernel's receiver drops it, too: test it there"
        pytest.skip(NO_DROPS)


def test_it_does_not_wait_for_the_timer(has_get_send):
    """It does without copies, the control: then nobody asks for the pass.

    Seen to take half as long again as the control without mps_was_dropped().
    """
    seconds, dropped, found = measure(copy=1)
    skip_without_drops(has_get_send, dropped)
    control, dropped_then, _ = measure(copy=0)
    assert dropped_then >= ROUNDS <= dropped
    assert total(found, "bytes_retrans") > 0
    assert seconds < 0.9 * control, (seconds, control)


def test_nor_with_the_kernels_own(has_get_send):
    """`use default --reinject`, and without it, the control.

    Nothing is sent behind it or beside it whose acknowledgements would tell.
    """
    found = {}
    for words in (["--reinject"], []):
        with bench_lab(PATHS[0]) as lab:
            ok("use", "default", "--netns", lab.server.name, *words)
            found[len(words)] = rounds(lab, more=0)
            ok("use", "default", "--netns", lab.server.name)
    (seconds, dropped, _), (control, dropped_then, _) = found[1], found[0]
    skip_without_drops(has_get_send, dropped)
    assert dropped_then >= ROUNDS <= dropped
    assert seconds < 0.5 * control, (seconds, control)


# A peer grants 65160 bytes as it answers the SYN, and then 64256, of which nobody hears in time.
FIRST = random.Random(1).randbytes(300_000)
RTTS_MS = [(20 + near, 60 + far) for near in (-1, 0, 1) for far in (-3, -1.5, 0, 1.5)]


def first_uploads(word):
    """Seconds in the mean, how many of the uploads had a segment beyond the window."""
    seconds, beyond = [], 0
    for rtts in RTTS_MS:
        paths = [
            netlab.Path(name, mbit=mbit, rtt_ms=rtt).roomy()
            for name, mbit, rtt in zip(("one", "two"), (60, 20), rtts, strict=True)
        ]
        took, counters = first_upload(word, paths, FIRST)
        seconds.append(took)
        beyond += counters["NoDSSInWindow"] > 0
    return statistics.fmean(seconds), beyond


def test_the_end_of_the_first_window(has_get_send):
    """Dropped when the near path brings it before the far one has brought the beginning.

    The rest of its fragment is with the far path then. Where the timer repaired it, the uploads
    took 1.07 to 1.2 times as long as those of the default, which gives it all to one path.
    """
    seconds, beyond = first_uploads("bpf_rr")
    if not has_get_send:
        assert beyond < len(RTTS_MS) / 2, (
            "this kernel's receiver drops it often, too: test it there"
        )
        pytest.skip(FEW_DROPS)
    control, beyond_then = first_uploads("default")
    assert beyond_then == 0
    assert beyond > len(RTTS_MS) / 2
    assert seconds < control, (seconds, control)
