#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which tests every guest of a run skipped: nobody runs those, whatever each skip's reason says.

skipped.py FILE.xml...     pytest's results of all guests of one run; exit status 1: there is one,
                           or nothing in the files.

A test is a function: where one of its variants ran on one kernel, it ran.
"""

import sys
from pathlib import Path
from xml.etree import ElementTree

import made

# Of these modules all tests may be skipped for that reason: only a kernel that is made has it, on
# which such a skip is a failure (tests/made.py).
EXCUSED = {
    "native": made.API,
    "failing_memory": made.FAULTS,
}


def function(case):
    """`module::function` of a test case, as tests/guest/sets.py has it."""
    module = case.get("classname").partition("test_")[2].partition(".")[0]
    return f"{module}::{case.get('name').partition('[')[0]}"


def reason_of(case):
    """Why it was skipped, or None: it ran. Who is expected to fail says nothing, either."""
    found = case.find("skipped")
    return None if found is None else found.get("message") or "no reason"


def never_ran(files):
    """({`module::function`: its reasons} of those that were skipped everywhere, how many functions)"""
    reasons, ran = {}, set()
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):
            why = reason_of(case)
            if why is None:
                ran.add(function(case))
            else:
                reasons.setdefault(function(case), set()).add(why)
    skipped = {name: sorted(whys) for name, whys in reasons.items() if name not in ran}
    return skipped, len(ran | set(reasons))


def is_excused(name, reasons):
    return reasons == [EXCUSED.get(name.partition("::")[0])]


def main():
    files = [Path(name) for name in sys.argv[1:]]
    try:
        skipped, count = never_ran(files)
    except (OSError, ElementTree.ParseError) as e:
        # as a guest leaves them that died
        print(f"skipped: no results to read: {e}")
        return 1
    if not count:
        print(f"skipped: no test in {len(files)} files of results")
        return 1
    left = {n: w for n, w in skipped.items() if not is_excused(n, w)}
    for name, whys in sorted(left.items()):
        print(f"skipped: {name} on every kernel of this run: {'; '.join(whys)}")
    print(
        f"skipped: {len(left)} of {count} tests on every kernel, {len(skipped) - len(left)} excused"
    )
    return bool(left)


if __name__ == "__main__":
    sys.exit(main())
