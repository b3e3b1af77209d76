# SPDX-License-Identifier: GPL-2.0
"""How good the schedulers are: completion times over pairs of unlike paths.

How each download is made and verified: bench/mptcplab/lab/downloads.py. Every scheduler that the command
knows is measured, beside the kernel's own default and plain TCP over the better path alone. Where
either path could be the better one, depending on the size, plain TCP is measured on both, and of
each size the shorter time counts: the most that somebody with one path could have had.

All ratios are of means over the repeats. A scheduler is slower than another where its mean is, to
three decimals; that counts as beyond the spread where its fastest repeat is slower than the
other's slowest one.

Exit status 0: every download was right, every scheduler was in use on the server's connection, and
the second subflow was there. How fast a scheduler is decides nothing here.
"""

import statistics

from mptcplab import result, schedulers
from mptcplab.lab import downloads
from mptcplab.process import LabError
from mptcplab.table import number, table

CELLS = ("0.3/8.6", "1/10", "1/5", "5/5", "4.2/8.6", "8.6/0.3")
SIZES = ("64K", "128K", "256K", "512K", "1M", "2M")
LONG = 256 << 10  # from here up the distance from the bound is summed up
# The case in which the kernel's default is at its worst.
GAIN_CELL = "0.3/8.6"
GAIN_UP_TO = 512 << 10
MARGIN = 1.02  # over the default


def measure(choice, cells, sizes, args):
    """One choice in all cells: (rows, problems). A cell that cannot be measured is a problem."""
    rows, problems = [], []
    for cell in cells:
        try:
            if choice.is_tcp:
                more, bad = downloads.measure_tcp(cell, choice, sizes, args, looks=False)
            else:
                more, bad = downloads.measure(cell, choice, sizes, args, looks=False)
        except LabError as e:
            more, bad = [], [f"{cell}, {choice}: {e}"]
        rows += more
        problems += bad
    return rows, problems


# --- what the figures say


def ratio(row, other):
    return row["mean"] / other["mean"] if row and other else None


def geometric_mean(values):
    return statistics.geometric_mean(values) if values else None


class Summary:
    """The rows, found by scheduler, cell and size, and what the project promises of them."""

    def __init__(self, rows, words, cells, sizes):
        self.rows = {(r["scheduler"], r["cell"], r["size"]): r for r in rows}
        # What was asked for: some of it may not have been measured.
        self.words, self.cells, self.sizes = words, cells, sizes

    def of(self, word, cell=None):
        """The rows of one scheduler, in one cell or all."""
        return [r for (w, c, _), r in self.rows.items() if w == word and cell in (None, c)]

    def over_bound(self, word, cell=None):
        """Geometric mean of time over bound for long downloads; None where one is missing."""
        found = [r["mean"] / r["bound"] for r in self.of(word, cell) if r["bytes"] >= LONG]
        want = sum(n >= LONG for n in self.sizes.values())
        want *= 1 if cell else len(self.cells)
        return geometric_mean(found) if len(found) == want else None

    def versus(self, word, base, cell=None):
        """[(ratio, row, beyond the spread)] against another scheduler, the worst first."""
        out = []
        for r in self.of(word, cell):
            other = self.rows.get((base, r["cell"], r["size"]))
            if other:
                beyond = min(r["seconds"]) > max(other["seconds"])
                out.append((ratio(r, other), r, beyond))
        return sorted(out, key=lambda x: -x[0])

    def worst(self, word, base, cell=None):
        found = self.versus(word, base, cell)
        return found[0][0] if found else None

    def promise(self, word, base, limit):
        """A verdict: is the mean never more than `limit` times that of `base`?"""
        found = self.versus(word, base)
        if word == base or base not in self.words:
            return None
        over = [x for x in found if round(x[0], 3) > limit]
        missing = len(self.cells) * len(self.sizes) - len(found)
        return {
            # None: nobody knows, not everything was measured
            "kept": False if over else (None if missing else True),
            "measured": len(found),
            "over": len(over),
            "over_beyond_spread": sum(beyond for _, _, beyond in over),
            "worst": [{"ratio": x, "cell": r["cell"], "size": r["size"]} for x, r, _ in found[:1]],
        }

    def gain(self, word):
        """How many times faster than the default short downloads are in its worst case."""
        each = {
            r["size"]: 1 / value
            for value, r, _ in self.versus(word, "default", GAIN_CELL)
            if r["bytes"] <= GAIN_UP_TO
        }
        if word == "default" or not each:
            return None
        sizes = {s: each[s] for s in self.sizes if s in each}
        return {"mean": geometric_mean(sizes.values()), "sizes": sizes}

    def verdict(self, word):
        return {
            "scheduler": word,
            "never_slower_than_tcp": self.promise(word, schedulers.TCP, 1),
            "never_much_slower_than_default": self.promise(word, "default", MARGIN),
            "gain": self.gain(word),
            "over_bound": self.over_bound(word),
        }


# --- tables for people


def grid(summary, title, value):
    """One line per scheduler, one column per cell, and one for all of them."""
    yield title
    rows = (
        (w, *(number(value(w, c), ".2f") for c in (*summary.cells, None))) for w in summary.words
    )
    yield from table(("scheduler", *summary.cells, "all"), rows)
    yield ""


def overview(summary):
    long = [s for s, n in summary.sizes.items() if n >= LONG]
    if long:
        title = f"x bound: geometric mean over {', '.join(long)}; all: over all cells"
        yield from grid(summary, title, summary.over_bound)
    for base in (schedulers.TCP, "default"):
        if base in summary.words:
            title = f"x {base}: the worst size of each cell, over 1 is slower"
            yield from grid(summary, title, lambda w, c, b=base: summary.worst(w, b, c))


def details(summary):
    head = (
        "scheduler",
        "size",
        "mean s",
        "min s",
        "max s",
        "x default",
        "x TCP",
        "x bound",
    )
    for cell in summary.cells:
        paths = downloads.paths_of(cell)
        yield ", ".join(f"{p.name} {p.mbit:g} Mbit/s {p.rtt_ms} ms" for p in paths)
        rows = []
        for r in (r for w in summary.words for r in summary.of(w, cell)):
            default, tcp = (
                summary.rows.get((base, cell, r["size"])) for base in ("default", schedulers.TCP)
            )
            name = f"{r['scheduler']}, {r['path']}" if "path" in r else r["scheduler"]
            rows.append(
                (
                    name,
                    r["size"],
                    *(f"{f(r['seconds']):.3f}" for f in (statistics.fmean, min, max)),
                    number(ratio(r, default), ".3f"),
                    number(ratio(r, tcp), ".3f"),
                    f"{r['mean'] / r['bound']:.2f}",
                )
            )
        yield from table(head, rows)
        yield ""


def promise_words(p, label):
    worst = "".join(f"; worst: {w['cell']} {w['size']} {w['ratio']:.3f}" for w in p["worst"])
    if p["kept"] is False:
        counts = f"in {p['over']} of {p['measured']}, {p['over_beyond_spread']} beyond the spread"
        return f"{label}: no, slower {counts}{worst}"
    answer = "yes" if p["kept"] else f"unknown, only {p['measured']} measured"
    return f"{label}: {answer}{worst}"


def verdict_lines(verdicts):
    for v in verdicts:
        yield v["scheduler"]
        for key, label in (
            ("never_slower_than_tcp", "never slower than plain TCP"),
            (
                "never_much_slower_than_default",
                "never more than 2 % slower than default",
            ),
        ):
            if v[key]:
                yield "  " + promise_words(v[key], label)
        if v["gain"]:
            each = ", ".join(f"{s} {x:.2f}" for s, x in v["gain"]["sizes"].items())
            yield (
                f"  x faster than default in {GAIN_CELL} up to {GAIN_UP_TO >> 10}K:"
                f" {v['gain']['mean']:.2f} ({each})"
            )
        text = number(v["over_bound"], ".3f")
        yield f"  geometric mean over the bound from {LONG >> 10}K up: {text}"


def run(argv):
    p = downloads.parser(__doc__, "vmtest.sh bench quality")
    p.add_argument("--details", action="store_true", help="also every cell and size")
    args = p.parse_args(argv)
    cells = args.cell or CELLS
    chosen = schedulers.choices(args.scheduler)
    sizes = {s: downloads.size_of(s) for s in args.size or SIZES}
    print(
        f"{result.heading()}: mean of {args.repeat} downloads over one connection,"
        f" {args.pause:g} s apart; cells are the Mbit/s of wifi/lte"
    )
    rows, problems = [], []
    for choice in chosen:
        more, bad = measure(choice, cells, sizes, args)
        print(f"  {choice}: {len(more)} of {len(cells) * len(sizes)} measured", flush=True)
        rows += more
        problems += bad
    summary = Summary(rows, [c.word for c in chosen], cells, sizes)
    verdicts = [summary.verdict(w) for w in summary.words if w != schedulers.TCP]
    print()
    if args.details:
        print("\n".join(details(summary)))
    print("\n".join(overview(summary)))
    print("\n".join(verdict_lines(verdicts)))
    saved = result.save(
        "quality",
        arguments=vars(args),
        **downloads.describe(cells),
        tunables=schedulers.tunables(chosen),
        results=rows,
        verdicts=verdicts,
        problems=problems,
    )
    print(f"\nall figures: {saved}")
    return result.status("quality", problems)
