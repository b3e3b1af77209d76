# SPDX-License-Identifier: GPL-2.0
"""Runs a plan in guests and keeps each finished cell at once, with what its capture says.

The guests tell what they have through a port whose other end is a file; it is read while they run.
So whatever ends a run, the cells before that moment are there, and the next run goes on behind them.
"""

import collections
import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from mptcplab import ooo, workloads
from mptcplab.places import BUILD, SRC
from mptcplab.plan import SHIFT
from mptcplab.records import PlanError

# Guests get what is in the first, and nothing of the second.
PLANS, WORK = BUILD / "lab", BUILD / "vm"
POLL_S = 0.2


class Frames:
    """Complete frames of a growing file: a header line, then the files that it announces."""

    def __init__(self, path):
        self.file = open(path, "rb")  # noqa: SIM115
        self.data = b""

    def read(self):
        self.data += self.file.read()
        while (end := self.data.find(b"\n")) >= 0:
            record = json.loads(self.data[:end])
            whole = end + 1 + sum(record["files"].values())
            if len(self.data) < whole:
                return
            at, files = end + 1, {}
            for name, size in record.pop("files").items():
                files[name], at = self.data[at : at + size], at + size
            self.data = self.data[whole:]
            yield record, files


@dataclasses.dataclass
class Guest:
    index: int
    jobs: list
    process: subprocess.Popen
    frames: Frames
    log: object
    since: float = dataclasses.field(default_factory=time.monotonic)


def cost(job):
    """A guess, in any unit: what goes over the wires costs, and each cell by itself."""
    if job["kind"] == "check":
        return 3 + job["path"]["mbit"] / 15
    cell = job["cell"]
    rate = sum(p["mbit"] for p in cell["paths"])
    return 2 + min(20, workloads.seconds(cell["workload"]) * min(rate, 10) / 50)


def shards(jobs, count):
    """What is compared with one another stays in one guest; the guests have about equal work."""
    groups = collections.defaultdict(list)
    for job in jobs:
        if job["kind"] == "check":
            groups[job["key"]].append(job)
        else:
            cell = job["cell"]
            groups[
                json.dumps([cell["scenario"], cell["params"], cell["seed"], cell["run"]])
            ].append(job)
    parts = [[] for _ in range(min(count, len(groups)))]
    loads = [0] * len(parts)
    for group in groups.values():
        least = loads.index(min(loads))
        parts[least] += group
        loads[least] += sum(map(cost, group))
    return parts


def write_plans(parts):
    """One for each guest. All are there before the first one boots: a guest that has other files in
    it, or from another run, would be another guest."""
    shutil.rmtree(PLANS, ignore_errors=True)
    PLANS.mkdir(parents=True)
    for index, jobs in enumerate(parts):
        plan_file(index).write_text(json.dumps({"jobs": jobs}))


def plan_file(index):
    return PLANS / f"plan-{index}.json"


def boot(index, jobs, args):
    WORK.mkdir(parents=True, exist_ok=True)
    stream = WORK / f"lab-{index}"
    stream.write_bytes(b"")
    log = open(SRC / f"build/log/lab-{index}.out", "w")  # noqa: SIM115
    options = {
        "kernel": args.kernel,
        "name": f"lab-{index}",
        "timeout": args.timeout,
        "memory": args.memory,
        "shift": SHIFT,
        "stream": stream,
    }
    cmd = [sys.executable, "tests/vm/boot.py", "--virtual-time", "--must-print"]
    cmd += [f"--{name}={value}" for name, value in options.items()]
    plan = str(plan_file(index).relative_to(SRC))
    cmd += ["--", "python3", "-m", "mptcplab", "guest", plan, "stream"]
    process = subprocess.Popen(cmd, cwd=SRC, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    return Guest(index, jobs, process, Frames(stream), log)


class Progress:
    def __init__(self, plan):
        self.left = {j["key"]: cost(j) for j in plan.jobs}
        self.all = sum(self.left.values())
        self.count, self.total, self.begun = 0, len(plan.jobs), time.monotonic()

    def finished(self, job, record):
        self.count += 1
        self.left.pop(job["key"], None)
        took = time.monotonic() - self.begun
        rest = sum(self.left.values())
        done = self.all - rest
        minutes = took / done * rest / 60 if done else 0
        what = (
            job.get("name")
            or f"check of {job['path']['mbit']:g} Mbit/s {job['path']['rtt_ms']:g} ms"
        )
        problems = record["result"]["problems"]
        said = f": INVALID, {problems[0]}" if problems else ""
        print(
            f"[{self.count:>4}/{self.total}, {minutes:.0f} min left] {what}{said}",
            flush=True,
        )


def collect(record, files, job, facts):
    """The finished line: what the guest says, what its capture says, and what it depends on."""
    if "capture" in files:
        path = WORK / f"capture-{job['key']}"
        path.write_bytes(files["capture"])
        record["result"]["capture"] = found = ooo.analyse(path)
        path.unlink()
        if found["largest_packet"] > 1500:
            record["result"]["problems"].append(f"a packet of {found['largest_packet']} bytes")
        if found["unmapped"]:
            record["result"]["problems"].append(
                f"{found['unmapped']} packets whose place is not known"
            )
    more = {k: v for k, v in job.items() if k not in ("key", "kind")}
    return facts | record | more


class Run:
    """The guests of one plan, and where their results go."""

    def __init__(self, plan, args):
        self.plan, self.args = plan, args
        self.by_key = {j["key"]: j for j in plan.jobs}
        self.progress = Progress(plan)
        self.bad = 0
        self.guests = []

    def go(self):
        parts = shards(self.plan.jobs, self.args.guests)
        write_plans(parts)
        with open(self.plan.results, "a") as out:
            try:
                for index, part in enumerate(parts):
                    self.guests.append(boot(index, part, self.args))
                running = True
                while running:
                    running = any(g.process.poll() is None for g in self.guests)
                    self._keep_what_came(out)
                    time.sleep(POLL_S if running else 0)
            finally:
                for guest in self.guests:
                    end(guest)

    def _keep_what_came(self, out):
        for guest in self.guests:
            for record, files in guest.frames.read():
                job = self.by_key[record["key"]]
                line = collect(record, files, job, self.plan.facts)
                now = time.monotonic()
                line |= {
                    "finished": round(time.time()),
                    "wall_seconds": now - guest.since,
                }
                guest.since = now
                out.write(json.dumps(line) + "\n")
                out.flush()
                os.fsync(out.fileno())
                self.progress.finished(job, line)
                self.bad += bool(line["result"]["problems"])

    def status(self):
        """Says what is missing; 0: all is there and valid."""
        print(f"results: {self.plan.results.relative_to(SRC)}")
        lost = len(self.plan.jobs) - self.progress.count
        failed = [g for g in self.guests if g.process.returncode]
        for g in failed:
            say(f"a guest ended with status {g.process.returncode}: build/log/lab-{g.index}.out")
        if lost:
            say(f"{lost} cells are not measured; the same command goes on with them")
        return 1 if self.bad or lost or failed else 0


def say(text):
    print(f"lab: {text}", file=sys.stderr)


@contextlib.contextmanager
def alone():
    """One run at a time: guests of another one would have its plans."""
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / "lab.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlanError("another run of the lab is going on here") from None
        yield


def run(plan, args):
    """Exit status: 0, all that was asked for is there and valid; 1 otherwise."""
    if plan.finished:
        print(f"{plan.finished} cells are finished already, {len(plan.jobs)} are left")
    if not plan.jobs:
        return 0
    plan.results.parent.mkdir(parents=True, exist_ok=True)
    # One who ends this also ends the guests, and keeps what they have finished.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with alone():
        one = Run(plan, args)
        try:
            one.go()
        except KeyboardInterrupt:
            one.status()
            return 130
        return one.status()


def end(guest):
    if guest.process.poll() is None:
        guest.process.terminate()
        try:
            guest.process.wait(20)
        except subprocess.TimeoutExpired:
            guest.process.kill()
            guest.process.wait()
    guest.log.close()
