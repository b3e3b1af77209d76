# SPDX-License-Identifier: GPL-2.0
"""More subflows than a decision has place for: include/state/seen.h; virtual time."""

import contextlib
import time

import pytest
from lab import Path, until
from traffic import connection, info, upload

PATHS = 9
SIZE = 2 << 20
# The core gives the dead ones up after some rounds of its timer, which backs off.
STALL_S = 12

pytestmark = pytest.mark.virtual_time


@pytest.fixture(scope="module")
def nine(shared_lab):
    return shared_lab(*[Path(2, 20)] * PATHS)


def longest_stall(transfer, seconds):
    """Until all of it is there."""
    since, last, worst = time.monotonic(), transfer.received, 0
    end = since + seconds
    while transfer.received < transfer.size:
        assert time.monotonic() < end, f"not within {seconds} s: {transfer}"
        time.sleep(0.05)
        if transfer.received != last:
            since, last = time.monotonic(), transfer.received
        worst = max(worst, time.monotonic() - since)
    return worst


def test_the_first_eight_die(nine, every):
    """The ninth, which nothing was given to before, carries the rest."""
    with (
        nine.lent(every) as lab,
        connection(lab.endpoints()) as conn,
        contextlib.ExitStack() as stack,
    ):
        outages = [stack.enter_context(lab.outage(i, "loss")) for i in range(1, PATHS)]
        transfer = upload(conn, SIZE).reached(0.2)
        for kill, _ in outages:
            kill()
        assert transfer.received < 0.9 * SIZE, "it was over before"
        assert longest_stall(transfer, 120) < STALL_S
        transfer.finish()
        for _, revive in outages:
            revive()


def test_the_first_is_closed(nine, every):
    """It stays in the core's list, and takes no place: all others are used."""
    with nine.lent(every) as lab, connection(lab.endpoints()) as conn:
        upload(conn, SIZE // 8).finish().acknowledged()
        lab.client.ip(f"mptcp endpoint delete id 0 {lab.local(1)}")
        until(lambda: info(conn.client).subflows == PATHS - 1, 20, "the first closed")
        before = lab.sent()
        upload(conn, SIZE).finish().acknowledged()
        sent = [b - a for a, b in zip(before, lab.sent(), strict=True)]
        # what was in its queue: copies may still be
        assert sent[0] < 40_000 and min(sent[1:]) > 100_000, sent
