# SPDX-License-Identifier: GPL-2.0
"""Runs a plan in guests and keeps each finished cell at once, with what its capture says.

The guests tell what they have through a port whose other end is a file; it is read while they run.
So whatever ends a run, the cells before that moment are there, and the next run goes on behind them.
"""

import collections
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import workloads
from plan import SHIFT, SRC

WORK = SRC / "build" / "lab"
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


def cost(job):
    """A guess, in any unit: what goes over the wires costs, and each cell by itself."""
    if job["kind"] == "check":
        return 3 + job["path"]["mbit"] / 20
    cell = job["cell"]
    rate = sum(p["mbit"] for p in cell["paths"])
    return 4 + min(60, workloads.seconds(cell["workload"]) * rate / 60)


def shards(jobs, count):
    """What is compared with one another stays in one guest; the guests have about equal work."""
    groups = collections.defaultdict(list)
    for job in jobs:
        if job["kind"] == "check":
            groups[job["key"]].append(job)
        else:
            cell = job["cell"]
            groups[
                json.dumps(
                    [cell["scenario"], cell["params"], cell["seed"], cell["run"]]
                )
            ].append(job)
    parts = [[] for _ in range(min(count, len(groups)))]
    loads = [0] * len(parts)
    for group in groups.values():
        least = loads.index(min(loads))
        parts[least] += group
        loads[least] += sum(map(cost, group))
    return parts


def boot(index, jobs, args):
    WORK.mkdir(parents=True, exist_ok=True)
    plan, stream = WORK / f"plan-{index}.json", WORK / f"stream-{index}"
    plan.write_text(json.dumps({"jobs": jobs}))
    stream.write_bytes(b"")
    log = open(SRC / f"build/log/lab-{index}.out", "w")  # noqa: SIM115
    inside = f"build/lab/{plan.name}"
    cmd = [sys.executable, "tests/vm/boot.py", "--kernel", args.kernel, "--name", f"lab-{index}",
           "--timeout", str(args.timeout), "--memory", str(args.memory), "--virtual-time", "--shift", str(SHIFT),
           "--must-print", "--stream", str(stream), "--",
           "python3", "bench/lab_guest.py", inside, "stream"]  # fmt: skip
    process = subprocess.Popen(
        cmd, cwd=SRC, stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
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
    from report import ooo

    if "capture" in files:
        path = WORK / f"capture-{job['key']}"
        path.write_bytes(files["capture"])
        record["result"]["capture"] = found = ooo.analyse(path)
        path.unlink()
        if found["largest_packet"] > 1500:
            record["result"]["problems"].append(
                f"a packet of {found['largest_packet']} bytes"
            )
        if found["unmapped"]:
            record["result"]["problems"].append(
                f"{found['unmapped']} packets whose place is not known"
            )
    more = {k: v for k, v in job.items() if k not in ("key", "kind")}
    return facts | record | more | {"finished": round(time.time())}


def run(plan, args):
    """Exit status: 0, all that was asked for is there and valid; 1 otherwise."""
    if plan.finished:
        print(f"{plan.finished} cells are finished already, {len(plan.jobs)} are left")
    if not plan.jobs:
        return 0
    plan.results.parent.mkdir(parents=True, exist_ok=True)
    by_key = {j["key"]: j for j in plan.jobs}
    progress = Progress(plan)
    bad = 0
    guests = [
        boot(i, part, args) for i, part in enumerate(shards(plan.jobs, args.guests))
    ]
    # One who ends this also ends the guests, and gets what they have finished.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with open(plan.results, "a") as out:
        try:
            running = True
            while running:
                running = any(g.process.poll() is None for g in guests)
                for guest in guests:
                    for record, files in guest.frames.read():
                        job = by_key[record["key"]]
                        line = collect(record, files, job, plan.facts)
                        out.write(json.dumps(line) + "\n")
                        out.flush()
                        os.fsync(out.fileno())
                        progress.finished(job, line)
                        bad += bool(line["result"]["problems"])
                time.sleep(POLL_S if running else 0)
        finally:
            for guest in guests:
                end(guest)
    print(f"results: {plan.results.relative_to(SRC)}")
    lost = len(plan.jobs) - progress.count
    for guest in guests:
        if guest.process.returncode:
            print(f"lab: a guest ended with status {guest.process.returncode}: build/log/lab-{guest.index}.out",
                  file=sys.stderr)  # fmt: skip
    if lost:
        print(
            f"lab: {lost} cells are not measured; the same command goes on with them",
            file=sys.stderr,
        )
    return 1 if bad or lost or any(g.process.returncode for g in guests) else 0


def end(guest):
    if guest.process.poll() is None:
        guest.process.terminate()
        try:
            guest.process.wait(20)
        except subprocess.TimeoutExpired:
            guest.process.kill()
            guest.process.wait()
    guest.log.close()
