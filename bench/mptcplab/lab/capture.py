# SPDX-License-Identifier: GPL-2.0
"""tcpdump in a namespace of the lab."""

import contextlib
import os
import signal
import subprocess

from mptcplab.process import LabError

# Enough for what an IPv4 packet has up to the end of its TCP options, behind a cooked header.
SNAP_BYTES = 100


@contextlib.contextmanager
def capture(lab, role, file):
    """What arrives in a namespace, and both sides' SYNs: tcpdump's file."""
    cmd = [
        "tcpdump",
        "--interface=any",
        f"--snapshot-length={SNAP_BYTES}",
        "-w",
        str(file),
        "--time-stamp-precision=nano",
        "tcp and (inbound or tcp[tcpflags] & tcp-syn != 0)",
    ]
    proc = lab.start(role, *cmd, stderr=subprocess.PIPE, text=True)
    try:
        said = proc.stderr.readline()
        while "listening on" not in said:
            if not said:
                raise LabError(f"tcpdump ended, exit status {proc.wait()}")
            said = proc.stderr.readline()
        yield
        os.killpg(proc.pid, signal.SIGINT)
        _, said = proc.communicate(timeout=30)
        dropped = [line.split()[0] for line in said.splitlines() if "dropped by kernel" in line]
        if dropped != ["0"]:
            raise LabError(f"tcpdump lost packets: {said.strip()}")
    finally:
        lab.stop(proc)
        proc.stderr.close()
