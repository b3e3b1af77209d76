# SPDX-License-Identifier: GPL-2.0
"""Stress: 100 MB with each scheduler over two paths that lose 2 % of the packets, let 20 % overtake
others, and fail for a quarter of each second, by turns.

The server sends. Nothing but the paths bounds the rate, so losses do, and what is seen is whether
data and connections survive: how fast that is decides nothing. A transfer is stuck when nothing
arrives for two minutes.

Exit status 0: all data was right, every scheduler was in use, the kernel did not complain.
"""

import argparse
import contextlib
import dataclasses
import random

from mptcplab import result, schedulers
from mptcplab.lab import transfer
from mptcplab.lab.kernellog import complaints
from mptcplab.lab.netlab import Lab
from mptcplab.lab.shaper import Shaper
from mptcplab.path import Path as NetPath
from mptcplab.process import LabError
from mptcplab.table import number, table

SIZE_MB = 100
SENDER = "server"
PATHS = tuple(
    NetPath(name, mbit=None, rtt_ms=rtt_ms, limit=1000, loss=2, reorder=20)
    for name, rtt_ms in (("one", 4), ("two", 8))
)
PERIOD = 1.0  # s, in which each path fails once
DOWN = 0.25  # s of it


class Flapping(Shaper):
    """Each path swallows everything for a quarter of a period, one after the other."""

    failures = 0

    def run(self):
        pause = PERIOD / len(self.lab.paths) - DOWN
        while not self.ended.is_set():
            for path in self.lab.paths:
                self.change(dataclasses.replace(path, loss=100))
                self.ended.wait(DOWN)
                self.change(path)
                self.failures += 1
                if self.ended.wait(pause):
                    return


@contextlib.contextmanager
def connected(prepare):
    """A connection over such paths, which begin to fail; prepare(lab) selects the scheduler."""
    with Lab(PATHS) as lab:
        prepare(lab)
        # Joins take several handshakes, which need not be lucky.
        for path in PATHS:
            lab.shape(dataclasses.replace(path, loss=0, reorder=0))
        with transfer.connection(lab) as ends:
            for path in PATHS:
                lab.shape(path)
            with Flapping(lab) as flapping:
                yield lab, ends, flapping


def measure(choice, data):
    """One scheduler; (row, problems)."""
    before, problems = complaints(), []
    with connected(lambda lab: schedulers.use(lab, choice, SENDER)) as (
        lab,
        ends,
        flapping,
    ):
        run = transfer.transfer(lab, SENDER, [(ends, data)])
        problems += schedulers.check_in_use(lab, choice, SENDER)
        conn = schedulers.connection(lab, SENDER) if choice.is_ours else None
    if not run["verified"]:
        problems.append("not the data that was sent")
    if new := complaints() - before:
        problems.append(f"the kernel complained, {new} lines of its log")
    counters = conn["counters"] if conn else {}
    return {
        "scheduler": choice.word,
        "seconds": run["seconds"],
        "mb_per_s": len(data) / run["seconds"] / 1e6,
        "copies": counters.get("copies"),
        "retransmissions": counters.get("retransmissions"),
        "wire_per_byte": sum(run["wire"]) / len(data),
        "failures": flapping.failures,
        "run": run,
    }, problems


def lines_of(rows):
    head = (
        "scheduler",
        "seconds",
        "MB/s",
        "copies",
        "retransmissions",
        "wire/byte",
        "TCP again",
        "failures",
    )
    cells = [
        (
            r["scheduler"],
            f"{r['seconds']:.1f}",
            f"{r['mb_per_s']:.2f}",
            number(r["copies"], "d"),
            number(r["retransmissions"], "d"),
            f"{r['wire_per_byte']:.3f}",
            r["run"]["segments_resent"],
            r["failures"],
        )
        for r in rows
    ]
    return table(head, cells)


LEGEND = """\
copies, retransmissions: times that MPTCP sent data again, without and because of a loss;
wire/byte: bytes that left the sender's devices per byte of data; TCP again: segments;
failures: of a path, during the transfer."""


def parse(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench stress",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    add = p.add_argument
    add("--scheduler", action="append", metavar="WORD", help=schedulers.SPELLING)
    add("--size", type=float, default=SIZE_MB, help=f"MB ({SIZE_MB})")
    return p.parse_args(argv)


def run(argv):
    args = parse(argv)
    chosen = [c for c in schedulers.choices(args.scheduler) if not c.is_tcp]
    if not args.scheduler:
        chosen = [c for c in chosen if c.is_ours]
    data = random.Random(1).randbytes(round(args.size * 1e6))
    print(f"{result.heading()}: transfers of {args.size:g} MB", flush=True)
    rows, problems = [], []
    for choice in chosen:
        try:
            row, bad = measure(choice, data)
        except LabError as e:
            problems.append(f"{choice.word}: {e}")
            continue
        rows.append(row)
        problems += [f"{choice.word}: {p}" for p in bad]
        print(f"  {choice.word}: {row['seconds']:.1f} s", flush=True)
    print()
    print("\n".join(lines_of(rows)))
    print(LEGEND)
    saved = result.save(
        "stress",
        arguments=vars(args),
        paths=[dataclasses.asdict(p) | {"queue": p.queue()} for p in PATHS],
        period=PERIOD,
        down=DOWN,
        tunables=schedulers.tunables(chosen),
        results=rows,
        problems=problems,
    )
    print(f"\nall figures: {saved}")
    return result.status("stress", problems)
