# SPDX-License-Identifier: GPL-2.0
"""What the exporter's metrics are called: documentation, dashboard, and the accounts of paths."""

import json
import os
import re
import subprocess

import pytest
import tables
from command import ok
from conftest import TOP
from lab import until
from scrape import AS_THE_UNIT, exporter, promtool, samples
from tables import steer
from traffic import connection, upload

DASHBOARD = TOP / "contrib/grafana/mptcp-sched.json"
SIZE = 300_000
file, steer_loaded = tables.file, tables.steer_loaded


@pytest.fixture
def steering(both_loaded, steer_loaded):
    """bpf_steer with a row that has a cap, and one that has none."""
    steer("path add name lte local 10.0.2.0/24 cap 100K period month")
    steer("path add name dsl")


def test_bytes_against_caps(labs, steering):
    """With the rights of the unit: what `steer account show` says."""
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_steer"
    name = "mptcp_sched_steer_{}".format
    with exporter(prefix=AS_THE_UNIT) as served, connection(lab) as conn:
        assert served.sum(name("over_cap")) == 0
        upload(conn, 4 * SIZE).finish().acknowledged()
        text = served.text()
        accounts = {a["name"]: a for a in steer("account show")["accounts"]}
    of_paths = (s for s in samples(text) if "steer" in s.name and "name" in s.labels)
    found = {(s.name, *s.labels.values()): s.value for s in of_paths}
    assert found == {
        (name("period_bytes"), "lte", "sent"): accounts["lte"]["sent"],
        (name("period_bytes"), "lte", "received"): accounts["lte"]["received"],
        (name("period_bytes"), "dsl", "sent"): accounts["dsl"]["sent"],
        (name("period_bytes"), "dsl", "received"): accounts["dsl"]["received"],
        (name("cap_bytes"), "lte"): 100_000,
        (name("over_cap"), "lte"): 1,
    }
    assert accounts["lte"]["sent"] >= 100_000 and accounts["dsl"]["sent"] > SIZE
    assert promtool(text).returncode == 0


def test_connections_by_mode_and_rule(labs, steering, file):
    """With the first 64 rules by their numbers; of other tables than these no rule is known."""
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_steer"

    def counts(served):
        """What there is of modes and of rules."""
        found = samples(served.text())
        both = (("steer_connections", "mode"), ("steer_rule_connections", "rule"))
        return [
            {s.labels[key]: s.value for s in found if s.name == f"mptcp_sched_{name}"}
            for name, key in both
        ]

    def some(of):
        return {key: value for key, value in of.items() if value}

    with (
        exporter(prefix=AS_THE_UNIT) as served,
        connection(lab) as first,
        connection(lab) as second,
    ):
        steer("rule add remote-port 1 mode bpf_rr")
        steer("rule add mode priority")
        for conn in (first, second):
            upload(conn, 1000).finish().acknowledged()
        modes, rules = counts(served)
        assert some(modes) == {"priority": 2} and len(modes) > 10
        assert rules == {"none": 0, "1": 0, "2": 2}
        many = "".join(f"rule remote-port {i} mode bpf_rr\n" for i in range(1, 71))
        steer(f"replace {file(many + 'rule mode redundant')}")
        modes, rules = counts(served)
        assert some(modes) == {"priority": 2} and some(rules) == {}
        upload(first, 1000).finish().acknowledged()
        modes, rules = counts(served)
        assert some(modes) == {"priority": 1, "redundant": 1} and some(rules) == {"other": 1}
        assert set(rules) == {"none", "other", *map(str, range(1, 65))}
        steer("rule flush")
        for conn in (first, second):
            upload(conn, 1000).finish().acknowledged()
        modes, rules = counts(served)
        assert some(modes) == {"auto": 2} and rules == {"none": 2}
        assert promtool(served.text()).returncode == 0


@pytest.fixture
def nameless():
    """A process in a namespace of its own, which has no name."""
    process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    mine = os.stat("/proc/self/ns/net").st_ino
    until(lambda: os.stat(f"/proc/{process.pid}/ns/net").st_ino != mine, 20, "its namespace")
    yield process.pid
    process.kill()
    process.wait()


def test_early_copies_with_the_rights_of_the_unit(labs, nameless, none_loaded):
    """The directory of the pins is root's alone; labels are those of all metrics."""
    named = labs().client.name
    inode = os.stat(f"/proc/{nameless}/ns/net").st_ino
    spaces = (named, str(nameless))
    for space in spaces:
        ok("use", "default", "--reinject", "--netns", space)
    try:
        with exporter(prefix=AS_THE_UNIT) as served:
            text = served.text()
    finally:
        for space in spaces:
            ok("use", "default", "--netns", space)
    found = [s.labels for s in samples(text) if s.name == "mptcp_sched_reinject_looks_total"]
    assert sorted(f["netns"] for f in found) == sorted([named, f"(inode {inode})"])
    assert promtool(text).returncode == 0


def test_the_dashboard_and_the_documentation_name_what_is_exported(labs, steering):
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_ecf"
    with exporter("--per-connection") as served, connection(lab) as conn:
        upload(conn, SIZE).finish().acknowledged()
        ok("use", "default", "--reinject", "--netns", lab.server.name)
        try:
            text = served.text()
        finally:
            ok("use", "default", "--netns", lab.server.name)
    exported = {s.name for s in samples(text)}
    names = re.compile(r"\bmptcp_sched_[a-z_]+\b")
    dashboard = json.loads(DASHBOARD.read_text())
    panels = [p for p in dashboard["panels"] if "targets" in p]
    assert len(panels) >= 5
    for panel in panels:
        for target in panel["targets"]:
            asked = set(names.findall(target["expr"]))
            assert asked and asked <= exported, (panel["title"], asked - exported)
            by = set(re.findall(r"\w+", " ".join(re.findall(r"\bby \((.*?)\)", target["expr"]))))
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            labels = set().union(*(s.labels for s in samples(text) if s.name in asked))
            assert shown and by | shown <= labels, (panel["title"], by | shown)
            # one line for each path: a server's differ in the second of these only
            if any(name.startswith("mptcp_sched_path_") for name in asked):
                assert {"path", "remote_id"} <= shown, panel["title"]
    documented = set(names.findall((TOP / "docs/reference/metrics.md").read_text()))
    assert documented == exported
