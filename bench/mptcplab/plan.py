# SPDX-License-Identifier: GPL-2.0
"""What a run has to measure: the cells of its scenarios that no earlier run has finished."""

import dataclasses
import hashlib
import os
from pathlib import Path

from boot import commit

from mptcplab import schedulers
from mptcplab.places import OUT, SRC
from mptcplab.process import LabError
from mptcplab.records import PlanError, digest, latest, read
from mptcplab.scenario import load_all
from mptcplab.schema import FORMS

SPELLING = schedulers.SPELLING
# A result that older code measured in another way is not a result of this code.
VERSION = 1
# Of the guests' clock: an instruction takes 2^0 ns. Twice that is too slow a machine for 500 Mbit/s.
SHIFT = 0


@dataclasses.dataclass
class Plan:
    results: Path
    jobs: list  # of dict, see job_of()
    finished: int
    facts: dict


def files_hash(files):
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.read_bytes())
    return whole.hexdigest()[:16]


def code_of(word):
    """What stands for a scheduler's code: its objects', and the bridge's sources."""
    choice = schedulers.Choice(word)
    if choice.is_tcp or word == "default":
        return ""
    objects = [SRC / f"build/bpf/{choice.name}{end}" for end in (".bpf.o", ".pre615.bpf.o")]
    if choice.name == "default":
        objects = sorted((SRC / "loader").rglob("*.bpf.c"))
    missing = [o.name for o in objects if not o.exists()]
    if missing:
        raise PlanError(f"{word}: no {missing[0]} in build/bpf: build the project first")
    return files_hash([*objects, *(SRC / "kmod").glob("*.[ch]")])


def words_of(asked):
    """The schedulers as words; the references come with them."""
    try:
        listed = {
            s["name"]: s.get("tunables", [])
            for s in schedulers.mptcp_sched("list", "--verbose")["schedulers"]
        }
    except LabError as e:
        raise PlanError(f"--scheduler: {e}") from None
    names = [n for n in listed if n != "default"]
    for word in asked or ():
        choice = schedulers.Choice(schedulers.TCP if word == "tcp" else word)
        if choice.is_tcp:
            continue
        if choice.name != "default" and choice.name not in names:
            raise PlanError(
                f"--scheduler: no {choice.name!r}; there are: tcp default {' '.join(sorted(names))}"
            )
        for value in choice.values:
            check_tunable(word, value, listed.get(choice.name, []))
    words = [c.word for c in schedulers.choices(asked)] if asked else sorted(names)
    # Whatever is measured is compared with these, in the same guest.
    return list(dict.fromkeys((schedulers.TCP, "default", *words)))


def check_tunable(word, value, known):
    key, _, number = value.partition("=")
    found = next((t for t in known if t["name"] == key), None)
    if not found:
        names = " ".join(t["name"] for t in known) or "none"
        raise PlanError(f"--scheduler {word}: no tunable {key!r}; there are: {names}")
    try:
        fine = found["min"] <= float(number) <= found["max"]
    except ValueError:
        fine = False
    if not fine:
        raise PlanError(
            f"--scheduler {word}: {key} takes {found['min']} to {found['max']}, not {number!r}"
        )


def chosen(names, form, seed):
    scenarios = load_all(form, seed=seed)
    if not names:
        return [s for s in scenarios.values() if s.default]
    if names == ["all"]:
        return list(scenarios.values())
    for name in names:
        if name not in scenarios:
            raise PlanError(f"no scenario {name!r}; there are: {' '.join(scenarios)}")
    return [scenarios[n] for n in dict.fromkeys(names)]


def check_tables(words, scenarios):
    """Steering tables that a word names are some scenario's."""
    known = list(dict.fromkeys(name for s in scenarios for name in s.steering))
    for choice in map(schedulers.Choice, words):
        if choice.tables and choice.name != schedulers.STEER:
            raise PlanError(f"--scheduler {choice}: only {schedulers.STEER} has steering tables")
        if choice.tables and choice.tables not in known:
            raise PlanError(
                f"--scheduler {choice}: no steering tables {choice.tables!r}; "
                f"there are: {' '.join(known) or 'none'}"
            )


def matching(cells, asked):
    """Those whose parameters have the values of KEY=VALUE words, any of them for each key."""

    def told(cell):
        return {k: str(v) for k, v in (cell.params | {"run": cell.run}).items()}

    wanted = {}
    for word in asked or ():
        key, _, value = word.partition("=")
        there = list(dict.fromkeys(told(c)[key] for c in cells if key in told(c)))
        if not there:
            keys = dict.fromkeys(k for c in cells for k in told(c))
            raise PlanError(f"--only: no parameter {key!r}; there are: {' '.join(keys)}")
        if value not in there:
            raise PlanError(f"--only: no {key} {value!r}; there are: {' '.join(there)}")
        wanted.setdefault(key, []).append(value)
    return [c for c in cells if all(told(c).get(k) in v for k, v in wanted.items())]


def facts(kernel):
    return {"version": VERSION, "kernel": kernel, "virtual_time": True, "shift": SHIFT}


def path_key(path):
    """What of a path a check depends on: not its name, not the numbers it is sown with."""
    return dataclasses.asdict(dataclasses.replace(path, name="path", seed=1))


def checks_of(cell):
    """What a cell's result depends on: {digest: job} of each path, and of what it becomes."""
    trunk = [path_key(t) | {"name": t.name} for t in cell.trunk]
    found = {}
    for path in cell.states():
        spec = path_key(path)
        found[digest([spec, trunk])] = {"kind": "check", "path": spec, "trunk": trunk}
    return found


def jobs_of(cells, kernel):
    """Checks of the paths first, then the cells."""
    base = facts(kernel)
    codes = {word: code_of(word) for word in {c.scheduler for c in cells}}
    checks, measured = {}, {}
    for cell in cells:
        mine = {digest([base, k]): job for k, job in checks_of(cell).items()}
        checks |= {k: {"key": k} | job for k, job in mine.items()}
        spec, code = cell.spec(), codes[cell.scheduler]
        key = digest(base | {"cell": spec, "code": code})
        measured[key] = {
            "key": key,
            "kind": "cell",
            "cell": spec,
            "code": code,
            "checks": list(mine),
            "name": str(cell),
        }
    return [*checks.values(), *measured.values()]


def with_gso(cell):
    if any(path.local for path in cell.paths):
        raise PlanError(f"--gso: {cell.scenario} has a device with a queue of its own")
    return dataclasses.replace(cell, gso=True)


def make(args):
    form = FORMS[args.full]
    if args.guests < 1:
        raise PlanError("--guests: at least 1")
    words, scenarios = words_of(args.scheduler), chosen(args.scenario, form, args.draw)
    check_tables(words, scenarios)
    cells = [c for s in scenarios for c in s.cells(words, args.seed)]
    if not cells:
        raise PlanError("nothing to measure: those scenarios take none of those schedulers")
    cells = matching(cells, args.only)
    if not cells:
        raise PlanError("--only: no scenario has all of those parameters")
    if args.gso:
        cells = [with_gso(c) for c in cells]
    jobs = jobs_of(cells, args.kernel)
    results = OUT / f"{args.out or ('gso-' if args.gso else 'lab-') + args.kernel}.jsonl"
    done = set()
    if results.exists():
        done = {
            r["key"] for r in latest(read(results)) if not (args.again and r["result"]["problems"])
        }
    left = [j for j in jobs if j["key"] not in done]
    known = facts(args.kernel) | {
        "commit": args.commit or commit() or None,
        "cpus": os.cpu_count(),
    }
    return Plan(results, left, len(jobs) - len(left), known)
