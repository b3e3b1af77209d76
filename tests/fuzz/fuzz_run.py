#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs fuzz targets that are built, side by side; one line for each, and build/out/fuzz.json.

fuzz_run.py --commit C [--seconds N] [--jobs N] [--names] [TARGET...]

Each goes on from the inputs that it has found before (build/fuzz/corpus), and begins with those of
tests/fuzz/seeds. Exit status 1: an input was found that breaks a claim, or a target did not run.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
BUILT = TOP / "build/fuzz"
OUT = TOP / "build/out"
FOUND = OUT / "fuzz"
# Far more than any input needs; one that takes longer hangs.
INPUT_S = 10
MEMORY_MB = 2048
# Leaks are looked for through ptrace, which containers often refuse.
NO_LEAKS = "LeakSanitizer has encountered a fatal error"


def known():
    """{name: entry} in the order of the list."""
    with open(HERE / "targets.toml", "rb") as f:
        return {t["name"]: t for t in tomllib.load(f)["target"]}


def seeds(name):
    """Directories with the inputs to begin with."""
    more = [BUILT / "objects"] if name == "object" else []
    return [d for d in (HERE / "seeds" / name, *more) if d.is_dir()]


def command(entry, seconds, extra=()):
    name = entry["name"]
    corpus = BUILT / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    return [
        BUILT / name,
        f"-max_total_time={seconds}",
        f"-max_len={entry['max_len']}",
        f"-timeout={INPUT_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-artifact_prefix={FOUND}/{name}-",
        "-print_final_stats=1",
        "-use_value_profile=1",
        *extra,
        corpus,
        *seeds(name),
    ]


def call(words, leaks):
    options = f"detect_leaks={int(leaks)}:abort_on_error=0:handle_abort=1"
    env = dict(os.environ, ASAN_OPTIONS=options, UBSAN_OPTIONS="print_stacktrace=1")
    return subprocess.run(words, env=env, capture_output=True, check=False)


def can_see_leaks(entry):
    log = call(command(entry, 1, ["-runs=1"]), True).stderr.decode(errors="replace")
    return NO_LEAKS not in log


def last_number(pattern, log):
    found = re.findall(pattern, log)
    return int(found[-1]) if found else 0


def digest(entry, done):
    """What libFuzzer's log says of a run."""
    log = done.stderr.decode(errors="replace")
    written = re.findall(r"Test unit written to (\S+)", log)
    why = re.findall(r"^(?:claim: |SUMMARY: |.*runtime error: )(.*)$", log, re.MULTILINE)
    executions = last_number(r"stat::number_of_executed_units:\s+(\d+)", log)
    found = []
    if written:
        found = [
            {"input": str(Path(p).relative_to(TOP)), "why": why[0] if why else "?"} for p in written
        ]
    elif done.returncode or not executions:
        found = [{"input": "-", "why": f"exit {done.returncode}: {log[-300:]}"}]
    return {
        "target": entry["name"],
        "what": entry["what"],
        "executions": executions or last_number(r"#(\d+)", log),
        "seconds": last_number(r"Done \d+ runs in (\d+) second", log),
        "coverage": last_number(r" cov: (\d+)", log),
        "inputs": last_number(r" corp: (\d+)", log),
        "found": found,
    }


def line(row):
    told = "; ".join(f"{f['input']}: {f['why']}" for f in row["found"]) or "nothing"
    return (
        f"{row['target']:16} {row['executions']:>10} executions {row['seconds']:>5} s"
        f"  coverage {row['coverage']:>5}  inputs {row['inputs']:>5}  found: {told}"
    )


def run_all(entries, seconds, jobs):
    FOUND.mkdir(parents=True, exist_ok=True)
    leaks = can_see_leaks(entries[0])
    if not leaks:
        print("leaks cannot be seen here: ptrace is refused", file=sys.stderr)

    def one(entry):
        row = digest(entry, call(command(entry, seconds), leaks))
        print(line(row), flush=True)
        return row

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, entries))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commit", required=True)
    parser.add_argument("--seconds", type=int, default=10, help="for each target (10)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--names", action="store_true", help="prints which would run")
    parser.add_argument("target", nargs="*")
    args = parser.parse_args()
    targets = known()
    strange = [t for t in args.target if t not in targets]
    if strange or args.seconds < 1:
        parser.error(f"no target {strange}; there are: {', '.join(targets)}")
    chosen = [targets[t] for t in args.target or targets]
    if args.names:
        print(*(t["name"] for t in chosen))
        return 0
    missing = [t["name"] for t in chosen if not (BUILT / t["name"]).exists()]
    if missing:
        sys.exit(f"not built: {', '.join(missing)} (make fuzz-build)")
    rows = run_all(chosen, args.seconds, args.jobs)
    told = {
        "date": f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}",
        "commit": args.commit,
        "seconds": args.seconds,
        "targets": rows,
    }
    (OUT / "fuzz.json").write_text(json.dumps(told, indent=1) + "\n")
    return 1 if any(r["found"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
