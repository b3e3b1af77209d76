#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The table of kernels: what `vmtest.sh smoke` made of each, as text and as JSON.

kernel_table.py --commit C --command LINE DIRECTORY OUT.json    prints it and writes OUT.json

DIRECTORY has one file for each kernel (smoke.sh); docs/reference/kernels.md has the lines that are printed,
and bench/results/kernels.json what is written.
"""

import argparse
import datetime
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import kernels

COLUMNS = ("kernel", "release", "layout", "smoke", "s", "note")


def counted(xml):
    """{tests, failed, skipped} of pytest's own report; None where there is none."""
    if not xml.exists():
        return None
    suite = ElementTree.parse(xml).getroot().find("testsuite")
    bad = int(suite.get("failures")) + int(suite.get("errors"))
    return {
        "tests": int(suite.get("tests")),
        "failed": bad,
        "skipped": int(suite.get("skipped")),
    }


def smoke(entry, found, tests):
    """(what became of it, was that right)."""
    if found.get("fetched") == "no":
        return "cannot be had", False
    if entry["runs"] == "layout":
        return "not booted", True
    if found.get("built") == "no":
        return "does not build", False
    if not tests or "guest" not in found:
        return f"no verdict ({found.get('guest', '-')})", False
    passed = tests["tests"] - tests["failed"] - tests["skipped"]
    words = [f"{tests[k]} {k}" for k in ("failed", "skipped") if tests[k]]
    good = found["guest"] == "0" and not words and passed > 0
    if not good and not words:
        words = [f"exit {found['guest']}"]  # the kernel's log, then
    return ", ".join([f"{passed} passed", *words]), good


def entries(directory):
    """Of the kernels that were tried; the root's newest may be newer than the list."""
    tried, known = {p.name for p in directory.iterdir()}, kernels.known()
    strange = [
        {
            "name": n,
            "runs": "full",
            "architecture": "amd64",
            "note": f"not in {kernels.LIST.name}",
        }
        for n in sorted(tried - known.keys())
    ]
    return [e for n, e in known.items() if n in tried] + strange


def row(entry, directory):
    lines = (directory / entry["name"]).read_text().splitlines()
    found = dict(line.partition("=")[::2] for line in lines)
    tests = counted(directory.parent / f"smoke-{entry['name']}.xml")
    told, good = smoke(entry, found, tests)
    return {
        "kernel": entry["name"],
        "release": found.get("release", "-"),
        "architecture": entry["architecture"],
        "runs": entry["runs"],
        "layout": found.get("layout", "-"),
        "smoke": told,
        "s": int(found.get("seconds", 0)),
        "note": entry.get("note", ""),
        "good": good and found.get("layout") == "ok",
    }


def table(rows):
    """Lines for people, all columns as wide as they have to be."""
    cells = [COLUMNS, *([str(r[c]) for c in COLUMNS] for r in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    right = COLUMNS.index("s")
    for line in cells:
        words = [
            w.rjust(n) if i == right else w.ljust(n)
            for i, (w, n) in enumerate(zip(line, widths, strict=True))
        ]
        yield "  ".join(words).rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commit", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--architecture", help="another than the list's")
    parser.add_argument("directory", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    # the smoke set is all that was tried there
    other = {"architecture": args.architecture, "runs": "smoke"} if args.architecture else {}
    rows = [row(entry, args.directory) | other for entry in entries(args.directory)]
    digest = {
        "date": f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}",
        "commit": args.commit,
        "command": args.command,
        "kernels": rows,
    }
    args.out.write_text(json.dumps(digest, indent=1) + "\n")
    print("\n".join(table(rows)))
    return 0 if rows and all(r["good"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
