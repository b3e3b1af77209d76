# SPDX-License-Identifier: GPL-2.0
"""Two result files against each other: which cells got better or worse beyond the seeds' spread.

A cell is a scenario, its parameters and a scheduler; its headline measure is compared seed by seed
and run by run. A change counts where the 95 % interval of the ratio does not hold 1. With one pair
there is no spread, and so no verdict: what a difference means nobody can say.
"""

import collections
import dataclasses
import json

from mptcplab import measures
from mptcplab.records import judged, read
from mptcplab.report import stats
from mptcplab.table import table

BETTER, WORSE, SAME, SINGLE = (
    "better",
    "worse",
    "no clear change",
    "one pair, no verdict",
)


@dataclasses.dataclass(frozen=True)
class Change:
    cell: str
    measure: str
    ratio: stats.Ratio | None  # B / A
    verdict: str


def by_cell(records):
    out = collections.defaultdict(dict)
    for r in records:
        cell = r.cell
        key = (
            cell.scenario,
            cell.form,
            r.raw["kernel"],
            json.dumps(cell.params),
            cell.scheduler,
        )
        out[key][cell.seed, cell.run] = r
    return out


def verdict_of(ratio, smaller):
    if ratio.low is None:
        return SINGLE
    if not ratio.clear:
        return SAME
    return BETTER if (ratio.value < 1) == smaller else WORSE


def change(key, a, b):
    """Of one cell, or None where nothing can be paired."""
    name = next(iter(b.values())).headline
    pairs = [(b[at][name], a[at][name]) for at in sorted(a.keys() & b.keys())]
    ratio = stats.ratio(pairs)
    if not ratio:
        return None
    params = " ".join(f"{k}={v}" for k, v in json.loads(key[3]).items())
    text = " ".join(filter(None, (key[0], params, key[4])))
    return Change(text, name, ratio, verdict_of(ratio, measures.MEASURES[name].smaller))


def changes(raw_a, raw_b):
    """(changes, what is in only one of them, what is valid in only one)."""
    a, b = (by_cell(judged(raw)[0]) for raw in (raw_a, raw_b))
    both = [k for k in a if k in b]
    found = [(k, change(k, a[k], b[k])) for k in both]
    names = [f"{k[0]} {k[3]} {k[4]}" for k in a.keys() ^ b.keys()]
    lost = [f"{k[0]} {k[3]} {k[4]}" for k, c in found if not c]
    return [c for _, c in found if c], sorted(names), sorted(lost)


def lines(file_a, file_b, everything=False):
    found, single, lost = changes(read(file_a), read(file_b))
    order = (WORSE, BETTER, SINGLE, SAME)
    counts = collections.Counter(c.verdict for c in found)
    yield (", ".join(f"{counts[v]} {v}" for v in order) + f" (of {len(found)} cells; B / A)")
    shown = [c for c in found if everything or c.verdict in (WORSE, BETTER)]
    rows = []
    for c in sorted(shown, key=lambda c: order.index(c.verdict)):
        span = "-" if c.ratio.low is None else f"{c.ratio.low:.3f} to {c.ratio.high:.3f}"
        rows.append((c.cell, c.measure, f"{c.ratio.value:.3f}", span, c.ratio.count, c.verdict))
    if rows:
        yield from table(("cell", "measure", "B / A", "95 %", "pairs", "verdict"), rows)
    if single:
        yield f"in one file only: {len(single)} cells, such as {single[0]}"
    if lost:
        yield f"without a valid pair: {len(lost)} cells, such as {lost[0]}"
