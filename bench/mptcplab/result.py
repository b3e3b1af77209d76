# SPDX-License-Identifier: GPL-2.0
"""What every benchmark says about itself, and where its results go."""

import json
import os
import sys
import time

from mptcplab.places import OUT
from mptcplab.process import LabError

BEGUN = time.monotonic()


def facts():
    """On what this runs: the first keys of every result."""
    return {
        "kernel": os.uname().release,
        "virtual_time": os.environ.get("VM_VIRTUAL_TIME") == "1",
        # The guest has no git; None where nobody said.
        "commit": os.environ.get("VM_COMMIT") or None,
        # Nor the day: its clock is virtual.
        "date": os.environ.get("VM_DATE") or None,
    }


def heading():
    known = facts()
    text = f"Linux {known['kernel']}, {'virtual' if known['virtual_time'] else 'real'} time"
    return text + (f", commit {known['commit']}" if known["commit"] else "")


def save(kind, **result):
    """Writes it all into build/out; the file's name."""
    OUT.mkdir(parents=True, exist_ok=True)
    out = OUT / f"{kind}-{os.uname().release}.json"
    whole = facts() | {"seconds": time.monotonic() - BEGUN} | result
    out.write_text(json.dumps(whole, indent=1) + "\n")
    return f"{out.parent.parent.name}/{out.parent.name}/{out.name}"


def status(kind, problems):
    """Says what went wrong; the exit status."""
    for problem in problems:
        print(f"{kind}: {problem}", file=sys.stderr)
    return 1 if problems else 0


def guarded(kind, main, words):
    """Runs it; a lab that fails is one line, not a traceback."""
    try:
        return main(words)
    except LabError as e:
        return status(kind, [e])
