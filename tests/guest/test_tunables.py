# SPDX-License-Identifier: GPL-2.0
"""--set reaches the program; test_errors.py has what is refused."""

import json
import struct

from command import ok, sched
from lab import run


def beta_in_kernel():
    """Beta in thousandths, out of the loaded object's read-only data."""
    text = run("bpftool", "-j", "map", "dump", "name", "bpf_ecf.rodata").stdout
    (item,) = json.loads(text)
    if "formatted" in item:
        item = item["formatted"]
    if isinstance(item["value"], dict):
        (section,) = item["value"].values()
        return next(v["beta"] for v in section if "beta" in v)
    raw = bytes(int(b, 16) for b in item["value"])
    return struct.unpack_from("=I", raw)[0]


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
