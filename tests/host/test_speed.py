# SPDX-License-Identifier: GPL-2.0
"""bench speed: what it makes of iperf3's answers, and its table."""

import json

import pytest
from mptcplab import schedulers
from mptcplab.benchmarks import speed
from mptcplab.process import LabError


def test_the_receivers_rate_counts():
    end = {"sum_sent": {"bits_per_second": 9}, "sum_received": {"bits_per_second": 5}}
    assert speed.received(json.dumps({"end": end})) == 5


@pytest.mark.parametrize("said", ["", "iperf3: error - unable to connect", '{"end": {}}'])
def test_no_result_is_an_error(said):
    with pytest.raises(LabError, match="iperf3 gave no result"):
        speed.received(said)


@pytest.mark.parametrize(
    ("words", "head", "ratios"),
    [(("tcp", "default", "bpf_ecf"), "default", ["1.500", "0.500"]), (("tcp",), "plain TCP", [])],
)
def test_the_table_has_ratios_of_means(capsys, words, head, ratios):
    chosen = schedulers.choices(words)
    mbit = {"plain TCP": [310, 290], "default": [150, 250], "bpf_ecf": [100]}
    mbit = {c.word: mbit[c.word] for c in chosen}
    speed.report([{"paths": 2, "connections": 4, "mbit": mbit}], chosen)
    top, row = capsys.readouterr().out.splitlines()
    assert f"{head}, Mbit/s" in top
    assert row.split() == ["2", "4", "200" if head == "default" else "300", *ratios]
