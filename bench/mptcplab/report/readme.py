# SPDX-License-Identifier: GPL-2.0
"""The README's table and picture of downloads, from one result of the demo that is committed.

`python3 -m mptcplab readme build/out/demo-KERNEL.json` takes what they need of it into
bench/results/demo.json, and writes both anew; without a file it takes what is there.
"""

import json

from mptcplab.places import SRC

RESULT = SRC / "bench/results/demo.json"
README = SRC / "README.md"
PICTURE = SRC / "docs/img/downloads.svg"
BEGIN, END = "<!-- downloads: bench/mptcplab/report/readme.py -->\n", "<!-- end -->\n"
NAMES = {"plain TCP": "plain TCP over the better path", "default": "the kernel's default"}
FACTS = ("commit", "date", "kernel")


def condensed(result):
    """What a reader is told of a result of the demo."""
    keys = ("cell", "scheduler", "size", "seconds", "mean")
    rows = [{k: r[k] for k in keys} for r in result["results"]]
    return {k: result[k] for k in FACTS} | {"rtt_ms": rtts_of(result), "results": rows}


def rtts_of(result):
    (rtts,) = {tuple(p["rtt_ms"] for p in paths) for paths in result["paths"].values()}
    return list(rtts)


def distinct(rows, key):
    return list(dict.fromkeys(r[key] for r in rows))


def seconds(rows, **where):
    (row,) = (r for r in rows if all(r[k] == v for k, v in where.items()))
    return f"{row['mean']:.3f}"


def rates_of(cell):
    return " and ".join(cell.split("/")) + " Mbit/s"


def named(word):
    return NAMES.get(word, f"`{word}`")


def table_lines(told):
    rows = told["results"]
    cells, sizes = distinct(rows, "cell"), distinct(rows, "size")
    head = []
    for cell in cells:
        first, *others = (f"{s[:-1]} {s[-1]}B" for s in sizes)
        head += [f"{rates_of(cell)}: {first}", *others]
    yield "| | " + " | ".join(head) + " |"
    yield "|---" * (1 + len(head)) + "|"
    for word in distinct(rows, "scheduler"):
        row = [seconds(rows, cell=c, scheduler=word, size=s) for c in cells for s in sizes]
        yield f"| {named(word)} | " + " | ".join(row) + " |"


def told_lines(told):
    yield from table_lines(told)
    yield ""
    yield (
        f"`./vmtest.sh demo` at {told['commit']}, {told['date']}, Linux {told['kernel']}, virtual"
        " time, means of three. The default has"
    )
    rows = [r for r in told["results"] if r["scheduler"] == "default"]
    worst = max(rows, key=lambda r: max(r["seconds"]) - min(r["seconds"]))
    yield (
        f"several stable outcomes: {worst['size'][:-1]} {worst['size'][-1]}B over"
        f" {rates_of(worst['cell'])} took it {min(worst['seconds']):.1f} to"
        f" {max(worst['seconds']):.1f} s."
    )


def draw(told, out):
    from mptcplab.report import figures, style

    rows = told["results"]
    words, size = distinct(rows, "scheduler"), distinct(rows, "size")[-1]
    looks = style.styles(words)
    cells = distinct(rows, "cell")
    figures.plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "downloads"})
    fig, axes = figures.panels(len(cells), 4.2, 1.9)
    for axis, cell in zip(axes, cells, strict=True):
        means = [float(seconds(rows, cell=cell, scheduler=w, size=size)) for w in words]
        names = [named(w).strip("`") for w in words]
        bars = axis.barh(names, means, color=[looks[w][0] for w in words])
        axis.bar_label(bars, [f"{m:.3f} s" for m in means], padding=3)
        axis.set_title(f"{size[:-1]} {size[-1]}B over {rates_of(cell)}")
        axis.set_xlim(0, 1.25 * max(means))
        axis.invert_yaxis()
        axis.grid(visible=False)
        axis.set_xticks([])
        for side in ("top", "right", "bottom"):
            axis.spines[side].set_visible(False)
    out.parent.mkdir(exist_ok=True)
    fig.savefig(out, metadata={"Date": None, "Creator": None})
    figures.plt.close(fig)
    text = out.read_text()
    out.write_text(text.replace("?>\n", "?>\n<!-- SPDX-License-Identifier: GPL-2.0 -->\n", 1))


def write(result_file=None):
    if result_file:
        result = condensed(json.loads(result_file.read_text()))
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    told = json.loads(RESULT.read_text())
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(before + BEGIN + "\n".join(told_lines(told)) + "\n" + END + after)
    draw(told, PICTURE)
