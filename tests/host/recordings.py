# SPDX-License-Identifier: GPL-2.0
"""Recordings, byte by byte, by docs/reference/recording.md."""

import struct

FUNCTION, DECISION, END = 1, 2, 3
DECIDE, COPIES, GLANCE = 0, 1, 2
HEAD, CONN, PRIV = 88, 368, 48
# model/decision.h: ACTIVE, SNDBUF, SENDS
ABLE = 1 | 1 << 3 | 1 << 4
MSS = 1000


def header(magic=b"mpstrace", version=1, head=HEAD):
    return struct.pack(
        "<8s6Id72s32s", magic, version, head, CONN, PRIV, 0, 0, 1e9, b"7.3.4", b"0.1.0"
    )


def chunk(kind, data):
    return struct.pack("<2I", kind, len(data)) + data


def function(number, what=DECIDE, sched=b"bpf_minrtt", policy=b"minrtt", tunables=b""):
    data = struct.pack("<2I16s64s1024s", number, what, sched, policy, tunables)
    return chunk(FUNCTION, data)


def path(srtt_us, cwnd=10, inflight=0, flags=ABLE, mss=MSS, unsent=0):
    unknown = 0xFFFFFFFF
    return struct.pack(
        "<9I2H", srtt_us, 0, cwnd, unknown, inflight, unsent, 0, 0, unknown, mss, flags
    )


def decision(answer, paths, number=0, pending=100_000, token=7, when_ns=5):
    head = struct.pack("<3Q4I48s", when_ns, 0, answer, number, token, 0, 1, b"")
    conn = struct.pack("<3Q4I2HI", pending, 1 << 20, 0, 1, token, MSS, 0xFFFFFFFF, len(paths), 0, 0)
    return chunk(DECISION, head + conn + b"".join(paths) + bytes(PRIV))


def glance(number, token=7, when_ns=5):
    return chunk(DECISION, struct.pack("<3Q4I48s", when_ns, 0, 1, number, token, 0, 0, b""))


def end(seen, kept):
    return chunk(END, struct.pack("<3Q", seen, kept, 0))


def send(number, nbytes):
    return number << 32 | nbytes


def wait(reason):
    """By its number in MPS_WAIT_REASONS."""
    return 0xFFFFFFFF << 32 | reason
