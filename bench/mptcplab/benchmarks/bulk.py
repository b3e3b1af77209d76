# SPDX-License-Identifier: GPL-2.0
"""Bulk throughput: 16 MB over two paths, each scheduler against the kernel's default.

Rates are equal or 1 to 3, either way round; delays equal, unequal and opposed to the rates; each in
both directions: in a download the server sends, in an upload the client. With --direction both each
end sends it, at once; the time is that of the later one, and all else is the server's. Every
transfer has a fresh connection with both subflows there, is compared byte by byte, and its time is
that from the first send to the last byte received. Each path's queue holds a round trip of data, at
least 100 packets.

The machine must not be what is measured. So plain TCP goes over both paths at once, one connection
on each: where it does not bring both to 97 % of their rate (as the devices count it, over a quarter
of the transfer), the cell is invalid and counts for nothing. With both directions, of which the
rates are the server's, it is enough that the CPU was idle for a tenth of the time.

A small difference can change where a slow start overflows a queue, which decides about 5 % of such a
transfer. With --spread each has RTTs of its own, so that --repeat is a mean over the neighbourhood of a cell.

Exit status 0: all data was right, every scheduler was in use, every cell valid. How fast a
scheduler is decides nothing here.
"""

import argparse
import contextlib
import dataclasses
import itertools
import random
import statistics
import time

from mptcplab import result, schedulers
from mptcplab.lab import transfer
from mptcplab.lab.netlab import GSO, Lab
from mptcplab.path import FRAME, of_cell
from mptcplab.process import LabError
from mptcplab.table import number, table

RATES = ("20/20", "20/60", "60/20")
RTTS_MS = ("20/20", "20/60", "60/20")
ONE_WAY = {"down": "server", "up": "client"}
SENDERS = ONE_WAY | {"both": "server"}
SIZE_MB = 16
DEFAULT = schedulers.Choice("default")
FLOOR = 0.98  # of the default's goodput
# In virtual time the transfers of a cell would be one and the same, were it not for this.
START_S = 0.02  # each begins within so long at random, the same for all schedulers
REACHED = 0.97  # of a path's rate, by plain TCP
BUSY = 0.9  # with both directions TCP itself has less, as its acknowledgements wait behind data
KEEPS_UP = "TCP, both"  # the row of plain TCP on both paths at once


def paths_of(cell, spread=lambda: 0):
    """spread: by which part an RTT is longer than the cell's."""
    return of_cell(cell, ("one", "two"), spread=spread)


def row_of(cell, way, word, paths, data, runs):
    seconds = statistics.fmean(r["seconds"] for r in runs)
    wire = statistics.fmean(sum(r["wire"]) for r in runs)
    return {
        "cell": cell,
        "direction": way,
        "scheduler": word,
        "bytes": len(data),
        "seconds": seconds,
        "mbit": len(data) * 8 / seconds / 1e6,
        "of_rates": len(data) / seconds / sum(p.goodput for p in paths),
        "wire_per_byte": wire / len(data),
        "busy": max(r["busy"] for r in runs),
        "runs": runs,
    }


def both_tcp(cell, way, data, args):
    """Can this machine do it? One plain TCP connection on each path; (row, problems)."""
    paths = paths_of(cell)
    cut = round(len(data) * paths[0].mbit / sum(p.mbit for p in paths))
    with Lab(paths, gso=args.gso) as lab, contextlib.ExitStack() as stack:
        ends = [
            stack.enter_context(transfer.connection(lab, i, mptcp=False)) for i in range(len(paths))
        ]
        halves = (data[:cut], data[cut:])
        parts = list(zip(ends, halves, strict=True))
        run = transfer.transfer(lab, SENDERS[way], parts, way == "both")
    row = row_of(cell, way, KEEPS_UP, paths, data, [run])
    row["reached"] = [run["peaks"][i][i] / (p.mbit * 1e6) for i, p in enumerate(paths)]
    row["valid"] = min(row["reached"]) >= REACHED or (way == "both" and row["busy"] < BUSY)
    problems = []
    if not run["verified"]:
        problems.append("not the data that was sent")
    if not row["valid"]:
        shares = ", ".join(f"{100 * r:.1f} %" for r in row["reached"])
        busy = f"{100 * row['busy']:.0f} %"
        problems.append(f"the paths reached only {shares} of their rates, the CPU was busy {busy}")
    return row, problems


def measure(cell, way, choice, data, args):
    """One scheduler; (row, problems)."""
    if choice.is_tcp:
        return both_tcp(cell, way, data, args)
    paths = paths_of(cell)
    sender = SENDERS[way]
    senders = ONE_WAY.values() if way == "both" else [sender]
    runs, problems = [], []
    rng = random.Random(f"{cell} {way}")
    for _ in range(args.repeat):
        others = paths_of(cell, lambda: rng.uniform(-args.spread, args.spread) / 100)
        with Lab(others, gso=args.gso) as lab:
            for role in senders:
                schedulers.use(lab, choice, role)
            with transfer.connection(lab) as ends:
                time.sleep(rng.uniform(0, START_S))
                run = transfer.transfer(lab, sender, [(ends, data)], way == "both")
                for role in senders:
                    problems += schedulers.check_in_use(lab, choice, role)
        if not run["verified"]:
            problems.append("not the data that was sent")
        runs.append(run)
    return row_of(cell, way, choice.word, paths, data, runs), problems


# --- tables for people


def lines_of(cell, way, rows):
    yield f"{cell} {way}: " + ", ".join(
        f"{p.mbit:g} Mbit/s {p.rtt_ms:g} ms, queue of {p.limit}" for p in paths_of(cell)
    )
    head = (
        "scheduler",
        "Mbit/s",
        "min",
        "max",
        "of both rates",
        "x default",
        "path one",
        "wire/byte",
        "MPTCP again KB",
        "TCP again",
        "dropped",
        "CPU",
    )
    out = []
    for r in rows:
        seconds = [x["seconds"] for x in r["runs"]]
        mean = {
            k: statistics.fmean(f(x) for x in r["runs"])
            for k, f in (
                ("share", lambda x: x["wire"][0] / sum(x["wire"])),
                ("resent", lambda x: x["bytes_resent"] / 1024),
                ("segments", lambda x: x["segments_resent"]),
                ("dropped", lambda x: sum(x["dropped"])),
            )
        }
        out.append(
            (
                r["scheduler"],
                f"{r['mbit']:.2f}",
                *(f"{r['bytes'] * 8e-6 / s:.2f}" for s in (max(seconds), min(seconds))),
                f"{100 * r['of_rates']:.1f} %",
                number(r["over_default"], ".3f"),
                f"{100 * mean['share']:.0f} %",
                f"{r['wire_per_byte']:.3f}",
                f"{mean['resent']:.0f}",
                f"{mean['segments']:.0f}",
                f"{mean['dropped']:.0f}",
                f"{100 * r['busy']:.0f} %",
            )
        )
    yield from table(head, out)
    yield ""


LEGEND = """\
of both rates: goodput of what full frames carry at both rates; wire/byte: bytes that left the
sender's devices per byte of data; MPTCP again: KB given to a second subflow; TCP again: segments;
dropped: packets by the paths' queues; CPU: of the machine, both ends and the network together.
Transfers of one kind mostly differ by less than 1 %, but some lose more at their start and then take
6 % longer: what is near a limit wants --repeat."""


def is_valid(by, cell, way):
    row = by.get((cell, way, KEEPS_UP))
    return bool(row and row["valid"])


# What is compared with the default, by its title.
COMPARED = {
    "goodput": "over_default",
    "bytes on the wire per second, copies included": "sent_over_default",
}


def summary(cases, words, by, title):
    """x default: one line per cell and direction, one column per scheduler."""
    yield f"{title}, x default:"
    rows = []
    for cell, way in cases:
        name = f"{cell} {way}" + ("" if is_valid(by, cell, way) else " (invalid)")
        values = (by.get((cell, way, w)) for w in words)
        ratios = (number(r and r[COMPARED[title]], ".3f") for r in values)
        rows.append((name, *ratios))
    yield from table(("Mbit/s@ms", *words), rows)
    yield ""


def verdict(word, cases, by):
    found, sent, invalid = [], [], 0
    for cell, way in cases:
        row = by.get((cell, way, word))
        if not is_valid(by, cell, way):
            invalid += 1
        elif row and row["over_default"]:
            found.append((row["over_default"], f"{cell} {way}"))
            sent.append((row["sent_over_default"], f"{cell} {way}"))
    worst = min(found, default=None)
    kept = None
    if worst and round(worst[0], 3) < FLOOR:
        kept = False
    elif len(found) + invalid == len(cases) and found:
        kept = True
    return {
        "scheduler": word,
        "kept": kept,
        "measured": len(found),
        "invalid": invalid,
        "worst": named(worst),
        "worst_sent": named(min(sent, default=None)),
    }


def named(worst):
    return worst and {"ratio": worst[0], "cell": worst[1]}


def verdict_line(v, cases):
    answer = {True: "yes", False: "no", None: "unknown"}[v["kept"]]
    text = f"{v['scheduler']}: at least {100 * FLOOR:.0f} % of default in every cell: {answer}"
    if v["measured"] < len(cases):
        text += f", {v['measured']} of {len(cases)} measured, {v['invalid']} invalid"
    if v["worst"]:
        text += f" (worst: {v['worst']['cell']} {v['worst']['ratio']:.3f}"
        # what a scheduler that repeats everything can be asked for
        if v["kept"] is False:
            sent = v["worst_sent"]
            text += f"; copies included: {sent['cell']} {sent['ratio']:.3f}"
        text += ")"
    return text


# --- the whole


def parse(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench bulk",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    add = p.add_argument
    add("--cell", action="append", metavar="MBIT/MBIT@MS/MS", help="as 20/60@60/20")
    add("--direction", action="append", choices=list(SENDERS))
    add("--scheduler", action="append", metavar="WORD", help=schedulers.SPELLING)
    add("--size", type=float, default=SIZE_MB, help=f"MB ({SIZE_MB})")
    add("--repeat", type=int, default=1)
    add(
        "--spread",
        type=float,
        default=0,
        metavar="PERCENT",
        help="RTTs of each transfer differ from the cell's by up to so much, alike for all",
    )
    add("--gso", action="store_true", help=GSO)
    args = p.parse_args(argv)
    args.cell = args.cell or [f"{r}@{t}" for r in RATES for t in RTTS_MS]
    args.direction = args.direction or list(ONE_WAY)
    return args


def measure_all(args, chosen, data):
    """({(cell, direction, scheduler): row}, problems)"""
    by, problems = {}, []
    cases = list(itertools.product(args.cell, args.direction))
    for choice in chosen:
        word = KEEPS_UP if choice.is_tcp else choice.word
        done = 0
        for cell, way in cases:
            try:
                row, bad = measure(cell, way, choice, data, args)
            except LabError as e:
                problems.append(f"{cell} {way}, {word}: {e}")
                continue
            done += 1
            problems += [f"{cell} {way}, {word}: {p}" for p in bad]
            by[cell, way, word] = row
        print(f"  {word}: {done} of {len(cases)} measured", flush=True)
        compare(by)
        # all of it takes long, and may be ended before
        print("".join(ratios_of(word, cases, by)), end="", flush=True)
    return by, problems


def compare(by):
    for (cell, way, _), row in by.items():
        base = by.get((cell, way, DEFAULT.word))
        faster = base and base["seconds"] / row["seconds"]
        row["over_default"] = faster
        row["sent_over_default"] = faster and faster * row["wire_per_byte"] / base["wire_per_byte"]


def ratios_of(word, cases, by):
    for cell, way in cases:
        row = by.get((cell, way, word))
        if word != DEFAULT.word and row and row["over_default"]:
            yield f"    {cell} {way}: {row['over_default']:.3f} x default\n"


def run(argv):
    args = parse(argv)
    # Whatever was asked for, these two come first: to compare with, and to know what is valid.
    chosen = schedulers.choices(args.scheduler)
    chosen = [
        schedulers.Choice(schedulers.TCP),
        DEFAULT,
        *(c for c in chosen if c.word != "default" and not c.is_tcp),
    ]
    data = random.Random(1).randbytes(round(args.size * 1e6))
    print(f"{result.heading()}: transfers of {args.size:g} MB")
    by, problems = measure_all(args, chosen, data)
    cases = list(itertools.product(args.cell, args.direction))
    words = [KEEPS_UP if c.is_tcp else c.word for c in chosen]
    print()
    for cell, way in cases:
        rows = [by[cell, way, w] for w in words if (cell, way, w) in by]
        print("\n".join(lines_of(cell, way, rows)))
    print(LEGEND + "\n")
    for title in COMPARED:
        print("\n".join(summary(cases, words, by, title)))
    verdicts = [verdict(w, cases, by) for w in words[2:]]
    for v in verdicts:
        print(verdict_line(v, cases))
    # a direction by itself has a file by itself, so that two guests can share the work
    saved = result.save(
        "-".join(["bulk", *args.direction]) if len(args.direction) == 1 else "bulk",
        arguments=vars(args),
        paths={
            c: [dataclasses.asdict(p) | {"queue": p.queue()} for p in paths_of(c)]
            for c in args.cell
        },
        frame=FRAME,
        tunables=schedulers.tunables(chosen),
        results=list(by.values()),
        verdicts=verdicts,
        problems=problems,
    )
    print(f"\nall figures: {saved}")
    return result.status("bulk", problems)
