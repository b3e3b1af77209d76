# SPDX-License-Identifier: GPL-2.0
"""Scenarios of steering: their tables, what is measured with them, and what is told of it."""

import copy
import json

import pytest
from mptcplab import cell, measures, plan, records, scenario, schedulers, workloads
from mptcplab.process import LabError
from mptcplab.report import page
from rowlib import Rows

GOOD = {
    "title": "a test",
    "costly": "b",
    "told": ["completion_s", "costly_mb", "costly_share", "late"],
    "steering": {
        "first": ["path name b device b rank 1 metered", "rule mode priority deadline 1s"],
        "rr": ["rule mode bpf_rr"],
    },
    "path": [
        {"name": "a", "mbit": 1, "rtt_ms": 20},
        {"name": "b", "mbit": 4, "rtt_ms": 60},
        {"name": "c", "mbit": 2, "rtt_ms": 60},
    ],
    "workload": {"kind": "download", "sizes": ["64K"], "deadline_s": 2},
}


def parse(**changes):
    return scenario.parse("test", copy.deepcopy(GOOD) | changes)


def words(asked, **changes):
    return [c.scheduler for c in parse(**changes).cells(asked)]


def test_bpf_steer_is_measured_without_tables_and_with_each():
    found = {c.scheduler: c.tables for c in parse().cells(["default", "bpf_steer", "bpf_rr"])}
    assert found == {
        "default": "",
        "bpf_steer": "",
        "bpf_rr": "",
        "bpf_steer@first": "path name b device b rank 1 metered\nrule mode priority deadline 1s\n",
        "bpf_steer@rr": "rule mode bpf_rr\n",
    }


def test_tables_can_be_asked_for_and_are_nothing_elsewhere():
    assert words(["default", "bpf_steer@rr"]) == ["default", "bpf_steer@rr"]
    assert words(["default", "bpf_steer@rr"], steering={}) == ["default"]
    assert words(["default", "bpf_steer@rr:copy=0"]) == ["default", "bpf_steer@rr:copy=0"]


def test_the_words_of_a_scheduler():
    one = schedulers.Choice("bpf_steer+reinject@rr:copy=0,silence=0")
    assert (one.name, one.flags, one.tables) == ("bpf_steer", ["--reinject"], "rr")
    assert one.values == ["copy=0", "silence=0"]
    assert schedulers.Choice("bpf_ecf:beta=1").tables == ""


def test_no_benchmark_without_scenarios_takes_tables():
    with pytest.raises(LabError, match="bpf_steer@rr: only scenarios"):
        schedulers.use(None, schedulers.Choice("bpf_steer@rr"))


def test_a_cell_keeps_its_tables():
    for one in parse().cells(["bpf_steer"]):
        assert cell.cell_from(json.loads(json.dumps(one.spec()))) == one


def test_plain_tcp_has_the_best_path_that_costs_nothing():
    assert [workloads.fast(c) for c in parse().cells(["plain TCP"])] == [2]
    assert [workloads.fast(c) for c in parse(costly="").cells(["plain TCP"])] == [1]
    assert [workloads.fast(c) for c in parse(costly="a").cells(["plain TCP"])] == [1]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"costly": "d"}, "costly: 'd' is not one of several paths"),
        ({"costly": "a", "path": GOOD["path"][:1]}, "costly: 'a' is not one of several paths"),
        ({"apart": "luck"}, "apart: 'luck' is no parameter; there are: "),
        ({"told": ["luck"]}, "told: 'luck' is not one of completion_s, "),
        ({"steering": {"A b": ["rule mode auto"]}}, "steering.A b: a name has small letters"),
        ({"steering": {"x": "rule mode auto"}}, "steering.x: must be a list of rows"),
        ({"steering": {"x": []}}, "steering.x: must be a list of rows"),
        ({"steering": {"x": [1]}}, "steering.x: 1 is not a row"),
        ({"steering": {"x": ["mode auto"]}}, "steering.x: 'mode auto' is not a row"),
        ({"steering": {"x": ["rule mode auto\nrule"]}}, "steering.x: 'rule mode auto\\nrule' is"),
        (
            {"steering": {"x": ["path name a device d"]}},
            "steering.x: 'path name a device d': no path 'd'; there are: a, b, c",
        ),
        (
            {"workload": GOOD["workload"] | {"deadline_s": -1}},
            "workload.deadline_s: -1 is below 0",
        ),
        (
            {"workload": {"kind": "requests", "seconds": 1, "dscp": 64}},
            "workload.dscp: 64 is not one of 0, 1, ",
        ),
    ],
)
def test_a_mistake_names_its_file_and_field(changes, text):
    changes = {"steering": {}} | changes
    with pytest.raises(scenario.ScenarioError) as e:
        parse(**changes)
    assert str(e.value).startswith("test.toml: " + text), e.value


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("bpf_steer@warp", "bpf_steer@warp: no steering tables 'warp'; there are: first rr"),
        ("bpf_ecf@rr", "bpf_ecf@rr: only bpf_steer has steering tables"),
    ],
)
def test_tables_that_are_not_there_are_told(word, text):
    with pytest.raises(plan.PlanError) as e:
        plan.check_tables(["default", "bpf_steer@rr", word], [parse(), parse(steering={})])
    assert str(e.value) == f"--scheduler {text}"
    with pytest.raises(plan.PlanError, match="there are: none"):
        plan.check_tables(["bpf_steer@rr"], [parse(steering={})])


def test_the_command_reads_the_tables_of_every_scenario():
    rows, seen = Rows(), 0
    for one in scenario.load_all().values():
        for name, text in one.steering.items():
            for row in text.splitlines():
                kind, _, rest = row.partition(" ")
                why, _ = rows.read(rest, path=kind == "path")
                assert why == "", f"{one.name}.toml: steering.{name}: {row}"
                seen += 1
    assert seen > 20


# --- results


def raw(scheduler="default", seconds=(1.0, 3.0), got=(20_000, 60_000, 0), **changes):
    one = parse(**changes).cells([scheduler])[0]
    return {
        "key": scheduler,
        "kind": "cell",
        "kernel": "7.0",
        "commit": "abc",
        "checks": [],
        "cell": json.loads(json.dumps(one.spec())),
        "result": {
            "objects": [
                {"name": "64K", "bytes": 40_000, "begun": 0, "seconds": s} for s in seconds
            ],
            "values": {},
            "active": [],
            "problems": [],
            "counted": {"received": list(got), "sent": list(got)},
        },
    }


def test_measures_of_the_path_that_costs():
    (record,), _ = records.judged([raw()])
    assert record["costly_mb"] == pytest.approx(0.06)
    assert record["costly_share"] == pytest.approx(0.75)
    assert record["late"] == 0.5
    free = {"costly": "", "workload": {"kind": "download", "sizes": ["64K"]}}
    (record,), _ = records.judged([raw(**free)])
    assert [record[m] for m in ("costly_mb", "costly_share", "late")] == [None] * 3
    assert set(GOOD["told"]) <= set(measures.MEASURES)


def test_the_summary_tells_what_the_scenario_names():
    bad = raw("bpf_rr")
    bad["result"]["problems"] = ["it broke"]
    made, rows = parse(), [raw("bpf_steer@rr", (123.4,), (1_000_000, 0, 0)), raw(), bad]
    found, _ = records.judged(rows)
    (one,) = page.digest_of([page.Section(made, found)])["scenarios"]
    assert [(r["scheduler"], r["values"]["costly_mb"]) for r in one["told"]] == [
        ("default", pytest.approx(0.06)),
        ("bpf_rr", None),
        ("bpf_steer@rr", 0),
    ]
    lines = [line.split() for line in page.told_lines(one)]
    assert lines == [
        ["test", *GOOD["told"]],
        ["default", "2", "0.060", "0.750", "0.500"],
        ["bpf_rr", "-", "-", "-", "-"],
        ["bpf_steer@rr", "123", "0", "0", "1"],
    ]
    (one,) = page.digest_of([page.Section(parse(told=[]), found)])["scenarios"]
    assert "told" not in one


def test_the_table_has_the_parameters_that_tell_its_rows_apart():
    cases = [{"load": "web", "size": 1, "n": 3}, {"load": "bulk", "size": 2, "n": 3}]
    assert page.apart(cases) == ["load"]
    assert page.apart([*cases, {"load": "bulk", "size": 3, "n": 3}]) == ["load", "size"]
    assert page.apart([*cases, {"load": "bulk", "size": 2, "n": 4}]) == ["load", "size", "n"]
    assert page.apart(cases[:1]) == page.apart([{}]) == []
    rows = [{"scheduler": "x", "params": c, "values": {"late": c["size"] / 2}} for c in cases]
    text = "\n".join(page.told_lines({"scenario": "test", "told": rows}))
    assert text == "test  load   late\nx      web  0.500\nx     bulk      1"
