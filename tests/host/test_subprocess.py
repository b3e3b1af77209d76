# SPDX-License-Identifier: GPL-2.0
"""Other programs as the command runs them (loader/cli/subprocess.c)."""

import errno
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hostlib import OUT, TOP, TRAPS, make_library

LIMIT_MS = 500
# By itself: what goes too far ends all children of its process.
RUN = """
import ctypes, os, sys

class Answer(ctypes.Structure):
    _fields_ = [("out", ctypes.c_char_p), ("said", ctypes.c_char * 200), ("status", ctypes.c_int)]

words = (ctypes.c_char_p * 4)(b"sh", b"-c", sys.argv[2].encode(), None)
answer = Answer()
limits = (ctypes.c_uint(int(sys.argv[3])), ctypes.c_size_t(1000))
err = ctypes.CDLL(sys.argv[1]).subprocess_run(ctypes.byref(answer), b"/bin/sh", words, *limits)
print(os.getpgrp(), err, answer.status, (answer.out or b"").decode(), end="")
"""


@pytest.fixture(scope="module")
def library():
    flags = [*TRAPS, "-D_GNU_SOURCE", f"-I{TOP / 'loader'}"]
    make_library(TOP / "loader/cli/subprocess.c", OUT / "subprocess.so", flags=flags)
    return OUT / "subprocess.so"


class Mark:
    """In the environment of all that a test begins."""

    def __init__(self):
        self.text = f"MPS_MARK={secrets.token_hex(8)}"

    def processes(self):
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if self.text.encode() in environ.read_bytes():
                    found.append(int(environ.parent.name))
            except OSError:
                continue  # it has just ended
        return found


@pytest.fixture
def mark():
    made = Mark()
    yield made
    for pid in made.processes():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def shell(library, mark):
    """shell(words): its process group, how it ended, the exit status, what it printed."""

    def run(words, limit_ms=LIMIT_MS):
        name, _, value = mark.text.partition("=")
        done = subprocess.run(
            [sys.executable, "-c", RUN, library, words, str(limit_ms)],
            env={**os.environ, name: value},
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
            check=True,
        )
        group, err, status, out = done.stdout.split(" ", 3)
        return int(group), int(err), int(status), out

    return run


TOO_LONG = {
    "one": "sleep 60",
    "a pipeline": "sleep 60 | sleep 60 | cat",
    "one below the other": "sh -c 'sh -c \"sleep 60; true\" | cat' | cat; true",
    "in a session of its own": "setsid sh -c 'sleep 60; true' | cat",
    "one that goes on beginning others": "while :; do sleep 0.01 | cat; done | cat",
    "one that does not want to end": "trap '' TERM HUP INT; sleep 60 | cat; sleep 60",
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_what_takes_too_long_ends_whole(case, shell, mark):
    _, err, *_ = shell(TOO_LONG[case])
    assert err == -errno.ETIME
    assert mark.processes() == []


def test_so_does_what_says_too_much(shell, mark):
    _, err, *_ = shell("yes | cat", limit_ms=60_000)
    assert err == -errno.EFBIG
    assert mark.processes() == []


def test_what_is_left_behind_in_time_stays(shell, mark):
    """As the master of ssh's connections, which its next call takes."""
    _, err, status, out = shell("sleep 60 >/dev/null 2>&1 & echo done; exit 3", limit_ms=60_000)
    assert (err, status, out) == (0, 3, "done\n")
    assert len(mark.processes()) == 1


def test_it_may_ask_on_the_terminal(shell):
    """Which is for the process group in front."""
    group, err, _, out = shell("cut -d ' ' -f 5 /proc/self/stat", limit_ms=60_000)
    assert (err, int(out)) == (0, group)
