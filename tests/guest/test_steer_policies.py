# SPDX-License-Identifier: GPL-2.0
"""bpf_steer: a mode is the policy that its name says; virtual time."""

import contextlib
import dataclasses
import time

import pytest
import steered
from command import ok
from lab import until
from steered import FREE, KB, MB, PAID, counted, given, served
from test_steer_modes import LIKE, chunks
from tracer import FAR, trace
from traffic import download

pytestmark = pytest.mark.virtual_time
tables = steered.tables

# The policy of bpf/schedulers/steer.bpf.c that a mode has.
POLICIES = {
    "auto": "steer_thin",
    "active-standby": "steer_plain",
    "priority": "steer_plain",
    "load-balancing": "steer_plain",
    "smallest-delay": "steer_thin",
    "redundant": "steer_redundant",
    "bpf_minrtt": "steer_plain",
    "bpf_ecf": "steer_plain",
    "bpf_blest": "steer_plain",
    "bpf_cfs": "steer_plain",
    "bpf_thin": "steer_thin",
    "bpf_redundant": "steer_redundant",
    "bpf_rr": "steer_plain",
}


def test_a_mode_has_its_policy(tables):
    """On one connection, which changes from each to each."""
    rows = [f"path name {p.name} device {p.name} rank {i} weight 50" for i, p in enumerate(LIKE)]
    found = {}
    with served(*LIKE) as (lab, conn), trace("--netns", lab.server.name) as traced:
        for mode in POLICIES:
            tables(*rows, f"rule mode {mode}")
            seen = len(traced.told)
            download(conn, 64 * KB).finish().acknowledged()
            until(lambda at=seen: len(traced.told) > at, FAR, "traced")
            assert counted(conn)["steer"]["mode"] == mode
            time.sleep(1)
            found[mode] = {e["policy"] for e in traced.told[seen:] if e.get("policy")}
        assert traced.end()["lost"] == 0
    assert found == {mode: {policy} for mode, policy in POLICIES.items()}


NAMED = [mode for mode in POLICIES if mode.startswith("bpf_")]
# They differ in what they copy, and in nothing else.
ALIKE = {"bpf_minrtt", "bpf_thin"}


@pytest.mark.parametrize("mode", NAMED)
def test_a_mode_decides_as_the_scheduler_of_its_name(tables, tmp_path, mode):
    """Each time, by a recording; the others would have decided something else."""
    tables(f"rule mode {mode}")
    file = tmp_path / "recording"
    # from the first decision on: whose turn it is depends on it
    with trace("--record", file) as traced, served(FREE, PAID) as (_, conn):
        chunks(conn, 256 * KB, 3, 0.1)
        assert traced.end()["lost"] == 0
    told = ok("replay", file, *(word for name in NAMED for word in ("--scheduler", name)))
    found = {s["scheduler"]: s["decisions"] - s["same"] for s in told["schedulers"][1:]}
    assert told["decisions"] > 100
    same = {name for name, differ in found.items() if not differ}
    assert same == (ALIKE if mode in ALIKE else {mode}), found


def rtts(*ms):
    """tc's lines that give the paths of LIKE these RTTs."""
    for path, rtt in zip(LIKE, ms, strict=True):
        queue = dataclasses.replace(path, rtt_ms=rtt).queue()
        yield from (f"qdisc change dev {path.name}-{end} root {queue}" for end in "cs")


def messages(conn, count):
    """One after the other; seconds that they took."""
    begun = time.monotonic()
    for _ in range(count):
        download(conn, 2 * KB).finish().acknowledged()
    return time.monotonic() - begun


def test_the_smallest_delay_carries_soon(tables):
    """Each path is the shorter one for some time; by a tenth is not enough."""
    tables("rule mode smallest-delay")
    turns = (20, 100), (100, 20), (20, 100), (20, 18), (20, 16)
    carry = 0, 1, 0, 0, 1
    with served(*LIKE) as (lab, conn), contextlib.ExitStack() as stack:
        change = [stack.enter_context(lab.at_once("tc", *rtts(*ms))) for ms in turns]
        download(conn, MB).finish().acknowledged()
        for turn, path, act in zip(turns, carry, change, strict=True):
            act()
            # three samples of the path in use; a probe of the other one
            took = messages(conn, 15)
            before = given(conn)
            messages(conn, 10)
            shares = [b - a for a, b in zip(before, given(conn), strict=True)]
            assert shares[path] == sum(shares) == 20 * KB, (turn, took, shares)
