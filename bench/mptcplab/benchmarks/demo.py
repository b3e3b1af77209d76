# SPDX-License-Identifier: GPL-2.0
"""The main job: downloads by a real client from a real web server, over two emulated paths.

How each download is made and verified: bench/mptcplab/lab/downloads.py.

Exit status 0: every download was right, every scheduler was in use on the server's connection, and
the second subflow was there. How fast a scheduler is decides nothing here.
"""

from mptcplab import result, schedulers
from mptcplab.fluid import best_path
from mptcplab.lab import downloads
from mptcplab.lab.downloads import paths_of
from mptcplab.table import number, table

SCHEDULERS = (schedulers.TCP, "default", "bpf_auto", "bpf_ecf")
# ECF's paper, a line at home with a phone, an unlike pair
CELLS = ("0.3/8.6", "16/50", "100/20")
SIZES = ("256K", "2M")

HEAD = (
    "scheduler",
    "size",
    "mean s",
    "min s",
    "max s",
    "fast path",
    "waits",
    "no room",
    "re-sent",
    "x bound",
    "x TCP",
)


def lines_of(cell, rows, repeat):
    paths = paths_of(cell)
    fast = paths[best_path(paths)]
    text = ", ".join(f"{p.name} {p.mbit:g} Mbit/s {p.rtt_ms} ms" for p in paths)
    yield f"{text}; fast path: {fast.name}"
    tcp = {r["size"]: r["mean"] for r in rows if r["scheduler"] == schedulers.TCP}
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
        out.append(
            (
                r["scheduler"],
                r["size"],
                f"{r['mean']:.3f}",
                f"{min(r['seconds']):.3f}",
                f"{max(r['seconds']):.3f}",
                f"{100 * r['fast_share']:.0f} %",
                *each,
                f"{r['over_bound']:.2f}",
                number(r["over_tcp"], ".2f"),
            )
        )
    yield from table(HEAD, out)


LEGEND = """
fast path: its share of the bytes. Per download: waits: decisions to wait for a faster subflow; no
room: decisions that found every window full; re-sent: KB given to a subflow that another had.
x bound: of a fluid on both paths, see bench/mptcplab/fluid.py; x TCP: of plain TCP, on the path on which
that size is faster."""


def run(argv):
    args = downloads.parser(__doc__, "vmtest.sh demo").parse_args(argv)
    cells = args.cell or CELLS
    chosen = schedulers.choices(args.scheduler or SCHEDULERS)
    sizes = {s: downloads.size_of(s) for s in args.size or SIZES}
    print(
        f"{result.heading()}: mean of {args.repeat} downloads over one connection,"
        f" {args.pause:g} s apart"
    )
    rows, problems = [], []
    for cell in cells:
        cell_rows = []
        for choice in chosen:
            measure = downloads.measure_tcp if choice.is_tcp else downloads.measure
            more, bad = measure(cell, choice, sizes, args)
            cell_rows += more
            problems += bad
        print()
        print("\n".join(lines_of(cell, cell_rows, args.repeat)), flush=True)
        rows += cell_rows
    print(LEGEND)
    result.save(
        "demo",
        arguments=vars(args),
        **downloads.describe(cells),
        tunables=schedulers.tunables(chosen),
        results=rows,
        problems=problems,
    )
    return result.status("demo", problems)
