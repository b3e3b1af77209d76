# SPDX-License-Identifier: GPL-2.0
"""The README's tables and picture: downloads, from a result of the demo, and a path that dies, from
one of `bench outage`. Both are committed.

`python3 -m mptcplab readme build/out/demo-KERNEL.json build/out/outage-KERNEL.json` takes what they
need of them into bench/results, and writes them anew; without files it takes what is there.
"""

import json

from mptcplab.places import SRC

RESULT = SRC / "bench/results/demo.json"
README = SRC / "README.md"
PICTURE = SRC / "docs/img/downloads.svg"
BEGIN, END = "<!-- downloads: bench/mptcplab/report/readme.py -->\n", "<!-- end -->\n"
NAMES = {"plain TCP": "plain TCP over the better path", "default": "the kernel's default"}
FACTS = ("commit", "date", "kernel")
OUTAGE = SRC / "bench/results/outage.json"
OUTAGE_BEGIN = "<!-- outage: bench/mptcplab/report/readme.py -->\n"
# Of plain TCP, on the path that nothing happens to: why its bulk has gaps all the same.
OWN_LOSSES = (
    "Nothing happens to plain TCP's path: its gap is its own loss recovery."
    " A gap of that size in another row may be that, too."
)
LIVES = "plain TCP on the path that lives"
OUTAGE_LOADS = {
    "bulk": ("gap", "bulk's longest gap"),
    "stream": ("delay", "a stream's worst delay"),
}


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


def condensed_outage(result):
    """What a reader is told of a result of `bench outage`."""
    keys = ("scheduler", "load", "event", "victim", "seed", "gap", "delay", "carries")
    rows = [{k: r.get(k) for k in keys} for r in result["results"]]
    told = {k: result["arguments"][k] for k in ("mbit", "rtt", "times")}
    return {k: result[k] for k in FACTS} | told | {"results": rows}


def worst_ms(told, key, **where):
    rows = [r for r in told["results"] if all(r[k] == v for k, v in where.items())]
    return 1000 * max(r[key] for r in rows)


def outage_lines(told):
    rtts = [f"{rtt:g} ms" for rtt in told["rtt"]]
    head = [f"{text}, {rtt} dies" for _, text in OUTAGE_LOADS.values() for rtt in rtts]
    yield "| | " + " | ".join(head) + " |"
    yield "|---" * (1 + len(head)) + "|"
    for word in distinct(told["results"], "scheduler"):
        row = [
            f"{worst_ms(told, key, scheduler=word, load=load, event='blackhole', victim=victim):.0f} ms"
            for load, (key, _) in OUTAGE_LOADS.items()
            for victim in range(len(rtts))
        ]
        name = LIVES if word == "plain TCP" else named(word)
        yield f"| {name} | " + " | ".join(row) + " |"
    yield ""
    seeds = len(distinct(told["results"], "seed"))
    yield (
        f"`./vmtest.sh bench outage` at {told['commit']}, {told['date']}, Linux {told['kernel']},"
        f" virtual time, the worst of {seeds} seeds."
    )
    yield OWN_LOSSES


def draw_bars(axis, title, bars, unit):
    """bars: (name, value, colour), from the top."""
    names, values, colours = zip(*bars, strict=True)
    drawn = axis.barh(names, values, color=colours)
    axis.bar_label(drawn, [unit.format(v) for v in values], padding=3)
    axis.set_title(title)
    axis.set_xlim(0, 1.25 * max(values))
    axis.invert_yaxis()
    axis.grid(visible=False)
    axis.set_xticks([])
    for side in ("top", "right", "bottom"):
        axis.spines[side].set_visible(False)


def draw_gaps(axis, outage, looks):
    where = {"load": "bulk", "event": "blackhole", "victim": 0}
    bars = [
        (
            LIVES if w == "plain TCP" else named(w).strip("`"),
            worst_ms(outage, "gap", scheduler=w, **where),
            looks[w][0],
        )
        for w in distinct(outage["results"], "scheduler")
    ]
    draw_bars(axis, f"standstill when the path of {outage['rtt'][0]:g} ms dies", bars, "{:.0f} ms")


def draw(told, outage, out):
    from mptcplab.report import figures, style

    rows = told["results"]
    words, size = distinct(rows, "scheduler"), distinct(rows, "size")[-1]
    looks = style.styles([*words, *distinct(outage["results"], "scheduler")])
    cells = distinct(rows, "cell")
    figures.plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "downloads"})
    fig, axes = figures.panels(len(cells) + 1, 4.2, 1.9, 2)
    for axis, cell in zip(axes, cells, strict=False):
        bars = [
            (
                named(w).strip("`"),
                float(seconds(rows, cell=cell, scheduler=w, size=size)),
                looks[w][0],
            )
            for w in words
        ]
        draw_bars(axis, f"{size[:-1]} {size[-1]}B over {rates_of(cell)}", bars, "{:.3f} s")
    draw_gaps(axes[-1], outage, looks)
    out.parent.mkdir(exist_ok=True)
    fig.savefig(out, metadata={"Date": None, "Creator": None})
    figures.plt.close(fig)
    text = out.read_text()
    out.write_text(text.replace("?>\n", "?>\n<!-- SPDX-License-Identifier: GPL-2.0 -->\n", 1))


def kept(file, result, condense):
    """What is committed, of a new result if there is one."""
    if result:
        file.write_text(json.dumps(condense(json.loads(result.read_text())), indent=1) + "\n")
    return json.loads(file.read_text())


def put(begin, lines, page=README):
    before, _, rest = page.read_text().partition(begin)
    _, _, after = rest.partition(END)
    page.write_text(before + begin + "\n".join(lines) + "\n" + END + after)


def write(demo=None, outage=None):
    told = kept(RESULT, demo, condensed)
    put(BEGIN, told_lines(told))
    gaps = kept(OUTAGE, outage, condensed_outage)
    draw(told, gaps, PICTURE)
    put(OUTAGE_BEGIN, outage_lines(gaps))
