# SPDX-License-Identifier: GPL-2.0
"""policy/thin.h against a statement of its own of Fig. 2 and section IV, and mutants of it."""

import ctypes
import random
from ctypes import c_uint16, c_uint32, c_uint64

import hostlib
import pytest
from hostlib import ACTIVE, BACKUP, CARRIED, IDLE, LOSS, SENDS, SNDBUF, WAIT

NO_TS, DELAY, DUE = 1 << 9, 1 << 10, 1 << 11
NO_TIMESTAMPS, NO_SAMPLE, CLOCKS = 1, 2, 4
STATES = 6000
U32 = 1 << 32
SLACK_MS = 1000


class Path(ctypes.Structure):
    _fields_ = (
        *((name, c_uint32) for name in ("srtt_us", "mdev_us", "cwnd", "ssthresh")),
        *((name, c_uint32) for name in ("inflight", "unsent", "rate", "metric", "behind")),
        ("mss", c_uint16),
        ("flags", c_uint16, 12),
        ("stale", c_uint16, 4),
    )


class Conn(ctypes.Structure):
    _fields_ = (
        *((name, c_uint64) for name in ("pending", "wnd_left", "unacked", "now_us")),
        *((name, c_uint32) for name in ("unit", "age_us", "nr_paths", "reserved")),
        ("path", Path * hostlib.MAX_PATHS),
    )

    def paths(self):
        return [self.path[i] for i in range(self.nr_paths)]


class Subflow(ctypes.Structure):
    _fields_ = (
        ("used_us", c_uint32),
        ("sample_us", c_uint32),
        ("rtt_us", c_uint32 * 3),
        ("delay_ms", c_uint32 * 3),
    )


@pytest.fixture(scope="module")
def lib():
    return hostlib.make_library("thin.c", hostlib.OUT / "thin.so")


# --- what ought to be said, from lists of paths


def room(p):
    return max(0, max(0, p.cwnd - p.inflight) * p.mss - p.unsent)


def usable(c):
    """Indices of those that may carry data: backups only where nothing else lives."""
    live = [i for i, p in enumerate(c.paths()) if p.flags & ACTIVE]
    normal = [i for i in live if not c.path[i].flags & BACKUP]
    return normal or live


def available(p):
    return p.flags & SNDBUF and not p.flags & LOSS and room(p) >= p.mss


def difference(a, b):
    """Of two 32-bit clocks."""
    return (a - b + U32 // 2) % U32 - U32 // 2


def obstacles(c):
    paths = [c.path[i] for i in usable(c)]
    notes = 0
    if any(p.flags & NO_TS for p in paths):
        notes |= NO_TIMESTAMPS
    if any(not p.flags & (NO_TS | DELAY) for p in paths):
        notes |= NO_SAMPLE
    known = [p for p in paths if p.flags & DELAY]
    if known:
        delays = [difference(p.metric, known[0].metric) for p in known]
        limit = max(p.srtt_us for p in known) // 1000 + SLACK_MS
        # the slack's own edge is the implementation's
        if max(0, *delays) - min(0, *delays) > limit:
            notes |= CLOCKS
    return notes


def right_picks(c, by_delay):
    """(notes, the paths that may be chosen)."""
    notes = obstacles(c) if by_delay and usable(c) else 0
    ready = [i for i in usable(c) if available(c.path[i])]
    if not ready:
        return notes, [WAIT]
    if by_delay and not notes:
        base = c.path[usable(c)[0]].metric
        key = [(difference(c.path[i].metric, base), c.path[i].srtt_us) for i in ready]
    else:
        unknown = [
            i
            for i in ready
            if not c.path[i].srtt_us and not c.path[i].inflight and not c.path[i].unsent
        ]
        if unknown and c.pending > c.unit:
            return notes, unknown[:1]
        key = [c.path[i].srtt_us or U32 for i in ready]
    return notes, [i for i, k in zip(ready, key, strict=True) if k == min(key)][:1]


def right_probes(c, length):
    if c.pending or not c.unacked or not c.unit or c.age_us == U32 - 1:
        return 0
    return sum(
        1 << i
        for i in usable(c)
        if (p := c.path[i]).flags & DUE
        and p.flags & IDLE
        and not p.flags & CARRIED
        and available(p)
        and p.srtt_us
        and c.unit <= min(length * p.mss, room(p))
    )


def right_end(c, path, given, length):
    return c.pending <= given and any(
        i != path
        and c.path[i].flags & DUE
        and c.path[i].flags & IDLE
        and c.pending <= length * c.path[i].mss
        for i in usable(c)
    )


# --- random states


def random_path(r):
    p = Path(
        srtt_us=r.choice([0, 20_000, 100_000, r.randrange(1, 500_000)]),
        cwnd=r.randrange(1, 12),
        inflight=r.choice([0, 0, r.randrange(12)]),
        unsent=r.choice([0, 0, 0, r.randrange(3000)]),
        metric=r.choice([5, 40, r.randrange(150), U32 - 20, r.randrange(U32)]),
        mss=r.choice([536, 1448]),
        flags=SENDS,
    )
    odds = ((ACTIVE, 0.9), (SNDBUF, 0.9), (BACKUP, 0.2), (LOSS, 0.05), (IDLE, 0.8))
    for flag, chance in (*odds, (DUE, 0.7), (CARRIED, 0.2), (NO_TS, 0.05)):
        p.flags |= flag * (r.random() < chance)
    if not p.flags & NO_TS and r.random() < 0.95:
        p.flags |= DELAY
    return p


def random_conn(r):
    c = Conn(
        pending=r.choice([0, 0, 200, 3000, r.randrange(1 << 20)]),
        wnd_left=r.choice([0, 1 << 20]),
        unacked=r.choice([0, 200, 1 << 16]),
        unit=r.choice([0, 1, 200, 1448, 2896, 2897, 40000]),
        age_us=r.choice([0, 5000, U32 - 1]),
        nr_paths=r.choice([1, 2, 2, 2, 3, 8]),
    )
    for i in range(hostlib.MAX_PATHS):
        c.path[i] = random_path(r)
    if r.random() < 0.6:
        near = r.randrange(U32)
        for p in c.path:
            p.metric = (near + r.randrange(100)) % U32
    return c


def faults(lib, seed, count):
    """The functions that answered wrong, and how often each case was reached."""
    r = random.Random(seed)
    wrong, reached = (
        set(),
        dict.fromkeys(("delay", "notes", "probe", "no probe", "end"), 0),
    )
    notes = c_uint64()
    for _ in range(count):
        c = random_conn(r)
        for by_delay in (0, 1):
            path = lib.thin_pick(ctypes.byref(c), by_delay, ctypes.byref(notes))
            right_notes, right = right_picks(c, by_delay)
            if path not in right:
                wrong.add("pick")
            if notes.value != right_notes:
                wrong.add("notes")
            reached["notes"] += bool(right_notes)
            reached["delay"] += bool(by_delay and not right_notes and path >= 0)
        length = r.choice([1, 2, 10])
        probes = right_probes(c, length)
        if lib.thin_probes(ctypes.byref(c), length) != probes:
            wrong.add("probes")
        reached["probe" if probes else "no probe"] += 1
        given = c_uint64(r.choice([200, 2896, c.pending]))
        path = r.randrange(c.nr_paths)
        end = right_end(c, path, given.value, length)
        if lib.thin_ends_burst(ctypes.byref(c), path, given, length) != end:
            wrong.add("end")
        reached["end"] += end
    return wrong, reached


def test_layouts(lib):
    assert lib.thin_size(0) == ctypes.sizeof(Conn)
    assert lib.thin_size(1) == ctypes.sizeof(Subflow) <= 32


def test_random_states(lib):
    wrong, reached = faults(lib, 1, STATES)
    assert not wrong
    assert min(reached.values()) > STATES / 100, reached


# --- samples and deadlines


def after(lib, samples, *, keep=3, srtt=90_000, used=1, now=2, probe=5, flags=0):
    """The path after these (sent, rtt, delay), in the order in which they came."""
    t, p = Subflow(), Path(srtt_us=srtt, flags=flags)
    for sample in samples:
        lib.thin_observe(ctypes.byref(t), *sample)
    t.used_us = used
    lib.thin_path(ctypes.byref(t), ctypes.byref(p), probe, keep, now)
    return p


FELL = [(1, 160, 900), (2, 160, 900), (3, 160, 900), (4, 80, 820)]
SPIKE = [(1, 80, 820), (2, 80, 820), (3, 120, 860)]
ROSE = [(1, 80, 820), *((i, 160, 900) for i in (2, 3, 4))]


@pytest.mark.parametrize(
    ("samples", "keep", "rtt", "delay"),
    [
        ([], 3, 90_000, None),
        (FELL, 3, 80, 820),  # at once
        (SPIKE, 3, 80, 820),  # a delayed acknowledgement does not count
        (SPIKE, 1, 120, 860),
        (ROSE, 3, 160, 900),  # after three
        (ROSE[:-1], 3, 80, 820),
        (FELL, 0, 90_000, 820),  # srtt, and the newest delay
        ([(1, 160, 3), (2, 160, U32 - 5)], 3, 160, U32 - 5),  # across the wrap
        ([(1, 160, 3), (1, 80, 2)], 3, 160, 3),  # the same sample, seen twice
        ([(1, 0, 3)], 3, 1, 3),
    ],
)
def test_samples(lib, samples, keep, rtt, delay):
    p = after(lib, samples, keep=keep)
    assert p.srtt_us == rtt
    assert bool(p.flags & DELAY) == (delay is not None)
    if delay is not None:
        assert p.metric == delay
    assert not after(lib, samples, keep=keep, flags=NO_TS).flags & DELAY


@pytest.mark.parametrize(
    ("used", "now", "probe", "due", "rtt"),
    [
        (0, 1, 5, True, 100_000),  # never
        (1000, 1000 + 499_999, 5, False, 100_000),
        (1000, 1000 + 500_000, 5, True, 100_000),
        (1000, 1000 + 300_000, 3, True, 100_000),
        (1000, 1000 + 19_999, 5, False, 1_000),  # 20 ms at least
        (1000, 1000 + 20_000, 5, True, 1_000),
        (U32 - 1000, 400_000, 5, False, 100_000),  # across the wrap
        (U32 - 1000, 500_000, 5, True, 100_000),
        (0, 1, 0, False, 100_000),  # switched off
        (1000, 1000 + (1 << 31), 0, False, 100_000),
    ],
)
def test_deadlines(lib, used, now, probe, due, rtt):
    p = after(lib, [(1, rtt, 1)], used=used, now=now, probe=probe)
    assert bool(p.flags & DUE) == due


def test_a_use_at_time_zero_is_a_use(lib):
    t = Subflow()
    lib.thin_used(ctypes.byref(t), 0)
    assert t.used_us


# --- the tests bite: text (once in the header), what it becomes, who notices

MUTANTS = {
    "pending-is-no-hindrance": ("tier < 0 || c->pending || !mps", "tier < 0 || !mps", "probes"),
    "probes-not-due": ("if (mps_thin_is_due(p, (__u32)tier) && mps_can", "if (mps_can", "probes"),
    "long-probes": ("c->unit <= (__u64)length * p->mss && ", "", "probes"),
    "beyond-the-window": ("c->unit <= mps_cwnd_room(p)", "1", "probes"),
    "one-probe": ("mask |= 1U << i", "mask = 1U << i", "probes"),
    "busy-is-due": ("(p->flags & MPS_PATH_IDLE) && ", "", "probes"),
    "not-the-end": ("tier < 0 || c->pending > bytes", "tier < 0", "end"),
    "probes-itself": ("(__s32)i != path && ", "", "end"),
    "a-long-end": ("c->pending <= (__u64)length * p->mss", "1", "end"),
    "any-clock": ("hi - lo >", "0 >", "notes"),
    "clock-of-one-side": ("lo = d < lo ? d : lo;", "", "notes"),
    "backups-count": ("if (!mps_is_usable(p, tier))\n			continue;\n		if (p->flags & MPS_PATH_NO_TS)",
                      "if (p->flags & MPS_PATH_NO_TS)", "notes"),
    "samples-not-needed": ("notes |= 1U << MPS_NOTE_NO_SAMPLE;", ";", "notes"),
    "timestamps-not-needed": ("notes |= 1U << MPS_NOTE_NO_TIMESTAMPS;", ";", "notes"),
    "refuses-nothing": ("	if (priv->notes)\n		return mps_minrtt_pick(c);\n", "", "pick"),
    "latest-first": ("mps_before(delay, p->metric)", "mps_before(p->metric, delay)", "pick"),
    "no-wrap": ("mps_before(delay, p->metric)", "delay < p->metric", "pick"),
    "ties-by-index": ("rtt <= p->srtt_us", "1", "pick"),
    "full-paths": ("|| !mps_is_available(c, p))", ")", "pick"),
}  # fmt: skip


@pytest.fixture(scope="module")
def suspects(tmp_path_factory):
    def make(name):
        out = tmp_path_factory.getbasetemp() / "thin" / name
        include = hostlib.altered(out, "policy/thin.h", *MUTANTS[name][:2])
        flags = ["-O0", *hostlib.QUIET]
        return hostlib.make_library("thin.c", out / "thin.so", include, flags)

    with hostlib.side_by_side(make, MUTANTS) as found:
        yield found


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name, suspects):
    suspect, who = suspects[name].result(), MUTANTS[name][2]
    counts = (STATES // 40, STATES // 2)
    assert any(who in faults(suspect, 2, count)[0] for count in counts)
