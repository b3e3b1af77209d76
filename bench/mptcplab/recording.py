# SPDX-License-Identifier: GPL-2.0
"""Recordings of `mptcp-sched trace --record`, as docs/reference/recording.md has them.

What is not whole at the end of a file was not written any more, and is left out.
"""

import dataclasses
import struct

from mptcplab.process import LabError

VERSION = 1
HEADER = struct.Struct("<8s6Id72s32s")
CHUNK = struct.Struct("<2I")
FUNCTION = struct.Struct("<2I16s64s1024s")
HEAD = struct.Struct("<3Q4I24s24s")
CONN = struct.Struct("<3Q4I2HI")
PATH = struct.Struct("<9I2H")
PRIV = 48
MAX_PATHS = 8
A_FUNCTION, A_DECISION, THE_END = 1, 2, 3
# Of include/model/decision.h, in its order.
WAITS = ("no_subflow", "no_room", "peer_window", "faster", "window", "turn", "copies")
ACTIVE, LOSS, REPAIRS = 1 << 0, 1 << 2, 1 << 7
FLAGS = 0xFFF


@dataclasses.dataclass(frozen=True)
class Path:
    """A subflow as a decision saw it."""

    srtt_us: int
    cwnd: int
    inflight: int
    unsent: int
    mss: int
    flags: int


@dataclasses.dataclass(frozen=True)
class Decision:
    """verdict: send (path, bytes), wait (reason), copy (paths), none. Of a glance seen is None."""

    when: float  # seconds since 1970
    token: int
    scheduler: str
    verdict: str
    paths: tuple = ()  # who gets it
    bytes: int = 0
    reason: str = ""
    pending: int = 0
    window: int = 0
    unacked: int = 0
    seen: tuple | None = None


@dataclasses.dataclass
class Recording:
    name: str
    kernel: str
    decisions: list
    lost: int = 0
    ends: dict = dataclasses.field(default_factory=dict)  # of each token: (local, remote)


def text(data):
    return data.partition(b"\0")[0].decode(errors="replace")


def address(data):
    """struct mps_addr"""
    ip, port, family = struct.unpack_from("<16s2H", data)
    if family == 2:
        return f"{'.'.join(map(str, ip[:4]))}:{port}"
    groups = (f"{ip[i] << 8 | ip[i + 1]:x}" for i in range(0, 16, 2))
    return f"[{':'.join(groups)}]:{port}"


def header(data, name):
    if len(data) < HEADER.size or data[:8] != b"mpstrace":
        raise LabError(f"{name}: not a recording of `mptcp-sched trace --record`")
    _, version, head, conn, priv, _, _, to_real, kernel, program = HEADER.unpack_from(data)
    sizes = HEAD.size, CONN.size + MAX_PATHS * PATH.size, PRIV
    if version != VERSION or (head, conn, priv) != sizes:
        raise LabError(
            f"{name}: made by version {text(program)}, whose layout is another: use that"
        )
    return to_real, text(kernel)


def chunks(data):
    """(kind, where it begins, its data)"""
    at = HEADER.size
    while at + CHUNK.size <= len(data):
        kind, size = CHUNK.unpack_from(data, at)
        begin = at + CHUNK.size
        if begin + size > len(data):
            return
        yield kind, at, data[begin : begin + size]
        at = begin + size


def verdict(what, answer):
    """The fields of a Decision; what: 0 on new data, 1 on copies, 2 by a glance."""
    high, low = answer >> 32, answer & 0xFFFFFFFF
    if what == 1:
        to = tuple(i for i in range(MAX_PATHS) if answer >> i & 1)
        return {"verdict": "copy" if to else "none", "paths": to}
    if what == 2:
        return {"verdict": "wait", "reason": "no_room"}
    if high >> 31:
        return {"verdict": "wait", "reason": WAITS[low] if low < len(WAITS) else "unknown"}
    return {"verdict": "send", "paths": (high,), "bytes": low}


def inputs(data):
    """The same, of what it was made on."""
    pending, window, unacked, *_, nr, _, _ = CONN.unpack_from(data)
    if nr > MAX_PATHS or len(data) != CONN.size + nr * PATH.size + PRIV:
        return None
    rows = [PATH.unpack_from(data, CONN.size + i * PATH.size) for i in range(nr)]
    seen = tuple(Path(r[0], r[2], r[4], r[5], r[9], r[10] & FLAGS) for r in rows)
    return {"pending": pending, "window": window, "unacked": unacked, "seen": seen}


def parse(data, name):
    to_real, kernel = header(data, name)
    out, functions = Recording(name, kernel, []), {}
    for kind, _, body in chunks(data):
        if kind == A_FUNCTION and len(body) == FUNCTION.size:
            number, what, scheduler, *_ = FUNCTION.unpack(body)
            functions[number] = what, text(scheduler)
        elif kind == A_DECISION and len(body) >= HEAD.size:
            when, _, answer, number, token, netns, _, local, remote = HEAD.unpack_from(body)
            rest = body[HEAD.size :]
            known = inputs(rest) if rest else {}
            if number not in functions or known is None:
                raise LabError(f"{name}: damaged: a decision that cannot be")
            what, scheduler = functions[number]
            if netns:
                out.ends[token] = address(local), address(remote)
            out.decisions.append(
                Decision(to_real + when / 1e9, token, scheduler, **verdict(what, answer), **known)
            )
        elif kind == THE_END and len(body) == 24:
            out.lost = struct.unpack("<3Q", body)[2]
        else:
            raise LabError(f"{name}: damaged: a part of it is of no kind that is known")
    return out


def cut(data, begin, end, name="recording"):
    """Of a recording, as bytes, what was decided between two times, with all that it takes to replay."""
    to_real, _ = header(data, name)
    kept, parts, lost = 0, [data[: HEADER.size]], 0
    for kind, _, body in chunks(data):
        if kind == A_DECISION:
            when = to_real + HEAD.unpack_from(body)[0] / 1e9
            if not begin <= when <= end:
                continue
            kept += 1
        if kind == THE_END:
            lost = struct.unpack("<3Q", body)[2]
            body = struct.pack("<3Q", kept + lost, kept, lost)
        parts += [CHUNK.pack(kind, len(body)), body]
    return b"".join(parts)


def read(file):
    try:
        return parse(file.read_bytes(), file.name)
    except OSError as e:
        raise LabError(f"{file}: {e.strerror}") from None
