# SPDX-License-Identifier: GPL-2.0
"""Commands that the lab runs."""

import subprocess


class LabError(RuntimeError):
    """A command that sets the lab up failed."""


def check(cmd, **kw):
    """Runs a command; its output, or LabError with what it said."""
    done = subprocess.run(cmd, text=True, capture_output=True, check=False, **kw)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise LabError(f"{' '.join(cmd)}: exit status {done.returncode}: {said}")
    return done.stdout
