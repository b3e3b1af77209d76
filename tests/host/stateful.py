# SPDX-License-Identifier: GPL-2.0
"""Questions to decisions that keep a state: BLEST, CFS, DAPS, round robin.

What is common to their tests: how stateful.c is built and asked, which paths may carry data, and
how a wrong header is made. The rules that a test judges by are in its own file.
"""

import contextlib
import functools
import os
import struct
import subprocess
from dataclasses import dataclass, field

import hostlib
from hostlib import (
    ACTIVE,
    BACKUP,
    CARRIED,
    LOSS,
    MAX_BURST,
    MAX_PATHS,
    SNDBUF,
    WAIT,
    Path_,
)

BLEST, DAPS, RR, CFS = range(4)
NO_SUBFLOW, NO_ROOM, PEER_WINDOW, FASTER, WINDOW, TURN, COPIES = range(7)
PRIV = 48
MAX_OPTIONS = 7
QUESTION = struct.Struct(f"=I{MAX_OPTIONS}I{PRIV}s")
# struct mps_conn up to path[]
SNAPSHOT = struct.Struct("=3Q6I")
UNKNOWN = 0xFFFFFFFF
# leak detection needs ptrace, which containers often refuse
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
ANSWER = struct.Struct(f"=i3I{PRIV}s")

# What lies behind the last path looks like the best one there is, or worth a copy of its data.
BEYOND = [
    b"".join(
        Path_(srtt=1, cwnd=1000, flags=ACTIVE | SNDBUF | i % 2 * CARRIED).pack()
        for i in range(nr, MAX_PATHS)
    )
    for nr in range(MAX_PATHS + 1)
]


@dataclass
class Conn:
    paths: list = field(default_factory=list)
    pending: int = 1 << 20
    wnd_left: int = 1 << 20
    unacked: int = 0
    now: int = 0
    token: int = 0
    unit: int = 1
    blocked: int = 0
    age: int = UNKNOWN
    fit: int = 0

    def snapshot(self):
        """struct mps_conn"""
        return (
            SNAPSHOT.pack(
                *(self.pending, self.wnd_left, self.unacked, self.now, self.token),
                *(self.unit, self.age, len(self.paths) | self.fit << 16, self.blocked),
            )
            + b"".join(p.pack() for p in self.paths)
            + BEYOND[len(self.paths)]
        )

    def pack(self, op, options, priv):
        head = QUESTION.pack(op, *options, *[0] * (MAX_OPTIONS - len(options)), priv)
        return head + self.snapshot()


@dataclass(frozen=True)
class Answer:
    path: int
    reason: int
    bytes: int
    priv: bytes


def answer(data):
    path, reason, nbytes, _, priv = ANSWER.unpack(data)
    return Answer(path, reason if path == WAIT else 0, nbytes, priv)


class Driver:
    def __init__(self, program):
        self.program = program

    @contextlib.contextmanager
    def session(self):
        """ask(op, options, priv, conn), one at a time, of one process."""
        with subprocess.Popen(
            [self.program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=ENVIRONMENT,
        ) as process:

            def ask(op, options, priv, conn):
                process.stdin.write(conn.pack(op, options, priv))
                process.stdin.flush()
                return answer(process.stdout.read(ANSWER.size))

            yield ask
        assert process.returncode == 0

    def ask(self, questions):
        """questions: (op, options, priv, Conn), as many answers."""
        data = b"".join(c.pack(op, o, priv) for op, o, priv, c in questions)
        done = subprocess.run(
            [self.program],
            input=data,
            capture_output=True,
            check=False,
            env=ENVIRONMENT,
        )
        assert done.returncode == 0, (done.returncode, done.stderr[-4000:].decode())
        at = range(0, len(done.stdout), ANSWER.size)
        found = [answer(done.stdout[i : i + ANSWER.size]) for i in at]
        assert len(found) == len(questions)
        return found


def build(out, include=hostlib.INCLUDE, flags=("-O1", *hostlib.SANITIZE)):
    """The driver with these headers; every undefined operation in it is fatal."""
    source = hostlib.HERE / "stateful.c"
    built = hostlib.compile_object(source, out / "stateful.o", flags, include)
    subprocess.run([hostlib.CC, *flags, built, "-o", out / "stateful"], check=True)
    return Driver(out / "stateful")


@functools.cache
def plain():
    """The headers as they are."""
    return build(hostlib.OUT / "stateful")


def mutant(tmp_path, header, text, changed):
    """A driver whose copy of a header has one piece of text, found once in it, changed."""
    include = hostlib.altered(tmp_path, header, text, changed)
    flags = ["-O0", *hostlib.QUIET]
    return build(tmp_path, include, flags)


def mutants(out, header, some):
    """side_by_side(), of mutants of one header: {name: (text, changed)}."""

    def make(name):
        return mutant(out / name, header, *some[name])

    return hostlib.side_by_side(make, some)


# --- what the papers take for granted, as ALGORITHMS of the project's own words


def room(p):
    return max(0, max(0, p.cwnd - p.inflight) * p.mss - p.unsent)


def takes(p):
    """More data for its queue."""
    return p.flags & (ACTIVE | SNDBUF | LOSS) == ACTIVE | SNDBUF


def available(p):
    return takes(p) and room(p) >= p.mss


def held(p):
    """An acknowledgement is sure to come."""
    return p.inflight > 0 or p.unsent > 0


def usable(c):
    """Indices of the active regular paths, or of the active backups where there is none."""
    active = [i for i, p in enumerate(c.paths) if p.flags & ACTIVE]
    return [i for i in active if not c.paths[i].flags & BACKUP] or active


def unmeasured(c, which):
    """Those that a first sample is due for."""
    if c.pending <= c.unit:
        return []
    return [i for i in which if not c.paths[i].srtt and not held(c.paths[i])]


def minrtt(c, which):
    """All right choices of minRTT among available paths."""
    if new := unmeasured(c, which):
        return new[:1]
    known = [i for i in which if c.paths[i].srtt] or which
    least = min((c.paths[i].srtt for i in known), default=None)
    return [i for i in known if c.paths[i].srtt == least]


def most_bytes(c, i):
    """What one pick of path i may hand over."""
    p = c.paths[i]
    limit = [room(p), c.wnd_left, MAX_BURST]
    if not p.srtt and c.unit:
        limit.append(c.unit)
    return min(limit)


# --- states


def draw(rng, top):
    """1 to top, each order of magnitude alike."""
    if rng.random() < 0.05:
        return top
    return max(1, rng.getrandbits(rng.randint(1, top.bit_length())) % top)


def any_path(rng, kind):
    """kind: "wide" numbers up to what the fields hold, "small" ones, which meet often, or "real"."""
    p = Path_(flags=ACTIVE | SNDBUF)
    if kind == "wide":
        p.srtt, p.cwnd, p.mss = (draw(rng, top) for top in ((1 << 29) - 1, 1 << 31, 65535))
    elif kind == "small":
        p.srtt, p.cwnd, p.mss = (
            rng.randint(1, 12),
            rng.randint(1, 5),
            rng.randint(1, 3),
        )
    else:
        p.srtt = rng.randint(1000, rng.choice([30_000, 1_000_000]))
        p.cwnd = rng.randint(1, rng.choice([20, 1000]))
        p.mss = rng.choice([1428, 1428, rng.randint(500, 9000)])
    p.ssthresh = rng.choice([0xFFFFFFFF, p.cwnd, p.cwnd + 1, max(0, p.cwnd - 1), 2])
    p.ssthresh = min(p.ssthresh, 0xFFFFFFFF)
    p.inflight = rng.choice([0, p.cwnd // 2, p.cwnd - 1, p.cwnd, p.cwnd, p.cwnd])
    for flag, chance in ((ACTIVE, 0.06), (BACKUP, 0.1), (LOSS, 0.06), (SNDBUF, 0.06)):
        p.flags ^= flag if rng.random() < chance else 0
    if rng.random() < 0.1:
        p.srtt = 0
    if rng.random() < 0.1:
        p.unsent = max(0, min(0xFFFFFFFF, room(p) - p.mss + rng.randint(-2, 2)))
    if rng.random() < 0.05:
        p.inflight = p.unsent = 0
    return p
