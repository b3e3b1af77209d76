# SPDX-License-Identifier: GPL-2.0
"""The guests' tests can be found: a name that moved shows here, not after the kernels have booted."""

import os
import subprocess
import sys

import pytest
from hostlib import TOP


@pytest.mark.parametrize("marks", ["virtual_time", "not virtual_time"])
def test_every_module_of_the_guests_is_found(marks):
    words = ("--collect-only", "-q", "-p", "no:cacheprovider", "-m", marks, "tests/guest")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=TOP,
        env=os.environ | {"PATH": f"{TOP / 'build'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
