# SPDX-License-Identifier: GPL-2.0
"""What the command says: written as a whole, or its exit status tells."""

import json
import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROGRAM = TOP / "build/mptcp-sched"
FAILED, USAGE = 1, 2
SAYING = (["list"], ["list", "--json"], ["help"], ["help", "--json"], ["--version"], ["load", "-h"])


@pytest.fixture(scope="module", autouse=True)
def program():
    subprocess.run(["make", "-s", "loader"], cwd=TOP, check=True, capture_output=True)


def said(words, stdout):
    return subprocess.run(
        [PROGRAM, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False
    )


@pytest.mark.parametrize("words", SAYING, ids=" ".join)
def test_a_full_disk(words):
    """Or a table that was cut would be taken for a whole one, and be read again."""
    with open("/dev/full", "w") as full:
        done = said(words, full)
    assert done.returncode == FAILED
    assert done.stderr.count("not all of it could be written: ") == 1


@pytest.mark.parametrize("words", SAYING, ids=" ".join)
def test_who_reads_has_gone(words):
    read, write = os.pipe()
    os.close(read)
    # as in a shell that ignores SIGPIPE, and in Python's own children
    with os.fdopen(write, "w") as pipe:
        done = subprocess.run(
            [PROGRAM, *words],
            stdout=pipe,
            stderr=subprocess.PIPE,
            restore_signals=False,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_option_among_letters():
    for words in (["list", "-xj"], ["list", "-jx"], ["--json", "list", "-x"]):
        done = said(["--json", *words] if "--json" not in words else words, subprocess.DEVNULL)
        error = json.loads(done.stderr)["error"]
        assert done.returncode == USAGE and error["object"] == "-x", words
    error = json.loads(said(["--json", "list", "--json=5"], subprocess.DEVNULL).stderr)["error"]
    assert error["object"] == "--json=5"
