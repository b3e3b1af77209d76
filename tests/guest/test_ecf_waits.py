# SPDX-License-Identifier: GPL-2.0
"""ECF waits where that pays, and only there: the paper's cells, in virtual time.

Real time would make the RTTs of these cells depend on the host's load. The lab is
that of the benchmarks, whose queues stand between the ends as in a network.
"""

import functools

import pytest
from cells import downloads, netlab, sent

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("both_loaded")]
SIZE = 512 << 10
ROUNDS = 3


@functools.cache
def cell(name, *paths):
    """Some downloads over one connection; the server's statistics of it."""
    return downloads(name, paths, [SIZE] * ROUNDS)


HETEROGENEOUS = (
    netlab.Path("slow", mbit=0.3, rtt_ms=20),
    netlab.Path("fast", mbit=8.6, rtt_ms=60),
)
HOMOGENEOUS = (
    netlab.Path("one", mbit=5, rtt_ms=40),
    netlab.Path("two", mbit=5, rtt_ms=40),
)


def test_ecf_waits_for_the_fast_path():
    """0.3 and 8.6 Mbit/s: it leaves the slow path idle rather than wait for it.

    bpf_minrtt, which never waits for a subflow that is full, is the control.
    """
    found = cell("bpf_ecf", *HETEROGENEOUS)
    assert found["waits"]["faster"] > 0, found
    slow, fast = sent(found)
    assert slow + fast == ROUNDS * SIZE + 1
    assert fast > 0.8 * (slow + fast)
    assert slow <= sent(cell("bpf_minrtt", *HETEROGENEOUS))[0]


PAPER = (
    "copy=0",
    "penalise=0",
    "slow_start=0",
    "rate_bound=0",
    "arrival=0",
    "whole_fragment=0",
    "more_data=0",
    "min_room=0",
    "queue_cap=0",
)


def test_ecf_hardly_waits_between_equals(_shared):
    """The paper's form: with equal rates and RTTs of the same order there is no reason to."""
    _shared.need("bpf_ecf", values=PAPER)
    found = downloads("bpf_ecf", HOMOGENEOUS, [SIZE] * ROUNDS)
    assert found["waits"]["faster"] <= 0.02 * found["counters"]["decisions"], found
    assert min(sent(found)) > 0.3 * sum(sent(found))


def test_extended_ecf_uses_equals_evenly():
    """Its estimates may wait for an end that comes earlier, but not leave a path out."""
    found = cell("bpf_ecf", *HOMOGENEOUS)
    assert min(sent(found)) > 0.3 * sum(sent(found))


def test_minrtt_never_waits_for_a_faster_path():
    found = cell("bpf_minrtt", *HETEROGENEOUS)
    assert found["waits"]["faster"] == 0
    slow, fast = sent(found)
    assert slow + fast == ROUNDS * SIZE + 1


BIG = 6 << 20
SLOW_AND_FAR = (
    netlab.Path("slow", mbit=20, rtt_ms=60).roomy(),
    netlab.Path("fast", mbit=60, rtt_ms=20).roomy(),
)


def given_to_the_slow_path(shared, ahead):
    """Of a long download: its share."""
    shared.need("bpf_ecf", values=("copy=0", "penalise=0", f"more_data={ahead}"))
    slow, fast = sent(downloads("bpf_ecf", SLOW_AND_FAR, [BIG]))
    assert slow + fast == BIG + 1
    return slow / BIG


def test_a_long_transfer_uses_the_slow_path(_shared):
    """What the send buffer holds is soon carried by the fast path, all that is to come is not.

    Without looking ahead, the control, the slow path is hardly used.
    """
    short = given_to_the_slow_path(_shared, 0)
    far = given_to_the_slow_path(_shared, 1)
    assert far > 0.08 and far > 2 * short, (short, far)
