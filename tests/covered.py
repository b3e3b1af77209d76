#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How much of the decision functions and of the command's parsers the tests run: `make coverage`.

covered.py --commit C [--jobs N]     writes build/out/coverage.json, and the table of CONTRIBUTING.md

The tests of the host that compile C run with clang's counters in it, mutants aside, and each fuzz
target of the command reads its seeds once. Exit status 1: a test failed, or nothing was counted.
It takes clang's runtime library (./vmtest.sh coverage installs it).
"""

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
OUT = TOP / "build/coverage"
HOST = TOP / "build/host"
FUZZ = OUT / "fuzz"
RAW = OUT / "raw"
SEEDS = TOP / "tests/fuzz/seeds"
RESULT = TOP / "build/out/coverage.json"
COUNTERS = "-fprofile-instr-generate -fcoverage-mapping"

# What is told of, by pattern. Recordings are read by the command itself in test_replay.py, uncounted.
GROUPS = {
    "decisions": ["include/policy/*.h", "include/common/*.h"],
    "estimates and state": ["include/model/*.h", "include/state/*.h"],
    "parsers of the command": [
        *(
            "loader/cli/args.c",
            "loader/cli/config.c",
            "loader/cli/steer_mode.c",
            "loader/cli/text.c",
        ),
        *("loader/cli/wrap.c", "loader/kernel/container.c", "loader/cmd/oci_hook.c"),
        *("loader/sched/steer_fields.c", "loader/sched/steer_rows.c", "loader/sched/steer_state.c"),
        *(
            "loader/sched/steer_values.c",
            "loader/sched/tunable_table.c",
            "loader/sched/tunable_value.c",
        ),
    ],
}
# In tests/host, the modules that compile what they test, or have a fixture that does.
COMPILES = re.compile(
    r"make_library|hostlib\.build|\((driver|sanitized|lib)[,)]|, (driver|lib)\)"
    r"|^(import|from) (headers|rowlib|stateful|steering)\b",
    re.MULTILINE,
)


class Uncounted(Exception):
    """Why there is no figure."""


def run(command, **options):
    done = subprocess.run(command, cwd=TOP, check=False, **options)
    if done.returncode:
        words = " ".join(map(str, command))
        raise Uncounted(f"exit status {done.returncode}: {words[:200]}")
    return done


def compiler():
    """A cc that counts in what is made in build/host; mutants are made elsewhere."""
    file = OUT / "cc"
    file.write_text(
        f'#!/bin/sh\ncase "$*" in *{HOST}/*) set -- "$@" {COUNTERS} ;; esac\nexec clang "$@" -w\n'
    )
    file.chmod(0o755)
    return file


def modules():
    files = sorted((TOP / "tests/host").glob("test_*.py"))
    return [f for f in files if "mutants" not in f.name and COMPILES.search(f.read_text())]


def run_tests(env):
    shutil.rmtree(HOST, ignore_errors=True)
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:typeguard"]
    run([*pytest, "-k", "not mutant", *modules()], env=env | {"CC": str(compiler())})


def targets():
    """Those of the command: they have seeds, and are more than a header."""
    pure = re.search(r"^FUZZ_PURE := (.*)", (TOP / "tests/fuzz/fuzz.mk").read_text(), re.MULTILINE)
    names = [d.name for d in sorted(SEEDS.iterdir()) if not d.name.startswith("pick_")]
    # `object` reads what is compiled, not seeds alone
    return [name for name in names if name not in pure[1].split() and name != "object"]


def run_seeds(env, jobs):
    flags = [
        f"F={FUZZ.relative_to(TOP)}",
        f"FUZZ_SANITIZE=-fsanitize=fuzzer {COUNTERS}",
        f"FUZZ_WATCH=-fsanitize=fuzzer-no-link {COUNTERS}",
    ]
    made = [FUZZ.relative_to(TOP) / name for name in targets()]
    run(["make", "-s", f"-j{jobs}", *flags, *made], env=env)
    for name in targets():
        run([FUZZ / name, "-runs=0", SEEDS / name], env=env, stderr=subprocess.DEVNULL)


def objects():
    """What was run, as llvm-cov takes it."""
    host = [f for f in HOST.rglob("*") if f.is_file() and f.suffix in ("", ".so")]
    return [*sorted(host), *(FUZZ / name for name in targets())]


def export():
    """{file: (lines, of these run)}"""
    profile = OUT / "all.profdata"
    raw = sorted(RAW.glob("*.profraw"))
    if not raw:
        raise Uncounted("no program has counted anything")
    run(["llvm-profdata", "merge", "-o", profile, *raw], stderr=subprocess.DEVNULL)
    first, *more = objects()
    command = ["llvm-cov", "export", "-summary-only", f"-instr-profile={profile}", first]
    command += [word for file in more for word in ("-object", file)]
    said = run(command, capture_output=True).stdout
    files = json.loads(said)["data"][0]["files"]
    counts = {f["filename"]: f["summary"]["lines"] for f in files}
    return {name: (lines["count"], lines["covered"]) for name, lines in counts.items()}


def grouped(files):
    """[{what, files, lines, run}], a row for each group."""
    rows = []
    for what, patterns in GROUPS.items():
        paths = [str(path) for pattern in patterns for path in sorted(TOP.glob(pattern))]
        # a header of types has no lines
        counts = [files[path] for path in paths if files.get(path, (0, 0))[0]]
        left = [path for path in paths if path.endswith(".c") and path not in files]
        if left or not sum(done for _, done in counts):
            raise Uncounted(f"nothing of {' '.join(left) or what} was run")
        lines, done = (sum(column) for column in zip(*counts, strict=True))
        rows.append({"what": what, "files": len(counts), "lines": lines, "run": done})
    return rows


def table(rows):
    yield "| | files | lines | run |"
    yield "|---|---|---|---|"
    for row in rows:
        share = 100 * row["run"] / row["lines"]
        yield f"| {row['what']} | {row['files']} | {row['lines']} | {share:.1f} % |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    shutil.rmtree(RAW, ignore_errors=True)
    RAW.mkdir(parents=True)
    env = os.environ | {"LLVM_PROFILE_FILE": str(RAW / "%m-%p.profraw")}
    try:
        run_seeds(env, args.jobs)
        run_tests(env)
        rows = grouped(export())
    except Uncounted as e:
        print(f"coverage: {e}", file=sys.stderr)
        return 1
    told = {
        "commit": args.commit,
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "rows": rows,
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(told, indent=1) + "\n")
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
