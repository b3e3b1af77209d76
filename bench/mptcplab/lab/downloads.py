# SPDX-License-Identifier: GPL-2.0
"""Downloads over two emulated paths, by a real client from a real web server.

The scheduler is selected in the server's namespace before nginx starts there (an accepted socket
takes its listener's scheduler). Then one curl downloads every file a few times over one persistent
connection, with a pause before each. A first download, not measured, brings up the second subflow.
Every download is verified by SHA-256.
"""

import argparse
import dataclasses
import statistics

from mptcplab import schedulers
from mptcplab.fluid import best_path, fluid_bound
from mptcplab.lab.netlab import GSO, Lab
from mptcplab.lab.web import Server, download
from mptcplab.path import FRAME, PAYLOAD, of_cell

# Long enough for the connection's buffers to grow to their usual size: while they are small, so are
# the bursts that the kernel's default hands to a path.
WARM_UP = ("warm-up", 1 << 20)
RTT_MS = (20, 60)
NAMES = ("wifi", "lte")
# A path with this part of the other's rate or more, and a shorter RTT, may be the better one.
RIVAL = 0.25


def size_of(text):
    units = {"K": 1 << 10, "M": 1 << 20}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def paths_of(cell):
    return of_cell(cell, NAMES, RTT_MS)


def describe(cells):
    """The paths of each cell, for a result."""
    return {
        "paths": {
            c: [dataclasses.asdict(p) | {"queue": p.queue()} for p in paths_of(c)] for c in cells
        },
        "frame": FRAME,
        "payload": PAYLOAD,
        "warm_up_bytes": WARM_UP[1],
    }


def parser(doc, prog):
    """The options that every benchmark of downloads has."""
    p = argparse.ArgumentParser(
        prog=prog, description=doc, formatter_class=argparse.RawTextHelpFormatter
    )
    add = p.add_argument
    add(
        "--cell",
        action="append",
        help="rates of wifi/lte in Mbit/s, as 0.3/8.6, and RTTs in ms, as 20/100@20/60",
    )
    add("--scheduler", action="append", metavar="WORD", help=schedulers.SPELLING)
    add("--size", action="append", help="of a download, as 128K or 1M")
    add("--repeat", type=int, default=3)
    add("--pause", type=float, default=1.0, help="seconds")
    add("--gso", action="store_true", help=GSO)
    return p


def look(lab, choice):
    """What there is to count, at one moment at which the connection rests."""
    return {
        "stats": schedulers.connection(lab) if choice.is_ours else None,
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
        minus(by_path(lab, a, k), by_path(lab, b, k)) for k in ("bytes_sent", "bytes_retrans")
    )
    return {
        "share_from": "mptcp-sched stats",
        "path_bytes": [x + y for x, y in zip(new, again, strict=True)],
        "path_bytes_resent": again,
        "waits": {k: b["waits"][k] - a["waits"][k] for k in b["waits"]},
        "counters": {k: b["counters"][k] - a["counters"][k] for k in b["counters"]},
    }


def check_paths(lab):
    """Problems, as text, with what the paths carried."""
    if lab.mib("server")["MPJoinAckRx"] < len(lab.paths) - 1:
        yield "the second subflow did not come up"
    for path, counters in zip(lab.paths, lab.counters(), strict=True):
        rx = counters["rx"]
        if not rx["packets"]:
            yield f"path {path.name} carried nothing"
        # The device counts what it was given; a queue counts the packets inside a large TCP packet.
        elif rx["bytes"] / rx["packets"] > FRAME:
            yield f"packets larger than the MTU on {path.name}"


def measure(cell, choice, sizes, args, looks=True, path=None):
    """All downloads with one choice in one cell: (rows, problems).

    `looks`: also count what moved where; that takes longer than the downloads. `path`: the one that
    plain TCP takes, by default the better one.
    """
    paths = paths_of(cell)
    fast = best_path(paths)
    taken = fast if path is None else path
    # One size after the other, each several times: the first of a size also shows what the last
    # one left behind.
    order = [WARM_UP[0], *(s for s in sizes for _ in range(args.repeat))]
    got, seen, problems = [], [], []
    with Lab(paths, tag="", gso=args.gso) as lab:
        if not choice.is_tcp:
            schedulers.use(lab, choice)
        host = lab.address("server", taken if choice.is_tcp else 0)
        files = {WARM_UP[0]: WARM_UP[1], **sizes}
        with Server(lab, files, mptcp=not choice.is_tcp) as server:
            for i, one in enumerate(download(server, order, host, args.pause)):
                got.append(one)
                if not one.verified:
                    problems.append(f"{one.name}: not the data that the server has")
                if one.connects != (i == 0):
                    problems.append(f"{one.name}: {one.connects} new connections")
                if looks and i % args.repeat == 0:
                    seen.append(look(lab, choice))
                if i == len(order) - 1 and not choice.is_tcp:
                    problems += schedulers.check_in_use(lab, choice)
                    problems += check_paths(lab)
        queues = zip(paths, lab.queues(), strict=True)
        drops = {p.name: q["client"]["drops"] for p, q in queues}
        rows = []
        for i, (size, nbytes) in enumerate(sizes.items()):
            seconds = [d.seconds for d in got if d.name == size]
            row = {
                "cell": cell,
                "scheduler": choice.word,
                "size": size,
                "bytes": nbytes,
                "seconds": seconds,
                "mean": statistics.fmean(seconds),
                "bound": fluid_bound(nbytes, paths),
                "queue_drops_of_all_sizes": drops,
            }
            if choice.is_tcp:
                row["path"] = paths[taken].name
            if looks:
                row |= moved(lab, seen[i], seen[i + 1])
                row["fast_share"] = row["path_bytes"][fast] / sum(row["path_bytes"])
            rows.append(row)
    return rows, [f"{cell}, {choice}: {p}" for p in problems]


def tcp_paths(cell):
    """The paths on which plain TCP may be fastest."""
    paths = paths_of(cell)
    best = best_path(paths)
    return [
        i
        for i, p in enumerate(paths)
        if i == best or (p.rtt_ms < paths[best].rtt_ms and p.mbit >= RIVAL * paths[best].mbit)
    ]


def measure_tcp(cell, choice, sizes, args, looks=True):
    """Plain TCP, for each size over the path on which that is faster: (rows, problems)."""
    runs = [measure(cell, choice, sizes, args, looks, path=i) for i in tcp_paths(cell)]
    rows = []
    for of_size in zip(*(rows for rows, _ in runs), strict=True):
        best = min(of_size, key=lambda r: r["mean"])
        rows.append(best | {"others": [r for r in of_size if r is not best]})
    return rows, [p for _, problems in runs for p in problems]
