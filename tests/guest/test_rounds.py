# SPDX-License-Identifier: GPL-2.0
"""Requests for passes keep the retransmission timer from nothing, in virtual time."""

import time

import pytest
from command import ok
from lab import Path
from passes import BUILT
from traffic import connection, upload

pytestmark = pytest.mark.virtual_time
SIZE = 8 << 20
# As much on its way as the fast path carries in seconds: so long nothing else ends the requests.
ROOM = "4096 8388608 16777216"


def longest_gap(transfer, seconds):
    """In what the application gets."""
    last, begun, longest = transfer.received, time.monotonic(), 0
    end = begun + seconds
    while transfer.received < transfer.size and time.monotonic() < end:
        time.sleep(0.01)
        if transfer.received != last:
            last, begun = transfer.received, time.monotonic()
        longest = max(longest, time.monotonic() - begun)
    return longest


def test_what_a_dead_path_holds_is_repaired_in_time(labs, none_loaded, suffix):
    """The scheduler asks at each decision, and copies nothing: it is left to the timer."""
    ok("load", BUILT / f"asking{suffix}", "--set", "unused=2", "--set", "silence=0")
    lab = labs(Path(8, 20), Path(8, 20)).endpoints()
    lab.client.sysctl("ipv4/tcp_wmem", ROOM)
    lab.server.sysctl("ipv4/tcp_rmem", ROOM)
    ok("use", "t_asking", "--netns", lab.client.name)
    with connection(lab) as conn, lab.outage(2, "loss") as (kill, _):
        sending = upload(conn, SIZE)
        sending.reached(1 / 8)
        kill()
        gap = longest_gap(sending, 6)
        sending.finish()
    lab.client.scheduler = "default"
    ok("unload", "t_asking")
    # the time of a timer that waits for the slowest subflow; without, nothing arrives for minutes
    assert gap < 1.5
    assert lab.client.mib("SubflowStale") > 0
