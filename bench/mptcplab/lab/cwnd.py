# SPDX-License-Identifier: GPL-2.0
"""How often congestion windows were reset: the probe bench/cwnd.bpf.c."""

import contextlib
import os
import shutil
import socket
import struct

from mptcplab.lab.probe import OBJECT, bpftool
from mptcplab.process import LabError, check

PINS = "/sys/fs/bpf/mps-cwnd"
KINDS = ("idle", "idle_smaller", "timeout")


@contextlib.contextmanager
def probe():
    """Attached while the block runs; yields a function that reads the totals."""
    built = OBJECT.with_name("cwnd.bpf.o")
    if not built.exists():
        raise LabError(f"no {built.name}: `make bench-obj` builds it")
    shutil.rmtree(PINS, ignore_errors=True)
    os.mkdir(PINS)
    check(
        [
            "bpftool",
            "prog",
            "loadall",
            str(built),
            f"{PINS}/progs",
            "pinmaps",
            f"{PINS}/maps",
            "autoattach",
        ]
    )
    try:
        yield read
    finally:
        shutil.rmtree(PINS, ignore_errors=True)


def read():
    """{(local address, remote address): {kind: count}}"""
    rows = bpftool("map", "dump", "pinned", f"{PINS}/maps/cwnd_resets")
    return {
        tuple(
            socket.inet_ntoa(struct.pack("=I", r["formatted"]["key"][end]))
            for end in ("local", "remote")
        ): {k: r["formatted"]["value"][k] for k in KINDS}
        for r in rows
    }
