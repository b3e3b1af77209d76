# SPDX-License-Identifier: GPL-2.0
"""Steering: the names and the row that a mode, a path and a wish have."""

import ctypes
import re

import hostlib
import pytest
from steering import LAST, METERED, library

SCHEDULERS = hostlib.TOP / "bpf" / "schedulers"


@pytest.fixture(scope="module")
def lib():
    return library()


def test_a_row_is_kept_where_it_is_sure(lib):
    """By the connection's own tables, with a route, and as long as the subflow is as it was."""
    unsure, two = 256, ctypes.c_uint32 * 2
    for found, backup, current, row in (
        (3, (0, 0), (1, 1), 3),
        (64, (1, 1), (1, 1), 64),
        (127, (0, 0), (1, 1), 127),
        (3, (0, 1), (1, 1), -1),
        (3, (1, 0), (1, 1), -1),
        (3 | unsure, (0, 0), (1, 1), -1),
        (127 | unsure, (0, 0), (1, 1), -1),
        (3, (0, 0), (0, 1), -1),
        (3, (0, 0), (1, 0), -1),
    ):
        assert lib.kept(found, two(*backup), two(*current)) == row, (found, backup, current)


def test_a_named_mode_has_its_scheduler_s_limits(lib):
    """bpf_redundant has none of them; of the others queue_cap differs."""
    table = (hostlib.INCLUDE / "state" / "steer.h").read_text()
    names = re.findall(r'X\(\w+, "([\w-]+)", (\w+), "', table)
    assert names[:2] == [("auto", "THIN"), ("active-standby", "RANKS")]
    own = 0
    for mode, (name, policy) in enumerate(names):
        source = SCHEDULERS / f"{name.removeprefix('bpf_')}.bpf.c"
        if source.exists() and policy != "REDUNDANT":
            limits = re.search(r"^MPS_COMMON_TUNABLES\((.*)\)", source.read_text(), re.MULTILINE)[1]
            assert limits == f"500, {lib.queue_cap(mode)}, 1", name
            own += 1
        elif policy == "RANKS":
            assert lib.queue_cap(mode) == 1
    assert own == 7
    steer = (SCHEDULERS / "steer.bpf.c").read_text()
    assert "MPS_COMMON_TUNABLES(500, 2, 1)" in steer
    assert re.search(r"MPS_POLICY\(steer_redundant,[^;]*everywhere = true", steer)
    assert "MPS_COMMON_TUNABLES(0, 0, 0)" in (SCHEDULERS / "redundant.bpf.c").read_text()


def test_effective_ranks(lib):
    assert [lib.rank_of(0, 0, 0, backup) for backup in (0, 1)] == [0, LAST]
    # a row's rank takes the place of the flag
    assert [lib.rank_of(1, 3, 0, backup) for backup in (0, 1)] == [3, 3]
    assert lib.rank_of(1, 99, 2, 0) == METERED + 99 < LAST


def test_what_an_option_asks_for(lib):
    """A whole name of the table, or nothing."""
    table = (hostlib.INCLUDE / "state" / "steer.h").read_text()
    names = re.findall(r'X\(\w+, "([\w-]+)", \w+, "', table)
    assert len(names) > 10
    for i, name in enumerate(names, 1):
        assert len(name) < 16
        assert lib.wish_of(name.encode().ljust(16, b"\0")) == i
        for other in (name[:-1], name + "x", name.upper(), "\0" + name):
            wanted = 0 if other[0] == "\0" else len(names) + 1
            assert lib.wish_of(other.encode().ljust(16, b"\0")[:16]) == wanted, other
    assert lib.wish_of(bytes(16)) == 0
