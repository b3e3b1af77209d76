# SPDX-License-Identifier: GPL-2.0
"""A recording of decisions as a timeline: paths as rows, and below them waits and the connection.

A PNG with its titles inside, and an HTML page that has it, the sums, and nothing from elsewhere.
"""

import base64
import collections
import dataclasses
import math

import jinja2

from mptcplab import recording
from mptcplab.process import LabError
from mptcplab.report.figures import MaxNLocator, plt, shared_legend
from mptcplab.report.page import HERE
from mptcplab.report.style import COLOURS, DASHES, HATCHES

WIDTH = 13
PATH_HEIGHT, REASON_HEIGHT, CONNECTION_HEIGHT = 1.9, 0.24, 1.3
# (name, of a path's flags, hatch, colour): what a path is in for as long as it is so
STATES = (
    ("given up, or closing", lambda f: not f & recording.ACTIVE, "xx", "#555555"),
    ("after a timeout", lambda f: f & recording.LOSS, "\\\\", COLOURS[6]),
    ("repairs a loss", lambda f: f & recording.REPAIRS, "..", COLOURS[7]),
)
OF_REASON = {
    name: (COLOURS[1 + i % 7], HATCHES[i % len(HATCHES)]) for i, name in enumerate(recording.WAITS)
}


@dataclasses.dataclass
class Connection:
    """Decisions of one, at seconds since the first of them."""

    title: str
    kernel: str
    decisions: list
    times: list
    end: float  # of what is looked at
    begin: float = 0

    @property
    def inside(self):
        pairs = zip(self.times, self.decisions, strict=True)
        return [(t, d) for t, d in pairs if self.begin <= t <= self.end]

    @property
    def paths(self):
        return max((len(d.seen) for d in self.decisions if d.seen), default=0)


def connection(found, token=None, begin=None, end=None):
    """The busiest one of a recording, or that with the token; between two seconds."""
    counts = collections.Counter(d.token for d in found.decisions)
    if not counts:
        raise LabError(f"{found.name}: no decision is in it")
    if token is None:
        token = counts.most_common(1)[0][0]
    if token not in counts:
        known = " ".join(f"0x{t:08x}" for t in counts)
        raise LabError(f"{found.name}: no connection 0x{token:08x}, there are: {known}")
    mine = [d for d in found.decisions if d.token == token]
    times = [d.when - mine[0].when for d in mine]
    begin = 0 if begin is None else begin
    end = times[-1] if end is None else end
    schedulers = " and ".join(dict.fromkeys(d.scheduler for d in mine))
    ends = " > ".join(found.ends.get(token, ()))
    title = f"{schedulers}, connection 0x{token:08x} {ends}"
    made = Connection(title, found.kernel, mine, times, end, begin)
    if not made.inside:
        raise LabError(
            f"{found.name}: no decision from {begin:g} to {end:g} s of {times[-1]:.3f} s"
        )
    return made


def held(conn, of, those=lambda decision: True):
    """[(time, of(decision))] of those with a snapshot; what holds before and behind goes to the edges."""
    out, before = [], []
    for t, d in zip(conn.times, conn.decisions, strict=True):
        if d.seen is None or t > conn.end or not those(d):
            continue
        if t < conn.begin:
            before = [(conn.begin, of(d))]
        else:
            out.append((t, of(d)))
    out = before + out
    return [*out, (conn.end, out[-1][1])] if out else []


def series(conn, number, *those):
    """[(time, Path or None)]: as each decision saw that path."""
    return held(conn, lambda d: d.seen[number] if number < len(d.seen) else None, *those)


def spans(points, holds):
    """[(from, to)] where it holds, what follows on one another as one."""
    out, since = [], None
    for t, path in points:
        now = path is not None and bool(holds(path.flags))
        if now and since is None:
            since = t
        if not now and since is not None:
            out.append((since, t))
            since = None
    if since is not None:
        out.append((since, points[-1][0]))
    return out


def waits(conn):
    """{reason: [(from, seconds)]}: each lasts until the next decision on new data."""
    out = collections.defaultdict(list)
    new = [(t, d) for t, d in zip(conn.times, conn.decisions, strict=True) if is_new(d)]
    ends = [t for t, _ in new[1:]] + [max(conn.end, conn.times[-1])]
    for (t, d), until in zip(new, ends, strict=True):
        first, last = max(t, conn.begin), min(until, conn.end)
        if d.verdict == "wait" and first <= last:
            out[d.reason].append((first, last - first))
    return {reason: out[reason] for reason in recording.WAITS if reason in out}


def is_new(decision):
    """On new data: only there windows have what covers the queue, and a waiting writer's data counts."""
    return decision.verdict in ("send", "wait")


# --- the picture


def draw_path(axis, conn, number):
    points, new = series(conn, number), series(conn, number, is_new)
    times = [t for t, _ in points]

    def values(of, points=points):
        return [math.nan if p is None else of(p) / 1000 for _, p in points]

    window, flight = values(lambda p: p.cwnd * p.mss, new), values(lambda p: p.inflight * p.mss)
    queue = values(lambda p: p.inflight * p.mss + p.unsent)
    top = 1.08 * max((v for v in window + queue if not math.isnan(v)), default=1)
    low = 0.3 * top
    states(axis, points)
    fill = {"step": "post", "linewidth": 0}
    axis.fill_between(times, flight, color=COLOURS[2], alpha=0.75, label="in flight", **fill)
    axis.fill_between(
        times, flight, queue, facecolor=COLOURS[1], hatch="////", label="queue of TCP", **fill
    )
    axis.step([t for t, _ in new], window, where="post", color="black", lw=1, label="window")
    names = marks(axis, conn, number, low)
    axis.set_ylim(-low, top)
    ticks = [t for t in MaxNLocator(4).tick_values(0, top) if 0 <= t <= top]
    axis.set_yticks([-0.28 * low, -0.72 * low, *ticks], [*names, *(f"{t:g}" for t in ticks)])
    axis.axhline(0, color="#888888", lw=0.6)
    axis.set_ylabel(f"path {number}\nkB")


def states(axis, points):
    for name, holds, hatch, colour in STATES:
        for first, last in spans(points, holds):
            axis.axvspan(
                first, last, facecolor="none", edgecolor=colour, hatch=hatch, lw=0, label=name
            )


def marks(axis, conn, number, low):
    """Below the line: new data, and copies; what there is of each. Marks lie on one another."""
    mine = [(t, d) for t, d in conn.inside if number in d.paths]
    sends = [t for t, d in mine if d.verdict == "send"]
    copies = [t for t, d in mine if d.verdict == "copy"]
    axis.vlines(sends, -0.46 * low, -0.1 * low, color=COLOURS[5], lw=0.9, label="sends new data")
    axis.plot(
        copies,
        [-0.72 * low] * len(copies),
        "D",
        mfc="none",
        mec=COLOURS[6],
        mew=0.9,
        ms=4,
        ls="",
        label="sends a copy",
    )
    return f"sends ({len(sends)})", f"copies ({len(copies)})"


def draw_waits(axis, conn):
    found = waits(conn)
    least = (conn.end - conn.begin) / 600
    for row, (reason, rows) in enumerate(found.items()):
        colour, hatch = OF_REASON[reason]
        seen = [(t, max(seconds, least)) for t, seconds in rows]
        axis.broken_barh(seen, (row - 0.36, 0.72), facecolor=colour, hatch=hatch, lw=0)
    names = [f"{r} ({len(found[r])})" for r in found] or ["none"]
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_ylabel("waits")


def top_of(mine):
    """A peer's window that is far above all else would press it flat; then it is not in the picture."""
    most = max([max(d.pending, d.unacked) for _, d in mine], default=0) / 1000
    least = min([d.window for _, d in mine], default=0) / 1000
    return 1.1 * (
        most if least > 2 * most > 0 else max([d.window / 1000 for _, d in mine] + [most, 1])
    )


def draw_connection(axis, conn):
    mine, new = held(conn, lambda d: d), held(conn, lambda d: d, is_new)
    left = "the peer's window, left,\nwhere it is not far above"
    lines = (
        ("to be assigned", new, lambda d: d.pending, COLOURS[5]),
        (left, new, lambda d: d.window, COLOURS[3]),
        ("not acknowledged", mine, lambda d: d.unacked, COLOURS[6]),
    )
    for (name, points, of, colour), dashes in zip(lines, DASHES, strict=False):
        times, values = [t for t, _ in points], [of(d) / 1000 for _, d in points]
        axis.step(times, values, where="post", color=colour, ls=dashes, lw=1.2, label=name)
    axis.set_ylim(0, top_of(mine))
    axis.set_ylabel("connection\nkB")
    axis.set_xlabel("seconds since the connection's first decision in the recording")


def figure(conn):
    rows = len(waits(conn)) or 1
    heights = [PATH_HEIGHT] * conn.paths + [0.3 + REASON_HEIGHT * rows, CONNECTION_HEIGHT]
    fig, axes = plt.subplots(
        len(heights),
        1,
        figsize=(WIDTH, sum(heights) + 0.9),
        sharex=True,
        squeeze=False,
        gridspec_kw={"height_ratios": heights},
        layout="constrained",
    )
    axes = list(axes.flat)
    for number, axis in enumerate(axes[: conn.paths]):
        draw_path(axis, conn, number)
    draw_waits(axes[-2], conn)
    draw_connection(axes[-1], conn)
    # marks at the ends are seen whole
    edge = max(conn.end - conn.begin, 1e-6) / 300
    axes[-1].set_xlim(conn.begin - edge, conn.end + edge)
    for axis in axes[:-2]:
        axis.grid(visible=False, axis="y")
    fig.suptitle(f"{conn.title}\n{facts(conn)}", fontsize=9)
    shared_legend(fig, axes)
    return fig


# --- sums, and the page


def facts(conn):
    return (
        f"Linux {conn.kernel}; {conn.begin:.3f} to {conn.end:.3f} s of {conn.times[-1]:.3f} s, "
        f"{len(conn.inside)} of {len(conn.decisions)} decisions"
    )


def sums(conn):
    """Rows of the page's tables: of paths, and of reasons to wait."""
    paths = []
    for number in range(conn.paths):
        mine = [d for _, d in conn.inside if number in d.paths]
        sends = [d for d in mine if d.verdict == "send"]
        copies = sum(d.verdict == "copy" for d in mine)
        paths.append((number, len(sends), sum(d.bytes for d in sends), copies))
    reasons = [(r, len(rows), sum(s for _, s in rows)) for r, rows in waits(conn).items()]
    return paths, reasons


def write(file, folder, token=None, begin=None, end=None):
    """Draws it; the names of the PNG and of the page."""
    conn = connection(recording.read(file), token, begin, end)
    folder.mkdir(parents=True, exist_ok=True)
    zoom = "" if begin is None and end is None else f"-{conn.begin:g}-{conn.end:g}"
    png, page = (folder / f"{file.stem}{zoom}{ext}" for ext in (".png", ".html"))
    fig = figure(conn)
    fig.savefig(png)
    plt.close(fig)
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True)
    paths, reasons = sums(conn)
    text = env.get_template("timeline.html.j2").render(
        conn=conn,
        facts=facts(conn),
        paths=paths,
        reasons=reasons,
        name=file.name,
        data=base64.b64encode(png.read_bytes()).decode(),
    )
    page.write_text(text)
    return png, page
