# SPDX-License-Identifier: GPL-2.0
"""The lab's package has floors: a module imports what is below it, and nothing goes round in circles."""

import ast
import graphlib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PACKAGE = "mptcplab"
# The lowest first; a folder stands for all that is in it. Modules of one floor may import each other.
FLOORS = (
    ("schema", "places", "process", "table", "fluid", "player", "gaps", "recording"),
    ("path", "ooo"),
    ("cell", "schedulers", "result"),
    ("lab",),
    ("workloads",),
    ("measures",),
    ("draw", "pathspec", "figurespec", "scenario", "records"),
    ("guest", "plan"),
    ("supervise", "twice"),
    ("report",),
    ("benchmarks",),
    ("commands", "cli", "__main__"),
)
FLOOR = {name: i for i, names in enumerate(FLOORS) for name in names}


def modules(package):
    """{dotted name: file}"""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = file
    return found


def imported(file, known):
    """The package's modules that a file imports, wherever in it that stands."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # What is imported from a package may be a module of it.
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [n if n in known else node.module for n in whole]
            assert not node.level, f"{file}: a relative import"
        else:
            continue
        yield from (n for n in names if n.partition(".")[0] == PACKAGE)


def floor(module):
    return FLOOR[module.split(".")[1]]


def violations(package):
    known = modules(package)
    graph = {m: set(imported(f, known)) for m, f in known.items() if m != PACKAGE}
    for module, below in graph.items():
        for other in sorted(below - {PACKAGE}):
            if floor(other) > floor(module):
                yield f"{module} imports {other}, which is above it"
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as e:
        yield f"a circle: {' <- '.join(e.args[1])}"


def strings(node, assigned):
    """All text in an expression, also that of the module's own names in it."""
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
        elif isinstance(one, ast.Name) and one.id in assigned:
            rest = {k: v for k, v in assigned.items() if k != one.id}
            yield from strings(assigned[one.id], rest)


def path_edits(file):
    """The statements that edit sys.path: in bench/ all of them, else those that name the lab's folders."""
    tree = ast.parse(file.read_text())
    assigned = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        # Not a text that is about it.
        is_code = isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)) and not isinstance(
            node.value, ast.Constant
        )
        if not is_code or "sys.path" not in ast.unparse(node):
            continue
        words = {word for text in strings(node, assigned) for word in text.split("/")}
        if file.is_relative_to(TOP / "bench") or words & {"bench", PACKAGE}:
            yield f"{file.name}: {ast.unparse(node)}"


def test_every_module_has_a_floor():
    found = {m.split(".")[1] for m in modules(TOP / "bench" / PACKAGE) if m != PACKAGE}
    assert found == set(FLOOR)


def test_no_module_imports_what_is_above_it_or_itself():
    assert list(violations(TOP / "bench" / PACKAGE)) == []


def test_nothing_edits_the_path_to_find_the_lab():
    files = [f for d in ("bench", "tests") for f in sorted((TOP / d).rglob("*.py"))]
    assert [edit for f in files for edit in path_edits(f)] == []


# --- that the three see what they are for


@pytest.fixture
def package(tmp_path):
    """Makes one of these files; a package's folder."""

    def make(**files):
        folder = tmp_path / PACKAGE
        for name, text in files.items():
            file = folder / f"{name.replace('__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return folder

    return make


@pytest.mark.parametrize(
    "text",
    [
        "from mptcplab import scenario",
        "import mptcplab.scenario",
        "from mptcplab.scenario import load",
        "def later():\n    from mptcplab import scenario",
    ],
)
def test_an_import_upwards_is_seen(package, text):
    found = list(violations(package(schema=text, scenario="")))
    assert found == ["mptcplab.schema imports mptcplab.scenario, which is above it"]


def test_an_import_into_a_folder_above_is_seen(package):
    found = list(violations(package(plan="from mptcplab.report import page", report__page="")))
    assert found == ["mptcplab.plan imports mptcplab.report.page, which is above it"]


def test_a_circle_on_one_floor_is_seen(package):
    found = list(
        violations(
            package(
                lab__web="from mptcplab.lab import fetch",
                lab__fetch="from mptcplab.lab.web import PORT",
            )
        )
    )
    assert len(found) == 1 and found[0].startswith("a circle: mptcplab.lab.")


def test_what_is_below_is_fine(package):
    text = "from mptcplab import schema\nfrom mptcplab.lab.web import PORT"
    assert not list(violations(package(scenario=text, schema="import json", lab__web="")))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('sys.path.insert(0, str(TOP / "bench" / "lib"))', 1),
        ('sys.path.append(f"{TOP}/bench")', 1),
        ('sys.path += ["bench"]', 1),
        ('BENCH = TOP / "bench"\nsys.path[:0] = [str(BENCH)]', 1),
        ('def later():\n    sys.path.insert(0, "../bench")', 1),
        ('sys.path.insert(0, str(TOP / "tests/vm"))\nRESULT = "bench/results"', 0),
        ('print("bench", sys.argv)', 0),
        ('"""Edits no sys.path for bench."""', 0),
    ],
)
def test_an_edit_of_the_path_is_seen(tmp_path, text, count):
    file = tmp_path / "test_x.py"
    file.write_text(text)
    assert len(list(path_edits(file))) == count
