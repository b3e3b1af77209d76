# SPDX-License-Identifier: GPL-2.0
"""Proof that the host tests bite: each wrong header below must be found out.

A mutant is a copy of include/ with one piece of text changed. The checks are
those of test_decisions.py with fewer states; each names the faults found.
"""

import random

import exact
import hostlib
import pytest

SEED = 7
STATES = 10_000
CASES = list(exact.states(random.Random(SEED), 500))
RIGHTS = [exact.ecf(case) for case in CASES]
QUADS = list(exact.quads(random.Random(SEED), 3_000))

# file, text (once in the file), what it becomes, fault that must be found
MUTANTS = {
    "delta-dropped": (
        "policy/ecf.h",
        "f->mdev_us > s->mdev_us ? f->mdev_us : s->mdev_us",
        "0",
        "ecf-decision",
    ),
    "delta-is-min": (
        "policy/ecf.h",
        "f->mdev_us > s->mdev_us ?",
        "f->mdev_us < s->mdev_us ?",
        "ecf-decision",
    ),
    "paths-swapped": (
        "policy/ecf.h",
        "mps_ecf_waits(c->pending, fast, slow, st, beta)",
        "mps_ecf_waits(c->pending, slow, fast, st, beta)",
        "ecf-decision",
    ),
    "waiting-never-set": ("policy/ecf.h", "st->waiting = 1;", ";", "ecf-waiting"),
    "waiting-never-cleared": ("policy/ecf.h", "st->waiting = 0;", ";", "ecf-waiting"),
    "waiting-cleared-by-second": (
        "policy/ecf.h",
        "2ULL * f->srtt_us + delta, w_s))\n",
        "2ULL * f->srtt_us + delta, w_s) && ((st->waiting = 0), 1))\n",
        "ecf-waiting",
    ),
    "waiting-cleared-when-available": (
        "policy/ecf.h",
        "if (f < 0 || f == s)\n",
        "if (f < 0 || (f == s && ((st->waiting = 0), 1)))\n",
        "ecf-waiting",
    ),
    "beta-ignored": ("policy/ecf.h", "(__u64)beta : 0", "0 : 0", "ecf-decision"),
    "beta-always": ("policy/ecf.h", "st->waiting ? ", "beta ? ", "ecf-decision"),
    "beta-on-rtt-only": (
        "policy/ecf.h",
        "gain * (s->srtt_us + delta)",
        "gain * s->srtt_us + 1000 * delta",
        "ecf-decision",
    ),
    "n-without-one": ("policy/ecf.h", "w_f + pending", "pending", "ecf-decision"),
    "one-rtt-in-second": ("policy/ecf.h", "2ULL * f->", "1ULL * f->", "ecf-decision"),
    "second-dropped": (
        "policy/ecf.h",
        "if (mps_product_less(pending,",
        "if (0 && mps_product_less(pending,",
        "ecf-decision",
    ),
    "fast-window-twice": (
        "policy/ecf.h",
        "(__u64)s->cwnd * f->mss",
        "(__u64)f->cwnd * f->mss",
        "ecf-decision",
    ),
    "slow-mss": (
        "policy/ecf.h",
        "(__u64)s->cwnd * f->mss",
        "(__u64)s->cwnd * s->mss",
        "ecf-decision",
    ),
    "window-of-32-bits": (
        "policy/ecf.h",
        "(__u64)f->cwnd * f->mss",
        "f->cwnd * f->mss",
        "ecf-decision",
    ),
    "products-of-64-bits": (
        "policy/ecf.h",
        "return l.hi < r.hi || (l.hi == r.hi && l.lo < r.lo);",
        "return (void)l, (void)r, a * b < c * d;",
        "ecf-decision",
    ),
    "less-or-equal": ("policy/ecf.h", "l.lo < r.lo", "l.lo <= r.lo", "exact"),
    "carry-lost": (
        "policy/ecf.h",
        "(hl >> 32) + (mid >> 32)",
        "(hl >> 32)",
        "products",
    ),
    "in-flight-ignored": (
        "policy/ecf.h",
        "|| !mps_has_inflight(fast)",
        "",
        "faster",
    ),
    "in-flight-without-queue": (
        "model/decision.h",
        "return p->inflight > 0 || p->unsent > 0;",
        "return p->inflight > 0;",
        "first-sample",
    ),
    "waits-for-lossy": (
        "policy/ecf.h",
        "|| (p->flags & MPS_PATH_LOSS) ",
        "",
        "ecf-decision",
    ),
    "unknown-slow-estimated": (
        "policy/ecf.h",
        "slow->srtt_us <= fast->srtt_us ||",
        "(slow->srtt_us && slow->srtt_us <= fast->srtt_us) ||",
        "ecf-waiting",
    ),
    "never-waits": (
        "policy/ecf.h",
        "if (!mps_is_usable(p, tier) ||",
        "if (!mps_is_available(c, p) || !mps_is_usable(p, tier) ||",
        "ecf-decision",
    ),
    "backups-ignored": (
        "model/decision.h",
        "(p->flags & (MPS_PATH_ACTIVE | MPS_PATH_BACKUP)) == (MPS_PATH_ACTIVE | tier)",
        "mps_is_active(p) && tier < 3",
        "backup",
    ),
    "inactive-regular-counts": (
        "model/decision.h",
        "if (!mps_is_active(&c->path[i]))\n\t\t\tcontinue;\n",
        "",
        "reason",
    ),
    "stale-used": (
        "model/decision.h",
        "return p->flags & MPS_PATH_ACTIVE;",
        "return p->flags;",
        "reason",
    ),
    "loss-ignored": (
        "model/decision.h",
        "(want | MPS_PATH_LOSS)",
        "want",
        "loss",
    ),
    "sndbuf-ignored": (
        "model/decision.h",
        "want = MPS_PATH_ACTIVE | MPS_PATH_SNDBUF",
        "want = MPS_PATH_ACTIVE",
        "sndbuf",
    ),
    "room-ignored": (
        "model/decision.h",
        "mps_takes_data(p) && mps_has_room(p, c->fit)",
        "mps_takes_data(p)",
        "room",
    ),
    "part-of-a-segment": (
        "model/decision.h",
        "room >= p->mss &&",
        "room &&",
        "room",
    ),
    "fit-ignored": (
        "model/decision.h",
        "room >= fit ||",
        "1 ||",
        "reason",
    ),
    "fit-of-small-windows": (
        "model/decision.h",
        "(room >= fit || room * MPS_FIT_PARTS >= window)",
        "room >= fit",
        "reason",
    ),
    "part-without-fit": (
        "model/decision.h",
        "(room >= fit || room * MPS_FIT_PARTS >= window)",
        "room * MPS_FIT_PARTS >= window",
        "reason",
    ),
    "first-sample-unbounded": (
        "model/decision.h",
        "if (!p->srtt_us && c->unit",
        "if (0 && c->unit",
        "bytes",
    ),
    "queue-ignored": (
        "model/decision.h",
        "free > p->unsent ? free - p->unsent : 0",
        "free",
        "room",
    ),
    "overfull-wraps": ("model/decision.h", "p->inflight >= p->cwnd", "0", "room"),
    "wnd-left-ignored": (
        "model/decision.h",
        "if (bytes > c->wnd_left)",
        "if (0)",
        "bytes",
    ),
    "burst-unbounded": (
        "model/decision.h",
        "if (bytes > MPS_MAX_BURST)",
        "if (0)",
        "bytes",
    ),
    "burst-changed": (
        "model/decision.h",
        "#define MPS_MAX_BURST 65428",
        "#define MPS_MAX_BURST 65429",
        "bytes",
    ),
    "unacked-ignored": (
        "model/decision.h",
        "if (c->unacked)",
        "if (0)",
        "window-closed",
    ),
    "probe-on-backup": (
        "model/decision.h",
        "if (mps_is_usable(&c->path[i], (__u32)tier))",
        "if (mps_is_active(&c->path[i]))",
        "window-closed",
    ),
    "beyond-the-last-path": (
        "policy/minrtt.h",
        "if (i >= c->nr_paths)",
        "if (i > c->nr_paths)",
        "range",
    ),
    "largest-rtt": (
        "policy/minrtt.h",
        "if (rtt < best_rtt)",
        "if (best < 0 || rtt > best_rtt)",
        "min-rtt",
    ),
    "unknown-is-fastest": (
        "policy/minrtt.h",
        "p->srtt_us ? p->srtt_us : 1ULL << 32",
        "p->srtt_us",
        "first-sample",
    ),
    "no-first-sample": (
        "policy/minrtt.h",
        "if (mps_wants_first_sample(c, p))",
        "if (0 && mps_wants_first_sample(c, p))",
        "first-sample",
    ),
    "first-sample-at-the-end": (
        "policy/minrtt.h",
        " && c->pending > c->unit",
        " && c->pending",
        "first-sample",
    ),
    "first-sample-again": (
        "policy/minrtt.h",
        " && !mps_has_inflight(p)",
        "",
        "first-sample",
    ),
}


def faults(driver):
    """Names of all that the suite finds wrong with these headers."""
    found = set()
    for profile in hostlib.PROFILES:
        found |= driver.fuzz(profile, SEED, STATES).faults.keys()
    if exact.wrong(CASES, driver.ask(CASES), RIGHTS):
        found.add("exact")
    if exact.wrong_products(QUADS, driver.mul(QUADS)):
        found.add("products")
    return found


@pytest.fixture(scope="module")
def judges():
    """The parts that do not change with the headers, compiled once."""
    return [
        hostlib.compile_object(
            hostlib.HERE / f"{part}.c", hostlib.OUT / "mutants" / f"{part}.o", ["-O2"]
        )
        for part in hostlib.PARTS
        if part != "sut"
    ]


def suspect(judges, include, out):
    """The faults found in the headers of `include`."""
    flags = ["-O0", "-Wno-unused-variable", "-Wno-unused-parameter"]
    sut = hostlib.compile_object(hostlib.HERE / "sut.c", out / "sut.o", flags, include)
    return faults(hostlib.link([*judges, sut], out / "fuzz", []))


@pytest.fixture(scope="module")
def findings(judges, tmp_path_factory):
    """Of each mutant a future with the faults found; they run side by side."""

    def examine(name):
        header, text, changed, _ = MUTANTS[name]
        out = tmp_path_factory.getbasetemp() / "mutants" / name
        return suspect(judges, hostlib.altered(out, header, text, changed), out)

    with hostlib.side_by_side(examine, MUTANTS) as found:
        yield found


def test_no_fault_in_the_headers(judges, tmp_path):
    """The control: with nothing changed, nothing is found."""
    assert suspect(judges, hostlib.INCLUDE, tmp_path) == set()


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name, findings):
    assert MUTANTS[name][3] in findings[name].result()
