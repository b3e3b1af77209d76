# SPDX-License-Identifier: GPL-2.0
"""Cgroups that tests make and remove."""

import contextlib
import secrets
import subprocess
from pathlib import Path


class Cgroup:
    """One of a test, below the root."""

    def __init__(self):
        self.name = f"/t-steer-{secrets.token_hex(4)}"
        self.path = Path(f"/sys/fs/cgroup{self.name}")
        self.path.mkdir()

    def close(self):
        self.path.rmdir()

    def enter(self, pid=0):
        (self.path / "cgroup.procs").write_text(str(pid))

    @contextlib.contextmanager
    def inside(self):
        """This process: a socket is of the cgroup in which it is made."""
        home = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip()
        self.enter()
        try:
            yield
        finally:
            Path(f"/sys/fs/cgroup{home}/cgroup.procs").write_text("0")

    def run(self, *words):
        return subprocess.run(
            list(map(str, words)),
            preexec_fn=self.enter,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
