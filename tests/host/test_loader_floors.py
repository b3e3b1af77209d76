# SPDX-License-Identifier: GPL-2.0
"""
The folders of loader/ are floors: what stands on one includes its own and those below it, never
one above. Commands do not call commands.
"""

import re
import shutil
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
LOADER = TOP / "loader"

# From the lowest to the highest. sched, stats and trace are on one floor and know nothing of each other.
FLOORS = [
    {"bpf"},  # programs in the kernel, and the records that they hand to the command
    {"cli"},  # words, output, errors, files, other programs
    {"kernel"},  # what asks the running kernel
    {"sched", "stats", "trace"},  # loading, selecting, unloading; counters; decisions
    {"replay"},  # schedulers in user space, and recorded decisions for them
    {"cmd"},  # a file per command
    {"exporter"},  # a command in a program of its own
    {"main.c"},  # the table of commands
]
INCLUDE = re.compile(r'^#include "(?:build/loader/)?([a-z]+)/([\w.]+)"', re.MULTILINE)


def floor(folder):
    found = [n for n, names in enumerate(FLOORS) if folder in names]
    assert found, f"loader/{folder} is on no floor: put it into FLOORS"
    return found[0]


def sources(loader):
    return sorted(loader.rglob("*.[ch]"))


def own(file, header):
    """A header of cmd/ that belongs to the file's command: doctor.h to doctor_try.c."""
    return header == "commands.h" or file.stem.split("_")[0] == Path(header).stem


def upward(loader):
    """Includes of a higher floor, of the other folder on one's own, of another command."""
    bad = []
    for file in sources(loader):
        where = file.relative_to(loader)
        here = where.parts[0]
        for folder, header in INCLUDE.findall(file.read_text()):
            if any((TOP / top / folder / header).exists() for top in ("include", "bpf")):
                continue  # what the command shares with the schedulers
            same = folder == here
            if not same and floor(folder) >= floor(here):
                bad.append(f"{where} includes {folder}/{header}")
            if same and here == "cmd" and not own(file, header):
                bad.append(f"{where} includes {folder}/{header}")
    return bad


def calls(loader):
    """Uses of a command other than by the table, and the one that the exporter takes over."""
    bad = []
    for file in sources(loader):
        where = file.relative_to(loader)
        if where.name in ("main.c", "commands.h"):
            continue
        text = file.read_text()
        mine = set(re.findall(r"^enum exit_code (cmd_\w+)\(.*\)\n{", text, re.MULTILINE))
        used = set(re.findall(r"\bcmd_\w+", text))
        bad += [f"{where} uses {name}" for name in sorted(used - mine)]
    return bad


def nameless(loader):
    """Includes without a folder of what stands in one: they would be seen by neither."""
    known = {f.name for f in sources(loader)}
    return [
        f"{file.relative_to(loader)} includes {name}"
        for file in sources(loader)
        for name in re.findall(r'^#include "([\w.]+)"', file.read_text(), re.MULTILINE)
        if name in known
    ]


def test_nothing_points_upward():
    assert sources(LOADER)
    assert upward(LOADER) == []


def test_commands_do_not_call_commands():
    assert calls(LOADER) == []


def test_includes_are_written_with_their_folder():
    assert nameless(LOADER) == []


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(LOADER, tmp_path / "loader"))


@pytest.mark.parametrize(
    ("file", "line", "look"),
    [
        ("cli/text.c", '#include "kernel/netns.h"', upward),
        ("kernel/netns.c", '#include "sched/select.h"', upward),
        ("sched/select.c", '#include "stats/reader.h"', upward),
        ("stats/print.h", '#include "sched/usage.h"', upward),
        ("sched/apply.c", '#include "cmd/commands.h"', upward),
        ("cmd/use.c", '#include "cmd/monitor.h"', upward),
        ("sched/apply.c", "enum exit_code cmd_use(const struct args *args);", calls),
        ("cmd/use.c", "static int x(void) { return cmd_load(0); }", calls),
        ("cmd/use.c", '#include "select.h"', nameless),
    ],
)
def test_a_violation_is_found(copy, file, line, look):
    changed = copy / file
    changed.write_text(changed.read_text() + line + "\n")
    assert any(found.startswith(file) for found in look(copy))
