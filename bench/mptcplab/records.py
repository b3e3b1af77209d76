# SPDX-License-Identifier: GPL-2.0
"""The records of result files: one line for each cell that was measured, and each path that was checked."""

import hashlib
import json
import statistics
from pathlib import Path

from mptcplab import workloads
from mptcplab.cell import cell_from
from mptcplab.measures import MEASURES
from mptcplab.places import OUT

PLACE = ("scenario", "form", "params", "scheduler", "seed", "run", "gso")


class PlanError(Exception):
    """What was asked for cannot be done; the text says what and why."""


def digest(value):
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def all_results():
    found = sorted(OUT.glob("lab-*.jsonl"))
    if not found:
        raise PlanError("no results in build/out yet: `./vmtest.sh bench` makes some")
    return found


def read(file):
    """The records of a result file; a line that was cut off at its end does not count."""
    out = []
    try:
        lines = Path(file).read_text().splitlines()
    except OSError as e:
        raise PlanError(f"{file}: {e.strerror}") from None
    for number, line in enumerate(lines, 1):
        try:
            out.append(json.loads(line))
        except ValueError:
            if number < len(lines):
                raise PlanError(f"{file}, line {number}: not JSON") from None
    return out


def place_of(record):
    """What is measured there, whatever the code was that was measured."""
    if record["kind"] == "check":
        return record["key"]
    return digest([record["kernel"], [record["cell"].get(k, False) for k in PLACE]])


def latest(records):
    """What came last counts, also of a scheduler that has changed since, or has changed back."""
    return list({place_of(r): r for r in records}.values())


class Record:
    """One line of the results, with its cell."""

    def __init__(self, raw):
        self.raw = raw
        self.cell = cell_from(raw["cell"])
        self.result = raw["result"]
        self.problems = list(self.result["problems"])
        self._known = {}

    @property
    def at(self):
        """What figures find it by."""
        return self.cell.params | {"seed": self.cell.seed}

    @property
    def valid(self):
        return not self.problems

    @property
    def headline(self):
        return workloads.of(self.cell.workload).HEADLINE

    def __getitem__(self, name):
        """A measure; None where it is not there, or the record is not valid."""
        if not self.valid:
            return None
        if name not in self._known:
            self._known[name] = MEASURES[name].of(self.cell, self.result)
        return self._known[name]

    def of_object(self, name):
        """Mean completion of the objects of that name; None without any."""
        if not self.valid:
            return None
        times = [o["seconds"] for o in self.result["objects"] if o["name"] == name]
        return statistics.fmean(times) if times else None

    def bound(self):
        if not self.valid:
            return None
        return workloads.of(self.cell.workload).bound(self.cell, self.result)


def judged(raws):
    """(cells, checks), of each the last; a cell is valid when its paths are."""
    last = latest(raws)
    checks = {r["key"]: r for r in last if r["kind"] == "check"}
    cells = []
    for raw in last:
        if raw["kind"] != "cell":
            continue
        record = Record(raw)
        for key in raw["checks"]:
            if key not in checks:
                record.problems.append("a path was not checked")
            elif checks[key]["result"]["problems"]:
                record.problems += [f"path: {p}" for p in checks[key]["result"]["problems"]]
        cells.append(record)
    return cells, list(checks.values())
