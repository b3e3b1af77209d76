# SPDX-License-Identifier: GPL-2.0
"""Fuzz targets: the list, what a run is told to be, and the table in the documentation."""

import json
import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

import fuzz_run
import fuzz_table

RESULT = TOP / "bench/results/fuzz.json"


def test_the_documentation_has_the_last_table():
    rows = json.loads(RESULT.read_text())
    assert "\n".join(fuzz_table.table(rows)) in (TOP / "docs/dev/testing.md").read_text()
    assert [row["target"] for row in rows] == list(fuzz_run.known())


def test_every_target_has_a_source_and_every_seed_a_target():
    sources = {f.stem for f in (TOP / "tests/fuzz").glob("*.c")} - {"tiny.bpf"}
    assert {re.sub("^pick_.*", "pick", name) for name in fuzz_run.known()} == sources
    for directory in (TOP / "tests/fuzz/seeds").iterdir():
        assert directory.name in fuzz_run.known()


def test_every_scheduler_is_picked():
    schedulers = {f.name.partition(".")[0] for f in (TOP / "bpf/schedulers").glob("*.bpf.c")}
    assert {n.removeprefix("pick_") for n in fuzz_run.known() if "pick_" in n} == schedulers


ENTRY = {"name": "ranges", "what": "", "max_len": 1}
GOOD = """\
#8\tNEW    cov: 5 ft: 6 corp: 2/3b lim: 4 exec/s: 0 rss: 30Mb
#90\tDONE   cov: 7 ft: 9 corp: 4/3b lim: 4 exec/s: 0 rss: 30Mb
Done 90 runs in 61 second(s)
stat::number_of_executed_units: 90
"""
BAD = f"""\
{GOOD}
claim: something holds
artifact_prefix='x'; Test unit written to {TOP}/build/out/fuzz/ranges-crash-1
"""


def told(log, code=0):
    done = subprocess.CompletedProcess([], code, b"", log.encode())
    return fuzz_run.digest(ENTRY, done)


def test_what_a_run_is_told_to_be():
    row = told(GOOD)
    assert (row["executions"], row["seconds"], row["coverage"]) == (90, 61, 7)
    assert row["found"] == []
    row = told(BAD, 77)
    assert row["found"] == [{"input": "build/out/fuzz/ranges-crash-1", "why": "something holds"}]
    assert "build/out/fuzz/ranges-crash-1: something holds" in fuzz_run.line(row)


@pytest.mark.parametrize(("log", "code"), [("", 0), ("", 1), ("#0 INITED\n", 0), (GOOD, 1)])
def test_a_target_that_does_not_run_is_no_success(log, code):
    assert told(log, code)["found"]


def test_a_run_takes_the_place_of_the_one_before():
    old = {"date": "d", "commit": "c", "targets": [told(GOOD)]}
    new = {"date": "e", "commit": "f", "targets": [told(BAD, 77)]}
    (row,) = fuzz_table.merged(list(fuzz_table.rows_of(old)), [new])
    assert (row["date"], row["found"], row["minutes"]) == ("e", "something holds", 1.0)
    assert fuzz_table.merged([{**row, "target": "gone"}], []) == []
