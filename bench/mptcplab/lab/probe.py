# SPDX-License-Identifier: GPL-2.0
"""What the kernel spends on asking a scheduler: the probe bench/cost.bpf.c and BPF's run statistics."""

import contextlib
import ctypes
import dataclasses
import json
import os
import shutil
import tempfile
from pathlib import Path

from mptcplab.places import BUILD
from mptcplab.process import LabError, check

OBJECT = BUILD / "bench" / "cost.bpf.o"
PINS = "/sys/fs/bpf/mps-bench"
STEP_NS = 8  # of cost.bpf.c
EMPTY_RUNS = 2000

# bpf(2); Python has no wrapper, bpftool none for test runs of tracing programs
SYS_BPF = {"x86_64": 321, "aarch64": 280}
BPF_PROG_TEST_RUN = 10
BPF_PROG_GET_FD_BY_ID = 13


def bpf(cmd, attr):
    libc = ctypes.CDLL(None, use_errno=True)
    got = libc.syscall(SYS_BPF[os.uname().machine], cmd, attr, len(attr))
    if got < 0:
        raise LabError(f"bpf({cmd}): {os.strerror(ctypes.get_errno())}")
    return got


def bpftool(*args):
    return json.loads(check(["bpftool", "-j", *args]) or "null")


@dataclasses.dataclass(frozen=True)
class Reading:
    """Running totals of the probe."""

    calls: int
    ns: int
    most: int  # ns of the longest call, from the beginning on
    steps: list

    def __sub__(self, before):
        steps = [a - b for a, b in zip(self.steps, before.steps, strict=True)]
        return Reading(self.calls - before.calls, self.ns - before.ns, self.most, steps)

    @property
    def mean(self):
        return self.ns / self.calls if self.calls else None

    def quantile(self, q):
        """Nanoseconds that the fraction q of the calls stays below, to the step."""
        left = q * sum(self.steps)
        for i, n in enumerate(self.steps):
            left -= n
            if left <= 0:
                return (i + 0.5) * STEP_NS
        return None


class Probe:
    """The probe, attached while the block runs."""

    def __enter__(self):
        if not OBJECT.exists():
            raise LabError(f"no {OBJECT.name}: `make bench-obj` builds it")
        self.__exit__()
        pins = f"{PINS}/progs"
        os.mkdir(PINS)
        check(
            [
                "bpftool",
                "prog",
                "loadall",
                str(OBJECT),
                pins,
                "pinmaps",
                f"{PINS}/maps",
                "autoattach",
            ]
        )
        try:
            self.overhead = self._empty()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        shutil.rmtree(PINS, ignore_errors=True)

    def _empty(self):
        """Nanoseconds that the pair measures around an empty function."""
        # The pins are links; any program that hangs on a test function lets the kernel call it.
        found = [p for p in bpftool("prog", "show") if p.get("name") == "empty_enter"]
        with open_prog(found[-1]["id"]) as fd:
            attr = fd.to_bytes(4, "little") + bytes(76)
            for _ in range(EMPTY_RUNS):
                bpf(BPF_PROG_TEST_RUN, attr)
        sums = self._dump("cost_sums")
        return sums[1]["ns"] / sums[1]["calls"]

    @staticmethod
    def _dump(name):
        rows = bpftool("map", "dump", "pinned", f"{PINS}/maps/{name}")
        return [r["formatted"]["value"] for r in rows]

    def read(self):
        first = self._dump("cost_sums")[0]
        return Reading(first["calls"], first["ns"], first["most"], self._dump("cost_steps"))


@contextlib.contextmanager
def open_prog(prog_id):
    fd = bpf(BPF_PROG_GET_FD_BY_ID, prog_id.to_bytes(4, "little") + bytes(8))
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def run_statistics():
    """BPF's own run statistics, on while the block runs."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text(before)


def run_time(scheduler):
    """(ns, runs) of the program that a scheduler's get_send (or get_subflow) is."""
    ours = [
        p
        for p in bpftool("prog", "show")
        if p["type"] == "struct_ops"
        and p.get("name", "").startswith(scheduler)
        and not p["name"].endswith("_segment")  # its ACK clock
    ]
    if not ours:
        return 0, 0
    busiest = max(ours, key=lambda p: p.get("run_cnt", 0))
    return busiest.get("run_time_ns", 0), busiest.get("run_cnt", 0)


def state_sizes():
    """Bytes of state per connection and per subflow, as the kernel knows the maps."""
    return {
        m["name"]: m["bytes_value"]
        for m in bpftool("map", "show")
        if m.get("name", "").startswith("mps_") and m["type"] == "sk_storage"
    }


def peak_rss(*cmd):
    """Peak resident memory of a command, KB."""
    # busybox, because a process counts the memory of what it was before exec() as its own.
    with tempfile.NamedTemporaryFile("r", prefix="rss-") as out:
        check(["busybox", "time", "-f", "%M", "-o", out.name, *cmd])
        return int(out.read().split()[-1])
