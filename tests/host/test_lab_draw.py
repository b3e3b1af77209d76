# SPDX-License-Identifier: GPL-2.0
"""Cells that are drawn by lot: the same for the same seed, others for another, within their bounds."""

import copy

import pytest
from mptcplab import draw, scenario
from mptcplab.path import FRAME
from mptcplab.scenario import ScenarioError

GOOD = {
    "title": "a test",
    "draw": {
        "cells": 40,
        "rate": {"from": 2, "to": 300},
        "fresh": {"among": [False, True]},
        "queue": {"from": 0.25, "to": 4},
    },
    "grid": {"size": ["96K", "3M"]},
    "path": [
        {"name": "a", "mbit": "$rate", "rtt_ms": 20, "queue_bdp": "$queue"},
        {"name": "b", "mbit": 10, "rtt_ms": 20},
    ],
    "workload": {"kind": "download", "sizes": ["$size"], "fresh": "$fresh"},
}


def parse(seed=None, **changes):
    data = copy.deepcopy(GOOD)
    for where, value in changes.items():
        data[where] = data.get(where, {}) | value
    return scenario.parse("test", data, "full", seed)


def drawn(seed=None, **changes):
    return [c.params for c in parse(seed, **changes).cells(["default"]) if c.params["size"] == "3M"]


def test_the_release_is_the_seed_unless_one_is_given():
    assert draw.release()
    assert drawn() == drawn(draw.release())
    assert drawn("x") == drawn("x")
    assert {p["rate"] for p in drawn("x")} != {p["rate"] for p in drawn("y")}
    assert {p["draw"] for p in drawn("x")} == {"x"}


def test_each_drawn_cell_comes_with_all_of_the_grid():
    cells = parse().cells(["default"])
    assert len(cells) == 40 * 2
    assert {(c.params["cell"], c.params["size"]) for c in cells} == {
        (i, size) for i in range(1, 41) for size in ("96K", "3M")
    }
    by_cell = {}
    for c in cells:
        by_cell.setdefault(c.params["cell"], set()).add(c.paths[0].mbit)
    assert all(len(rates) == 1 for rates in by_cell.values())


def test_numbers_are_drawn_evenly_in_their_logarithm():
    rates = [p["rate"] for p in drawn(draw={"cells": 400})]
    assert all(2 <= r <= 300 for r in rates)
    middle = (2 * 300) ** 0.5
    assert 150 < sum(r < middle for r in rates) < 250
    assert {p["fresh"] for p in drawn()} == {False, True}
    assert {c.workload["fresh"] for c in parse().cells(["default"])} == {False, True}


def test_more_cells_or_parameters_leave_the_others_as_they_are():
    few, many = drawn(), drawn(draw={"cells": 50, "more": {"from": 1, "to": 2}})
    assert [{k: v for k, v in p.items() if k != "more"} for p in many[:40]] == few


def test_a_queue_of_so_many_bdp_holds_twenty_packets_at_least():
    for cell in parse().cells(["default"]):
        bdp = cell.paths[0].mbit * 1e3 / 8 / FRAME * 20
        wanted = max(20, cell.params["queue"] * bdp) + bdp / 2
        assert wanted <= cell.paths[0].limit < wanted + 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"draw": {"cells": 0}}, "draw.cells: 1 or more"),
        ({"draw": {"rate": {"from": 2}}}, "draw.rate.to: missing"),
        ({"draw": {"rate": {"from": 0, "to": 2}}}, "draw.rate.from: 0 to 2: above 0"),
        ({"draw": {"rate": {"from": 2, "to": 2}}}, "draw.rate.from: 2 to 2: above 0"),
        ({"draw": {"rate": {"among": []}}}, "draw.rate.among: must not be empty"),
        ({"draw": {"rate": {"among": [1], "from": 2}}}, "draw.rate.from: unknown"),
        ({"draw": {"cell": {"among": [1]}}}, "draw.cell: is a name of its own"),
        ({"draw": {"rate": 3}}, "draw.rate: 3 is not a table"),
        ({"grid": {"rate": [1]}}, "grid.rate: is drawn, too"),
    ],
)
def test_a_mistake_names_its_field(changes, field):
    with pytest.raises(ScenarioError) as e:
        parse(**changes)
    assert str(e.value).startswith("test.toml: " + field), e.value


def test_cases_are_not_drawn():
    data = copy.deepcopy(GOOD) | {"case": [{"size": "3M"}]}
    del data["grid"]
    with pytest.raises(ScenarioError, match="case: goes without"):
        scenario.parse("test", data, "full")


def test_the_command_takes_another_seed(monkeypatch, tmp_path):
    from mptcplab import plan

    class Args:
        scenario, scheduler, seed, full, kernel, guests = (
            ["drawn-pairs"],
            ["default"],
            None,
            False,
            "7.0",
            1,
        )
        out, again, commit, only, gso, draw = "test", False, "abc", ["cell=1"], False, None

    def params(word):
        args = Args()
        args.draw = word
        monkeypatch.setattr(plan, "OUT", tmp_path)
        return [j["cell"]["params"] for j in plan.make(args).jobs if j["kind"] == "cell"]

    assert params("x") == params("x")
    assert params("x") != params(None)
    assert {p["draw"] for p in params("x")} == {"x"}
