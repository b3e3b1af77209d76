# SPDX-License-Identifier: GPL-2.0
"""Outage: one of two paths fails and comes back; what does the receiving application notice?

One connection per row, a download: both ends use the scheduler. Either path is the victim. Beside
the schedulers, the kernel's default and plain TCP on the path that lives: no more can be asked for.
bpf_steer@TABLES: standby, priority, balance, redundant and delay, which are modes of bpf_steer.

loads    bulk; stream, 200 bytes each 100 ms; rr1, rr64, rr128: requests for so many KB; video, frames
         of 10 KB each 40 ms
events   blackhole, both ways; blackhole-data, towards the receiver only; carrier, the receiver's
         device loses it; loss of 30 %; delay, ten times the RTT; address, removed by the client

Exit status 0: all data was right and every scheduler was in use. How long a gap is decides nothing.
"""

import argparse
import contextlib
import dataclasses
import itertools
import random
import time

from mptcplab import gaps, result, schedulers
from mptcplab.lab import outage, transfer
from mptcplab.lab.netlab import GSO, Lab
from mptcplab.path import Path as NetPath
from mptcplab.process import LabError
from mptcplab.table import number, table

NAMES = ("one", "two", "three")
MBIT = "20/20"
RTT_MS = "20/60"
QUEUE_MS = 100  # of data at the path's rate, behind what is on its way
SPREAD = 0.05  # of the RTTs, by seed; 0 has the RTTs as they are
LOADS = ("bulk", "stream", "rr1", "rr64")
EVENTS = ("blackhole",)
TIMES = (3.0, 6.0, 6.0)  # s before, while it lasts, and after
RANKS = ("path name one device one rank 0", "path name two device two rank 1")
STEERING = {  # as a scenario's: bpf_steer@NAME
    "standby": (*RANKS, "rule mode active-standby"),
    "priority": (*RANKS, "rule mode priority deadline 1s"),
    "balance": (
        "path name one device one weight 50",
        "path name two device two weight 50",
        "rule mode load-balancing",
    ),
    "redundant": ("rule mode redundant",),
    "delay": ("rule mode smallest-delay",),
}


def paths_of(mbit, rtt_ms, seed):
    rng = random.Random(seed)
    out = []
    for name, rate, rtt in zip(NAMES, mbit, rtt_ms, strict=False):
        rtt *= 1 + (rng.uniform(-SPREAD, SPREAD) if seed else 0)
        path = NetPath(name, mbit=rate, rtt_ms=round(rtt, 3), seed=seed)
        out.append(dataclasses.replace(path, limit=outage.packets(path, QUEUE_MS)))
    return out


def living(paths, victim):
    """The best of the paths that stay."""
    others = [i for i in range(len(paths)) if i != victim]
    return min(others, key=lambda i: (-paths[i].mbit, paths[i].rtt_ms))


def measure(choice, load, event, victim, seed, args):
    """One row, and problems."""
    paths = paths_of(args.mbit, args.rtt, seed)
    lives = living(paths, victim)
    tables = "".join(f"{row}\n" for row in STEERING.get(choice.tables, ()))
    if choice.is_tcp:
        ends_of = {"path": lives, "mptcp": False}
    else:
        ends_of = {}
    with Lab(paths, gso=args.gso) as lab, contextlib.ExitStack() as stack:
        if not choice.is_tcp:
            for role in ("client", "server"):
                schedulers.use(lab, choice, role, tables)
        ends = stack.enter_context(transfer.connection(lab, **ends_of))
        # when in a path's time the event comes decides what it takes along
        time.sleep(random.Random(f"{seed} {load}").uniform(0, 0.1))
        problems = [] if choice.is_tcp else schedulers.problems(lab, choice, "server")
        before = [c["tx"]["bytes"] for c in lab.counters("server")]
        log = outage.run(
            lab,
            ends,
            outage.LOADS[load],
            event,
            victim,
            args.times,
            lambda: schedulers.connection(lab) if choice.is_ours else None,
        )
        wire = [a["tx"]["bytes"] - b for a, b in zip(lab.counters("server"), before, strict=True)]
        conn = log.pop("seen")
    if log["error"]:
        problems.append(log["error"])
    if log["wrong"]:
        problems.append("not the data that was sent")
    goodput = sum(p.goodput for i, p in enumerate(paths) if i != victim)
    carried = sum(n for _, n in log["arrivals"])
    row = {
        "load": load,
        "event": event,
        "victim": victim,
        "seed": seed,
        "scheduler": choice.word,
        "bound": paths[lives].rtt_ms / 1000,
        **gaps.figures(log, goodput),
        "wire_per_byte": sum(wire) / carried if carried else None,
        "counters": conn and conn["counters"],
        "subflows": conn and [s["counters"] for s in conn["subflows"]],
    }
    if args.notes:
        row["log"] = log
    return row, problems


# --- tables for people

MS = ("gap_before", "gap", "gap_after", "delay_before", "delay", "delay_after")
BULK_HEAD = (
    "scheduler",
    "gap before",
    "gap out",
    "gap back",
    "Mbit/s before",
    "of living",
    "given up s",
    "carries s",
    "full s",
    "wire/byte",
)
MESSAGE_HEAD = (
    "scheduler",
    "delay before",
    "delay out",
    "delay back",
    "gap out",
    "given up s",
    "carries s",
    "wire/byte",
)


def worst(rows, key):
    """Over the seeds; never is worse than any time, where there was something to wait for."""
    values = [r.get(key) for r in rows]
    if key in ("carries", "full") and None in values:
        return None
    return max((v for v in values if v is not None), default=None)


def least(rows, key):
    return min((r[key] for r in rows if r.get(key) is not None), default=None)


def ms(value):
    return number(value if value is None else 1000 * value, ".0f")


def line_of(rows):
    first = rows[0]
    never = "-" if first["scheduler"] == schedulers.TCP else "never"
    carries = number(worst(rows, "carries"), ".2f", never)
    wire = number(worst(rows, "wire_per_byte"), ".3f")
    given_up = number(worst(rows, "given_up"), ".2f")
    if first["load"] == "bulk":
        gap = [ms(worst(rows, k)) for k in ("gap_before", "gap", "gap_after")]
        rate = least(rows, "rate_before")
        return (
            first["scheduler"],
            *gap,
            number(rate and rate * 8e-6, ".1f"),
            number(least(rows, "share_out"), ".3f"),
            given_up,
            carries,
            number(worst(rows, "full"), ".1f", "never"),
            wire,
        )
    delay = [ms(worst(rows, k)) for k in ("delay_before", "delay", "delay_after")]
    return (first["scheduler"], *delay, ms(worst(rows, "gap")), given_up, carries, wire)


def lines_of(rows, args):
    """One table per load, event and victim: the worst of the seeds."""
    for case in dict.fromkeys((r["load"], r["event"], r["victim"]) for r in rows):
        found = [r for r in rows if (r["load"], r["event"], r["victim"]) == case]
        load, event, victim = case
        mbit, rtt = args.mbit[victim], args.rtt[victim]
        yield (
            f"{load}, {event}: path {NAMES[victim]} ({mbit:g} Mbit/s, {rtt:g} ms);"
            f" bound {ms(found[0]['bound'])} ms"
        )
        words = dict.fromkeys(r["scheduler"] for r in found)
        head = BULK_HEAD if load == "bulk" else MESSAGE_HEAD
        yield from table(head, [line_of([r for r in found if r["scheduler"] == w]) for w in words])
        yield ""


LEGEND = """\
ms, the worst of the seeds. gap: the longest time without data for the receiving application, before
the event, while it lasted, and after; delay: the worst of a message; of living: goodput from a second
after the event on, of what the paths that live can carry; given up: seconds after the event, to 20 ms
(SubflowStale); carries, full: seconds from the return until the path brings data again, and until a
second begins with 90 % of the rate before the event;
wire/byte: bytes that left the sender's devices per byte of data."""


# --- the whole


def numbers(text):
    return tuple(float(x) for x in text.split("/"))


def parse(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench outage",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    add = p.add_argument
    add("--scheduler", action="append", metavar="WORD", help=schedulers.SPELLING)
    add("--load", action="append", choices=list(outage.LOADS), help=f"({' '.join(LOADS)})")
    add("--event", action="append", choices=list(outage.EVENTS), help=f"({' '.join(EVENTS)})")
    add("--victim", action="append", type=int, metavar="PATH", help="from 1; each of the first two")
    add("--seed", action="append", type=int, help="(0)")
    add("--mbit", type=numbers, default=MBIT, metavar="N/N[/N]", help=f"({MBIT})")
    add("--rtt", type=numbers, default=RTT_MS, metavar="MS/MS[/MS]", help=f"({RTT_MS})")
    add(
        "--times",
        type=numbers,
        default=TIMES,
        metavar="S/S/S",
        help="before, while it lasts, after ({})".format("/".join(f"{t:g}" for t in TIMES)),
    )
    add("--gso", action="store_true", help=GSO)
    add("--notes", action="store_true", help="also all arrivals, in the result's file")
    args = p.parse_args(argv)
    if len(args.mbit) != len(args.rtt) or not 2 <= len(args.rtt) <= len(NAMES):
        p.error("two or three paths, each with a rate and an RTT")
    if len(args.times) != 3:
        p.error("--times takes three numbers")
    args.load = args.load or list(LOADS)
    args.event = args.event or list(EVENTS)
    args.victim = [n - 1 for n in args.victim or (1, 2)]
    if not all(0 <= n < len(args.rtt) for n in args.victim):
        p.error("no such path")
    args.seed = args.seed or [0]
    for choice in map(schedulers.Choice, args.scheduler or ()):
        if choice.tables and (choice.name != schedulers.STEER or choice.tables not in STEERING):
            p.error(f"--scheduler {choice}: there are {schedulers.STEER}@{{{','.join(STEERING)}}}")
    return args


def run(argv):
    args = parse(argv)
    chosen = schedulers.choices(args.scheduler)
    print(f"{result.heading()}: {args.times[1]:g} s without one path", flush=True)
    rows, problems = [], []
    for choice in chosen:
        # one scheduler after the other: loading one takes longer than to use it
        for case in itertools.product(args.load, args.event, args.victim, args.seed):
            try:
                row, bad = measure(choice, *case, args)
            except LabError as e:
                row, bad = None, [str(e)]
            if row:
                rows.append(row)
            problems += [f"{choice.word}, {case}: {p}" for p in bad]
        print(
            f"  {choice.word}: {sum(r['scheduler'] == choice.word for r in rows)} measured",
            flush=True,
        )
    print()
    print("\n".join(lines_of(rows, args)))
    print(LEGEND)
    saved = result.save(
        "outage",
        arguments=vars(args),
        tunables=schedulers.tunables(chosen),
        results=rows,
        problems=problems,
    )
    print(f"\nall figures: {saved}")
    return result.status("outage", problems)
