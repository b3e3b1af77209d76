# SPDX-License-Identifier: GPL-2.0
"""What goes over the paths: one module each, which registers one class.

    @workload("name", seconds=Option(NUMBER, 60, low=1))      what a scenario may say
    class Name(Workload): ...

A new module is found by itself.
"""

import dataclasses
import importlib
import pkgutil
import re

from mptcplab import fluid
from mptcplab.schema import NUMBER, ScenarioError, describe

SIZE = "[0-9]+[KM]?"  # of a file or flow
_kinds = {}


class Workload:
    HEADLINE = "completion_s"  # the measure that summaries compare

    @staticmethod
    def seconds(options):
        """How long it may take: changes of paths are drawn for that long."""
        return options["seconds"]

    @staticmethod
    def sender(options):
        """Who sends what counts."""
        return "server"

    @staticmethod
    def fast(paths):
        """Index of the path that is best alone: plain TCP has that one."""
        return fluid.best_path(paths)

    @staticmethod
    def run(bench):
        """In the guest, see guest.measure.Bench: {"objects": [...], "values": {...}, "series": {...}, "active": [...]}.

        Of each object its name, its bytes, when it began and how long it took; in seconds from
        bench.zero. "active": [begin, end] of the times in which something was wanted.
        """
        raise NotImplementedError

    @staticmethod
    def bound(cell, result):
        """The bound, see fluid.py, as HEADLINE has it; None: nobody knows."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Option:
    kinds: object
    default: object = None
    low: float | None = None
    among: tuple = ()
    pattern: str = ""

    def check(self, value, where):
        kinds = self.kinds
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ScenarioError(f"{where}: {value!r} is not {describe(kinds)}")
        for one in value if isinstance(value, list) else [value]:
            if self.low is not None and (not isinstance(one, NUMBER) or one < self.low):
                raise ScenarioError(f"{where}: {one!r} is below {self.low:g}")
            if self.pattern and not (isinstance(one, str) and re.fullmatch(self.pattern, one)):
                raise ScenarioError(f"{where}: {one!r} is not like {self.pattern}")
            if self.among and one not in self.among:
                raise ScenarioError(
                    f"{where}: {one!r} is not one of {', '.join(map(repr, self.among))}"
                )
        return value


def workload(kind, **options):
    def keep(cls):
        cls.OPTIONS = options
        _kinds[kind] = cls
        return cls

    return keep


def kinds():
    if not _kinds:
        for module in pkgutil.iter_modules(__path__):
            importlib.import_module(f"{__name__}.{module.name}")
    return _kinds


def of(options):
    return kinds()[options["kind"]]


def check(options, where):
    """The options with their defaults; ScenarioError names what is wrong."""
    options = dict(options)
    kind = options.pop("kind", None)
    if kind not in kinds():
        raise ScenarioError(f"{where}.kind: {kind!r} is not one of {', '.join(sorted(kinds()))}")
    known = kinds()[kind].OPTIONS
    for key in options:
        if key not in known:
            raise ScenarioError(f"{where}.{key}: unknown for {kind}; there are: {', '.join(known)}")
    out = {"kind": kind}
    for key, option in known.items():
        if key not in options and option.default is None:
            raise ScenarioError(f"{where}.{key}: missing")
        value = options.get(key, option.default)
        out[key] = option.check(value, f"{where}.{key}")
    return out


def fast(cell):
    """Index of the path that is best alone and costs nothing."""
    free = [i for i, p in enumerate(cell.paths) if p.name != cell.costly]
    return free[of(cell.workload).fast([cell.paths[i] for i in free])]


def seconds(options):
    return of(options).seconds(options)


def mean_bound(result, of):
    """The mean over the objects of what bounds each."""
    each = [of(o) for o in result["objects"]]
    return sum(each) / len(each) if each else None
