# SPDX-License-Identifier: GPL-2.0
"""A path that only hesitates: what a doubt asks for, and what not; virtual time.

Frames of 10 KB over 20 Mbit/s with 20 and 60 ms. For a moment the first path takes 150 ms more. With
`silence` 180 it is quiet for 60 of them, and not given up: that takes 200, and TCP's timer 220.
"""

import contextlib

import pytest
from mptcplab import schedulers
from mptcplab.benchmarks import outage
from mptcplab.lab import outage as events

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

FRAME = 10_000
HESITATES = events.reshaped(rtt_ms=lambda p: p.rtt_ms + 150, limit=lambda p: p.limit + 300)


def hesitating(monkeypatch, word, stale_loss_cnt=4):
    """Counters of both subflows after it, the first path's first."""

    @contextlib.contextmanager
    def event(lab, victim):
        lab.run("server", "sysctl", "-q", f"net.mptcp.stale_loss_cnt={stale_loss_cnt}")
        with HESITATES(lab, victim) as both:
            yield both

    monkeypatch.setitem(events.EVENTS, "hesitates", event)
    args = outage.parse(["--times", "3/0.15/1"])
    row, problems = outage.measure(schedulers.Choice(word), "video", "hesitates", 0, 0, args)
    print(row)
    assert not problems
    assert row["given_up"] is None, "it was more than a doubt"
    return row["subflows"]


def test_what_it_owes_is_copied_once(monkeypatch):
    _, other = hesitating(monkeypatch, "bpf_minrtt:silence=180")
    assert FRAME <= other["bytes_copied"] <= 4 * FRAME, other


@pytest.mark.parametrize(
    "word, rounds", [("bpf_minrtt:silence=0", 4), ("bpf_minrtt:silence=180", 0)]
)
def test_nothing_where_all_is_left_to_the_kernel(monkeypatch, word, rounds):
    _, other = hesitating(monkeypatch, word, rounds)
    assert other["bytes_copied"] == 0, other


def test_no_standby_takes_over(monkeypatch):
    first, other = hesitating(monkeypatch, "bpf_steer@standby:silence=180")
    assert first["bytes_sent"] > 50 * FRAME
    assert not other["bytes_sent"] + other["bytes_copied"], other
