# SPDX-License-Identifier: GPL-2.0
"""The kinds of figures that a scenario can ask for; each is a function of a figure and its records."""

import itertools
import math
import os
import tempfile

# Its list of fonts: the root stays as it was made.
os.environ.setdefault("MPLCONFIGDIR", tempfile.gettempdir())

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator

from mptcplab.measures import MEASURES
from mptcplab.report import stats
from mptcplab.report.data import INVALID, Data
from mptcplab.schedulers import TCP
from mptcplab.schema import FIGURES, PARTS

# Below this a CCDF says more about chance than about a scheduler.
LEAST_PART = 1e-4

plt.rcParams.update(
    {
        "font.size": 8,
        "axes.titlesize": 9,
        "figure.dpi": 110,
        "hatch.linewidth": 0.5,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "legend.fontsize": 7,
    }
)


def panels(count, width, height, most=4):
    columns = min(most, count)
    rows = math.ceil(count / columns)
    fig, axes = plt.subplots(
        rows,
        columns,
        figsize=(width * columns, height * rows),
        squeeze=False,
        layout="constrained",
    )
    flat = list(axes.flat)
    for axis in flat[count:]:
        axis.set_axis_off()
    return fig, flat[:count]


def text_of(params):
    return ", ".join(f"{k} {v}" for k, v in params.items())


def heatmap(figure, records):
    """One map per scheduler: parameter x, parameter y, a measure from 0 to 1."""
    data = Data(figure, records)
    xs, ys = data.values(figure["x"]), data.values(figure["y"])
    fig, axes = panels(len(data.schedulers), 2.9, 2.7)
    image = None
    for axis, scheduler in zip(axes, data.schedulers, strict=True):
        grid = [[math.nan] * len(xs) for _ in ys]
        for (i, y), (j, x) in itertools.product(enumerate(ys), enumerate(xs)):
            at = {figure["x"]: x, figure["y"]: y}
            found = data.mean(scheduler, **at)
            if found == INVALID:
                axis.text(j, i, INVALID, ha="center", va="center", fontsize=5)
            elif found:
                grid[i][j] = found.value
                said = f"{found.value:.2f}"
                claim = data.claim(scheduler, **at)
                said += f"\n({claim:g})" if claim is not None else ""
                axis.text(
                    j,
                    i,
                    said,
                    ha="center",
                    va="center",
                    fontsize=6,
                    color="white" if found.value < 0.55 else "black",
                )
        image = axis.imshow(grid, cmap="cividis", vmin=0, vmax=1, origin="lower", aspect="auto")
        axis.set_title(scheduler)
        axis.set_xticks(range(len(xs)), xs)
        axis.set_yticks(range(len(ys)), ys)
        axis.set_xlabel(f"{figure['x']}, Mbit/s")
        axis.set_ylabel(f"{figure['y']}, Mbit/s")
        axis.grid(visible=False)
    fig.colorbar(image, ax=axes, shrink=0.6, label=data.label)
    return fig


def bars(figure, records):
    """Groups of bars along parameter x (or one group), one bar per scheduler, with intervals."""
    data = Data(figure, records)
    name = figure["x"]
    groups = data.values(name) if name else [None]
    fig, axis = plt.subplots(
        figsize=(max(7, 1.2 + 0.16 * len(groups) * (len(data.schedulers) + 1)), 3.2),
        layout="constrained",
    )
    width = 0.9 / len(data.schedulers)
    for i, scheduler in enumerate(data.schedulers):
        colour, _, _, hatch = data.style[scheduler]
        label = scheduler
        for g, group in enumerate(groups):
            at = {name: group} if name else {}
            found = data.mean(scheduler, **at)
            x = g + (i - (len(data.schedulers) - 1) / 2) * width
            if found == INVALID:
                axis.text(
                    x,
                    0,
                    " " + INVALID,
                    rotation=90,
                    fontsize=5,
                    ha="center",
                    va="bottom",
                )
            elif found:
                axis.bar(
                    x,
                    found.value,
                    width,
                    yerr=found.half or 0,
                    color=colour,
                    hatch=hatch,
                    label=label,
                    edgecolor="white",
                    error_kw={"lw": 0.8, "ecolor": "#666666"},
                )
                label = None
            claim = data.claim(scheduler, **at)
            if claim is not None:
                axis.plot(x, claim, "D", mfc="none", mec="red", ms=5, label="_paper")
    if figure["beside"]:
        beside(axis, data, groups)
    if figure["claims"]:
        axis.plot([], [], "D", mfc="none", mec="red", ms=5, label="the paper's")
    names = [str(g) if name else "" for g in groups]
    long = sum(map(len, names)) > 10 * fig.get_figwidth()
    axis.set_xticks(range(len(groups)), names, rotation=30 if long else 0)
    axis.grid(visible=False, axis="x")
    axis.set_axisbelow(True)
    axis.set_xlabel(name)
    axis.set_ylabel(data.label)
    if figure["log"]:
        axis.set_yscale("log")
    else:
        # an interval of few values may reach below what there can be
        axis.set_ylim(bottom=0)
    fig.legend(loc="outside right upper")
    return fig


def beside(axis, data, groups):
    """What the measure could be at best, as a line over each group."""
    name = data.figure["beside"]
    label = MEASURES[name].text
    for g, group in enumerate(groups):
        at = {data.figure["x"]: group} if group is not None else {}
        every = [r for s in data.schedulers for r in data.of(s, **at)]
        found = stats.mean([r[name] for r in every if r.cell.scheduler != TCP])
        if found:
            axis.hlines(
                found.value,
                g - 0.46,
                g + 0.46,
                colors="#D55E00",
                ls="--",
                lw=1.2,
                label=label,
            )
            label = None


def lines(figure, records):
    """A measure along a parameter of numbers, one line per scheduler."""
    data = Data(figure, records)
    name, group = figure["x"], figure["group"]
    groups = data.values(group) if group else [None]
    fig, axes = panels(len(groups), 3.2 if group else 5, 3.0, 3)
    for axis, part in zip(axes, groups, strict=True):
        for scheduler in data.schedulers:
            points = []
            for x in sorted(data.values(name)):
                at = {name: x} | ({group: part} if group else {})
                found = data.mean(scheduler, **at)
                if found and found != INVALID:
                    points.append((x, found))
                claim = data.claim(scheduler, **at)
                if claim is not None:
                    axis.plot(x, claim, "D", mfc="none", mec="red", ms=5)
            colour, dashes, marker, _ = data.style[scheduler]
            axis.errorbar(
                [x for x, _ in points],
                [m.value for _, m in points],
                yerr=[m.half or 0 for _, m in points],
                color=colour,
                ls=dashes,
                marker=marker,
                ms=3.5,
                lw=1,
                label=scheduler,
            )
        if part is not None:
            axis.set_title(f"{group} {part}")
        axis.set_xlabel(name)
        axis.set_ylabel(data.label)
        if figure["log"]:
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
        else:
            axis.xaxis.set_major_locator(MaxNLocator(5))
    shared_legend(fig, axes)
    return fig


def shared_legend(fig, axes):
    found = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    fig.legend(found.values(), found.keys(), loc="outside right upper")


def combinations(data):
    """[(title, params)]: one panel each. Where a parameter is a name, that is enough of a title."""
    found = {}
    for r in data.records:
        params = r.cell.params
        names = {k: v for k, v in params.items() if isinstance(v, str)}
        found[text_of(names or params)] = params
    return list(found.items())


def ccdf(figure, records):
    """Of objects' completion, or of packets' out-of-order delay: the part that took longer."""
    data = Data(figure, records)
    cases = combinations(data)
    fig, axes = panels(len(cases), 3.4, 3.0, 3)
    curve = ooo_curve if figure["of"] == "ooo" else object_curve
    for axis, (title, params) in zip(axes, cases, strict=True):
        for scheduler in data.schedulers:
            xs, ys = curve([r for r in data.of(scheduler, **params) if r.valid])
            colour, dashes, _, _ = data.style[scheduler]
            if xs:
                axis.step(xs, ys, where="post", color=colour, ls=dashes, lw=1, label=scheduler)
        axis.set_title(title)
        axis.set_yscale("log")
        axis.set_ylim(LEAST_PART if figure["of"] == "ooo" else None, 1.1)
        axis.set_xlabel("out-of-order delay, s" if figure["of"] == "ooo" else "completion time, s")
        axis.set_ylabel("part of the packets" if figure["of"] == "ooo" else "part of the objects")
        if figure["log"]:
            axis.set_xscale("log")
    shared_legend(fig, axes)
    return fig


def object_curve(found):
    times = sorted(o["seconds"] for r in found for o in r.result["objects"])
    return times, [1 - i / len(times) for i in range(len(times))]


def ooo_curve(found):
    """The mean of the runs' quantiles: a capture is kept as these."""
    rows = [
        r.result["capture"]["quantiles_s"]
        for r in found
        if "quantiles_s" in (r.result.get("capture") or {})
    ]
    if not rows:
        return [], []
    means = [sum(column) / len(column) for column in zip(*rows, strict=True)]
    return means, [max(1 - p, LEAST_PART / 10) for p in PARTS]


def trace(figure, records):
    """Something over time, one line per scheduler; of the first seed and run."""
    data = Data(figure, records)
    cases = combinations(data)
    fig, axes = panels(len(cases), 4.6, 2.8, 2)
    for axis, (title, params) in zip(axes, cases, strict=True):
        for scheduler in data.schedulers:
            found = [r for r in data.of(scheduler, **params) if r.valid]
            points = found[0].result["series"].get(figure["of"]) if found else None
            if points:
                colour, dashes, _, _ = data.style[scheduler]
                axis.plot(
                    *zip(*points, strict=True),
                    color=colour,
                    ls=dashes,
                    lw=1,
                    label=scheduler,
                )
        axis.set_title(title)
        axis.set_xlabel("time, s")
        axis.set_ylabel(figure["unit"] or figure["of"])
        if figure["log"]:
            axis.set_yscale("log")
    shared_legend(fig, axes)
    return fig


KINDS = {name: globals()[name] for name in FIGURES}


def draw(figure, records, file):
    fig = KINDS[figure["kind"]](figure, records)
    fig.savefig(file)
    plt.close(fig)
