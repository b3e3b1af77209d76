# SPDX-License-Identifier: GPL-2.0
"""The guests' tests can be found: a name that moved shows here, not after the kernels have booted."""

import importlib.util
import os
import subprocess
import sys

import pytest
from hostlib import TOP

spec = importlib.util.spec_from_file_location("guest_sets", TOP / "tests/guest/sets.py")
sets = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sets)


def collected(*words):
    """The ids of the guest's tests that these words select."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "-p",
            "no:cacheprovider",
            *words,
            "tests/guest",
        ],
        cwd=TOP,
        env=os.environ | {"PATH": f"{TOP / 'build'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


def function(test):
    """`module::function`, as sets.py has it."""
    file, _, rest = test.partition("[")[0].partition("::")
    return f"{file.rpartition('test_')[2].removesuffix('.py')}::{rest.rpartition('::')[2]}"


def variants(tests):
    count = {}
    for test in tests:
        count[function(test)] = count.get(function(test), 0) + 1
    return count


@pytest.mark.parametrize("marks", ["virtual_time", "not virtual_time"])
def test_every_module_of_the_guests_is_found(marks):
    assert collected("-m", marks)


@pytest.fixture(scope="module")
def turns():
    """The tests of each brief run."""
    return [collected(f"--brief={turn + 1}") for turn in range(sets.TURNS)]


def test_brief_runs_have_every_test_but_those_that_are_named(turns):
    full, each = variants(collected()), [variants(tests) for tests in turns]
    brief = {name: count for tests in each for name, count in tests.items()}
    assert set(sets.NOT_IN_BRIEF) | set(sets.NOT_IN_BRIEF.values()) <= set(full), (
        "a name that moved"
    )
    assert set(full) - set(brief) == set(sets.NOT_IN_BRIEF)
    cheap = sets.CHEAP_VARIANTS.split()
    for name, count in brief.items():
        limit = full[name] if name.partition("::")[0] in cheap else sets.VARIANTS
        assert count == min(full[name], limit), name


def test_each_test_has_one_turn_or_all(turns):
    """Which are about as long."""
    for name in set().union(*map(variants, turns)):
        every = name.partition("::")[0] in sets.EVERY_TURN.split()
        assert sum(name in variants(tests) for tests in turns) == (sets.TURNS if every else 1), name
    counts = [len(variants(tests)) for tests in turns]
    assert max(counts) < 1.25 * min(counts), counts


def test_vmtest_knows_how_many_turns_there_are():
    assert f"\nturns={sets.TURNS}\n" in (TOP / "vmtest.sh").read_text()


def test_two_parts_have_each_test_once(turns):
    halves = (
        collected("--brief=1", "--share", "1/2"),
        collected("--brief=1", "--share", "2/2"),
    )
    assert sorted(halves[0] + halves[1]) == sorted(turns[0])


def test_words_of_sets_are_modules():
    lists = sets.OF_THE_COMMAND, sets.OF_A_POLICY, sets.AGAIN, sets.CHEAP_VARIANTS, sets.EVERY_TURN
    words = [word for text in lists for word in text.split()]
    gone = [w for w in words if not (TOP / f"tests/guest/test_{w}.py").exists()]
    assert not gone
