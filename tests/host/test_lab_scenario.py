# SPDX-License-Identifier: GPL-2.0
"""Scenario files: what they mean, and that a mistake is told with its file and field."""

import copy
import math

import pytest
from mptcplab import plan, records, scenario
from mptcplab.path import FRAME
from mptcplab.scenario import ScenarioError

GOOD = {
    "title": "a test",
    "seeds": [1, 2],
    "runs": 3,
    "grid": {"rate": [1, 2], "other": [5]},
    "path": [
        {"name": "a", "mbit": "$rate", "rtt_ms": 20},
        {"name": "b", "mbit": "$other*0.5", "out_ms": 30, "back_ms": 10, "limit": 7},
    ],
    "workload": {"kind": "download", "sizes": ["64K"]},
    "short": {"runs": 1, "workload": {"repeat": 2}},
}


def parse(change=lambda data: None, form="full"):
    data = copy.deepcopy(GOOD)
    change(data)
    return scenario.parse("test", data, form)


def test_every_scenario_can_be_read_in_both_forms():
    for form in scenario.FORMS:
        for one in scenario.load_all(form).values():
            assert one.cells(["default"])


def test_the_grid_of_the_ecf_paper_has_36_pairs_and_five_runs():
    cells = scenario.load_all("full")["ecf-dash"].cells(["default"])
    assert len(cells) == 36 * 5
    assert all(c.workload["seconds"] == 1332 and c.workload["chunk_s"] == 5 for c in cells)
    assert cells[0].workload["rates"] == [0.26, 0.64, 1.00, 1.60, 4.14, 8.47]


def test_no_paper_claims_anything_of_the_default_of_today():
    """Theirs is minRTT; that of mainline Linux reads neither RTT nor window."""
    for name, one in scenario.load_all().items():
        for figure in one.figures:
            assert "default" not in [c["scheduler"] for c in figure["claims"]], name


def test_a_full_queue_has_the_rtt_under_load():
    cell = scenario.load_all("full")["ecf-dash"].cells(["default"])[0]
    wifi = cell.paths[0]
    # Half of the RTT is the way back, which has no queue.
    full = wifi.limit * FRAME * 8 / (wifi.mbit * 1e3) + wifi.rtt_ms / 2
    assert full == pytest.approx(969, abs=FRAME * 8 / (wifi.mbit * 1e3))


def test_cells_are_parameters_times_seeds_times_runs_times_schedulers():
    cells = parse().cells(["x", "y"])
    assert len(cells) == 2 * 2 * 3 * 2
    assert {(c.seed, c.run) for c in cells} == {(s, r) for s in (1, 2) for r in range(3)}
    assert [c.paths[0].mbit for c in cells if c.seed == 1 and c.run == 0] == [
        1,
        1,
        2,
        2,
    ]
    assert cells[0].paths[1].mbit == 2.5


def test_the_short_form_changes_what_it_names_and_nothing_else():
    short, full = parse(form="short"), parse()
    assert (short.runs, full.runs) == (1, 3)
    one = short.cells(["x"])[0]
    assert one.workload["repeat"] == 2
    assert one.workload["sizes"] == ["64K"]


def test_delays_of_the_two_directions():
    path = parse().cells(["x"])[0].paths[1]
    assert (path.one_way_ms("server"), path.one_way_ms("client")) == (30, 10)
    assert " delay 30000us" in path.queue("server")
    assert " delay 10000us" in path.queue("client")
    # What is on its way does not take the place of what waits.
    assert path.limit == 7 + math.ceil(2.5e3 / 8 / FRAME * 20)


def test_a_managed_queue_comes_behind_the_delay():
    def managed(data):
        data["path"][1] |= {"aqm": "fq_codel", "loss": 2}

    path = parse(managed).cells(["x"])[0].paths[1]
    assert path.limit == 7  # what is on its way is in none of its queues
    assert [(place, words.split()[0]) for place, words in path.queues("server")] == [
        ("root handle 1:", "netem"),
        ("parent 1:1 handle 2:", "tbf"),
        ("parent 2:1 handle 3:", "fq_codel"),
    ]
    delay, rate, queue = (words for _, words in path.queues("server"))
    assert " delay 30000us" in delay and " loss 2%" in delay and "rate" not in delay
    assert " rate 2500000bit " in rate and queue.endswith(" limit 7")


def test_what_is_drawn_is_the_same_for_each_scheduler_and_another_for_each_seed():
    def random(data):
        data["path"][0]["random"] = {"what": "mbit", "choices": [1, 2, 3], "mean_s": 10}

    cells = parse(random).cells(["x", "y"])
    by = {(c.scheduler, c.seed, c.run, c.params["rate"]): c for c in cells}
    assert by["x", 1, 0, 1].changes == by["y", 1, 0, 1].changes
    assert by["x", 1, 0, 1].paths == by["y", 1, 0, 1].paths
    assert by["x", 1, 0, 1].changes != by["x", 2, 0, 1].changes
    assert by["x", 1, 0, 1].paths[0].seed != by["x", 1, 1, 1].paths[0].seed
    assert by["x", 1, 0, 1].rng.random() == by["y", 1, 0, 1].rng.random()


def test_a_ramp_ends_where_it_should():
    def ramp(data):
        data["path"][0]["ramp"] = {
            "what": "rtt_ms",
            "to": 40,
            "begin": 1,
            "end": 3,
            "steps": 4,
        }

    changes = parse(ramp).cells(["x"])[0].changes["a"]
    assert [(c.at, c.value) for c in changes] == [
        (1.5, 25),
        (2, 30),
        (2.5, 35),
        (3, 40),
    ]


def test_a_scenario_says_whether_tcp_makes_large_packets():
    assert not any(c.gso for c in parse().cells(["x"]))
    assert all(c.gso for c in parse(put("gso", value=True)).cells(["x"]))

    def by_parameter(data):
        data["grid"]["other"], data["gso"] = [5], "$large"
        data["grid"]["large"] = [False, True]

    cells = parse(by_parameter).cells(["x"])
    assert {(c.gso, c.params["large"]) for c in cells} == {(False, False), (True, True)}


def test_a_device_with_its_own_queue_gets_no_large_packets():
    def both(data):
        data["gso"], data["path"][0]["local"] = True, "server"

    with pytest.raises(ScenarioError, match=r"test\.toml: gso: a device with a queue"):
        parse(both)


def test_a_cell_survives_json():
    import json

    from mptcplab.cell import cell_from

    for cell in parse().cells(["x"]):
        assert cell_from(json.loads(json.dumps(cell.spec()))) == cell


def put(*where, value):
    def change(data):
        at = data
        for key in where[:-1]:
            at = at[key]
        at[where[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (put("titel", value="x"), "titel: unknown"),
        (lambda d: d.pop("title"), "title: missing"),
        (put("path", 0, "mbits", value=3), "path[0].mbits: unknown"),
        (put("path", 0, "mbit", value=0), "path[0].mbit: must be above 0"),
        (put("path", 0, "mbit", value=True), "path[0].mbit: True is not"),
        (put("path", 0, "mbit", value="$speed"), "path[0].mbit: '$speed' names no parameter"),
        (put("path", 0, "rtt_ms", value=-1), "path[0].rtt_ms: -1 is not a number of 0 or more"),
        (put("path", 0, "rtt_ms", value=math.inf), "path[0].rtt_ms: inf is not"),
        (put("path", 0, "loaded_rtt_ms", value=20), "path[0].loaded_rtt_ms: not above"),
        (put("path", 0, "loss", value=101), "path[0].loss: 101 per cent"),
        (put("path", 0, "aqm", value="red"), "path[0].aqm: 'red' is not fq_codel"),
        (
            lambda data: data["path"][0].update(aqm="fq_codel", jitter_ms=1),
            "path[0].aqm: not of a trunk, nor with ",
        ),
        (
            lambda data: data["path"][0].update(aqm="fq_codel", change=[{"at": 1, "mbit": 2}]),
            "path[0].aqm: such a path cannot change",
        ),
        (put("path", 0, "loss_to", value="me"), "path[0].loss_to: 'me' is not"),
        (put("path", 0, "jitter_ms", value=11), "path[0].jitter_ms: more than the delay"),
        (put("path", 0, "name", value="server"), "path[0].name: 'server'"),
        (put("path", 0, "name", value="b"), "path: two have the name 'b'"),
        (put("path", 1, "rtt_ms", value=3), "path[1].out_ms: goes with"),
        (put("path", 1, "queue_ms", value=3), "path[1].limit: one of"),
        (put("path", 0, "change", value=[{"at": 3}]), "path[0].change[0].at: with one of"),
        (put("path", 0, "change", value=[{"at": 3, "color": 1}]), "path[0].change[0].at: with"),
        (put("path", value=[]), "path: 0 paths"),
        (put("path", value=[{"name": f"p{i}", "mbit": 1} for i in range(9)]), "path: 9 paths"),
        (put("sysctl", value={"vm/swappiness": 1}), "sysctl.vm/swappiness: is not a name"),
        (put("sysctl", value={"ipv4/tcp_sack": 0.5}), "sysctl.ipv4/tcp_sack: 0.5 is not"),
        (put("topology", value="ring"), "topology: 'ring' is not"),
        (put("topology", value="trunk"), "trunk: goes with topology"),
        (put("grid", "rate", value=3), "grid.rate: must be a list"),
        (put("case", value=[{"rate": 1}]), "case: goes without a [grid]"),
        (put("seeds", value=[]), "seeds: must be a list"),
        (put("seeds", value=["1"]), "seeds: must be a list"),
        (put("short", "runs", value=0), "runs: must be 1 or more"),
        (put("at", value=["middle"]), "at: 'middle' is not one of"),
        (put("gso", value=1), "gso: 1 is not true or false or text"),
        (put("gso", value="yes"), "gso: 'yes' is not true or false"),
        (put("gso", value="$rate"), "gso: 1 is not true or false"),
        (put("gso", value="$size"), "gso: '$size' names no parameter"),
        (put("workload", "kind", value="torrent"), "workload.kind: 'torrent' is not one of"),
        (put("workload", "size", value=1), "workload.size: unknown for download"),
        (put("short", "workload", "repeat", value=0), "workload.repeat: 0 is below 1"),
        (put("workload", "sizes", value=["64X"]), "workload.sizes: "),
        (lambda d: d["workload"].pop("sizes"), "workload.sizes: missing"),
        (
            put("short", "workload", "repeat", value="x"),
            "workload.repeat: 'x' is not a whole number",
        ),
        (put("figure", value=[{"kind": "pie"}]), "figure[0].kind: 'pie' is not one of"),
        (
            put("figure", value=[{"kind": "bars", "measure": "luck"}]),
            "figure[0].measure: 'luck' is not one of",
        ),
        (
            put("figure", value=[{"kind": "bars", "measure": "rtt_ms", "x": "size"}]),
            "figure[0].x: 'size' names no parameter",
        ),
    ],
)
def test_a_mistake_names_its_file_and_field(change, field):
    with pytest.raises(ScenarioError) as e:
        parse(change, "short")
    assert str(e.value).startswith("test.toml: " + field), e.value


def test_a_file_that_is_not_toml_is_named(tmp_path):
    file = tmp_path / "broken.toml"
    file.write_text("title = \n")
    with pytest.raises(ScenarioError, match=r"broken\.toml: .*line 1"):
        scenario.load(file)


# --- plans


class Args:
    scenario, scheduler, seed, full, kernel, guests = (
        ["wan-bulk"],
        ["bpf_ecf"],
        None,
        False,
        "7.0",
        1,
    )
    out, again, commit, only, gso, draw = "test", False, "abc", None, False, None


def plan_of(monkeypatch, tmp_path, **changes):
    monkeypatch.setattr(plan, "OUT", tmp_path)
    args = Args()
    for key, value in changes.items():
        setattr(args, key, value)
    return plan.make(args)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"scenario": ["warp"]}, "no scenario 'warp'; there are: cfs-flows"),
        (
            {"scheduler": ["bpf_warp"]},
            "--scheduler: no 'bpf_warp'; there are: tcp default bpf_auto",
        ),
        ({"scheduler": ["bpf_ecf:warp=1"]}, "no tunable 'warp'; there are:"),
        ({"scheduler": ["bpf_ecf:beta=900"]}, "beta takes 0 to"),
        ({"guests": 0}, "--guests: at least 1"),
        ({"gso": True, "scenario": ["queueaware-upload"]}, "--gso: queueaware-upload has a device"),
        ({"only": ["wlan=1"]}, "--only: no parameter 'wlan'; there are: run"),
        ({"only": ["run=7"]}, "--only: no run '7'; there are: 0"),
        ({"only": ["run"]}, "--only: no run ''; there are: 0"),
        (
            {
                "scenario": ["ecf-dash", "queueaware"],
                "only": ["wifi=0.3", "paths=6/6"],
            },
            "--only: no scenario has all of those parameters",
        ),
    ],
)
def test_what_cannot_be_run_is_told(monkeypatch, tmp_path, changes, text):
    with pytest.raises(plan.PlanError, match=".*" + text.replace("'", ".")):
        plan_of(monkeypatch, tmp_path, **changes)


def test_only_the_cells_that_are_asked_for(monkeypatch, tmp_path):
    words = ["wifi=0.3", "wifi=8.6", "lte=8.6", "run=0"]
    made = plan_of(monkeypatch, tmp_path, scenario=["ecf-dash", "wan-bulk"], full=True, only=words)
    cells = [j["cell"] for j in made.jobs if j["kind"] == "cell"]
    found = sorted(
        (c["params"]["wifi"], c["params"]["lte"], c["run"], c["scheduler"]) for c in cells
    )
    each = ["bpf_ecf", "default", "plain TCP"]
    assert found == [(wifi, 8.6, 0, one) for wifi in (0.3, 8.6) for one in each]
    # of the paths' checks those that these need, and no others
    checked = {j["path"]["mbit"] for j in made.jobs if j["kind"] == "check"}
    assert checked == {0.3, 8.6}


def test_with_gso_it_is_another_measurement_in_another_file(monkeypatch, tmp_path):
    plain, large = (plan_of(monkeypatch, tmp_path, gso=gso, out=None) for gso in (False, True))
    assert (plain.results.name, large.results.name) == ("lab-7.0.jsonl", "gso-7.0.jsonl")
    assert not {j["key"] for j in plain.jobs if j["kind"] == "cell"} & {
        j["key"] for j in large.jobs
    }
    places = [
        {records.place_of(finished(j)) for j in made.jobs if j["kind"] == "cell"}
        for made in (plain, large)
    ]
    assert len(places[0]) == len(places[1])
    assert not places[0] & places[1]


def finished(job, **values):
    return job | {"kernel": "7.0", "result": {"problems": []}} | values


def test_code_that_has_changed_back_is_measured_again(monkeypatch, tmp_path):
    """Or a report would have what came in between, which is the last."""
    import json

    first = plan_of(monkeypatch, tmp_path)
    done = [finished(j) for j in first.jobs]
    other = finished(first.jobs[-1], key="of other code")
    text = "".join(json.dumps(d) + "\n" for d in (*done, other))
    (tmp_path / "test.jsonl").write_text(text)
    again = plan_of(monkeypatch, tmp_path)
    assert [j["key"] for j in again.jobs] == [first.jobs[-1]["key"]]


def test_finished_cells_are_not_measured_again_unless_something_changed(monkeypatch, tmp_path):
    import json

    first = plan_of(monkeypatch, tmp_path)
    assert first.finished == 0
    cells = [j for j in first.jobs if j["kind"] == "cell"]
    assert {j["cell"]["scheduler"] for j in cells} == {
        "plain TCP",
        "default",
        "bpf_ecf",
    }
    done = [finished(j) for j in first.jobs[:-1]]
    # The last line was cut off when the run was ended.
    text = "".join(json.dumps(d) + "\n" for d in done) + '{"key": "'
    (tmp_path / "test.jsonl").write_text(text)
    again = plan_of(monkeypatch, tmp_path)
    assert [j["key"] for j in again.jobs] == [first.jobs[-1]["key"]]
    assert len(plan_of(monkeypatch, tmp_path, kernel="7.1").jobs) == len(first.jobs)
    monkeypatch.setattr(plan, "code_of", lambda word: "other" if word == "bpf_ecf" else "")
    changed = plan_of(monkeypatch, tmp_path).jobs
    assert {j["cell"]["scheduler"] for j in changed if j["kind"] == "cell"} == {"bpf_ecf"}


def test_the_default_with_reinject_depends_on_the_loaders_programs(monkeypatch, tmp_path):
    """Wherever below loader/ they are."""
    program = tmp_path / "loader/bpf/reinject.bpf.c"
    program.parent.mkdir(parents=True)
    monkeypatch.setattr(plan, "SRC", tmp_path)
    codes = set()
    for text in ("one", "other"):
        program.write_text(text)
        codes.add(plan.code_of("default+reinject"))
    assert len(codes) == 2
    assert plan.code_of("default") == ""


def test_what_failed_is_measured_again_when_asked(monkeypatch, tmp_path):
    import json

    first = plan_of(monkeypatch, tmp_path)
    bad = [finished(j, result={"problems": ["x"]}) for j in first.jobs]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(d) + "\n" for d in bad))
    assert plan_of(monkeypatch, tmp_path).jobs == []
    assert len(plan_of(monkeypatch, tmp_path, again=True).jobs) == len(first.jobs)
