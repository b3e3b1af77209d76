# SPDX-License-Identifier: GPL-2.0
"""bpf_steer's modes where the path that carries falls silent, and comes back; virtual time.

The measures are those of `bench outage`, over 20 Mbit/s with 20 and 60 ms.
"""

import pytest
from mptcplab import schedulers
from mptcplab.benchmarks import outage

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

MODES = ("standby", "priority", "redundant")
BACK = 2  # s after its return a path carries
AFTER = 4


def measured(word, load):
    args = outage.parse(["--times", f"3/4/{AFTER}", "--notes"])
    row, problems = outage.measure(schedulers.Choice(word), load, "blackhole", 0, 0, args)
    assert not problems
    log = row.pop("log")
    later = [n for t, n in log["samples"] if t >= log["back"] + BACK]
    row["carried"] = later[-1] - later[0]
    print(row)
    return row


@pytest.mark.parametrize("mode", MODES)
def test_bulk_goes_on_at_once(mode):
    row = measured(f"bpf_steer@{mode}", "bulk")
    assert row["gap"] < 0.3, row
    # of what 20 Mbit/s bring meanwhile
    assert row["carried"] > (AFTER - BACK) * 20e6 / 8 / 2, row


@pytest.mark.parametrize("mode", MODES)
def test_a_stream_goes_on_at_once(mode):
    """And is back on the path, little as it sends."""
    row = measured(f"bpf_steer@{mode}", "stream")
    assert row["delay"] < 0.15, row
    stream = outage.outage.LOADS["stream"]
    assert row["carried"] > (AFTER - BACK) / stream.interval * stream.size / 2, row


def test_the_control():
    """Without a watch data waits for TCP's own timer."""
    row = measured("bpf_steer@priority:silence=0", "stream")
    assert row["delay"] > 0.2, row
