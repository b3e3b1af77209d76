#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs one of the kernel's selftests in a guest, under one scheduler.

in_guest.py DIRECTORY SCHEDULER SCRIPT [ARGUMENT...]

What the script prints goes to stdout; the last line is one of JSON, beginning with MARK: the script's
exit status, the seconds that it took on the guest's clock, and how often the scheduler was asked,
by the kernel's own count of its program's runs.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

MARK = "SELFTEST "
DEFAULT = "default"
BIN = Path(__file__).resolve().parent / "bin"


def programs():
    """The loaded programs of struct_ops, as the kernel describes them."""
    said = subprocess.run(
        ["bpftool", "--json", "prog", "show"], capture_output=True, text=True, check=True
    ).stdout
    return [p for p in json.loads(said) if p["type"] == "struct_ops"]


def asked():
    """How often the kernel has run the hooks that choose a subflow."""
    return {p["name"]: p.get("run_cnt", 0) for p in programs()}


def prepare(name):
    if name == DEFAULT:
        return
    subprocess.run(["mptcp-sched", "load", name], check=True)
    # From now on the kernel counts each program's runs.
    Path("/proc/sys/kernel/bpf_stats_enabled").write_text("1")


def run(directory, name, script, *arguments):
    prepare(name)
    environment = {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "SELFTESTS_SCHEDULER": name,
        "NO_COLOR": "1",
        # What the scripts excuse as flaky under the default counts here.
        "SELFTESTS_MPTCP_LIB_OVERRIDE_FLAKY": "1",
    }
    begun = time.monotonic()
    done = subprocess.run(
        ["bash", f"./{script}.sh", *arguments],
        cwd=Path(directory) / "mptcp",
        env=environment,
        stderr=subprocess.STDOUT,
        check=False,
    )
    told = {
        "status": done.returncode,
        "seconds": round(time.monotonic() - begun, 1),
        "asked": {} if name == DEFAULT else asked(),
    }
    print(f"{MARK}{json.dumps(told)}", flush=True)


if __name__ == "__main__":
    run(*sys.argv[1:])
