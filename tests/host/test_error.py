# SPDX-License-Identifier: GPL-2.0
"""An error says what was being done where it happened (loader/cli/error.h)."""

import json

import pytest
from hostlib import OUT, TOP, TRAPS, make_library

PERMISSION = 4
EXPECTED = [
    ("run", None, "nobody has told", None),
    ("load", "a", "itself", None),
    ("load", "b", "early", None),
    ("load", "c", "late", "a hint"),
    ("unload", "part of x", "late", "a hint"),
    ("unload", "other", "on another object", None),
    ("set", None, "no object", None),
    ("load", "a", "behind the block", None),
    ("load", "a", "in the end", None),
]


@pytest.fixture(scope="module")
def lib():
    flags = [*TRAPS, f"-I{TOP / 'loader'}", "-Wno-unused-parameter"]
    libraries = ["-Wl,--no-as-needed", "-ljson-c"]
    return make_library("error.c", OUT / "error.so", flags=[*flags, *libraries])


def test_as_text(lib, capfd):
    assert lib.fail_everywhere(False) == PERMISSION
    for line, (operation, thing, why, hint) in zip(
        capfd.readouterr().err.splitlines(), EXPECTED, strict=True
    ):
        what = f"{operation} {thing}" if thing else operation
        end = f"; {hint}" if hint else ""
        assert line == f"mptcp-sched: cannot {what}: {why}{end}"


def test_as_json(lib, capfd):
    assert lib.fail_everywhere(True) == PERMISSION
    told = [json.loads(x)["error"] for x in capfd.readouterr().err.splitlines()]
    assert [(e["operation"], e.get("object"), e["reason"], e.get("hint")) for e in told] == EXPECTED
