# SPDX-License-Identifier: GPL-2.0
"""The download after a pause, over long and fast paths: how far did the windows fall?

A connection carries as many bytes as the windows need to open, is idle for a while, and carries the
same again, which is what is timed. Plain TCP does so over each path alone; the better one counts.
Each path's queue holds a round trip of data. Beside the time: how often
windows were restarted then, and how often that ended at the initial window of 10 segments.

Exit status 0: all data was right, every scheduler was in use.
"""

import argparse
import dataclasses
import random
import time

from mptcplab import result, schedulers
from mptcplab.lab import cwnd, transfer
from mptcplab.lab.netlab import GSO, Lab
from mptcplab.path import of_cell
from mptcplab.process import LabError
from mptcplab.table import number, table

CELLS = ("100@60", "20@400", "20/100@20/60", "2/20@5/400")
WORDS = ("tcp", "default", "bpf_minrtt", "bpf_ecf")
SIZE_MB = 3
PAUSE_S = 1.0
SENDER = "server"
NAMES = ("path1", "path2")


def paths_of(cell):
    return of_cell(cell, NAMES)


def restarts(read):
    """How often windows became smaller after idle times, and fell to the initial one, so far."""
    counts = read().values()
    fell = sum(c["idle"] for c in counts)
    return [fell + sum(c["idle_smaller"] for c in counts), fell]


def measure(paths, choice, data, args):
    """(seconds before and after the pause, restarts of windows after it), problems"""
    problems = []
    with Lab(paths, gso=args.gso) as lab, cwnd.probe() as read:
        if not choice.is_tcp:
            schedulers.use(lab, choice, SENDER)
        with transfer.connection(lab, mptcp=not choice.is_tcp) as ends:
            runs = []
            for wait in (0, args.pause):
                time.sleep(wait)
                before = restarts(read)
                runs.append(transfer.transfer(lab, SENDER, [(ends, data)]))
                count = [b - a for a, b in zip(before, restarts(read), strict=True)]
            if not choice.is_tcp:
                problems += schedulers.check_in_use(lab, choice, SENDER)
    if not all(run["verified"] for run in runs):
        problems.append("not the data that was sent")
    return (*(run["seconds"] for run in runs), count), problems


def best_alone(paths, choice, data, args):
    """Plain TCP over the path on which it is faster after the pause."""
    tried = [measure([path], choice, data, args) for path in paths]
    return min(tried, key=lambda one: one[0][1])


def measure_cell(cell, chosen, data, args):
    paths = paths_of(cell)
    rows, problems = [], []
    for choice in chosen:
        one = best_alone if choice.is_tcp else measure
        try:
            (fresh, after, count), bad = one(paths, choice, data, args)
        except LabError as e:
            problems.append(f"{cell}, {choice.word}: {e}")
            continue
        problems += [f"{cell}, {choice.word}: {text}" for text in bad]
        row = {"cell": cell, "scheduler": choice.word, "fresh": fresh, "after": after}
        rows.append(row | {"restarts": count[0], "to_initial": count[1]})
    base = next((r["after"] for r in rows if r["scheduler"] == schedulers.TCP), None)
    for row in rows:
        row["over_tcp"] = base and row["after"] / base
    return rows, problems


def lines_of(rows):
    head = ("Mbit/s@ms", "scheduler", "fresh s", "after the pause s", "x TCP", "restarts", "to 10")
    yield from table(
        head,
        [
            (
                r["cell"],
                r["scheduler"],
                f"{r['fresh']:.3f}",
                f"{r['after']:.3f}",
                number(r["over_tcp"], ".2f"),
                r["restarts"],
                r["to_initial"],
            )
            for r in rows
        ],
    )


def run(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench pause",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    add = p.add_argument
    add("--cell", action="append", metavar="MBIT/...@MS/...", help="as 20/100@20/60, or 20@400")
    add("--scheduler", action="append", metavar="WORD", help=schedulers.SPELLING)
    add("--size", type=float, default=SIZE_MB, help=f"MB ({SIZE_MB})")
    add("--pause", type=float, default=PAUSE_S, help=f"seconds ({PAUSE_S:g})")
    add("--gso", action="store_true", help=GSO)
    args = p.parse_args(argv)
    args.cell = args.cell or list(CELLS)
    chosen = schedulers.choices(args.scheduler or list(WORDS))
    data = random.Random(1).randbytes(round(args.size * 1e6))
    how = ", GSO" if args.gso else ""
    print(f"{result.heading()}: {args.size:g} MB, {args.pause:g} s after as many{how}")
    rows, problems = [], []
    for cell in args.cell:
        found, bad = measure_cell(cell, chosen, data, args)
        rows += found
        problems += bad
    print("\n".join(lines_of(rows)))
    result.save(
        "pause",
        arguments=vars(args),
        paths={c: [dataclasses.asdict(path) for path in paths_of(c)] for c in args.cell},
        tunables=schedulers.tunables(chosen),
        results=rows,
        problems=problems,
    )
    return result.status("pause", problems)
