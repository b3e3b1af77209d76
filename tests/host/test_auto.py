# SPDX-License-Identifier: GPL-2.0
"""policy/auto.h: which of its parts says what is copied, and what the tail's budget allows."""

import ctypes
import random
from ctypes import c_uint32, c_uint64

import hostlib
import pytest
from hostlib import ACTIVE, CARRIED, IDLE, LOSS, SNDBUF, Path_
from stateful import Conn

DUE = 1 << 11
MOST = 32768
U32 = 1 << 32
PROBE, PAYS, TAIL = range(3)


class State(ctypes.Structure):
    _fields_ = (("ecf", c_uint64 * 3), ("given", c_uint32), ("credit", c_uint32))


def library(out, include=hostlib.INCLUDE, flags=hostlib.TRAPS):
    lib = hostlib.make_library("auto.c", out, include, flags)
    lib.auto_size.restype = ctypes.c_ulong
    lib.auto_earn.argtypes = (ctypes.POINTER(State), c_uint64, c_uint32)
    for f in (lib.auto_copies, lib.part):
        f.restype = c_uint32
    return lib


@pytest.fixture(scope="module")
def lib():
    return library(hostlib.OUT / "auto.so")


def test_the_layout(lib):
    assert lib.auto_size() == ctypes.sizeof(State)


# --- what is earned


def earned(lib, budget, *given):
    st = State()
    for g in given:
        lib.auto_earn(st, g, budget)
    return st.credit / 1000


def check_earning(lib):
    """A fragment to begin with, a part of what follows, and no more saved than a fragment."""
    assert earned(lib, 20, 5_000_000) == MOST
    assert earned(lib, 20, 5_000_000, 9_000_000) == MOST
    assert earned(lib, 0, 5_000_000, 9_000_000) == 0
    st = State(given=1000, credit=0)
    lib.auto_earn(st, 101_000, 20)
    assert st.credit == 2000 * 1000
    lib.auto_earn(st, 101_000, 20)
    assert st.credit == 2000 * 1000
    lib.auto_earn(st, 101_000 + 10_000_000, 20)
    assert st.credit == MOST * 1000
    # switched off while it lives, and numbers that wrap
    lib.auto_earn(st, 101_000 + 10_000_000, 0)
    assert st.credit == 0
    st = State(given=U32 - 500, credit=0)
    lib.auto_earn(st, 3 * U32 + 500, 1000)
    assert st.credit == 1000 * 1000
    # byte 0 is a byte, too
    st = State()
    lib.auto_earn(st, U32, 1000)
    st.credit = 0
    lib.auto_earn(st, U32 + 1001, 1000)
    assert st.credit == 1000 * 1000


def test_what_is_earned(lib):
    check_earning(lib)


# --- which part decides


def any_path(rng):
    flags = ACTIVE | SNDBUF * (rng.random() < 0.9) | CARRIED * (rng.random() < 0.5)
    flags |= rng.choice([0, IDLE, IDLE | DUE, DUE, 0, 0]) | LOSS * (rng.random() < 0.1)
    cwnd = rng.randint(1, 60)
    return Path_(
        srtt=rng.choice([10_000, 20_000, 60_000, 400_000]),
        cwnd=cwnd,
        inflight=0 if flags & IDLE else rng.choice([0, 1, cwnd, rng.randint(0, cwnd)]),
        unsent=rng.choice([0, 0, rng.randint(0, 32768)]),
        rate=rng.choice([0, rng.randint(10_000, 5_000_000)]),
        flags=flags,
    )


def any_conn(rng):
    return Conn(
        [any_path(rng) for _ in range(rng.randint(1, 4))],
        pending=rng.choice([0, 0, 0, 5000]),
        wnd_left=rng.choice([0, 1 << 20]),
        unacked=rng.choice([0, 1000, 60_000, 200_000]),
        unit=rng.choice([0, 500, 1500, 20_000, 32768]),
        age=rng.choice([0, 1000, 30_000, 200_000, 0xFFFFFFFF]),
    )


def right(lib, snap, cost, credit, length, pays):
    """(mask, credit left, the part that said so)"""
    mask = lib.part(snap, PROBE, length)
    if mask:
        return mask, credit, PROBE
    if not pays:
        return 0, credit, None
    mask = lib.part(snap, PAYS, length)
    if mask:
        return mask, credit, PAYS
    mask = lib.part(snap, TAIL, length)
    if mask and credit >= cost:
        return mask, credit - cost, TAIL
    return 0, credit, None


def check_parts(lib, parts, seed, count):
    """How often each part decided. The parts are those of the headers as they are."""
    rng, seen = random.Random(seed), {}
    for _ in range(count):
        c = any_conn(rng)
        snap, length, pays = c.snapshot(), rng.randint(1, 4), rng.random() < 0.9
        cost = 1000 * c.unit
        credit = max(0, rng.choice([0, cost, cost - 1, cost + 1, MOST * 1000]))
        mask, left, why = right(parts, snap, cost, credit, length, pays)
        st = State(given=1, credit=credit)
        assert lib.auto_copies(snap, ctypes.byref(st), length, pays) == mask
        assert st.credit == left
        seen[why] = seen.get(why, 0) + 1
    return seen


def test_which_part_decides(lib):
    seen = check_parts(lib, lib, 1, 20_000)
    assert all(seen.get(part, 0) > 200 for part in (PROBE, PAYS, TAIL, None)), seen


# --- the tests bite

MUTANTS = {
    "no-bound": ("st->credit = (__u32)mps_min(credit, most);", "st->credit = (__u32)credit;"),
    "nothing-first": ("st->credit + (__u64)more * budget : most;", "st->credit + (__u64)more * budget : 0;"),
    "free": ("st->credit -= (__u32)cost;", ";"),
    "any-price": ("if (st->credit < cost)", "if (0)"),
    "one-less": ("st->credit < cost", "st->credit <= cost"),
    "off-is-on": ("budget ? (__u64)MPS_AUTO_CREDIT_MAX * MPS_AUTO_SCALE : 0", "(__u64)MPS_AUTO_CREDIT_MAX * MPS_AUTO_SCALE"),
    "zero-is-never": ("(__u32)given ?: 1", "(__u32)given"),
    "no-tail": ("return mask ?: mps_auto_tail(c, st);", "return mask;"),
    "tail-first": ("	mask = mps_copy_if_it_pays(c);\n	return mask ?: mps_auto_tail(c, st);",
                   "	mask = mps_auto_tail(c, st);\n	return mask ?: mps_copy_if_it_pays(c);"),
    "never-asked": ("if (mask || !pays)", "if (mask)"),
    "no-probes": ("__u32 mask = mps_thin_probes(c, length);", "__u32 mask = 0;"),
}  # fmt: skip


@pytest.fixture(scope="module")
def suspects(tmp_path_factory):
    def make(name):
        out = tmp_path_factory.getbasetemp() / "auto" / name
        include = hostlib.altered(out, "policy/auto.h", *MUTANTS[name])
        return library(out / "auto.so", include, ["-O0", *hostlib.QUIET])

    with hostlib.side_by_side(make, MUTANTS) as found:
        yield found


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name, suspects, lib):
    suspect = suspects[name].result()
    with pytest.raises(AssertionError):
        check_earning(suspect)
        check_parts(suspect, lib, 2, 4000)
