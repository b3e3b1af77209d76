# SPDX-License-Identifier: GPL-2.0
"""`python3 -m mptcplab`, as vmtest.sh calls it: its commands are those that there are modules for."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mptcplab import cli, commands, scenario

TOP = Path(__file__).resolve().parents[2]


def lab(*words):
    env = {**os.environ, "PYTHONPATH": "bench:tests/vm"}
    cmd = [sys.executable, "-m", "mptcplab", *words]
    return subprocess.run(cmd, cwd=TOP, env=env, capture_output=True, text=True, check=False)


def test_every_benchmark_can_be_called():
    there = {p.stem for p in (TOP / "bench/mptcplab/benchmarks").glob("[!_]*.py")}
    assert set(cli.BENCHMARKS) == there
    for name in cli.BENCHMARKS:
        assert callable(importlib.import_module(f"mptcplab.benchmarks.{name}").run)
    assert set(cli.LAB) == set(commands.COMMANDS)


def test_the_help_names_every_command():
    assert re.findall(r"^  (\w+)", cli.__doc__, re.MULTILINE) == [
        *cli.LAB,
        "guest",
        *cli.BENCHMARKS,
    ]


def test_vmtest_knows_the_benchmarks():
    """All but the demo, which is a command of its own."""
    names = set(cli.BENCHMARKS) - {"demo"}
    case = re.search(r"^\t(cost .*)\)$", (TOP / "tests/vm/guests.sh").read_text(), re.MULTILINE)
    assert set(case[1].split(" | ")) == names
    usage = re.search(r"bench (cost\|\S+)", (TOP / "vmtest.sh").read_text())
    assert set(usage[1].split("|")) == names


def test_list_has_every_scenario():
    done = lab("list")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(scenario.load_all())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["warp"],
            "lab: no command 'warp', there are: run report compare list readme events guest",
        ),
        (["report", "nosuch.jsonl"], "lab: nosuch.jsonl: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line_and_2(words, text):
    done = lab(*words)
    assert done.returncode == 2
    assert done.stderr.startswith(text)
    assert done.stderr.count("\n") == 1
