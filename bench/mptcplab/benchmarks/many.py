# SPDX-License-Identifier: GPL-2.0
"""What looking costs among many: `show` and `stats` with 1,000 namespaces and 10,000 connections.

The connections run over loopback, so both ends of each are here, with the same scheduler: the
10,000 that the commands find are 5,000 pairs. In virtual time a second is 500 million
instructions. A kernel's table of tokens has its size from the memory: the guest needs 8 GB.

Exit status 0: everything was listed, each command in 2 s and 100 MB.
"""

import argparse
import json

from mptcplab import result, schedulers
from mptcplab.lab.crowd import COMMANDS, crowd
from mptcplab.lab.crowd import run as run_command
from mptcplab.places import OUT
from mptcplab.table import table

SIZES = ((100, 5), (1000, 5))
SCHEDULER = "bpf_ecf"
MAX_SECONDS = 2
MAX_KB = 100_000


def listed(out):
    document = json.loads(out.read_text())
    return len(document.get("connections", document.get("namespaces", ())))


def measure(namespaces, each, out):
    """One row per command."""
    with crowd(namespaces, each, SCHEDULER):
        for command in COMMANDS:
            cost = run_command(out, *command)
            yield {
                "namespaces": namespaces,
                "connections": 2 * namespaces * each,
                "command": " ".join(command),
                "seconds": cost.seconds,
                "peak_kb": cost.peak_kb,
                "listed": listed(out) if "--json" in command else None,
            }


def problems(rows):
    for r in rows:
        what = f"{r['command']} among {r['connections']} connections"
        if r["seconds"] > MAX_SECONDS:
            yield f"{what}: {r['seconds']:.2f} s, more than {MAX_SECONDS}"
        if r["peak_kb"] > MAX_KB:
            yield f"{what}: {r['peak_kb']} KB, more than {MAX_KB}"
        if r["command"] == "stats --json" and r["listed"] != r["connections"]:
            yield f"{what}: {r['listed']} are listed"


def run(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench many",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    p.parse_args(argv)
    print(result.heading())
    schedulers.mptcp_sched("load", SCHEDULER)
    out = OUT / "many.out"
    OUT.mkdir(parents=True, exist_ok=True)
    rows = [row for size in SIZES for row in measure(*size, out)]
    out.unlink()
    head = ("namespaces", "connections", "command", "seconds", "peak MB")
    print(
        "\n".join(
            table(
                head,
                [
                    (
                        r["namespaces"],
                        r["connections"],
                        r["command"],
                        f"{r['seconds']:.2f}",
                        f"{r['peak_kb'] / 1000:.1f}",
                    )
                    for r in rows
                ],
            )
        )
    )
    found = list(problems(rows))
    result.save("many", rows=rows, problems=found)
    return result.status("many", found)
