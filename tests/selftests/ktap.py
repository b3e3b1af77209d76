# SPDX-License-Identifier: GPL-2.0
"""What the kernel's selftests print at their end: KTAP, a line for each subtest."""

import re

LINE = re.compile(r"(?P<word>ok|not ok) (?P<number>\d+) - (?P<name>.*?)(?: +# *(?P<remark>.*))?")
PLAN = re.compile(r"1\.\.(\d+)")

PASS, FAIL, SKIP = "pass", "fail", "skip"


def result(word, remark):
    if word == "not ok":
        return FAIL
    return SKIP if remark.startswith("SKIP") else PASS


def subtests(text):
    """{name: result} in the script's order, and how many it has announced (None: no KTAP at all).

    Names are without the script's own; where two are the same, the second gets a number.
    """
    found, planned = {}, None
    for line in text.splitlines():
        if plan := PLAN.fullmatch(line.strip()):
            planned = (planned or 0) + int(plan[1])
        elif planned is not None and (told := LINE.fullmatch(line.strip())):
            name = first = told["name"].partition(": ")[2] or told["name"]
            again = 2
            while name in found:
                name = f"{first} ({again})"
                again += 1
            found[name] = result(told["word"], told["remark"] or "")
    return found, planned
