# SPDX-License-Identifier: GPL-2.0
"""BLEST waits where a slow subflow would block the send window, and only there."""

import functools

import pytest
from cells import downloads, netlab, sent
from command import ok
from lab import Path
from traffic import connection, info, upload

SIZES = (512 << 10,) * 3
# bytes of the receive buffer; about half of that is the window
TIGHT, ROOMY, WIDE = 96 << 10, 1 << 20, 16 << 20

UNLIKE = (
    netlab.Path("slow", mbit=2, rtt_ms=120),
    netlab.Path("fast", mbit=8, rtt_ms=20),
)
EQUAL = (
    netlab.Path("one", mbit=5, rtt_ms=40),
    netlab.Path("two", mbit=5, rtt_ms=40),
)


@pytest.fixture
def _both(_shared):
    _shared.need("bpf_blest", "bpf_minrtt")


@functools.cache
def cell(name, paths, receive):
    return downloads(name, paths, SIZES, receive=receive)


@pytest.mark.virtual_time
@pytest.mark.usefixtures("_both")
class TestWaits:
    def test_where_the_window_is_tight_and_the_paths_are_unlike(self):
        """It leaves the window to the fast path; bpf_minrtt, the control, does not."""
        found = cell("bpf_blest", UNLIKE, TIGHT)
        assert found["waits"]["window"] > 0, found
        slow, fast = sent(found)
        assert slow + fast == sum(SIZES) + 1
        control = cell("bpf_minrtt", UNLIKE, TIGHT)
        assert control["waits"]["window"] == 0
        assert sum(sent(control)) == sum(SIZES) + 1
        assert slow < 0.6 * sent(control)[0], (sent(found), sent(control))

    def test_not_where_the_window_is_large(self):
        """The same paths: the slow one now gets what minRTT gives it."""
        found = cell("bpf_blest", UNLIKE, WIDE)
        assert found["waits"]["window"] <= 0.02 * found["counters"]["decisions"], found
        assert sent(found)[0] > 2 * sent(cell("bpf_blest", UNLIKE, TIGHT))[0]

    def test_hardly_between_equals(self):
        """A window that holds what both have in flight. In a smaller one equals compete, too."""
        found = cell("bpf_blest", EQUAL, ROOMY)
        assert found["waits"]["window"] <= 0.02 * found["counters"]["decisions"], found
        assert min(sent(found)) > 0.3 * sum(sent(found))


@pytest.mark.virtual_time
def test_lambda_follows_the_blocking_of_the_window(none_loaded):
    """It begins next to 0, and only the blocking of the window brings it up.

    Without a step it stays there, and BLEST waits only where nothing is left of the window.
    """
    waits = []
    for step in (0, 1):
        low = (
            "lambda=0.001",
            "lambda_min=0.001",
            "lambda_max=16",
            f"lambda_step={step}",
        )
        ok("load", "bpf_blest", *(word for one in low for word in ("--set", one)))
        found = downloads("bpf_blest", UNLIKE, SIZES, receive=TIGHT)
        ok("unload", "bpf_blest")
        assert found["waits"]["peer_window"] > 0, "the window was never full"
        assert sum(sent(found)) == sum(SIZES) + 1
        waits.append(found["waits"]["window"])
    assert waits[1] > 5 * waits[0], waits


@pytest.mark.usefixtures("_both")
def test_backup_carries_nothing_until_it_must(labs):
    lab = labs(Path(4, 60), Path(8, 10, backup=True)).endpoints()
    lab.client.scheduler = "bpf_blest"
    with connection(lab) as conn, lab.outage(1, "loss") as (kill, _):
        transfer = upload(conn, 1 << 20).reached(0.2)
        assert lab.sent()[1] < 32 << 10
        kill()
        assert transfer.received < 0.8 * transfer.size, "it was over too early"
        transfer.finish(60)
        assert lab.sent()[1] > transfer.size // 8


@pytest.mark.usefixtures("_both")
def test_it_does_not_wait_for_a_fast_path_that_died(labs):
    """The window is tight, and the path that BLEST waits for swallows everything."""
    lab = labs(Path(8, 10), Path(4, 60)).endpoints()
    lab.server.sysctl("ipv4/tcp_rmem", f"4096 {TIGHT} {TIGHT}")
    lab.client.scheduler = "bpf_blest"
    with connection(lab) as conn, lab.outage(1, "loss") as (kill, _):
        transfer = upload(conn, 2 << 20).reached(0.2)
        kill()
        assert transfer.received < 0.8 * transfer.size, "it was over too early"
        transfer.finish(60)
        assert info(conn.client).extra_subflows == 1
