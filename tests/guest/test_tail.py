# SPDX-License-Identifier: GPL-2.0
"""Copies of what is stuck on a slow path: they end transfers earlier and stay within their bounds."""

import time

import pytest
from cells import bench_lab, from_nginx, netlab, sent
from command import ok, stats_of
from passes import passes
from traffic import connection, download, info

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

SIZE = 128 << 10
PATHS = (
    netlab.Path("one", mbit=0.3, rtt_ms=20),
    netlab.Path("two", mbit=8.6, rtt_ms=60),
)


def measure(name, copy, paths=PATHS):
    """Seconds of a download after a first one, and the server's statistics."""
    ok("load", name, "--set", f"copy={copy}")
    with bench_lab(*paths) as lab:
        lab.server.scheduler = name
        with connection(lab) as conn:
            download(conn, 1 << 20).finish().acknowledged()
            time.sleep(1)
            begun = time.monotonic()
            download(conn, SIZE).finish().acknowledged()
            seconds = time.monotonic() - begun
            found = stats_of(info(conn.server).token)
    ok("unload", name)
    return seconds, found


@pytest.mark.parametrize("name", ["bpf_cfs", "bpf_minrtt"])
def test_a_stuck_tail_is_copied(name):
    """With copies off, the control, the end of the data comes at the slow path's rate."""
    without, control = measure(name, 0)
    seconds, found = measure(name, 1)
    assert control["counters"]["copies"] == 0
    assert found["counters"]["copies"] > 0, found
    assert seconds < 0.7 * without, (seconds, without)
    # no more is copied than a slower path was given
    copied = sum(s["counters"]["bytes_copied"] for s in found["subflows"])
    assert 0 < copied <= sent(found)[0] + (64 << 10)


def test_each_pass_needs_a_segment():
    """No pass without progress: the ACK clock asks once per segment at most."""
    _, found = measure("bpf_cfs", 1)
    # acknowledgements: one per segment at most
    assert passes(found) <= sum(s["tcp"]["bytes_sent"] / 1000 for s in found["subflows"])


@pytest.mark.parametrize("name", ["bpf_minrtt", "bpf_auto"])
def test_a_lone_subflow_has_no_pass(name):
    """There is no other for a copy. With two, the control, segments ask for passes."""
    _, found = measure(name, 1, PATHS[1:])
    _, control = measure(name, 1)
    # a loss may leave it stuck, which is another reason
    assert passes(found) < 5, found
    assert passes(control) > 20, control


def test_copies_know_what_is_still_in_front():
    """What one download left in the slow path's queue, copied long ago, holds up the next one.

    The few bytes behind it are copied at once. Taken for the next to come, by a figure of all that
    the connection sent later, they made eight downloads take 1.3 to 1.8 times as long as plain TCP
    on the fast path; 1.14 (6.12: 1.17) with what the path itself was given later.
    """
    plain, ours = (from_nginx(w, "0.3/8.6", "256K", repeat=8) for w in ("plain TCP", "bpf_thin"))
    assert ours < 1.3 * plain, (ours, plain)
