# SPDX-License-Identifier: GPL-2.0
"""A cell as the command lines of the benchmarks spell it: rates and RTTs of its paths."""

import pytest
from mptcplab.path import of_cell
from mptcplab.process import LabError

NAMES = ("near", "far")


def test_rates_and_rtts():
    near, far = of_cell("20/100@20/60", NAMES)
    assert (near.name, near.mbit, near.rtt_ms) == ("near", 20, 20)
    assert (far.name, far.mbit, far.rtt_ms) == ("far", 100, 60)
    # what is on its way, and a round trip of queue
    assert far.limit == pytest.approx(1.5 * 0.060 * 100e6 / 8 / 1514, abs=1)


def test_rates_alone_take_the_usual_rtts():
    assert [p.rtt_ms for p in of_cell("0.3/8.6", NAMES, (20, 60))] == [20, 60]
    assert [p.rtt_ms for p in of_cell("0.3/8.6@1/2", NAMES, (20, 60))] == [1, 2]


def test_one_path_is_a_cell():
    assert [p.name for p in of_cell("100@60", NAMES)] == ["near"]


def test_an_rtt_may_be_longer_by_a_part():
    assert of_cell("5/5@10/20", NAMES, spread=lambda: 0.1)[1].rtt_ms == pytest.approx(22)


@pytest.mark.parametrize(
    "cell", ["", "20/100", "20/100@20", "20@", "a/b@1/2", "0/5@1/1", "1/2/3@1/2/3"]
)
def test_a_wrong_one_is_named(cell):
    with pytest.raises(LabError, match=f"cell '{cell}': rates"):
        of_cell(cell, NAMES)
