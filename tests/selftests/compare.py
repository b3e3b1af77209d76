#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The table of the kernel's own selftests: what passes under each scheduler, beside the default's.

compare.py FILE...  of build/out/selftests-RELEASE.json of some kernels: writes them as one file,
                    bench/results/selftests.json, and prints what docs/dev/testing.md has of it

PYTHONPATH has bench/, where the lab's package is.
"""

import collections
import fnmatch
import json
import sys
from pathlib import Path

import ktap
import tomllib
from in_guest import DEFAULT
from mptcplab.table import table

TOP = Path(__file__).resolve().parents[2]

KNOWN = Path(__file__).with_name("known.toml")
RESULT = TOP / "bench/results/selftests.json"
MISSING = "not told"


def meaning(script, subtest, scheduler):
    """What it means that a subtest fails, where that is known."""
    for entry in tomllib.loads(KNOWN.read_text())["known"]:
        if (
            entry["script"] == script
            and fnmatch.fnmatchcase(subtest, entry["subtest"])
            and any(fnmatch.fnmatchcase(scheduler, s) for s in entry["schedulers"])
        ):
            return entry["meaning"]
    return ""


def collect(directory):
    """{scheduler: {unit: what its guest found}} of all that was run."""
    found = collections.defaultdict(dict)
    for path in sorted(directory.glob("*/*.json")):
        found[path.parent.name][path.stem] = json.loads(path.read_text())
    return found


def named(unit, result):
    return [name for name, got in unit["subtests"].items() if got == result]


def differences(found, scheduler):
    """What passes under the default and not under this scheduler."""
    for unit, ours in found[scheduler].items():
        base = found[DEFAULT].get(unit)
        if not base or ours["problem"] or base["problem"]:
            continue
        for name in named(base, ktap.PASS):
            got = ours["subtests"].get(name, MISSING)
            if got != ktap.PASS:
                yield {
                    "scheduler": scheduler,
                    "unit": unit,
                    "subtest": name,
                    "result": got,
                    "meaning": meaning(ours["script"], name, scheduler),
                }


def count(found, scheduler, units):
    """Of these units those that ran; of what passes under the default, what does here, too."""
    usable = [
        u
        for u in units
        if all(u in found[n] and not found[n][u]["problem"] for n in (scheduler, DEFAULT))
    ]
    of = sum(len(named(found[DEFAULT][u], ktap.PASS)) for u in usable)
    lost = sum(d["unit"] in usable for d in differences(found, scheduler))
    return {"passed": of - lost, "of": of, "ran": len(usable), "units": len(units)}


def digest(found, release, scripts):
    """All that the table says; scripts is {script: its units}, whether they were run or not."""
    every = [u for units in found.values() for u in units.values()]
    return {
        "release": release,
        "source": sorted({u["source"] for u in every}),
        "dates": sorted({u["date"] for u in every}),
        "commits": sorted({u["commit"] for u in every}),
        "cells": {
            name: {script: count(found, name, units) for script, units in scripts.items()}
            for name in sorted(found, key=lambda n: (n != DEFAULT, n))
        },
        "default": [
            {"unit": unit, "subtest": name, "result": result}
            for unit, base in found[DEFAULT].items()
            for result in (ktap.FAIL, ktap.SKIP)
            for name in named(base, result)
        ],
        "differences": [d for name in sorted(found) for d in differences(found, name)],
        "problems": [
            {"scheduler": name, "unit": unit, "problem": u["problem"]}
            for name in sorted(found)
            for unit, u in found[name].items()
            if u["problem"]
        ],
    }


def told(cell):
    """A cell of the table."""
    if not cell["ran"]:
        return "not run"
    text = f"{cell['passed']}"
    if cell["passed"] != cell["of"]:
        text += f"/{cell['of']}"
    if cell["ran"] < cell["units"]:
        text += f" ({cell['ran']} of {cell['units']} groups)"
    return text


def grouped(differences):
    """A line for what several schedulers have in common."""
    lines = collections.defaultdict(list)
    for d in differences:
        words = d["meaning"] or "NOT KNOWN"
        lines[d["unit"], d["subtest"], words].append(
            d["scheduler"] + (f" ({d['result']})" if d["result"] != ktap.FAIL else "")
        )
    for (unit, subtest, words), names in lines.items():
        yield f"  {unit}: {subtest}"
        yield f"    {', '.join(names)}: {words}"


def lines(told_of):
    """The table of one kernel, and the subtests that differ."""
    scripts = list(told_of["cells"][DEFAULT])
    yield f"Linux {told_of['release']}, selftests of {', '.join(told_of['source'])}"
    yield ""
    rows = [(name, *(told(cells[s]) for s in scripts)) for name, cells in told_of["cells"].items()]
    yield from table(("scheduler", *(s.removeprefix("mptcp_") for s in scripts)), rows)
    if told_of["default"]:
        yield from ("", "not passed under the default:")
        yield from (f"  {d['unit']}: {d['subtest']} ({d['result']})" for d in told_of["default"])
    if told_of["differences"]:
        yield from ("", "passed under the default, and not under:")
        yield from grouped(told_of["differences"])
    if told_of["problems"]:
        yield from ("", "without a result:")
        yield from (f"  {p['scheduler']} {p['unit']}: {p['problem']}" for p in told_of["problems"])


def bad(told_of, names, units):
    """What of a run is wrong: a difference that is not known, or a unit that said nothing."""
    unknown = [d for d in told_of["differences"] if not d["meaning"]]
    found = [*unknown, *told_of["problems"]]
    return [b for b in found if b["scheduler"] in names and b["unit"] in units]


def conclude(directory, scripts, names, units):
    """Prints and keeps the table of all that was found so far; the status is that of these."""
    told_of = digest(collect(directory), directory.name, scripts)
    out = directory.parent.with_name(f"selftests-{directory.name}.json")
    out.write_text(json.dumps(told_of, indent=1) + "\n")
    print("\n".join(lines(told_of)))
    return 1 if bad(told_of, names, units) else 0


def main():
    runs = [json.loads(Path(name).read_text()) for name in sys.argv[1:]]
    if not runs:
        sys.exit(__doc__)
    RESULT.write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    print("\n\n".join("\n".join(lines(run)) for run in runs))


if __name__ == "__main__":
    main()
