#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The table of fuzz targets: how long each has run, as text and as JSON.

fuzz_table.py RESULT.json [RUN.json...]    takes the runs (build/out/fuzz.json) in, and prints the table

A run takes the place of the one before it of the same target. docs/dev/testing.md has the lines that are
printed, and bench/results/fuzz.json is RESULT.json.
"""

import json
import sys
from pathlib import Path

import fuzz_run

COLUMNS = ("target", "executions", "minutes", "date", "commit", "found")
RIGHT = ("executions", "minutes")


def rows_of(told):
    """What the table keeps of one run."""
    for row in told["targets"]:
        yield {
            "target": row["target"],
            "executions": row["executions"],
            "minutes": round(row["seconds"] / 60, 1),
            "date": told["date"],
            "commit": told["commit"],
            "found": "; ".join(f["why"] for f in row["found"]) or "nothing",
        }


def merged(rows, runs):
    """All rows in the order of the list; those of targets that are no more are dropped."""
    newest = {row["target"]: row for row in rows}
    for told in runs:
        newest |= {row["target"]: row for row in rows_of(told)}
    return [newest[name] for name in fuzz_run.known() if name in newest]


def table(rows):
    cells = [COLUMNS, *([str(row[c]) for c in COLUMNS] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    for line in cells:
        words = [
            word.rjust(width) if name in RIGHT else word.ljust(width)
            for word, width, name in zip(line, widths, COLUMNS, strict=True)
        ]
        yield "  ".join(words).rstrip()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    result, *files = map(Path, sys.argv[1:])
    rows = json.loads(result.read_text()) if result.exists() else []
    rows = merged(rows, [json.loads(f.read_text()) for f in files])
    result.write_text(json.dumps(rows, indent=1) + "\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
