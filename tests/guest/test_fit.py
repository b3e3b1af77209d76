# SPDX-License-Identifier: GPL-2.0
"""A subflow has room when that takes a part of the next fragment, in virtual time."""

import statistics

import pytest
from cells import bench_lab, netlab
from traffic import connection, ss, upload

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("_shared")]
SIZE = 8_000_000
FRAGMENT = 32 << 10
# Nothing is lost, as what is sent again there would take the room of what was given.
LIKE = tuple(netlab.Path(n, mbit=20, rtt_ms=40, limit=4000) for n in ("one", "two"))
ENOUGH = 30  # looks at a subflow whose window is so large that an eighth of it is half a fragment


def waiting(shared, fit):
    """Bytes given to a subflow that its window did not take, in the mean of all looks."""
    shared.need("bpf_minrtt", values=("copy=0", f"min_room={fit}"))
    found = []
    with bench_lab(*LIKE) as lab:
        lab.client.scheduler = "bpf_minrtt"
        with connection(lab) as conn:
            moving = upload(conn, SIZE)
            while not moving.ended and not moving.errors:
                for subflow in ss(lab.client).values():
                    if subflow["cwnd"] * subflow["mss"] >= 8 * FRAGMENT / 2:
                        found.append(subflow.get("notsent", 0))
            moving.finish()
    assert len(found) >= ENOUGH
    return statistics.fmean(found)


def test_half_of_a_fragment_fits(_shared):
    """Between none and half of one waits, and without it up to a whole one.

    The most says little: a burst may end with a fragment of which less fits.
    """
    half, whole = waiting(_shared, fit=0.5), waiting(_shared, fit=0)
    assert half < 0.7 * whole, (half, whole)
