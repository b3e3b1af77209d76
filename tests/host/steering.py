# SPDX-License-Identifier: GPL-2.0
"""Steering's pure functions as a library, and one connection that is asked again and again."""

import ctypes

import hostlib
from hostlib import ACTIVE, BACKUP, Path_
from stateful import Conn

AUTO, STANDBY, DELAY, BALANCE, PRIORITY, REDUNDANT = range(6)
NO_DEADLINE = 0xFFFFFFFF
METERED, LAST = 100, 250  # ranks of metered paths, and of backups that no row matches
# enum mps_note
STANDS_BY, OVERFLOWS, OVER_RTT, OVER_CAP, OVER_LOSS = 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7
BACK_US = 500_000
HEAD = hostlib.HEAD.size - 16  # struct mps_conn up to path[]


def metric(rank=0, weight=0, slow=0, over=0, lossy=0):
    return rank | weight << 8 | slow << 16 | over << 17 | lossy << 19


def library(out=hostlib.OUT / "steer.so", include=hostlib.INCLUDE, flags=hostlib.TRAPS):
    lib = hostlib.make_library("steer.c", out, include, flags)
    lib.done_us.restype = ctypes.c_uint64
    lib.account_bytes.restype = ctypes.c_uint64
    return lib


class Steered:
    """One connection: what is kept of it, and the paths as they are left by the filter."""

    def __init__(self, lib):
        self.lib, self.priv = lib, ctypes.create_string_buffer(48)

    def filter(self, conn, mode, deadline=1_000_000, head=0, waits=0, copy=0):
        """(mask of the paths that may carry, notes)"""
        snap = ctypes.create_string_buffer(conn.snapshot())
        options = (ctypes.c_uint32 * 5)(mode, deadline, head, waits, copy)
        notes = self.lib.filter(snap, self.priv, options)
        left = [
            Path_.unpack(snap.raw, HEAD + i * hostlib.PATH.size) for i in range(len(conn.paths))
        ]
        may = [i for i, p in enumerate(left) if p.flags & ACTIVE and not p.flags & BACKUP]
        self.left = Conn(left, pending=conn.pending, wnd_left=conn.wnd_left, unit=conn.unit)
        return set(may), notes

    def begin(self, mode, generation):
        self.lib.begin(self.priv, mode, 1, generation)

    def pick(self, name, conn):
        snap, answer = ctypes.create_string_buffer(conn.snapshot()), (ctypes.c_int32 * 3)()
        args = (snap, answer) if name == "ranks" else (snap, self.priv, answer)
        getattr(self.lib, name)(*args)
        return tuple(answer)


def suspects_of(out, mutants):
    """side_by_side(), of mutants: {name: (header, text, changed, test that must find it)}."""

    def make(name):
        include = hostlib.altered(out / name, *mutants[name][:3])
        return library(out / name / "steer.so", include, ["-O1", *hostlib.QUIET])

    return hostlib.side_by_side(make, mutants)
