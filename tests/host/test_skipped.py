# SPDX-License-Identifier: GPL-2.0
"""A test that every kernel of a run skips is found (tests/skipped.py), in results that pytest made."""

import subprocess
import sys

import made
import pytest
from hostlib import TOP
from skipped import EXCUSED

SCRIPT = TOP / "tests/skipped.py"

# What a guest's module is, told by the environment which kernel it is on.
MODULE = """
import os, pytest

KERNEL = os.environ["KERNEL"]

@pytest.mark.skipif(KERNEL == "old", reason="kernel lacks it")
def test_on_the_new():
    pass

@pytest.mark.parametrize("path", [1, 2])
def test_one_variant(path):
    if path == 1:
        pytest.skip("not this one")

@pytest.mark.xfail(reason="known")
def test_that_fails():
    assert False

class TestOfAClass:
    @pytest.mark.skipif(KERNEL != "native", reason="kernel lacks everything")
    def test_nowhere(self):
        pass
"""


def results(folder, kernel, name="test_rr", text=MODULE):
    """What pytest wrote about it on that kernel."""
    out = folder / f"test-{kernel}-{name}.xml"
    source = folder / "tests" / "guest" / f"{name}.py"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--rootdir={folder}",
    ]
    done = subprocess.run(
        [*command, "-c", "/dev/null", f"--junit-xml={out}", source.parent / source.name],
        env={"PATH": "/usr/bin:/bin", "KERNEL": kernel},
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return out


def told(*files):
    done = subprocess.run(
        [sys.executable, SCRIPT, *files], capture_output=True, text=True, check=False
    )
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def test_one_that_no_kernel_runs_is_found(tmp_path):
    code, lines = told(results(tmp_path, "old"), results(tmp_path, "new"))
    assert code == 1
    assert lines == [
        "skipped: rr::test_nowhere on every kernel of this run: kernel lacks everything",
        "skipped: rr::test_that_fails on every kernel of this run: known",
        "skipped: 2 of 4 tests on every kernel, 0 excused",
    ]


def test_it_is_enough_that_one_kernel_runs_it(tmp_path):
    old, native = (results(tmp_path, kernel) for kernel in ("old", "native"))
    code, lines = told(old, native)
    assert code == 1
    assert [line.split()[1] for line in lines[:-1]] == ["rr::test_that_fails"]
    # alone, the older one leaves two out
    code, lines = told(old)
    assert code == 1
    left_out = ["rr::test_nowhere", "rr::test_on_the_new", "rr::test_that_fails"]
    assert [line.split()[1] for line in lines[:-1]] == left_out


@pytest.mark.parametrize("name", EXCUSED)
def test_what_needs_a_kernel_that_is_made_is_excused(tmp_path, name):
    """For the reason that its tests have, and no other."""
    reason = EXCUSED[name]
    constant = {made.API: "API", made.FAULTS: "FAULTS"}[reason]
    skips = f"made.skip_for_want(made.{constant})"
    assert skips in (TOP / f"tests/guest/test_{name}.py").read_text()
    text = MODULE.replace("known", reason).replace("kernel lacks everything", reason)
    found = results(tmp_path, "new", f"test_{name}", text)
    assert told(found) == (0, ["skipped: 0 of 4 tests on every kernel, 2 excused"])
    other = results(tmp_path, "new", f"test_{name}", text.replace(reason, "broken", 1))
    code, lines = told(other)
    assert code == 1 and lines[-1] == "skipped: 1 of 4 tests on every kernel, 1 excused"


@pytest.mark.parametrize("reason", EXCUSED.values())
def test_and_on_that_kernel_it_is_a_failure(reason):
    flavours = {f for f in made.MADE_FOR if reason in made.MADE_FOR[f]}
    build = (TOP / "tests/native/build.sh").read_text()
    assert 'echo "-mptcp-$flavour" >' in (TOP / "tests/native/source.sh").read_text()
    for flavour in made.MADE_FOR:
        assert f"{flavour})" in build or f"{flavour} |" in build
        expected = AssertionError if flavour in flavours else pytest.skip.Exception
        with pytest.raises(expected, match=reason):
            made.skip_for_want(reason, f"7.3.4-mptcp-{flavour}")
    for stock in ("7.3.4+deb13-cloud-amd64", "6.12.118-mptcp-patched"):
        with pytest.raises(pytest.skip.Exception, match=reason):
            made.skip_for_want(reason, stock)


def test_no_results_are_no_success(tmp_path):
    assert told() == (1, ["skipped: no test in 0 files of results"])
    empty = tmp_path / "empty.xml"
    empty.write_text("<testsuites><testsuite/></testsuites>")
    assert told(empty) == (1, ["skipped: no test in 1 files of results"])
    cut = tmp_path / "cut.xml"
    cut.write_text("<testsuites><testsuite>")
    for file in (cut, tmp_path / "none.xml"):
        code, (line,) = told(file)
        assert code == 1 and line.startswith("skipped: no results to read: ")
