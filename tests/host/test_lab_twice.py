# SPDX-License-Identifier: GPL-2.0
"""What two runs say differently has no number, and no earlier result is lost for it."""

import argparse
import copy
import json

import pytest
from mptcplab import plan, supervise, twice
from mptcplab.records import judged, read

SPEC = {
    "scenario": "test", "form": "short", "params": {}, "scheduler": "default", "seed": 1, "run": 0,
    "paths": [{"name": "a", "mbit": 1}, {"name": "b", "mbit": 4}], "trunk": [], "changes": {},
    "workload": {"kind": "download", "sizes": ["64K"]}, "at": [], "capture": False, "sysctl": {},
}  # fmt: skip
CHECK = {"key": "c", "kind": "check", "result": {"rtt_ms": 20.25, "problems": []}}


def cell(key):
    values = {"values": {"rtt_ms": 41.0}, "objects": [{"seconds": 1.5}, {"seconds": 2}]}
    return {
        "key": key,
        "kind": "cell",
        "checks": ["c"],
        "name": f"cell {key}",
        "cell": SPEC | {"run": ord(key)},
        "kernel": "7.0",
        "result": values | {"problems": []},
    }


def changed(records, key, change):
    out = copy.deepcopy(records)
    change(next(r for r in out if r["key"] == key)["result"])
    return out


BOTH = [CHECK, cell("x"), cell("y")]


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """Runs the two with given results: (status, the cells as a report has them, file by file)."""

    def go(first, second, statuses=(0, 0)):
        left = iter(zip((first, second), statuses, strict=True))

        def run(one, _):
            records, status = next(left)
            one.results.write_text("".join(json.dumps(r) + "\n" for r in records))
            return status

        monkeypatch.setattr(supervise, "run", run)
        made = plan.Plan(tmp_path / "lab-x.jsonl", BOTH, 0, {})
        status = twice.run(made, argparse.Namespace())
        files = [tmp_path / n for n in ("lab-x.jsonl", "lab-x-again.jsonl")]
        return status, [{r.raw["key"]: r for r in judged(read(f))[0]} for f in files]

    return go


def test_the_same_twice_is_valid(measure, capsys):
    status, files = measure(BOTH, copy.deepcopy(BOTH))
    assert status == 0
    assert all(r.valid for cells in files for r in cells.values())
    assert "3 of 3 results are the same twice" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "where", "values"),
    [
        (
            lambda r: r["values"].update(rtt_ms=41.0 + 1e-12),
            "values.rtt_ms",
            "41.0 and 41.000000000001",
        ),
        (lambda r: r["objects"][1].update(seconds=3), "objects.1.seconds", "2 and 3"),
        (lambda r: r["objects"].pop(), "objects", "and [{'seconds': 1.5}]"),
        (lambda r: r.update(capture={"mean_s": 1}), "capture", "None and"),
    ],
)
def test_what_differs_is_invalid_in_both_files(measure, capsys, change, where, values):
    status, files = measure(BOTH, changed(BOTH, "x", change))
    assert status == 1
    for cells in files:
        assert cells["x"].problems == [f"not the same in a second run: {where}"]
        assert cells["x"]["rtt_ms"] is None
        assert cells["y"].valid
    said = capsys.readouterr()
    assert "2 of 3 results are the same twice" in said.out
    assert "cell x" in said.err
    assert values in said.err


def test_a_check_that_differs_takes_its_cells_with_it(measure):
    second = changed(BOTH, "c", lambda r: r.update(rtt_ms=20.26))
    status, files = measure(BOTH, second)
    assert status == 1
    assert not any(r.valid for cells in files for r in cells.values())


def test_what_only_one_run_has_is_invalid(measure):
    status, (first, second) = measure(BOTH, BOTH[:-1])
    assert status == 1
    assert first["y"].problems == ["measured once, not in a second run"]
    assert first["x"].valid
    assert list(second) == ["x"]


def test_invalid_results_are_no_success_for_being_the_same(measure):
    bad = changed(BOTH, "x", lambda r: r["problems"].append("broken"))
    assert measure(bad, bad, statuses=(1, 1))[0] == 1


@pytest.mark.parametrize("name", ["lab-x.jsonl", "lab-x-again.jsonl"])
def test_what_was_measured_before_stays(measure, tmp_path, name):
    (tmp_path / name).write_text("of other cells\n")
    with pytest.raises(plan.PlanError, match=f"there is {name}: name another --out"):
        measure(BOTH, BOTH)
    assert (tmp_path / name).read_text() == "of other cells\n"
    assert len(list(tmp_path.iterdir())) == 1
