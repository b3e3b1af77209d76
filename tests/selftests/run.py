#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The kernel's own selftests of MPTCP under each scheduler, in guests in virtual time.

./vmtest.sh selftests runs this inside the root. One guest for each scheduler and script, and for each
group of mptcp_join's tests; what it found is kept in build/out/selftests/RELEASE/SCHEDULER, so a run
that is ended goes on where it was. Then the table, and build/out/selftests-RELEASE.json.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import fcntl
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import compare
import in_guest
import ktap

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build"
SCRIPTS = (
    "diag",
    "pm_netlink",
    "userspace_pm",
    "mptcp_sockopt",
    "simult_flows",
    "mptcp_connect",
    "mptcp_join",
)
# What a change can afford to wait for: paths, their managers and options, under one scheduler.
QUICK_SCRIPTS = ("diag", "userspace_pm", "mptcp_sockopt")
QUICK_SCHEDULERS = ("bpf_ecf",)
# It configures and opens no connection, so nothing asks a scheduler.
SILENT = "pm_netlink"
GROUPED = "mptcp_join"
# What bash says of a file or a program that is not there.
LACKS = re.compile(
    r".*: line \d+: .*: (?:command not found|No such file or directory)$", re.MULTILINE
)
GROUP = re.compile(r"^\t([A-Za-z0-9])@\w+$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Unit:
    """What one guest runs: a script, or a group of a long one's tests (its option)."""

    script: str
    group: str = ""

    def __str__(self):
        return f"{self.script}-{self.group}" if self.group else self.script

    @property
    def arguments(self):
        return [f"-{self.group}"] if self.group else []


def groups(directory):
    """The letters of mptcp_join's groups, as its options are, in its order."""
    found = GROUP.findall((directory / f"mptcp/{GROUPED}.sh").read_text())
    if not found:
        sys.exit(f"selftests: no groups of tests in {GROUPED}.sh: see {__file__}")
    return found


def units(directory, words):
    """A word is a script's name, or mptcp_join:LETTERS for some of its groups."""
    for word in words:
        script, _, letters = word.partition(":")
        if not (directory / f"mptcp/{script}.sh").is_file():
            there = sorted(p.stem for p in (directory / "mptcp").glob("*.sh"))
            sys.exit(f"selftests: no script '{script}'; there are: {' '.join(there)}")
        if script != GROUPED:
            yield Unit(script)
            continue
        known = groups(directory)
        if strange := set(letters) - set(known):
            sys.exit(f"selftests: no groups {strange} in {GROUPED}; there are: {' '.join(known)}")
        for letter in known:
            if letter in (letters or known):
                yield Unit(script, letter)


def schedulers(words):
    """The kernel's default, and those named, or all that the command comes with."""
    said = subprocess.run(
        ["mptcp-sched", "list", "--json"], capture_output=True, text=True, check=True
    ).stdout
    known = sorted(s["name"] for s in json.loads(said)["schedulers"] if s["builtin"])
    if strange := set(words) - {in_guest.DEFAULT, *known}:
        sys.exit(f"selftests: no scheduler {' '.join(strange)}; there are: {' '.join(known)}")
    return [in_guest.DEFAULT, *(n for n in known if not words or n in words)]


def problem(text, status, told, found, planned, quiet):
    """Why what a guest left says nothing; empty where it does."""
    if status:
        return f"the guest's exit status was {status}"
    if lacks := LACKS.search(text):
        return f"it lacks something: {lacks[0].strip()}"
    if told is None:
        return "the guest did not say how it ended"
    if not found or len(found) != planned:
        return f"{len(found)} of {planned} subtests told, exit status {told['status']}"
    if not quiet and not any(told["asked"].values()):
        return "the scheduler was never asked"
    return ""


def verdict(text, status, scheduler, script):
    """What a guest's output says."""
    quiet = scheduler == in_guest.DEFAULT or script == SILENT
    marked = [ln for ln in text.splitlines() if ln.startswith(in_guest.MARK)]
    told = json.loads(marked[-1].removeprefix(in_guest.MARK)) if marked else None
    found, planned = ktap.subtests(text)
    return {
        "subtests": found,
        "problem": problem(text, status, told, found, planned, quiet),
        "asked": sum((told or {"asked": {}})["asked"].values()),
        "guest_seconds": told and told["seconds"],
    }


def valid(found, source, commit):
    """Is what was found still so, with these scripts and, but for the default, of this commit?"""
    same = found["commit"] == commit and not found["commit"].endswith("-dirty")
    return not found["problem"] and found["source"] == source and (commit is None or same)


class Runner:
    """Guests of one kernel."""

    def __init__(self, args):
        self.args = args
        self.directory = BUILD / "selftests" / args.series
        self.source = (self.directory / "version").read_text().strip()
        self.out = BUILD / "out/selftests" / args.release
        self.image = ["--image", args.image] if args.image else []

    def kept(self, scheduler, unit):
        """Was it run already, so that it need not be again?"""
        path = self.out / scheduler / f"{unit}.json"
        if self.args.again or not path.exists():
            return False
        commit = None if scheduler == in_guest.DEFAULT else self.args.commit
        return valid(json.loads(path.read_text()), self.source, commit)

    def one(self, scheduler, unit):
        """Runs it, when no other command has done so."""
        where = self.out / scheduler
        where.mkdir(parents=True, exist_ok=True)
        with open(where / f"{unit}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.kept(scheduler, unit):
                return
            self.measure(scheduler, unit, where)

    def measure(self, scheduler, unit, where):
        log, begun = where / f"{unit}.log", time.monotonic()
        cmd = [
            sys.executable,
            "tests/vm/boot.py",
            "--kernel",
            self.args.release,
            "--virtual-time",
            "--name",
            f"selftests-{scheduler}-{unit}",
            "--timeout",
            str(self.args.timeout),
            "--memory",
            str(self.args.memory),
            *self.image,
            "--selftests",
            str(self.directory),
            "--",
            "python3",
            "tests/selftests/in_guest.py",
            str(self.directory),
            scheduler,
            unit.script,
            *unit.arguments,
        ]
        with open(log, "w") as out:
            status = subprocess.run(
                cmd, cwd=TOP, stdout=out, stderr=subprocess.STDOUT, check=False
            ).returncode
        told = verdict(log.read_text(errors="replace"), status, scheduler, unit.script) | {
            "script": unit.script,
            "group": unit.group,
            "commit": self.args.commit,
            "source": self.source,
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
        }
        half = where / f"{unit}.json.new"
        half.write_text(json.dumps(told, indent=1) + "\n")
        half.replace(where / f"{unit}.json")
        passed = list(told["subtests"].values()).count(ktap.PASS)
        words = told["problem"] or f"{passed} of {len(told['subtests'])} passed"
        print(
            f"{scheduler:16} {unit!s:16} {words} ({time.monotonic() - begun:.0f} s)",
            flush=True,
        )

    def run(self, names, wanted):
        """Script by script, so that what is there can be compared."""
        todo = [(n, u) for u in wanted for n in names if not self.kept(n, u)]
        with concurrent.futures.ThreadPoolExecutor(self.args.guests) as pool:
            for done in [pool.submit(self.one, *job) for job in todo]:
                done.result()


def main():
    p = argparse.ArgumentParser(prog="vmtest.sh selftests", description=__doc__.partition("\n")[0])
    add = p.add_argument
    add(
        "script",
        nargs="*",
        help="such as diag, or mptcp_join:fs for two groups of its tests (all)",
    )
    add(
        "--scheduler",
        action="append",
        default=[],
        metavar="NAME",
        help="beside the default (all)",
    )
    add(
        "--quick",
        action="store_true",
        help=f"{' '.join(QUICK_SCRIPTS)} under {' '.join(QUICK_SCHEDULERS)}",
    )
    add("--again", action="store_true", help="runs what an earlier run has found, too")
    add(
        "--guests",
        type=int,
        default=os.cpu_count() or 1,
        help="how many at once (one a CPU)",
    )
    add(
        "--timeout",
        type=int,
        default=7200,
        help="seconds that one guest may take (7200)",
    )
    add("--image", help=argparse.SUPPRESS)
    add("--memory", type=int, default=2048, help="MB of each guest (2048)")
    for hidden in ("--release", "--series", "--commit"):
        add(hidden, required=True, help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.quick:
        args.script = args.script or list(QUICK_SCRIPTS)
        args.scheduler = args.scheduler or list(QUICK_SCHEDULERS)
    runner = Runner(args)
    wanted = list(units(runner.directory, args.script or SCRIPTS))
    names = schedulers(args.scheduler)
    runner.run(names, wanted)
    every = collections.defaultdict(list)
    for unit in [*units(runner.directory, SCRIPTS), *wanted]:
        if str(unit) not in every[unit.script]:
            every[unit.script].append(str(unit))
    return compare.conclude(runner.out, every, names, {str(u) for u in wanted})


if __name__ == "__main__":
    sys.exit(main())
