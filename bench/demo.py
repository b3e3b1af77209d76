#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The main job: downloads by a real client from a real web server, over two emulated paths.

Each scheduler is selected in the server's namespace before nginx starts there (an accepted socket
takes its listener's scheduler). Then one curl downloads every file a few times over one persistent
connection, with a pause before each. A first download, not measured, brings up the second subflow.
Every download is verified by SHA-256.

Exit status 0: every download was right, every scheduler was in use on the server's connection, and
the second subflow was there. How fast a scheduler is decides nothing here.
"""

import argparse
import dataclasses
import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

import sched

from fluid import best_path, fluid_bound
from netlab import FRAME, PAYLOAD, Lab, LabError
from netlab import Path as NetPath
from table import number, table
from web import Server, download

OUT = Path(__file__).resolve().parents[1] / "build" / "out"
TCP = "plain TCP"
SCHEDULERS = ("default", "bpf_minrtt", "bpf_ecf")
CELLS = ("0.3/8.6", "5/5")
SIZES = ("128K", "256K", "1M")
# Long enough for the connection's buffers to grow to their usual size: while they are small, so are
# the bursts that the kernel's default hands to a path.
WARM_UP = ("warm-up", 1 << 20)
RTT_MS = (20, 60)
NAMES = ("wifi", "lte")


def size_of(text):
    units = {"K": 1 << 10, "M": 1 << 20}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def paths_of(cell):
    rates = [float(x) for x in cell.split("/")]
    return [
        NetPath(n, mbit=r, rtt_ms=t)
        for n, r, t in zip(NAMES, rates, RTT_MS, strict=True)
    ]


def look(lab, name):
    """What there is to count, at one moment at which the connection rests."""
    ours = name not in (TCP, "default")
    return {
        "stats": sched.connection(lab) if ours else None,
        "devices": [c["rx"]["bytes"] for c in lab.counters()],
    }


def by_path(lab, conn, key):
    """A counter of each subflow, in the order of the paths."""
    sums = [0] * len(lab.paths)
    for sub in conn["subflows"]:
        # The client's end tells the path: the server answers from one address on all of them.
        host = sub["remote"].rsplit(":", 1)[0]
        for i in range(len(sums)):
            if host == lab.address("client", i):
                sums[i] += sub["counters"][key]
    return sums


def moved(lab, before, after):
    """What moved between two looks: from our statistics where they exist, else from the devices."""

    def minus(a, b):
        return [y - x for x, y in zip(a, b, strict=True)]

    a, b = before["stats"], after["stats"]
    if not (a and b):
        return {
            "share_from": "devices",
            "path_bytes": minus(before["devices"], after["devices"]),
        }
    new, again = (
        minus(by_path(lab, a, k), by_path(lab, b, k))
        for k in ("bytes_sent", "bytes_retrans")
    )
    return {
        "share_from": "mptcp-sched stats",
        "path_bytes": [x + y for x, y in zip(new, again, strict=True)],
        "path_bytes_resent": again,
        "waits": {k: b["waits"][k] - a["waits"][k] for k in b["waits"]},
        "counters": {k: b["counters"][k] - a["counters"][k] for k in b["counters"]},
    }


def check_in_use(lab, name, conn):
    """Problems, as text, with the scheduler that the server's connection really has."""
    if conn:
        if conn["scheduler"] != name:
            yield f"the server's connection uses {conn['scheduler']}"
        if conn["fallback"]:
            yield "the connection fell back to TCP"
        return
    if name != "default":
        yield f"the server has no connection that uses {name}"
        return
    shown = sched.mptcp_sched("show")
    own = next(n for n in shown["namespaces"] if n["netns"] == lab.names["server"])
    if own["connections"] != 1:
        yield f"the server has {own['connections']} MPTCP connections, not 1"
    if any(s["connections"] for s in shown["schedulers"] if s["name"] != name):
        yield f"a connection uses another scheduler than {name}"


def check_paths(lab):
    if lab.mib("server")["MPJoinAckRx"] < len(lab.paths) - 1:
        yield "the second subflow did not come up"
    for path, counters in zip(lab.paths, lab.counters(), strict=True):
        rx = counters["rx"]
        if not rx["packets"]:
            yield f"path {path.name} carried nothing"
        # The device counts what it was given; a queue counts the packets inside a large TCP packet.
        elif rx["bytes"] / rx["packets"] > FRAME:
            yield f"packets larger than the MTU on {path.name}"


def measure(cell, name, sizes, args):
    """All downloads of one scheduler in one cell: (rows, problems)."""
    paths = paths_of(cell)
    fast = best_path(paths)
    mptcp = name != TCP
    # One size after the other, each several times: the first of a size also shows what the last
    # one left behind.
    order = [WARM_UP[0], *(s for s in sizes for _ in range(args.repeat))]
    got, looks, problems = [], [], []
    with Lab(paths, tag="") as lab:
        if mptcp:
            sched.use(lab, name)
        host = lab.address("server", 0 if mptcp else fast)
        with Server(lab, {WARM_UP[0]: WARM_UP[1], **sizes}, mptcp) as server:
            for i, one in enumerate(download(server, order, host, args.pause)):
                got.append(one)
                if not one.verified:
                    problems.append(f"{one.name}: not the data that the server has")
                if one.connects != (i == 0):
                    problems.append(f"{one.name}: {one.connects} new connections")
                if i % args.repeat == 0:
                    looks.append(look(lab, name))
                if i == len(order) - 1 and mptcp:
                    problems += check_in_use(lab, name, looks[-1]["stats"])
                    problems += check_paths(lab)
        drops = {p.name: q["client"]["drops"] for p, q in zip(paths, lab.queues(), strict=True)}  # fmt: skip
        rows = []
        for i, (size, nbytes) in enumerate(sizes.items()):
            seconds = [d.seconds for d in got if d.name == size]
            diff = moved(lab, looks[i], looks[i + 1])
            rows.append({
                "cell": cell,
                "scheduler": name,
                "size": size,
                "bytes": nbytes,
                "seconds": seconds,
                "mean": statistics.fmean(seconds),
                "fast_share": diff["path_bytes"][fast] / sum(diff["path_bytes"]),
                "bound": fluid_bound(nbytes, paths),
                "queue_drops_of_all_sizes": drops,
                **diff,
            })  # fmt: skip
    return rows, [f"{cell}, {name}: {p}" for p in problems]


HEAD = ("scheduler", "size", "mean s", "min s", "max s", "fast path", "waits", "no room", "re-sent",
        "x bound", "x TCP")  # fmt: skip


def lines_of(cell, rows, repeat):
    paths = paths_of(cell)
    fast = paths[best_path(paths)]
    text = ", ".join(f"{p.name} {p.mbit:g} Mbit/s {p.rtt_ms} ms" for p in paths)
    yield f"{text}; fast path: {fast.name}"
    tcp = {r["size"]: r["mean"] for r in rows if r["scheduler"] == TCP}
    out = []
    for r in rows:
        base = tcp.get(r["size"])
        r["over_bound"] = r["mean"] / r["bound"]
        r["over_tcp"] = r["mean"] / base if base else None
        each = ["-"] * 3
        if "waits" in r:
            resent = sum(r["path_bytes_resent"])
            counts = (r["waits"]["faster"], r["waits"]["no_room"], resent / 1024)
            each = [f"{n / repeat:.0f}" for n in counts]
        out.append((r["scheduler"], r["size"], f"{r['mean']:.3f}", f"{min(r['seconds']):.3f}",
                    f"{max(r['seconds']):.3f}", f"{100 * r['fast_share']:.0f} %", *each,
                    f"{r['over_bound']:.2f}", number(r["over_tcp"], ".2f")))  # fmt: skip
    yield from table(HEAD, out)


LEGEND = """
fast path: its share of the bytes. Per download: waits: decisions to wait for a faster subflow; no
room: decisions that found every window full; re-sent: KB given to a subflow that another had.
x bound: of a fluid on both paths, see bench/lib/fluid.py; x TCP: of plain TCP on the fast path."""


def parse():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    p.add_argument(
        "--cell", action="append", help="rates of wifi/lte in Mbit/s, as 0.3/8.6"
    )
    p.add_argument(
        "--scheduler", action="append", help=f"a name, or {TCP!r} for the best path"
    )
    p.add_argument("--size", action="append", help="of a download, as 128K or 1M")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--pause", type=float, default=1.0, help="seconds")
    args = p.parse_args()
    args.cell = args.cell or list(CELLS)
    args.scheduler = args.scheduler or [TCP, *SCHEDULERS]
    args.size = args.size or list(SIZES)
    return args


def main():
    args = parse()
    release = os.uname().release
    virtual = os.environ.get("VM_VIRTUAL_TIME") == "1"
    sizes = {s: size_of(s) for s in args.size}
    begun = time.monotonic()
    print(f"Linux {release}, {'virtual' if virtual else 'real'} time: mean of {args.repeat}"
          f" downloads over one connection, {args.pause:g} s apart")  # fmt: skip
    rows, problems = [], []
    for cell in args.cell:
        cell_rows = []
        for name in args.scheduler:
            more, bad = measure(cell, name, sizes, args)
            cell_rows += more
            problems += bad
        print()
        print("\n".join(lines_of(cell, cell_rows, args.repeat)), flush=True)
        rows += cell_rows
    print(LEGEND)
    result = {
        "kernel": release,
        "virtual_time": virtual,
        "arguments": vars(args),
        "paths": {
            c: [dataclasses.asdict(p) | {"queue": p.queue()} for p in paths_of(c)]
            for c in args.cell
        },
        "frame": FRAME,
        "payload": PAYLOAD,
        "warm_up_bytes": WARM_UP[1],
        "tunables": sched.tunables(args.scheduler),
        "seconds": time.monotonic() - begun,
        "results": rows,
        "problems": problems,
    }
    OUT.mkdir(parents=True, exist_ok=True)
    out = OUT / f"demo-{release}.json"
    out.write_text(json.dumps(result, indent=1) + "\n")
    for problem in problems:
        print(f"demo: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as e:
        sys.exit(f"demo: {e}")
