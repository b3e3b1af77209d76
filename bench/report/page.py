# SPDX-License-Identifier: GPL-2.0
"""The report: one HTML page that needs nothing beside it, and its figures as PNG files."""

import base64
import collections
import datetime
import json
from pathlib import Path

import jinja2
import plan
import workloads
from scenario import load_all

from report import figures, measures, stats

HERE = Path(__file__).resolve().parent
TO = plan.OUT / "report"


class Section:
    """One scenario in one form, on one kernel."""

    def __init__(self, scenario, records):
        self.scenario, self.records = scenario, records
        self.first = records[0].cell

    @property
    def paths(self):
        """For people, with ranges where a parameter changes them."""
        for i, path in enumerate(self.first.paths):
            every = [r.cell.paths[i] for r in self.records]
            there, back = (
                spread(p.one_way_ms(r) for p in every) for r in ("server", "client")
            )
            parts = [
                f"{spread(p.mbit for p in every)} Mbit/s",
                f"{there} ms there, {back} ms back",
                f"queue {spread(p.limit for p in every)} packets",
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
        kernels = sorted({r.raw["kernel"] for r in self.records})
        commits = sorted({str(r.raw["commit"]) for r in self.records})
        text = json.dumps(work).replace('"', "").strip("{}")
        return (f"workload {self.first.workload['kind']}: {text}. Seeds {', '.join(map(str, seeds))}, "
                f"{runs} run{'s' * (runs > 1)} each. Linux {', '.join(kernels)}, commit {', '.join(commits)}.")  # fmt: skip

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
        key = json.dumps(
            [r.raw["kernel"], r.cell.form, r.cell.params, r.cell.seed, r.cell.run]
        )
        groups[key][r.cell.scheduler] = r
    out = collections.defaultdict(list)
    for group in groups.values():
        for scheduler, record in group.items():
            out[scheduler].append((record, group))
    return out


def summary(records):
    """Rows: scheduler, gain over default, over plain TCP on the better path, part of the bound."""
    name = records[0].headline
    found = paired(records)
    for scheduler in figures.order(found):
        columns = []
        for base in ("default", "plain TCP", None):
            pairs = []
            for record, group in found[scheduler]:
                if base is None:
                    other = record.bound()
                else:
                    other = (
                        group[base][name]
                        if base in group and base != scheduler
                        else None
                    )
                pair = better(record, other, name)
                if pair:
                    pairs.append(pair)
            columns.append(cell_text(pairs))
        yield scheduler, *columns


def cell_text(pairs):
    if not pairs:
        return "-"
    each = [a / b for a, b in pairs]
    whole = stats.ratio(pairs).value
    return (
        f"{whole:.2f}"
        if len(each) == 1
        else f"{whole:.2f} ({min(each):.2f} to {max(each):.2f})"
    )


def sections(records):
    forms = {form: load_all(form) for form in ("short", "full")}
    groups = collections.defaultdict(list)
    for r in records:
        groups[r.cell.scenario, r.cell.form].append(r)
    for (name, form), found in sorted(groups.items()):
        if name in forms[form]:
            yield Section(forms[form][name], found)


def draw(section, folder):
    for index, figure in enumerate(section.scenario.figures):
        name = f"{section.scenario.name}-{section.scenario.form}-{index + 1}.png"
        try:
            figures.draw(figure, section.records, folder / name)
        except figures.Nothing:
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
    raws = [r for f in files for r in plan.read(f)]
    cells, checks = measures.records(raws)
    if not cells:
        raise plan.PlanError(f"no results in {', '.join(map(str, files))}")
    parts = []
    for section in sections(cells):
        work = workloads.of(section.first.workload)
        parts.append({
            "section": section,
            "scenario": section.scenario,
            "figures": list(draw(section, folder)),
            "summary": list(summary(section.records)),
            "headline": measures.MEASURES[work.HEADLINE].text,
        })  # fmt: skip
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = env.get_template("page.html.j2").render(
        parts=parts, checks=checks, now=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"))  # fmt: skip
    out = folder / "index.html"
    out.write_text(text)
    return (
        f"report: {out.relative_to(plan.SRC) if out.is_relative_to(plan.SRC) else out}"
    )
