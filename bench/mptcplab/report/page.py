# SPDX-License-Identifier: GPL-2.0
"""The report: one HTML page that needs nothing beside it, and its figures as PNG files."""

import base64
import collections
import datetime
import json
from pathlib import Path

import jinja2

from mptcplab import measures, schedulers
from mptcplab.places import OUT, SRC
from mptcplab.records import PlanError, digest, judged, read
from mptcplab.report import figures, stats
from mptcplab.report.data import Nothing
from mptcplab.report.style import order
from mptcplab.scenario import load_all
from mptcplab.table import table

HERE = Path(__file__).resolve().parent
TO = OUT / "report"


def in_order(scenario, records):
    """As the scenario has its cells, whichever was finished first."""
    params = {digest(p): i for i, p in enumerate(scenario.combinations)}

    def place(record):
        # the last: of an older form of the scenario
        at = params.get(digest(record.cell.params), len(params))
        return at, record.cell.seed, record.cell.run

    return sorted(records, key=place)


class Section:
    """One scenario in one form, on one kernel."""

    def __init__(self, scenario, records):
        self.scenario, self.records = scenario, in_order(scenario, records)
        self.first = self.records[0].cell
        self.kernel = records[0].raw["kernel"]
        self.name = f"{scenario.name}-{scenario.form}-{self.kernel}"

    @property
    def words(self):
        return {r.cell.scheduler for r in self.records}

    @property
    def paths(self):
        """For people, with ranges where a parameter changes them."""
        for i, path in enumerate(self.first.paths):
            every = [r.cell.paths[i] for r in self.records]
            there, back = (spread(p.one_way_ms(r) for p in every) for r in ("server", "client"))
            parts = [
                f"{spread(p.mbit for p in every)} Mbit/s",
                f"{there} ms there, {back} ms back",
                f"{path.aqm or 'queue'} {spread(p.limit for p in every)} packets",
            ]
            if any(p.jitter_ms for p in every):
                parts.append(f"± {spread(p.jitter_ms for p in every)} ms each way")
            if any(p.loss for p in every):
                to = f" towards the {path.loss_to}" if path.loss_to else " each way"
                parts.append(f"{spread(p.loss for p in every)} % loss{to}")
            if path.local:
                parts.append(f"queue at the {path.local}'s own device")
            yield f"{path.name}: {', '.join(parts)}"

    @property
    def facts(self):
        work = {k: v for k, v in self.first.workload.items() if k != "kind"}
        seeds = sorted({r.cell.seed for r in self.records})
        runs = 1 + max(r.cell.run for r in self.records)
        commits = sorted({str(r.raw["commit"]) for r in self.records})
        text = json.dumps(work).replace('"', "").strip("{}")
        return (
            f"workload {self.first.workload['kind']}: {text}. Seeds {', '.join(map(str, seeds))}, "
            f"{runs} run{'s' * (runs > 1)} each. Linux {self.kernel}, commit {', '.join(commits)}."
        )

    @property
    def invalid(self):
        bad = [r for r in self.records if not r.valid]
        reasons = collections.Counter(p for r in bad for p in r.problems)
        return len(bad), [f"{text} ({n})" for text, n in reasons.most_common(5)]


def spread(values):
    found = sorted({round(v, 3) for v in values})
    return f"{found[0]:g}" if len(found) == 1 else f"{found[0]:g} to {found[-1]:g}"


def better(record, other, name):
    """How many times better than the other, over 1 is better; None where one is missing."""
    a, b = record[name], other
    if not a or not b:
        return None
    return (b, a) if measures.MEASURES[name].smaller else (a, b)


def paired(records):
    """{scheduler: [(record, {scheduler: record of the same cell})]}"""
    groups = collections.defaultdict(dict)
    for r in records:
        key = json.dumps([r.raw["kernel"], r.cell.form, r.cell.params, r.cell.seed, r.cell.run])
        groups[key][r.cell.scheduler] = r
    out = collections.defaultdict(list)
    for group in groups.values():
        for scheduler, record in group.items():
            out[scheduler].append((record, group))
    return out


BASES = ("default", schedulers.TCP, "bound")


def gains(records):
    """{scheduler: {base: (geometric mean, worst, best cell) or None}}: times better than each base."""
    name = records[0].headline
    found = paired(records)
    out = {}
    for scheduler in order(found):
        row = {}
        for base in BASES:
            pairs = []
            for record, group in found[scheduler]:
                other = None
                if base == "bound":
                    other = record.bound()
                elif base in group and base != scheduler:
                    other = group[base][name]
                pair = better(record, other, name)
                if pair:
                    pairs.append(pair)
            each = [a / b for a, b in pairs]
            row[base] = (stats.ratio(pairs).value, min(each), max(each)) if pairs else None
        out[scheduler] = row
    return out


def summary(records):
    """Rows for people: scheduler, gain over default, over plain TCP on the better path, the bound."""
    for scheduler, row in gains(records).items():
        yield scheduler, *map(gain_text, row.values())


def gain_text(gain):
    if not gain:
        return "-"
    whole, worst, best = gain
    alike = f"{worst:.2f}" == f"{best:.2f}"
    return f"{whole:.2f}" if alike else f"{whole:.2f} ({worst:.2f} to {best:.2f})"


def kinds(section):
    """(what the section is called, its records), of each value of what the scenario tells apart."""
    name, key = section.scenario.name, section.scenario.apart
    groups = collections.defaultdict(list)
    for r in section.records:
        groups[f"{name}, {key}={json.dumps(r.cell.params[key])}" if key else name].append(r)
    return sorted(groups.items())


def digest_of(sections):
    """All of the summaries as plain data, with what they depend on."""
    rows = [
        {
            "scenario": name,
            "form": s.scenario.form,
            "kernel": s.kernel,
            "measure": records[0].headline,
            "cells": len({json.dumps(r.cell.params) for r in records}),
            "invalid": sum(not r.valid for r in records),
            "gains": gains(records),
        }
        | ({"told": told(s, records)} if s.scenario.told else {})
        for s in sections
        for name, records in kinds(s)
    ]
    raws = [r.raw for s in sections for r in s.records]
    return {"commits": sorted({str(r["commit"]) for r in raws}), "scenarios": rows}


def told(section, records):
    """Of each combination and scheduler the means of the measures that the scenario names."""
    groups = collections.defaultdict(list)
    for r in records:
        groups[json.dumps(r.cell.params), r.cell.scheduler].append(r)
    places = [(p, w) for p in dict.fromkeys(p for p, _ in groups) for w in order(section.words)]
    return [
        {
            "params": json.loads(at[0]),
            "scheduler": at[1],
            "values": {
                name: found.value if found else None
                for name in section.scenario.told
                for found in [stats.mean([r[name] for r in groups[at]])]
            },
        }
        for at in places
        if at in groups
    ]


def told_lines(one):
    """The table of a summary's scenario that has such rows."""
    rows = one["told"]
    params = apart([r["params"] for r in rows])
    head = (one["scenario"], *params, *rows[0]["values"])
    cells = (
        (r["scheduler"], *(r["params"][p] for p in params), *map(told_text, r["values"].values()))
        for r in rows
    )
    return table(head, cells)


def apart(combinations):
    """The first parameters, as many as tell the combinations from each other."""
    keys = list(combinations[0])
    whole = len({tuple(c.values()) for c in combinations})
    for count in range(len(keys)):
        if len({tuple(c[k] for k in keys[:count]) for c in combinations}) == whole:
            return keys[:count]
    return keys


def told_text(value):
    """Three digits, or all that are before the point, or three behind it."""
    if value is None:
        return "-"
    if abs(value) < 1:
        return f"{value:.3f}" if value else "0"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def digest_lines(digest):
    """The same for the README: one line per scenario and scheduler."""
    head = ("scenario", "scheduler", "x default", "x TCP, better path", "x bound")
    rows = []
    for one in digest["scenarios"]:
        for scheduler, row in one["gains"].items():
            if scheduler != schedulers.TCP:
                rows.append((one["scenario"], scheduler, *map(gain_text, row.values())))
    return table(head, rows)


def sections(records):
    forms = {form: load_all(form) for form in ("short", "full")}
    groups = collections.defaultdict(list)
    for r in records:
        groups[r.cell.scenario, r.cell.form, r.raw["kernel"]].append(r)
    for (name, form, _), found in sorted(groups.items()):
        if name in forms[form]:
            yield Section(forms[form][name], found)


def draw(section, folder):
    for index, figure in enumerate(section.scenario.figures):
        name = f"{section.name}-{index + 1}.png"
        try:
            figures.draw(figure, section.records, folder / name)
        except Nothing:
            continue
        data = base64.b64encode((folder / name).read_bytes()).decode()
        yield {
            "name": name,
            "data": data,
            "title": figure["title"],
            "claim": figure["claim"],
        }


def write(files, to=None):
    """Writes it; what to say of it."""
    folder = to or TO
    folder.mkdir(parents=True, exist_ok=True)
    raws = [r for f in files for r in read(f)]
    cells, checks = judged(raws)
    if not cells:
        raise PlanError(f"no results in {', '.join(map(str, files))}")
    found = list(sections(cells))
    parts = [
        {
            "section": section,
            "scenario": section.scenario,
            "figures": list(draw(section, folder)),
            "summary": list(summary(section.records)),
            "headline": measures.MEASURES[section.records[0].headline].text,
        }
        for section in found
    ]
    (folder / "summary.json").write_text(json.dumps(digest_of(found), indent=1) + "\n")
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = env.get_template("page.html.j2").render(
        parts=parts,
        checks=checks,
        now=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    out = folder / "index.html"
    out.write_text(text)
    return f"report: {out.relative_to(SRC) if out.is_relative_to(SRC) else out}"
