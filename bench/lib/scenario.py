# SPDX-License-Identifier: GPL-2.0
"""Scenarios: one TOML file each in bench/scenarios, read strictly.

    title, source, about    for people
    default                 whether a run without names takes it
    seeds, runs             each cell is measured once per seed and run
    schedulers              words as --scheduler takes them; without it: all there are
    also                    words that are measured with the scheduler that they are a form of
    at                      the ends that get the scheduler: ["server"] (the default) or both
    capture                 whether the receiver's packets are captured, for their delays
    [sysctl]                of both ends, below net: "ipv4/tcp_timestamps" = 2
    topology                "" or "trunk": the paths share the links of [[trunk]]
    [grid]                  parameters with their values; all combinations are measured
    [[case]]                or the combinations one by one
    [[path]]                name, mbit, rtt_ms or out_ms and back_ms, loaded_rtt_ms or limit or
                            queue_ms, jitter_ms, loss, loss_to, local
    [[path.change]]         at (s), and what is different from then on: mbit, rtt_ms, loss
    [path.ramp]             what, to, begin, end, steps: in equal steps
    [path.random]           what, choices, mean_s: redrawn at exponential intervals, from the seed
    [[trunk]]               name, mbit, rtt_ms, limit
    [workload]              kind, and what that kind takes (bench/workloads)
    [[figure]]              kind, measure, title, claim, and what that kind takes
                            (bench/report/figures.py)
    [short]                 what is different in the short form, which is the default

A number of a path or workload may name a parameter ("$rate"), with a factor ("$rate*0.5"), or be
looked up by one ({ by = "rate", values = { "0.3" = 969 } }). A mistake is a ScenarioError that names
the file and the field.
"""

import copy
import dataclasses
import itertools
import math
import random
import re
import sched
from pathlib import Path

import tomllib
from cell import Cell, Change
from netlab import FRAME
from netlab import Path as NetPath

FOLDER = Path(__file__).resolve().parents[1] / "scenarios"
FORMS = ("short", "full")
ROLES = ("server", "client")
# kinds; bench/report/figures.py
FIGURES = ("heatmap", "bars", "lines", "ccdf", "trace")
CHANGEABLE = ("mbit", "rtt_ms", "loss")
REFERENCES = (sched.TCP, "default")  # with which everything is compared
NAME = re.compile(r"[a-z][a-z0-9]{0,8}")
REFERENCE = re.compile(r"\$(\w+)(?:\s*([*/])\s*([0-9.]+))?")
NUMBER = (int, float)


class ScenarioError(Exception):
    """A scenario that cannot be run; the text names the file and the field."""


class Table:
    """A TOML table from which every key has to be taken."""

    def __init__(self, where, data):
        if not isinstance(data, dict):
            raise ScenarioError(f"{where}: must be a table, is {data!r}")
        self.where, self.left = where, dict(data)

    def field(self, key):
        return f"{self.where}{'.' if self.where[-1] != ' ' else ''}{key}"

    def fail(self, key, text):
        raise ScenarioError(f"{self.field(key)}: {text}")

    def take(self, key, kinds, default=None, needed=False):
        if key not in self.left:
            if needed:
                self.fail(key, "missing")
            return default
        value = self.left.pop(key)
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds != bool):
            self.fail(key, f"{value!r} is not {describe(kinds)}")
        return value

    def strings(self, key, default, among=None):
        words = self.take(key, list, default)
        for word in words or ():
            if not isinstance(word, str) or (among and word not in among):
                self.fail(
                    key,
                    f"{word!r} is not {'one of ' + ', '.join(among) if among else 'text'}",
                )
        return words

    def tables(self, key):
        return [
            Table(f"{self.field(key)}[{i}]", t)
            for i, t in enumerate(self.take(key, list, []))
        ]

    def table(self, key):
        return Table(self.field(key), self.take(key, dict, {}))

    def end(self):
        for key in self.left:
            self.fail(key, "unknown")


def describe(kinds):
    names = {int: "a whole number", float: "a number", str: "text", bool: "true or false",
             list: "a list", dict: "a table"}  # fmt: skip
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if kinds == NUMBER:
        return "a number"
    return " or ".join(names[k] for k in kinds)


def value_of(value, params, where):
    """A number as it is in one cell."""
    if isinstance(value, list):
        return [value_of(v, params, where) for v in value]
    if isinstance(value, str) and value.startswith("$"):
        found = REFERENCE.fullmatch(value)
        if not found or found[1] not in params:
            raise ScenarioError(f"{where}: {value!r} names no parameter")
        base = params[found[1]]
        if not found[2]:
            return base
        factor = float(found[3])
        return base * factor if found[2] == "*" else base / factor
    if isinstance(value, dict) and set(value) == {"by", "values"}:
        if value["by"] not in params:
            raise ScenarioError(f"{where}: {value['by']!r} names no parameter")
        key = str(params[value["by"]])
        if key not in value["values"]:
            raise ScenarioError(f"{where}.values: nothing for {value['by']} = {key}")
        return value["values"][key]
    return value


class PathSpec:
    """A path as the file has it: numbers may depend on parameters."""

    FIELDS = ("mbit", "rtt_ms", "out_ms", "back_ms", "loaded_rtt_ms", "limit", "queue_ms",
              "jitter_ms", "loss")  # fmt: skip

    def __init__(self, table, trunk=False):
        self.where = table.where
        self.name = table.take("name", str, needed=True)
        if not NAME.fullmatch(self.name) or self.name in (
            *ROLES,
            "net",
            "lo",
            "uplink",
            "both",
        ):
            table.fail(
                "name",
                f"{self.name!r}: up to nine small letters and digits, and not a role's name",
            )
        raw = {key: table.take(key, (*NUMBER, str, dict)) for key in self.FIELDS}
        self.raw = {k: v for k, v in raw.items() if v is not None}
        if "mbit" not in self.raw:
            table.fail("mbit", "missing")
        if ("out_ms" in self.raw) != ("back_ms" in self.raw) or {
            "rtt_ms",
            "out_ms",
        } <= set(self.raw):
            table.fail("out_ms", "goes with back_ms and without rtt_ms")
        if len({"loaded_rtt_ms", "limit", "queue_ms"} & set(self.raw)) > 1:
            table.fail("limit", "one of limit, queue_ms and loaded_rtt_ms")
        self.loss_to = table.take("loss_to", str, "")
        self.local = table.take("local", str, "")
        for key in ("loss_to", "local"):
            if getattr(self, key) not in ("", *ROLES):
                table.fail(key, f"{getattr(self, key)!r} is not {' or '.join(ROLES)}")
        self.changes, self.ramp, self.random = [], None, None
        if not trunk:
            self._variation(table)
        if self.local and (self.changes or self.ramp or self.random):
            table.fail("local", "such a path cannot change")
        table.end()

    def _variation(self, table):
        for change in table.tables("change"):
            at = change.take("at", NUMBER, needed=True)
            found = {k: change.take(k, NUMBER) for k in CHANGEABLE}
            found = {k: v for k, v in found.items() if v is not None}
            if not found:
                change.fail("at", f"with one of {', '.join(CHANGEABLE)}")
            self.changes += [Change(at, k, v) for k, v in found.items()]
            change.end()
        if "ramp" in table.left:
            self.ramp = self._taken(
                table.table("ramp"), ("to", "begin", "end", "steps")
            )
            if not (self.ramp["steps"] >= 1 and self.ramp["end"] > self.ramp["begin"]):
                table.fail("ramp", "has no steps or no length")
        if "random" in table.left:
            self.random = self._taken(table.table("random"), ("mean_s",), ("choices",))
            if self.random["mean_s"] <= 0 or not self.random["choices"]:
                table.fail("random", "mean_s must be above 0, choices not empty")

    @staticmethod
    def _taken(table, numbers, lists=()):
        found = {"what": table.take("what", str, needed=True)}
        if found["what"] not in CHANGEABLE:
            table.fail(
                "what", f"{found['what']!r} is not one of {', '.join(CHANGEABLE)}"
            )
        found |= {k: table.take(k, NUMBER, needed=True) for k in numbers}
        found |= {k: table.take(k, list, needed=True) for k in lists}
        table.end()
        return found

    def path(self, params):
        """The path in one cell."""
        raw = {}
        for key, value in self.raw.items():
            raw[key] = value_of(value, params, f"{self.where}.{key}")
            if (
                not isinstance(raw[key], NUMBER)
                or not math.isfinite(raw[key])
                or raw[key] < 0
            ):
                raise ScenarioError(
                    f"{self.where}.{key}: {raw[key]!r} is not a number of 0 or more"
                )
        if raw["mbit"] <= 0:
            raise ScenarioError(f"{self.where}.mbit: must be above 0")
        if raw.get("loss", 0) > 100:
            raise ScenarioError(f"{self.where}.loss: {raw['loss']} per cent")
        rtt = raw.get("rtt_ms", raw.get("out_ms", 0) + raw.get("back_ms", 0))
        skew = raw["out_ms"] - raw["back_ms"] if "out_ms" in raw else 0
        if raw.get("jitter_ms", 0) > (rtt - abs(skew)) / 2:
            raise ScenarioError(
                f"{self.where}.jitter_ms: more than the delay of one direction"
            )
        return NetPath(self.name, mbit=raw["mbit"], rtt_ms=rtt, skew_ms=skew, loss=raw.get("loss", 0),
                       limit=self._limit(raw, rtt), jitter_ms=raw.get("jitter_ms", 0),
                       loss_to=self.loss_to, local=self.local)  # fmt: skip

    def _limit(self, raw, rtt):
        """Packets that the queue holds, those on their way among them (netem counts both)."""
        per_ms = raw["mbit"] * 1e3 / 8 / FRAME
        if "loaded_rtt_ms" in raw:
            if raw["loaded_rtt_ms"] <= rtt:
                raise ScenarioError(
                    f"{self.where}.loaded_rtt_ms: not above the RTT without load, {rtt} ms"
                )
            return math.ceil(per_ms * (raw["loaded_rtt_ms"] - rtt / 2))
        if "queue_ms" in raw:
            return math.ceil(per_ms * (raw["queue_ms"] + rtt / 2))
        if "limit" in raw and raw["limit"] < 1:
            raise ScenarioError(f"{self.where}.limit: a queue of less than one packet")
        # netem's packets on their way come on top of what the file means by a queue.
        return int(raw.get("limit", 100)) + (
            0 if self.local else math.ceil(per_ms * rtt / 2)
        )

    def schedule(self, path, seed, seconds):
        """Its changes during a run of that length, in their order."""
        found = list(self.changes)
        if self.ramp:
            ramp, first = self.ramp, getattr(path, self.ramp["what"])
            for i in range(1, int(ramp["steps"]) + 1):
                part = i / ramp["steps"]
                at = ramp["begin"] + part * (ramp["end"] - ramp["begin"])
                found.append(
                    Change(at, ramp["what"], first + part * (ramp["to"] - first))
                )
        if self.random:
            rng = random.Random(f"{seed} {self.name}")
            at = 0.0
            # The first value is drawn as well, so that a scenario is nothing but its seed.
            while at < seconds:
                found.append(
                    Change(at, self.random["what"], rng.choice(self.random["choices"]))
                )
                at += rng.expovariate(1 / self.random["mean_s"])
        return sorted(found, key=lambda c: c.at)


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

    def cells(self, words, seeds=None):
        """Of these schedulers, in an order in which what is compared is measured together."""
        import workloads

        words = [
            w
            for w in words
            if self.schedulers is None or w in self.schedulers or w in REFERENCES
        ]
        words += [
            w
            for w in self.also
            if w.split(":")[0].split("+")[0] in words and w not in words
        ]
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
                dataclasses.replace(
                    p, seed=random.Random(f"{seed} {run} {p.name}").getrandbits(30)
                )
                for p in paths
            )
            seconds = workloads.seconds(work)
            changes = {
                s.name: s.schedule(p, seed, seconds)
                for s, p in zip(self.paths, paths, strict=True)
            }
            trunk = tuple(t.path(params) for t in self.trunk)
            out += [
                Cell(self.name, self.form, params, word, seed, run, numbered, trunk,
                     {n: c for n, c in changes.items() if c}, work, self.at, self.capture, self.sysctl)
                for word in words
            ]  # fmt: skip
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


def combinations(table):
    grid = table.table("grid")
    cases = table.tables("case")
    if grid.left and cases:
        table.fail("case", "goes without a [grid]")
    for key, values in grid.left.items():
        if not isinstance(values, list) or not values:
            grid.fail(key, "must be a list of values")
    if cases:
        if any(set(c.left) != set(cases[0].left) for c in cases):
            table.fail("case", "every case has the same parameters")
        return [c.left for c in cases]
    return [
        dict(zip(grid.left, values, strict=True))
        for values in itertools.product(*grid.left.values())
    ]


def parse(name, data, form="short"):
    """The scenario of a TOML file's content, in one form."""
    import workloads

    where = f"{name}.toml: "
    short = data.get("short", {})
    if not isinstance(short, dict):
        raise ScenarioError(f"{where}short: must be a table")
    rest = {k: v for k, v in data.items() if k != "short"}
    table = Table(where, merged(rest, short) if form == "short" else rest)
    take = table.take
    texts = {
        k: take(k, str, "", needed=k == "title") for k in ("title", "source", "about")
    }
    seeds = take("seeds", list, [1])
    if not seeds or not all(
        isinstance(s, int) and not isinstance(s, bool) for s in seeds
    ):
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
    params = combinations(table)
    figures = [
        figure(t, (*params[0], "seed", "object")) for t in table.tables("figure")
    ]
    made = Scenario(
        name=name, form=form, **texts, default=take("default", bool, False), seeds=seeds, runs=runs,
        schedulers=table.strings("schedulers", None),
        also=table.strings("also", []), capture=take("capture", bool, False),
        sysctl=sysctls(table.table("sysctl")),
        at=tuple(table.strings("at", ["server"], ROLES)), combinations=params,
        paths=paths, trunk=trunk, workload=work.left, figures=figures)  # fmt: skip
    table.end()
    # Whatever is wrong in some combination shows now, and not an hour into a run.
    workloads.check({k: value_of(v, made.combinations[0], f"{where}workload.{k}")
                     for k, v in work.left.items()}, f"{where}workload")  # fmt: skip
    made.cells(["default"])
    return made


def sysctls(table):
    for key in table.left:
        value = table.left[key]
        if not re.fullmatch(r"(ipv4|core|mptcp)/[a-z0-9_/]+", key):
            table.fail(key, "is not a name below net/ipv4, net/core or net/mptcp")
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            table.fail(key, f"{value!r} is not a whole number or text")
    return table.left


def figure(table, params):
    """One figure of the report."""
    from report.measures import MEASURES

    out = {"kind": table.take("kind", str, needed=True)}
    for key in ("measure", "beside", "title", "x", "y", "of", "group", "claim", "unit"):
        out[key] = table.take(key, str, "")
    if out["beside"]:
        one_of(table, "beside", out["beside"], MEASURES)
    one_of(table, "kind", out["kind"], FIGURES)
    if out["kind"] in ("heatmap", "bars", "lines"):
        one_of(table, "measure", out["measure"], MEASURES)
    out["where"] = table.take("where", dict, {})
    names = [(k, out[k]) for k in ("x", "y", "group") if out[k]]
    out["claims"] = [claim(t) for t in table.tables("claims")]
    names += [("where", k) for k in out["where"]]
    names += [("claims", k) for c in out["claims"] for k in c["at"]]
    for key, name in names:
        if name not in params:
            table.fail(
                key, f"{name!r} names no parameter; there are: {', '.join(params)}"
            )
    out["schedulers"] = table.strings("schedulers", None)
    out["log"] = table.take("log", bool, False)
    table.end()
    return out


def one_of(table, key, value, among):
    if value not in among:
        table.fail(key, f"{value!r} is not one of {', '.join(among)}")


def claim(table):
    """A value that the paper has, for a scheduler at some parameters."""
    out = {
        "scheduler": table.take("scheduler", str, needed=True),
        "at": table.take("at", dict, {}),
        "value": table.take("value", NUMBER, needed=True),
    }
    table.end()
    return out


def load(path, form="short"):
    try:
        data = tomllib.loads(Path(path).read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise ScenarioError(f"{Path(path).name}: {e}") from None
    # A mistake in the form that is not run today is a mistake all the same.
    both = {f: parse(Path(path).stem, data, f) for f in FORMS}
    return both[form]


def load_all(form="short", folder=None):
    return {p.stem: load(p, form) for p in sorted((folder or FOLDER).glob("*.toml"))}
