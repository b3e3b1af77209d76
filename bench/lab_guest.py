#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The lab's part in the guest: measures the cells of a plan, one after the other.

    lab_guest.py PLAN STREAM

PLAN is what bench/lab.py wrote, STREAM where each finished cell goes at once: the name of a virtio
port, or a file. Exit status 0: every cell was measured, whatever came out.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "lib"), str(HERE)]

import measure


def port(name):
    """The device of a virtio port, by its name: nothing makes links for them here."""
    for entry in Path("/sys/class/virtio-ports").glob("*"):
        if (entry / "name").read_text().strip() == name:
            return f"/dev/{entry.name}"
    return name


def main(plan, stream):
    jobs = json.loads(Path(plan).read_text())["jobs"]
    failed = measure.run_all(jobs, measure.Stream(port(stream)))
    print(f"lab: {len(jobs)} cells, {failed} of them with problems")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
