#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The benchmarks: `bench.py [cost|quality|bulk|stress|timeline|many] [OPTION...]`; without a name it is cost.

cost      what a decision costs: instructions, state, memory of the command
quality   completion times of downloads over pairs of unlike paths, and what the project promises
bulk      goodput of long transfers in both directions, against the kernel's default
stress    long transfers over paths that lose, reorder and fail: does all of it arrive?
timeline  what each path brought when, in one download
many      what show and stats take among 1,000 namespaces and 10,000 connections
"""

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

import result

NAMES = ("cost", "quality", "bulk", "stress", "timeline", "many")


def main(words):
    if words and words[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    name = NAMES[0]
    if words and not words[0].startswith("-"):
        name, *words = words
    if name not in NAMES:
        print(
            f"bench: no benchmark {name!r}, there are: {' '.join(NAMES)}",
            file=sys.stderr,
        )
        return 2
    return result.guarded(name, importlib.import_module(name).run, words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
