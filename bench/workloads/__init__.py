# SPDX-License-Identifier: GPL-2.0
"""What goes over the paths: one module each, which registers one class.

    @workload("name", seconds=Option(NUMBER, 60, low=1))      what a scenario may say
    class Name:
        SENDER = "server"                                     who sends what counts
        def seconds(options): ...                             how long it may take, for changes
        def run(bench): ...                                   in the guest; see bench/lib/measure.py
        def bound(cell, result): ...                                  of its headline, in the same unit
        HEADLINE = "completion_s", SMALLER = True             what the summary compares

run() returns {"objects": [...], "values": {...}, "series": {...}, "active": [[begin, end], ...]}: of
each object its name, bytes, when it began and how long it took; times in seconds from the start.
"""

import dataclasses
import importlib
import pkgutil

from scenario import NUMBER, ScenarioError, describe

_kinds = {}


@dataclasses.dataclass(frozen=True)
class Option:
    kinds: object
    default: object = None
    low: float | None = None
    among: tuple = ()

    def check(self, value, where):
        kinds = self.kinds
        if not isinstance(value, kinds) or (
            isinstance(value, bool) and kinds is not bool
        ):
            raise ScenarioError(f"{where}: {value!r} is not {describe(kinds)}")
        for one in value if isinstance(value, list) else [value]:
            if self.low is not None and (not isinstance(one, NUMBER) or one < self.low):
                raise ScenarioError(f"{where}: {one!r} is below {self.low:g}")
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
        raise ScenarioError(
            f"{where}.kind: {kind!r} is not one of {', '.join(sorted(kinds()))}"
        )
    known = kinds()[kind].OPTIONS
    for key in options:
        if key not in known:
            raise ScenarioError(
                f"{where}.{key}: unknown for {kind}; there are: {', '.join(known)}"
            )
    out = {"kind": kind}
    for key, option in known.items():
        if key not in options and option.default is None:
            raise ScenarioError(f"{where}.{key}: missing")
        value = options.get(key, option.default)
        out[key] = option.check(value, f"{where}.{key}")
    return out


def seconds(options):
    return of(options).seconds(options)
