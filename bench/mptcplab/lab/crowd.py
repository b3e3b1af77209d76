# SPDX-License-Identifier: GPL-2.0
"""Namespaces and connections by the thousand, and what a command costs among them."""

import contextlib
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from mptcplab.places import BUILD

PROGRAM = "/usr/sbin/mptcp-sched"
MANY = BUILD / "tests" / "many"
# What is looked at among them.
COMMANDS = (
    ("show",),
    ("show", "--json"),
    ("stats",),
    ("stats", "--json"),
    ("stats", "--top", "10"),
)


@contextlib.contextmanager
def crowd(namespaces, connections, scheduler):
    """That many connections in each of the namespaces, over loopback."""
    process = subprocess.Popen(
        [MANY, str(namespaces), str(connections), scheduler],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said = process.stdout.readline()
        assert said == "ready\n", f"many: {said}"
        yield process
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def speaks(process):
    """Each connection has one more byte in each direction: seconds that all of them take."""
    begun = time.monotonic()
    process.stdin.write("x")
    process.stdin.flush()
    said = process.stdout.readline()
    assert said == "said\n", f"many: {said}"
    return time.monotonic() - begun


@dataclass(frozen=True)
class Cost:
    seconds: float  # of the clock
    user: float  # seconds that the command itself computed
    system: float  # seconds that the kernel worked for it
    peak_kb: int
    out: Path


def run(out, *args):
    """One run of the command, its output in a file."""
    # busybox, because a process counts the memory of what it was before exec() as its own.
    with open(out, "wb") as f, tempfile.NamedTemporaryFile("r", prefix="rss-") as peak:
        begun = time.monotonic()
        process = subprocess.Popen(
            ["busybox", "time", "-f", "%M", "-o", peak.name, PROGRAM, *args], stdout=f
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begun
        process.returncode = status
        assert status == 0, f"{args}: {status}"
        peak_kb = int(peak.read().split()[-1])
    return Cost(seconds, used.ru_utime, used.ru_stime, peak_kb, Path(out))


def best(out, *args, times=2):
    """The run that took least time: others share the machine."""
    return min((run(out, *args) for _ in range(times)), key=lambda c: c.user)
