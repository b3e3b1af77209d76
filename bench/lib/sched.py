# SPDX-License-Identifier: GPL-2.0
"""The command mptcp-sched, as benchmarks and the demo use it."""

import json
import os
import shutil
from pathlib import Path

from netlab import LabError, check

BUILT = Path(__file__).resolve().parents[2] / "build" / "mptcp-sched"


def command():
    """The installed command, or the one that was built here."""
    found = os.environ.get("MPTCP_SCHED") or shutil.which("mptcp-sched")
    if not found and BUILT.exists():
        found = str(BUILT)
    if not found:
        raise LabError("no mptcp-sched: `make install` or MPTCP_SCHED=PATH")
    return found


def mptcp_sched(*args):
    """Runs it with --json and returns what it said."""
    text = check([command(), *args, "--json"])
    return json.loads(text) if text.strip() else {}


def use(lab, name, role="server"):
    """Selects a scheduler in a namespace of the lab, loading it where needed."""
    return mptcp_sched("use", name, "--netns", lab.names[role])


def connection(lab, role="server"):
    """Statistics of the one connection there; None where its scheduler keeps none."""
    found = mptcp_sched("stats", "--netns", lab.names[role])["connections"]
    # A connection that ends may still be there for a moment.
    live = [c for c in found if c["state"] == "established"]
    if len(live) > 1:
        raise LabError(f"{len(live)} connections where there should be one")
    return live[0] if live else None


def tunables(names):
    """What each scheduler was loaded with, as `list` tells it."""
    listed = mptcp_sched("list", "--verbose")["schedulers"]
    return {s["name"]: s.get("tunables", []) for s in listed if s["name"] in names}
