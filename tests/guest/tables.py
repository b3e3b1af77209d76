# SPDX-License-Identifier: GPL-2.0
"""Steering's tables, as the command takes and prints them."""

import functools
from pathlib import Path

import pytest
from command import ok, sched

NAME = "bpf_steer"
ACCOUNTS = Path("/var/lib/mptcp-sched/accounts")


@pytest.fixture
def loaded(_shared):
    """For tests that share it; the tables are empty behind each."""
    _shared.need(NAME)
    yield
    steer("flush")


@pytest.fixture
def file(tmp_path):
    """file(text): a path to it."""
    return functools.partial(write, tmp_path)


@pytest.fixture
def steer_loaded():
    """Without accounts of another test, and gone with its own."""
    ACCOUNTS.unlink(missing_ok=True)
    ok("load", NAME)
    yield
    ok("unload", NAME, "--force")
    ACCOUNTS.unlink(missing_ok=True)


def steer(text, **options):
    return ok("steer", *text.split(), **options)


def lines():
    """As the command prints the tables, and reads them."""
    result = sched("steer", "list")
    assert result.code == 0, result.err
    return result.out


def write(folder, text):
    path = folder / "tables"
    path.write_text(text)
    return path


def replace(folder, lines):
    """These lines are the tables; the file is left in the folder."""
    return steer(f"replace {write(folder, ''.join(f'{line}\n' for line in lines))}")
