# SPDX-License-Identifier: GPL-2.0
"""--set and set reach the program; test_errors.py has what is refused besides."""

import json
import time

import pytest
from command import ok, sched, stats_of, total
from lab import Path, run
from traffic import connection, info, upload

FIXED = "copy"


def in_kernel(section):
    """Numbers of bpf_ecf by their names, out of the loaded object's data."""
    text = run("bpftool", "-j", "map", "dump", "name", f"bpf_ecf.{section}").stdout
    (item,) = json.loads(text)
    if "formatted" in item:
        item = item["formatted"]
    (found,) = item["value"].values()
    return {name: value for var in found for name, value in var.items()}


def beta_in_kernel():
    return in_kernel("data")["beta"]


def test_beta(none_loaded):
    ok("load", "bpf_ecf", "--set", "beta=0.5")
    assert beta_in_kernel() == 500
    ok("unload", "bpf_ecf")


def test_without_set_it_is_the_default(both_loaded):
    assert beta_in_kernel() == 250
    (ecf,) = (s for s in ok("list")["schedulers"] if s["name"] == "bpf_ecf")
    defaults = {t["name"]: t["default"] for t in ecf["tunables"]}
    assert defaults["beta"] == 0.25
    assert defaults["copy"] == 1
    text = sched("list", "--verbose").out
    assert "beta" in text and "0.25" in text


def values(name):
    return {t["name"]: t["value"] for t in ok("get", name)["tunables"]}


def test_set_and_get(none_loaded):
    ok("load", "bpf_ecf", "--set", "beta=0.5", "--set", "copy=0")
    start = values("bpf_ecf")
    assert (start["beta"], start["copy"], start["more_data"]) == (0.5, 0, 0.25)
    done = ok("set", "bpf_ecf", "beta=0.125", "slow_start=0")
    assert done["changed"] == [
        {"name": "beta", "before": 0.5, "value": 0.125},
        {"name": "slow_start", "before": 1, "value": 0},
    ]
    assert beta_in_kernel() == 125
    assert in_kernel("rodata")["copy"] == 0
    assert values("bpf_ecf") == start | {"beta": 0.125, "slow_start": 0}
    assert sched("get", "bpf_ecf", "beta").out == "0.125\n"
    (one,) = ok("get", "bpf_ecf", "copy")["tunables"]
    assert one["live"] is False and one["value"] == 0
    text = sched("get", "bpf_ecf").out
    assert "0.125" in text and "hysteresis" in text
    # the next one begins anew
    ok("unload", "bpf_ecf")
    ok("load", "bpf_ecf")
    assert values("bpf_ecf") == start | {"beta": 0.25, "copy": 1}


REFUSED = {
    "fixed at load": (["copy=0"], "copy is fixed at load", "unload"),
    "a good one and a fixed one": (
        ["beta=1", "copy=0"],
        "copy is fixed at load",
        "--set copy",
    ),
    "a good one and one out of range": (
        ["beta=1", "more_data=2"],
        "more_data=2: out of range",
        "0 to 1",
    ),
    "too fine": (["beta=0.00001"], "finer", "beta"),
    "no number": (["beta=nan"], "not a decimal number", "list --verbose"),
    "twice": (["beta=1", "beta=2"], "beta is given twice", "leave one"),
    "unknown": (["beta=1", "gamma=1"], "no tunable gamma", "beta"),
    "former name": (
        ["beta=1", "grow=0"],
        "no tunable grow: it is called slow_start now",
        "slow_start",
    ),
    "malformed": (["beta=1", "slow_start"], "slow_start is not NAME=VALUE", "list --verbose"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_changes_where_one_is_refused(case, _shared):
    words, reason, remedy = REFUSED[case]
    _shared.need("bpf_ecf")
    before = values("bpf_ecf")
    result = sched("--json", "set", "bpf_ecf", *words)
    assert result.code == (2 if case in ("no number", "twice", "malformed") else 1)
    assert reason in result.error["reason"]
    assert remedy in result.error["hint"]
    assert result.out == ""
    assert values("bpf_ecf") == before


def test_what_is_fixed_is_frozen_in_the_kernel(_shared):
    """Not only refused: nobody can write it, so the verifier may rely on it."""
    _shared.need("bpf_ecf")
    shown = json.loads(run("bpftool", "-j", "map", "show", "name", "bpf_ecf.rodata").stdout)
    assert shown["frozen"] == 1
    live = {t["name"]: t["live"] for t in ok("get", "bpf_ecf")["tunables"]}
    assert [name for name in live if not live[name]] == [FIXED]


def test_a_live_change_shows_in_the_next_decisions(labs, none_loaded):
    """Probes of an idle path cease and come again, on one connection that lives on."""
    ok("load", "bpf_thin", "--set", "copy=0")
    lab = labs(Path(20, 10), Path(20, 60)).endpoints()
    lab.client.scheduler = "bpf_thin"

    def probed(conn, seconds):
        token = info(conn.client).token
        before = total(stats_of(token), "bytes_copied")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            conn.client.sendall(b"x" * 100)
            assert conn.server.recv(1000)
            time.sleep(0.03)
        return total(stats_of(token), "bytes_copied") - before

    with connection(lab) as conn:
        conn.client.sendall(b"x")  # what has decided nothing has no counters
        assert conn.server.recv(1)
        assert probed(conn, 2) > 0
        ok("set", "bpf_thin", "probe_after=0")
        probed(conn, 0.5)  # what was asked for before
        assert probed(conn, 2) == 0
        ok("set", "bpf_thin", "probe_after=2")
        assert probed(conn, 2) > 0


def test_a_file_of_a_users_own(compiled, none_loaded):
    """Its object describes its tunables, also when nothing but the kernel knows them."""
    ok("load", compiled("asking"))
    assert values("t_asking")["unused"] == 1.5
    ok("set", "t_asking", "unused=2")
    assert values("t_asking")["unused"] == 2
    ok("unload", "t_asking")


@pytest.fixture(scope="module")
def pair(shared_lab):
    return shared_lab(Path(50, 10), Path(50, 30))


def test_every_live_tunable_at_both_ends(pair, every):
    """Set while a connection is at work: its data arrives, whatever the value."""
    start = ok("get", every)["tunables"]
    live = [t for t in start if t["live"]]
    assert live
    with pair.lent(every) as lab, connection(lab.endpoints()) as conn:
        for t in live:
            for end in ("min", "max"):
                ok("set", every, f"{t['name']}={t[end]}")
                assert values(every)[t["name"]] == t[end]
                upload(conn, 50_000).finish()
            ok("set", every, f"{t['name']}={t['value']}")
    assert ok("get", every)["tunables"] == start
