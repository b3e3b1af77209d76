# SPDX-License-Identifier: GPL-2.0
"""Two runs of one plan against each other: what is not the same to the last digit is invalid.

Everything that a guest in virtual time does follows from its files and its seeds. Where a second
run says something else, one of the two was disturbed from outside, and nobody knows which.
"""

import dataclasses
import json
import os

from mptcplab import supervise
from mptcplab.records import PlanError, read

PROBLEM = "not the same in a second run"


def difference(a, b, where=""):
    """Where two results first differ, and both values: ("values.rtt_ms", 41.2, 41.3), or None."""
    if isinstance(a, dict) and isinstance(b, dict):
        pairs = [(str(k), a.get(k), b.get(k)) for k in a | b]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = [(str(i), *both) for i, both in enumerate(zip(a, b, strict=True))]
    else:
        return None if a == b else (where, a, b)
    found = (difference(x, y, f"{where}.{k}".lstrip(".")) for k, x, y in pairs)
    return next(filter(None, found), None)


def compare(first, second):
    """What is wrong with each result that is not the same in both: {key: (problem, values)}."""
    wrong = {}
    for key in first | second:
        if key not in first or key not in second:
            wrong[key] = ("measured once, not in a second run", "")
        elif found := difference(first[key], second[key]):
            where, *values = found
            wrong[key] = (
                f"{PROBLEM}: {where}",
                " ({:.60} and {:.60})".format(*map(str, values)),
            )
    return wrong


def mark(file, wrong):
    """Makes those results invalid in a result file, all of them or none."""
    records = read(file)
    for record in records:
        if record["key"] in wrong:
            record["result"]["problems"].append(wrong[record["key"]][0])
    new = file.with_suffix(".new")
    new.write_text("".join(json.dumps(r) + "\n" for r in records))
    os.replace(new, file)


def run(plan, args):
    """Measures everything two times from the beginning; status 0: valid, and the same twice."""
    again = plan.results.with_stem(plan.results.stem + "-again")
    for file in (plan.results, again):
        if file.exists():
            raise PlanError(
                f"--twice begins anew, and there is {file.name}: name another --out, or remove it"
            )
    statuses = []
    for file in (plan.results, again):
        statuses.append(supervise.run(dataclasses.replace(plan, results=file), args))
        if statuses[-1] == 130:
            return 130
    first, second = ({r["key"]: r["result"] for r in read(f)} for f in (plan.results, again))
    wrong = compare(first, second)
    names = {j["key"]: j.get("name", "a path's check") for j in plan.jobs}
    for key, (problem, values) in wrong.items():
        supervise.say(f"INVALID, {problem}{values}: {names[key]}")
    for file in (plan.results, again):
        mark(file, wrong)
    every = first | second
    print(
        f"{len(every) - len(wrong)} of {len(every)} results are the same twice, to the last digit"
    )
    return 1 if wrong or any(statuses) else 0
