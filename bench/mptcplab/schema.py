# SPDX-License-Identifier: GPL-2.0
"""TOML tables that are read strictly, and what their values may be: below everything else here."""

import re

FORMS = ("short", "full")
ROLES = ("server", "client")
# kinds; report/figures.py
FIGURES = ("heatmap", "bars", "lines", "ccdf", "trace")
# Of these parts of a capture's packets the delay is kept; the last per mille is what a tail looks like.
PARTS = (
    *(i / 100 for i in range(100)),
    *(i / 1000 for i in range(991, 1000)),
    0.9995,
    0.9999,
    1,
)
NUMBER = (int, float)
REFERENCE = re.compile(r"\$(\w+)(?:\s*([*/])\s*([0-9.]+))?")


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
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
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
        return [Table(f"{self.field(key)}[{i}]", t) for i, t in enumerate(self.take(key, list, []))]

    def table(self, key):
        return Table(self.field(key), self.take(key, dict, {}))

    def end(self):
        for key in self.left:
            self.fail(key, "unknown")


def one_of(table, key, value, among):
    if value not in among:
        table.fail(key, f"{value!r} is not one of {', '.join(among)}")


def describe(kinds):
    names = {
        int: "a whole number",
        float: "a number",
        str: "text",
        bool: "true or false",
        list: "a list",
        dict: "a table",
    }
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
