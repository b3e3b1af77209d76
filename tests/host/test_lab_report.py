# SPDX-License-Identifier: GPL-2.0
"""Bounds, statistics, measures, comparisons and the page, from results made by hand."""

import copy
import json

import pytest
from mptcplab import fluid, measures, plan, records, scenario, workloads
from mptcplab.cell import Change
from mptcplab.path import Path
from mptcplab.report import compare, figures, page, stats
from mptcplab.report.data import Data, Nothing
from mptcplab.report.style import styles

SLOW, FAST = Path("a", mbit=1, rtt_ms=20), Path("b", mbit=4, rtt_ms=60)


def test_mean_and_interval_against_a_table_of_students_t():
    found = stats.mean([1, 2, 3, None])
    # t of 97.5 % with two degrees of freedom is 4.303; the standard deviation is 1.
    assert (found.value, found.count) == (2, 3)
    assert found.half == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert stats.mean([7]).half is None
    assert stats.mean([None]) is None


def test_ratios_are_paired_and_geometric():
    found = stats.ratio([(2, 1), (8, 1), (None, 1), (1, 0)])
    assert (found.value, found.count) == (pytest.approx(4), 2)
    assert not found.clear
    assert stats.ratio([(2, 1), (2.1, 1), (2, 1)]).clear
    assert not stats.ratio([(2, 1)]).clear


def test_a_fluid_fills_every_path_from_its_delay_on():
    # 1 MB/s from 0.1 s on, 3 MB/s from 0.3 s on: 0.2 MB, then 4 MB/s.
    assert fluid.fluid_time(200_000, [(0.1, 1e6), (0.3, 3e6)]) == pytest.approx(0.3)
    assert fluid.fluid_time(100_000, [(0.1, 1e6), (0.3, 3e6)]) == pytest.approx(0.2)
    assert fluid.fluid_time(1_000_000, [(0.1, 1e6), (0.3, 3e6)]) == pytest.approx(0.5)


def test_rates_that_change():
    changes = {
        "a": [
            Change(0, "mbit", 2),
            Change(5, "mbit", 3),
            Change(6, "loss", 1),
            Change(9, "mbit", 1),
        ]
    }
    assert fluid.rates(SLOW, changes["a"], 4, 10) == [(1, 2), (4, 3), (1, 1)]
    dead = [Change(5, "loss", 100), Change(8, "loss", 0)]
    assert fluid.rates(SLOW, dead, 4, 10) == [(1, 1), (3, 0), (2, 1)]
    # 6 Mbit/s, then 7, then 5, but at most 6.5.
    assert fluid.mean_rate([SLOW, FAST], changes, 4, 10) == pytest.approx((6 + 4 * 7 + 5) / 6)
    assert fluid.mean_rate([SLOW, FAST], changes, 4, 10, 6.5) == pytest.approx(
        (6 + 4 * 6.5 + 5) / 6
    )


# --- records


def raw(scheduler="default", seed=1, seconds=1.0, problems=(), rate=1, **more):
    """A result of one download, as a guest and its supervisor would have it."""
    data = {
        "title": "t",
        "seeds": [seed],
        "grid": {k: [v] for k, v in ({"rate": rate} | more).items()},
        "path": [
            {"name": "a", "mbit": "$rate", "rtt_ms": 20},
            {"name": "b", "mbit": 4, "rtt_ms": 60},
        ],
        "workload": {"kind": "download", "sizes": ["64K"]},
    }
    cell = scenario.parse("test", data).cells([scheduler])[0]
    return {
        "key": f"{scheduler}{seed}{rate}{more}",
        "kind": "cell",
        "kernel": "7.0",
        "commit": "abc",
        "checks": ["c"],
        "cell": json.loads(json.dumps(cell.spec())),
        "result": {
            "objects": [{"name": "64K", "bytes": 50_000, "begun": 0, "seconds": seconds}],
            "values": {},
            "active": [[0, seconds]],
            "problems": list(problems),
            "counted": {
                "received": [20_000, 40_000],
                "sent": [25_000, 50_000],
                "packets": [20, 40],
                "cwnd_resets": [
                    {"idle": 1, "idle_smaller": 9, "timeout": 2},
                    {"idle": 0, "idle_smaller": 0, "timeout": 1},
                ],
            },
        },
    }


CHECK = {"key": "c", "kind": "check", "path": {}, "result": {"problems": []}}


def test_measures_of_a_record():
    (record,), checks = records.judged([CHECK, raw(seconds=0.25)])
    assert len(checks) == 1
    assert record["completion_s"] == 0.25
    assert record["fast_share"] == pytest.approx(2 / 3)
    assert record["wire_per_byte"] == 1.5
    # 40,000 bytes of the 125,000 that 4 Mbit/s carry in a quarter of a second.
    assert record["fast_idle"] == pytest.approx(1 - 40 / 125)
    assert (record["cwnd_resets"], record["fast_resets"]) == (4, 1)
    assert record["ooo_mean_s"] is None


def test_a_scheduler_that_has_changed_is_not_averaged_with_what_it_was():
    old, new = raw("bpf_x", seconds=2), raw("bpf_x", seconds=1) | {"key": "new code"}
    other = raw("bpf_x", seed=2, seconds=3)
    found, _ = records.judged([CHECK, old, other, new])
    assert sorted(r["completion_s"] for r in found) == [1, 3]


@pytest.mark.parametrize(
    ("check", "text"),
    [
        ([], "a path was not checked"),
        ([CHECK | {"result": {"problems": ["RTT"]}}], "path: RTT"),
    ],
)
def test_what_fails_its_check_has_no_number(check, text):
    (record,), _ = records.judged([*check, raw()])
    assert not record.valid
    assert record.problems == [text]
    assert all(record[name] is None for name in measures.MEASURES)
    assert record.of_object("64K") is None


LINE = {
    "kind": "line", "measure": "completion_s", "x": "rate", "group": "", "where": {},
    "schedulers": [], "claims": [], "unit": "", "log": False,
}  # fmt: skip


def results(**seconds):
    return [
        CHECK,
        *(raw(w, s, t) for w, times in seconds.items() for s, t in enumerate(times, 1)),
    ]


def test_a_section_is_in_the_scenarios_order_and_not_in_that_of_the_results():
    data = {
        "title": "t",
        "seeds": [1, 2],
        "grid": {"rate": [3, 1, 2]},
        "path": [{"name": "a", "mbit": "$rate", "rtt_ms": 20}],
        "workload": {"kind": "download", "sizes": ["64K"]},
    }
    made = scenario.parse("test", data)
    shuffled = [(2, 1), (1, 2), (3, 2), (9, 1), (1, 1), (2, 2), (3, 1)]
    found, _ = records.judged([CHECK, *(raw(seed=s, rate=r) for r, s in shuffled)])
    section = page.Section(made, found)
    order = [(r.cell.params["rate"], r.cell.seed) for r in section.records]
    assert order == [(3, 1), (3, 2), (1, 1), (1, 2), (2, 1), (2, 2), (9, 1)]
    assert Data(LINE, section.records).values("rate") == [3, 1, 2, 9]
    axis = figures.lines(LINE, section.records).axes[0]
    assert list(axis.lines[0].get_xdata()) == [1, 2, 3, 9]


def test_a_summary_has_what_a_scenario_tells_apart_in_rows_of_their_own():
    data = {
        "title": "t",
        "apart": "fresh",
        "told": ["completion_s"],
        "grid": {"rate": [3], "fresh": [False, True]},
        "path": [{"name": "a", "mbit": "$rate", "rtt_ms": 20}],
        "workload": {"kind": "download", "sizes": ["64K"]},
    }
    rows = [
        raw(word, seconds=seconds, fresh=fresh, rate=3)
        for fresh, times in ((True, (2.0, 1.0)), (False, (1.0, 4.0)))
        for word, seconds in zip(("default", "x"), times, strict=True)
    ]
    found, _ = records.judged([CHECK, *rows])
    made = scenario.parse("test", data)
    digest = page.digest_of([page.Section(made, found)])["scenarios"]
    assert [(one["scenario"], one["cells"]) for one in digest] == [
        ("test, fresh=false", 1),
        ("test, fresh=true", 1),
    ]
    assert [one["gains"]["x"]["default"][0] for one in digest] == [0.25, 2.0]
    assert [len(one["told"]) for one in digest] == [2, 2]
    whole = page.Section(scenario.parse("test", data | {"apart": ""}), found)
    (one,) = page.digest_of([whole])["scenarios"]
    assert (one["scenario"], one["cells"]) == ("test", 2)


def test_comparison_finds_what_changed_beyond_the_spread():
    a = results(
        worse=(1, 1.1, 0.9),
        better=(1, 1.1, 0.9),
        same=(1, 2, 3),
        single=(1,),
        gone=(1,),
    )
    b = results(worse=(1.5, 1.6, 1.4), better=(0.5, 0.56, 0.44), same=(1.1, 1.9, 3), single=(3,))
    found, only, lost = compare.changes(a, b)
    verdicts = {c.cell.split()[-1]: c.verdict for c in found}
    assert verdicts == {
        "worse": compare.WORSE,
        "better": compare.BETTER,
        "same": compare.SAME,
        "single": compare.SINGLE,
    }
    assert len(only) == 1
    assert "gone" in only[0]
    assert not lost


def test_comparison_says_what_lost_its_number(tmp_path):
    files = [tmp_path / n for n in ("a.jsonl", "b.jsonl")]
    bad = copy.deepcopy(results(x=(1, 2)))
    for record in bad[1:]:
        record["result"]["problems"] = ["y"]
    for file, rows in zip(files, (results(x=(1, 2)), bad), strict=True):
        file.write_text("".join(json.dumps(r) + "\n" for r in rows))
    text = "\n".join(compare.lines(*files))
    assert "without a valid pair: 1 cells" in text
    with pytest.raises(plan.PlanError, match=r"none\.jsonl: No such file"):
        list(compare.lines(tmp_path / "none.jsonl", files[0]))


def test_summary_has_the_three_references():
    cells, _ = records.judged(
        [
            CHECK,
            raw("plain TCP", seconds=0.5),
            raw("default", seconds=1.0),
            raw("x", seconds=0.25),
        ]
    )
    rows = {row[0]: row[1:] for row in page.summary(cells)}
    assert rows["x"][:2] == ("4.00", "2.00")
    assert rows["default"][:2] == ("-", "0.50")
    bound = fluid.fluid_bound(50_000, [SLOW, FAST])
    assert rows["x"][2] == f"{bound / 0.25:.2f}"


def test_the_page_holds_its_figures_and_says_what_is_invalid(tmp_path, monkeypatch):
    rows = [
        r
        for word in ("default", "x")
        for rate in (1, 2)
        for r in (raw(word, 1, rate / 2, rate=rate),)
    ]
    rows.append(raw("x", 2, 9.0, problems=["it broke"]))
    file = tmp_path / "lab-x.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in [CHECK, *rows]))
    one = {
        "kind": "bars",
        "measure": "completion_s",
        "title": "the title",
        "x": "rate",
        "beside": "fast_ideal",
    }
    data = {
        "title": "t",
        "path": [{"name": "a", "mbit": 1}],
        "figure": [one],
        "grid": {"rate": [1]},
        "workload": {"kind": "download", "sizes": ["64K"]},
    }
    monkeypatch.setattr(page, "load_all", lambda form: {"test": scenario.parse("test", data, form)})
    monkeypatch.setattr(
        workloads.kinds()["download"],
        "bound",
        staticmethod(lambda cell, result: 0.1),
    )
    page.write([file], tmp_path / "report")
    text = (tmp_path / "report/index.html").read_text()
    assert (tmp_path / "report/test-short-7.0-1.png").stat().st_size > 5000
    assert "data:image/png;base64,iVBOR" in text
    assert "the title" in text
    assert "1 of 5 measurements are invalid: it broke" in text
    assert 'src="http' not in text


def test_nothing_valid_is_no_figure(tmp_path):
    bad = raw(problems=["x"])
    bad["result"] = {"problems": ["x"]}
    cells, _ = records.judged([CHECK, bad])
    one = {
        "kind": "bars",
        "measure": "completion_s",
        "x": "",
        "where": {},
        "schedulers": None,
    }
    with pytest.raises(Nothing):
        figures.draw(one, cells, tmp_path / "x.png")
    assert list(page.summary(cells)) == [("default", "-", "-", "-")]


def test_styles_stay_apart_without_colours():
    words = ["plain TCP", "default", *(f"bpf_{i}" for i in range(9))]
    found = list(styles(words).values())
    assert len({(c, d) for c, d, _, _ in found}) == len(words)
    assert len({h for *_, h in found}) >= len(words) - 1
