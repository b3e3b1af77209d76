# SPDX-License-Identifier: GPL-2.0
"""Cgroups and network namespaces in rules: those of the tables in steer_rows.c."""

import ctypes

import pytest
from rowlib import FAILED, Rows

CGROUP2, TMPFS = 0x63677270, 0x01021994


@pytest.fixture(scope="module")
def rows():
    return Rows()


# words, as they are printed
OBJECTS = {
    "cgroup /a/b": "cgroup /a/b",
    "cgroup a/b/": "cgroup /a/b",
    "cgroup /sys/fs/cgroup/a": "cgroup /a",
    "cgroup id:12": "cgroup /a/b",
    "cgroup id:13": "cgroup id:13",  # with a blank
    "cgroup id:14": "cgroup id:14",
    "cgroup id:99": "cgroup id:99",  # gone
    "cgroup /1/2/3/4/5/6/7/8": "cgroup /1/2/3/4/5/6/7/8",
    "netns blue": "netns blue",
    "netns /run/netns/blue": "netns blue",
    "netns net:[100]": "netns blue",
    "netns net:[101]": "netns net:[101]",
    "netns net:[102]": "netns net:[102]",
    "netns 77": "netns 77",
    "netns 5": "netns 77",
    "netns 6": "netns /var/run/docker/netns/x",
    "netns 7": "netns net:[105]",
    "netns 9": "netns net:[107]",
    "netns net:[108]": "netns /run/netns/net:[100]",
    "netns mode": "netns mode",
    "netns net:[99]": "netns net:[99]",
}


@pytest.mark.parametrize("line", OBJECTS)
def test_objects_are_printed_as_they_are_read(rows, line):
    """By what stays: a path and not a process, and the number where nothing else can be read."""
    printed = f"{OBJECTS[line]} mode auto"
    assert rows.read(f"{line} mode auto") == ("", printed)
    assert rows.read(printed, at=1) == ("", printed)
    assert rows.lib.covers(False)


def test_what_is_gone_is_known(rows):
    assert [rows.lib.object_is_there(True, n) for n in (12, 13, 99)] == [True, True, False]
    assert [rows.lib.object_is_there(False, n) for n in (100, 105, 99)] == [True, True, False]
    rows.set(ctypes.c_bool, "may_look", False)
    assert rows.lib.object_is_there(False, 99), "it cannot be told"
    rows.set(ctypes.c_bool, "may_look", True)


# what the walk meets
UNSEEN = {
    "a cgroup namespace": {"cgroup_root": ctypes.c_ulong(3)},
    "cgroup2 is elsewhere": {"cgroup_magic": ctypes.c_long(TMPFS)},
    "a cgroup that goes meanwhile": {"walk_ends": ctypes.c_uint(2)},
    "a directory of others": {"unreadable": ctypes.c_char_p(b"/1/2")},
}


@pytest.mark.parametrize("case", UNSEEN)
def test_what_could_not_be_seen_is_not_gone(case, tmp_path):
    """Not even what is nowhere: in a cgroup namespace no cgroup of the machine is seen."""
    # each has a library of its own, since the machine is walked once
    rows = Rows(tmp_path / "rows.so")
    for name, value in UNSEEN[case].items():
        rows.set(type(value), name, value.value)
    assert rows.lib.object_is_there(True, 12) and rows.lib.object_is_there(True, 99)
    assert rows.lib.text_of_cgroup(99) == b"id:99"


def test_the_root_has_its_name(rows):
    assert rows.lib.object_is_there(True, 1) and rows.lib.text_of_cgroup(1) == b"/"
    # a rule for it would match all
    assert rows.read("cgroup id:1 mode auto")[0]


def test_the_machine_is_walked_once(rows):
    for _ in range(10):
        assert rows.read("cgroup id:12 netns net:[100] mode auto")[0] == ""
    assert ctypes.c_uint.in_dll(rows.lib, "walks").value == 2


@pytest.mark.parametrize(
    ("name", "kind", "value", "usual", "why"),
    [
        ("cgroup_magic", ctypes.c_long, TMPFS, CGROUP2, "is not of cgroup v2"),
        ("cgroup_root", ctypes.c_ulong, 3, 1, "that of a cgroup namespace"),
        ("cgroup_errno", ctypes.c_int, 2, 0, "/sys/fs/cgroup: No such file"),
    ],
)
def test_levels_are_counted_from_the_root(rows, name, kind, value, usual, why):
    rows.set(kind, name, value)
    said = rows.read("cgroup /a mode auto")[0]
    rows.set(kind, name, usual)
    assert why in said and rows.code == FAILED


def test_a_cgroup_matches_all_below_it(rows):
    for inner in ("/a/b", "id:12", "id:13", "id:15"):
        for outer in ("/a", "/a/b"):
            assert rows.compare(f"cgroup {outer} mode auto", f"cgroup {inner}") == ("", "")
    for line in ("/a", "/1/2", "id:99"):
        assert rows.compare("cgroup /a/b mode auto", f"cgroup {line}") == ("cgroup /a/b", "")
    assert rows.compare("cgroup id:13 mode auto", "cgroup id:15") == ("", "")
