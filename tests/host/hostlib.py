# SPDX-License-Identifier: GPL-2.0
"""Builds the host driver and talks to it; see fuzz.c for its modes."""

import contextlib
import ctypes
import os
import shutil
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
INCLUDE = TOP / "include"
OUT = TOP / "build" / "host"

CC = os.environ.get("CC", "cc")
WARN = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
SANITIZE = [
    "-g1",
    "-fsanitize=undefined,address",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
]
# In a library: a trap, since Python does not have the sanitizer's own one loaded.
TRAPS = ["-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
# Headers with a piece changed may leave a variable unused, a branch empty.
QUIET = ["-w"]

PARTS = ["sut", "oracle", "draw", "fuzz"]
PROFILES = ["wide", "real", "small", "edge", "equal"]
MINRTT, ECF, CLOSED, RETRANS = range(4)
ACTIVE, BACKUP, LOSS, SNDBUF, SENDS, IDLE, CARRIED, REPAIRS, DROPPED = (
    1 << bit for bit in range(9)
)
WAIT = -1
NO_SUBFLOW, NO_ROOM, PEER_WINDOW, FASTER = range(4)
MAX_PATHS = 8
MAX_BURST = 65428


def compile_object(source, out, flags, include=INCLUDE):
    out.parent.mkdir(parents=True, exist_ok=True)
    command = [CC, *WARN, *flags, f"-I{include}", f"-I{HERE}", "-c", source, "-o", out]
    subprocess.run(command, check=True)
    return out


def link(objects, out, flags):
    subprocess.run([CC, *flags, *objects, "-lm", "-o", out], check=True)
    return Driver(out)


def make_library(source, out, include=INCLUDE, flags=TRAPS):
    """Functions of a C file of this directory as a library."""
    out.parent.mkdir(parents=True, exist_ok=True)
    how = [*WARN, *flags, "-shared", "-fPIC", f"-I{include}", HERE / source]
    subprocess.run([CC, *how, "-o", out], check=True)
    return ctypes.CDLL(str(out))


def altered(out, header, text, changed):
    """A copy of the headers with one piece of text, found once in one of them, changed."""
    include = shutil.copytree(INCLUDE, out / "include")
    source = (include / header).read_text()
    # no AssertionError, which is what a test that finds the mutant would raise
    if source.count(text) != 1:
        raise LookupError(f"{text!r}: no longer fits {header}")
    (include / header).write_text(source.replace(text, changed))
    return include


@contextlib.contextmanager
def side_by_side(make, names):
    """Of each name a future with what make(name) makes."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {name: pool.submit(make, name) for name in names}
        pool.shutdown(cancel_futures=True)


def suspects(build, *args):
    """A module's fixture: what build(folder, *args), as side_by_side(), has of its mutants."""

    @pytest.fixture(scope="module")
    def made(tmp_path_factory):
        with build(tmp_path_factory.mktemp("suspects"), *args) as found:
            yield found

    return made


def pieces(some, size=250):
    """Longer and longer ones of a list: what is wrong everywhere is found in the first."""
    while some:
        yield some[:size]
        some, size = some[size:], 4 * size


def build(name, flags):
    """The driver with the headers as they are, in build/host/NAME."""
    with ThreadPoolExecutor() as pool:
        objects = pool.map(
            lambda part: compile_object(HERE / f"{part}.c", OUT / name / f"{part}.o", flags),
            PARTS,
        )
        objects = list(objects)
    return link(objects, OUT / name / "fuzz", flags)


@dataclass
class Path_:
    srtt: int = 20000
    mdev: int = 0
    cwnd: int = 10
    inflight: int = 0
    mss: int = 1000
    unsent: int = 0
    flags: int = ACTIVE | SNDBUF
    stale: int = 0
    ssthresh: int = 0xFFFFFFFF
    rate: int = 0
    metric: int = 0
    behind: int = 0

    def pack(self):
        return PATH.pack(
            *(self.srtt, self.mdev, self.cwnd, self.ssthresh, self.inflight),
            *(self.unsent, self.rate, self.metric, self.behind, self.mss),
            self.flags | self.stale << 12,
        )

    @classmethod
    def unpack(cls, data, at):
        srtt, mdev, cwnd, ssthresh, inflight, unsent, *words = PATH.unpack_from(data, at)
        rate, metric, behind, mss, word = words
        flags, stale = word & 0xFFF, word >> 12
        return cls(
            srtt,
            mdev,
            cwnd,
            inflight,
            mss,
            unsent,
            flags,
            stale,
            ssthresh,
            rate,
            metric,
            behind,
        )


@dataclass
class Case:
    paths: list = field(default_factory=list)
    op: int = ECF
    beta: int = 250
    waiting: int = 0
    pending: int = 1 << 20
    wnd_left: int = 1 << 30
    unacked: int = 0
    now: int = 0
    unit: int = 1
    age: int = 0xFFFFFFFF
    fit: int = 0

    def pack(self):
        return HEAD.pack(
            *(self.op, self.beta, self.waiting, 0),
            *(self.pending, self.wnd_left, self.unacked, self.now, 0),
            *(self.unit, self.age, len(self.paths), self.fit, 0),
        ) + b"".join(p.pack() for p in self.paths).ljust(MAX_PATHS * PATH.size, b"\0")

    @classmethod
    def unpack(cls, data):
        op, beta, waiting, _, *conn, _, unit, age, nr, fit, _ = HEAD.unpack_from(data)
        at = range(HEAD.size, HEAD.size + nr * PATH.size, PATH.size)
        paths = [Path_.unpack(data, i) for i in at]
        return cls(paths, op, beta, waiting, *conn, unit, age, fit)


# struct host_case: its own words, then struct mps_conn up to path[]
HEAD = struct.Struct("=4I3Q4I2HI")
# struct mps_path: flags and stale share the last word
PATH = struct.Struct("=9I2H")
CASE_SIZE = HEAD.size + MAX_PATHS * PATH.size


@dataclass(frozen=True)
class Answer:
    path: int
    reason: int
    bytes: int
    waiting: int

    FORM = struct.Struct("=i3I")


@dataclass
class Run:
    """What `fuzz PROFILE` printed."""

    reached: dict
    faults: dict
    text: str


class Driver:
    def __init__(self, program):
        self.program = program

    def call(self, *args, data=b"", ok=(0,)):
        # leak detection needs ptrace, which containers often refuse
        env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
        done = subprocess.run(
            [self.program, *map(str, args)],
            input=data,
            capture_output=True,
            check=False,
            env=env,
        )
        assert done.returncode in ok, (
            f"{self.program} {args}: exit {done.returncode}\n"
            f"{done.stdout[-4000:].decode()}{done.stderr[-4000:].decode()}"
        )
        return done.stdout

    def fuzz(self, profile, seed, count, undecided=None):
        more = [undecided] if undecided else []
        text = self.call(profile, seed, count, *more, ok=(0, 1)).decode()
        run = Run({}, {}, text)
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            if kind in ("reached", "fault"):
                name, number = rest.split()
                (run.reached if kind == "reached" else run.faults)[name] = int(number)
        assert run.reached, text
        return run

    def ask(self, cases):
        """The headers' answers to a list of Case."""
        data = self.call("batch", data=b"".join(c.pack() for c in cases))
        answers = [Answer(*values) for values in Answer.FORM.iter_unpack(data)]
        assert len(answers) == len(cases)
        return answers

    def mul(self, quads):
        """For each (a, b, c, d): (a * b, a * b < c * d)."""
        data = self.call("mul", data=b"".join(struct.pack("=4Q", *q) for q in quads))
        answers = [
            ((hi << 64) | lo, bool(less)) for hi, lo, less in struct.iter_unpack("=3Q", data)
        ]
        assert len(answers) == len(quads)
        return answers

    def sizes(self):
        lines = self.call("sizes").decode().splitlines()
        return {name: int(size) for name, size in (x.split() for x in lines)}
