# SPDX-License-Identifier: GPL-2.0
"""Scenarios: one TOML file each in bench/scenarios, read strictly.

    title, source, about    for people
    default                 whether a run without names takes it
    seeds, runs             each cell is measured once per seed and run
    schedulers              words as --scheduler takes them; without it: all there are
    also                    words that are measured with the scheduler that they are a form of
    at                      the ends that get the scheduler: ["server"] (the default) or both
    capture                 whether the receiver's packets are captured, for their delays
    gso                     whether the ends' devices cut TCP's large packets; may name a parameter
    costly                  name of the path that costs: its bytes are a measure, and plain TCP has
                            the best of the others
    told                    measures that the summary has of each combination
    apart                   a parameter; the summary has each of its values in rows of their own
    [steering]              name = rows of steering's tables, as `mptcp-sched steer list` prints them;
                            bpf_steer is measured with each, as bpf_steer@name, and without
    [sysctl]                of both ends, below net: "ipv4/tcp_timestamps" = 2
    topology                "" or "trunk": the paths share the links of [[trunk]]
    [grid]                  parameters with their values; all combinations are measured
    [[case]]                or the combinations one by one
    [draw]                  or, with each of the grid's, combinations drawn by lot: draw.py
    [[path]]                name, mbit, rtt_ms or out_ms and back_ms, loaded_rtt_ms or limit or
                            queue_ms or queue_bdp, aqm ("fq_codel", or "": first come, first
                            served), jitter_ms, loss, loss_to, local
    [[path.change]]         at (s), and what is different from then on: mbit, rtt_ms, loss
    [path.ramp]             what, to, begin, end, steps: in equal steps
    [path.random]           what, choices, mean_s: redrawn at exponential intervals, from the seed
    [[trunk]]               name, mbit, rtt_ms, limit
    [workload]              kind, and what that kind takes (bench/mptcplab/workloads)
    [[figure]]              kind, measure, title, claim, and what that kind takes
                            (bench/mptcplab/report/figures.py)
    [short]                 what is different in the short form, which is the default

A number of a path or workload may name a parameter ("$rate"), with a factor ("$rate*0.5"), or be
looked up by one ({ by = "rate", values = { "0.3" = 969 } }). A mistake is a ScenarioError that names
the file and the field.
"""

import copy
import dataclasses
import itertools
import random
import re
from pathlib import Path

import tomllib

from mptcplab import draw, schedulers, workloads
from mptcplab.cell import Cell
from mptcplab.figurespec import figure
from mptcplab.measures import MEASURES
from mptcplab.pathspec import PathSpec
from mptcplab.places import SCENARIOS
from mptcplab.schema import FORMS, ROLES, ScenarioError, Table, value_of

REFERENCES = (schedulers.TCP, "default")  # with which everything is compared


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    form: str
    title: str
    source: str
    about: str
    default: bool
    seeds: list
    runs: int
    schedulers: list | None
    also: list
    at: tuple
    capture: bool
    sysctl: dict
    combinations: list  # of the parameters
    paths: list  # PathSpec
    trunk: list
    workload: dict
    figures: list
    costly: str
    told: list
    apart: str
    steering: dict  # {name: rows as text}
    gso: bool | str

    def words(self, asked):
        """What of that is measured here, and the forms that come with it."""

        def here(word):
            listed = self.schedulers is None or word in self.schedulers or word in REFERENCES
            tables = schedulers.Choice(word).tables
            return listed and (not tables or tables in self.steering)

        words = [w for w in asked if here(w)]
        also = [*self.also, *(f"{schedulers.STEER}@{name}" for name in self.steering)]
        return words + [w for w in also if schedulers.Choice(w).name in words and w not in words]

    def cells(self, words, seeds=None):
        """Of these schedulers, in an order in which what is compared is measured together."""
        words = self.words(words)
        out = []
        for params, seed, run in itertools.product(
            self.combinations, seeds or self.seeds, range(self.runs)
        ):
            work = {
                k: value_of(v, params, f"{self.name}: workload.{k}")
                for k, v in self.workload.items()
            }
            work = workloads.check(work, f"{self.name}.toml: workload")
            paths = [spec.path(params) for spec in self.paths]
            numbered = tuple(
                dataclasses.replace(p, seed=random.Random(f"{seed} {run} {p.name}").getrandbits(30))
                for p in paths
            )
            seconds = workloads.seconds(work)
            changes = {
                s.name: s.schedule(p, seed, seconds) for s, p in zip(self.paths, paths, strict=True)
            }
            trunk = tuple(t.path(params) for t in self.trunk)
            gso = value_of(self.gso, params, f"{self.name}.toml: gso")
            if not isinstance(gso, bool):
                raise ScenarioError(f"{self.name}.toml: gso: {gso!r} is not true or false")
            out += [
                Cell(
                    self.name,
                    self.form,
                    params,
                    word,
                    seed,
                    run,
                    numbered,
                    trunk,
                    {n: c for n, c in changes.items() if c},
                    work,
                    self.at,
                    self.capture,
                    self.sysctl,
                    self.costly,
                    self.steering.get(schedulers.Choice(word).tables, ""),
                    gso,
                )
                for word in words
            ]
        return out


def merged(base, other):
    """`base` with what `other` has instead; tables are merged, lists of tables by their place."""
    out = copy.deepcopy(base)
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merged(out[key], value)
        else:
            out[key] = value
    return out


def combinations(table, seed):
    grid = table.table("grid")
    cases = table.tables("case")
    drawn = draw.combinations(table.table("draw"), seed)
    if cases and (grid.left or drawn):
        table.fail("case", "goes without a [grid] and a [draw]")
    for key, values in grid.left.items():
        if not isinstance(values, list) or not values:
            grid.fail(key, "must be a list of values")
    if cases:
        if any(set(c.left) != set(cases[0].left) for c in cases):
            table.fail("case", "every case has the same parameters")
        return [c.left for c in cases]
    twice = next((key for key in grid.left if key in (drawn or [{}])[0]), None)
    if twice:
        grid.fail(twice, "is drawn, too")
    return [
        one | dict(zip(grid.left, values, strict=True))
        for one in drawn or [{}]
        for values in itertools.product(*grid.left.values())
    ]


def parse(name, data, form="short", seed=None):
    """The scenario of a TOML file's content, in one form; seed: of what is drawn, see draw.py."""
    where = f"{name}.toml: "
    short = data.get("short", {})
    if not isinstance(short, dict):
        raise ScenarioError(f"{where}short: must be a table")
    rest = {k: v for k, v in data.items() if k != "short"}
    table = Table(where, merged(rest, short) if form == "short" else rest)
    take = table.take
    texts = {k: take(k, str, "", needed=k == "title") for k in ("title", "source", "about")}
    seeds = take("seeds", list, [1])
    if not seeds or not all(isinstance(s, int) and not isinstance(s, bool) for s in seeds):
        table.fail("seeds", "must be a list of whole numbers")
    runs = take("runs", int, 1)
    if runs < 1:
        table.fail("runs", "must be 1 or more")
    topology = take("topology", str, "")
    if topology not in ("", "trunk"):
        table.fail("topology", f"{topology!r} is not 'trunk'")
    paths = [PathSpec(t) for t in table.tables("path")]
    trunk = [PathSpec(t, trunk=True) for t in table.tables("trunk")]
    if not 1 <= len(paths) <= 8:
        table.fail("path", f"{len(paths)} paths; there have to be 1 to 8")
    names = [p.name for p in (*paths, *trunk)]
    if len(set(names)) < len(names):
        table.fail("path", f"two have the name {max(names, key=names.count)!r}")
    if bool(trunk) != (topology == "trunk"):
        table.fail("trunk", 'goes with topology = "trunk"')
    work = table.table("workload")
    params = combinations(table, seed or draw.release())
    figures = [figure(t, (*params[0], "seed", "object")) for t in table.tables("figure")]
    made = Scenario(
        name=name,
        form=form,
        **texts,
        default=take("default", bool, False),
        seeds=seeds,
        runs=runs,
        schedulers=table.strings("schedulers", None),
        also=table.strings("also", []),
        capture=take("capture", bool, False),
        sysctl=sysctls(table.table("sysctl")),
        at=tuple(table.strings("at", ["server"], ROLES)),
        combinations=params,
        paths=paths,
        trunk=trunk,
        workload=work.left,
        figures=figures,
        costly=take("costly", str, ""),
        told=table.strings("told", [], MEASURES),
        apart=take("apart", str, ""),
        steering=steering(table.table("steering"), [p.name for p in paths]),
        gso=take("gso", (bool, str), False),
    )
    if made.gso and any(p.local for p in paths):
        table.fail("gso", "a device with a queue of its own would see packets uncut")
    if made.apart and made.apart not in params[0]:
        table.fail("apart", f"{made.apart!r} is no parameter; there are: {', '.join(params[0])}")
    if made.costly and (made.costly not in [p.name for p in paths] or len(paths) < 2):
        table.fail("costly", f"{made.costly!r} is not one of several paths")
    table.end()
    # Whatever is wrong in some combination shows now, and not an hour into a run.
    workloads.check(
        {
            k: value_of(v, made.combinations[0], f"{where}workload.{k}")
            for k, v in work.left.items()
        },
        f"{where}workload",
    )
    made.cells(["default"])
    return made


def steering(table, paths):
    """{name: rows as text}; what they say is for the command to read."""
    out = {}
    for key, rows in table.left.items():
        if not re.fullmatch(r"[a-z][a-z0-9-]*", key):
            table.fail(key, "a name has small letters, digits and -")
        if not isinstance(rows, list) or not rows:
            table.fail(key, "must be a list of rows")
        for row in rows:
            if not isinstance(row, str) or not re.fullmatch(r"(path|rule) [^\n#]+", row):
                table.fail(key, f"{row!r} is not a row, as 'rule mode auto'")
            device = re.search(r" device (\S+)", row)
            if device and device[1] not in paths:
                table.fail(key, f"{row!r}: no path {device[1]!r}; there are: {', '.join(paths)}")
        out[key] = "".join(f"{row}\n" for row in rows)
    return out


def sysctls(table):
    for key in table.left:
        value = table.left[key]
        if not re.fullmatch(r"(ipv4|core|mptcp)/[a-z0-9_/]+", key):
            table.fail(key, "is not a name below net/ipv4, net/core or net/mptcp")
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            table.fail(key, f"{value!r} is not a whole number or text")
    return table.left


def load(path, form="short", seed=None):
    try:
        data = tomllib.loads(Path(path).read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise ScenarioError(f"{Path(path).name}: {e}") from None
    # A mistake in the form that is not run today is a mistake all the same.
    both = {f: parse(Path(path).stem, data, f, seed) for f in FORMS}
    return both[form]


def load_all(form="short", folder=None, seed=None):
    return {p.stem: load(p, form, seed) for p in sorted((folder or SCENARIOS).glob("*.toml"))}
