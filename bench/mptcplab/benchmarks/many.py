# SPDX-License-Identifier: GPL-2.0
"""What looking costs among many: `show` and `stats` with 1,000 namespaces and 10,000 connections.

The connections run over loopback, so both ends of each are here, with the same scheduler: the
10,000 that the commands find are 5,000 pairs. In virtual time a second is 500 million
instructions. A kernel's table of tokens has its size from the memory: the guest needs 8 GB.

`trace --top` shows decisions of the busiest five, while all of them speak.

Then a rule of bpf_steer changes for all of them at once: each has a byte in both directions
before it, after it, and once more.

Exit status 0: everything was listed, each command in 2 s and 100 MB; `trace` lost no decision, and
showed five connections a second at most; no byte was lost, and after the rule's change the next byte of
each connection went by it.
"""

import argparse
import collections
import concurrent.futures
import json
import threading

from mptcplab import result, schedulers
from mptcplab.lab.crowd import COMMANDS, crowd, speaks
from mptcplab.lab.crowd import run as run_command
from mptcplab.places import OUT
from mptcplab.table import table

SIZES = ((100, 5), (1000, 5))
SCHEDULER = "bpf_ecf"
STEERED = "bpf_steer"
TRACE = ("trace", "--json", "--top", "5", "--limit", "20")
MODES = ("auto", "smallest-delay")  # before and after
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


def trace(namespaces, each, out):
    """What it takes to see some decisions of the busiest, while all speak."""
    enough = threading.Event()

    def talk():
        while not enough.is_set():
            speaks(process)

    with (
        crowd(namespaces, each, SCHEDULER) as process,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        talking = pool.submit(talk)
        try:
            cost = run_command(out, *TRACE)
        finally:
            enough.set()
        talking.result()
    events = [json.loads(line) for line in out.read_text().splitlines()]
    decisions = [e for e in events if e["event"] in ("decision", "copies")]
    return {
        "connections": 2 * namespaces * each,
        "command": " ".join(TRACE),
        "seconds": cost.seconds,
        "peak_kb": cost.peak_kb,
        "decisions": len(decisions),
        "shown": len({e["token"] for e in decisions}),
        "lost": events[-1]["lost"],
    }


def wrong_trace(row):
    what = f"{row['command']} among {row['connections']} connections"
    if row["lost"] or row["decisions"] != int(TRACE[-1]):
        yield f"{what}: {row['decisions']} decisions, {row['lost']} lost"
    if row["shown"] > int(TRACE[3]) * (1 + row["seconds"]):
        yield f"{what}: {row['shown']} connections are shown"
    if row["peak_kb"] > MAX_KB:
        yield f"{what}: {row['peak_kb']} KB, more than {MAX_KB}"


def modes(out):
    """How many connections went by each mode last."""
    run_command(out, "stats", "--json")
    found = json.loads(out.read_text())["connections"]
    return collections.Counter(c["steer"]["mode"] for c in found)


def change(namespaces, each, out):
    """A rule for all of them, while all of them speak: a row each for before and after."""
    with crowd(namespaces, each, STEERED) as process:
        before = speaks(process)
        yield {"rule": "none", "seconds": before, "modes": modes(out)}
        cost = run_command(out, "steer", "rule", "add", "mode", MODES[1])
        yield {"rule": "added", "seconds": speaks(process), "modes": modes(out)}
        yield {"rule": "there", "seconds": speaks(process), "modes": modes(out)}
        yield {"rule": "the command", "seconds": cost.seconds, "modes": None}
        run_command(out, "steer", "flush")


def wrong_modes(rows, connections):
    wanted = {"none": MODES[0], "added": MODES[1], "there": MODES[1]}
    for r in rows:
        mode = wanted.get(r["rule"])
        if mode and r["modes"] != {mode: connections}:
            yield f"rule {r['rule']}: {dict(r['modes'])}, not {connections} by {mode}"


def problems(rows):
    for r in rows:
        what = f"{r['command']} among {r['connections']} connections"
        if r["seconds"] > MAX_SECONDS:
            yield f"{what}: {r['seconds']:.2f} s, more than {MAX_SECONDS}"
        if r["peak_kb"] > MAX_KB:
            yield f"{what}: {r['peak_kb']} KB, more than {MAX_KB}"
        if r["command"] == "stats --json" and r["listed"] != r["connections"]:
            yield f"{what}: {r['listed']} are listed"


def print_costs(rows):
    cells = [
        (
            r["namespaces"],
            r["connections"],
            r["command"],
            f"{r['seconds']:.2f}",
            f"{r['peak_kb'] / 1000:.1f}",
        )
        for r in rows
    ]
    head = ("namespaces", "connections", "command", "seconds", "peak MB")
    print("\n".join(table(head, cells)))


def print_changes(rows):
    cells = [
        (
            r["rule"],
            f"{r['seconds']:.3f}",
            " ".join(f"{mode} {nr}" for mode, nr in (r["modes"] or {}).items()),
        )
        for r in rows
    ]
    print("\n".join(table(("rule", "seconds", "connections by mode"), cells)))


def run(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench many",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    p.parse_args(argv)
    print(result.heading())
    for name in (SCHEDULER, STEERED):
        schedulers.mptcp_sched("load", name)
    out = OUT / "many.out"
    OUT.mkdir(parents=True, exist_ok=True)
    rows = [row for size in SIZES for row in measure(*size, out)]
    traced = trace(*SIZES[-1], out)
    changes = list(change(*SIZES[-1], out))
    out.unlink()
    print_costs(rows)
    print(
        "{command}: {decisions} decisions of {shown} connections, {lost} lost; "
        "{seconds:.2f} s, {peak_kb} KB".format(**traced)
    )
    print_changes(changes)
    found = [
        *problems(rows),
        *wrong_trace(traced),
        *wrong_modes(changes, 2 * SIZES[-1][0] * SIZES[-1][1]),
    ]
    result.save("many", rows=rows, trace=traced, changes=changes, problems=found)
    return result.status("many", found)
