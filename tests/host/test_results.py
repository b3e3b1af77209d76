# SPDX-License-Identifier: GPL-2.0
"""Committed results that are older than what they measure are told (tests/results.py, results.toml)."""

import subprocess
import sys

import pytest
import results
from hostlib import TOP

SCRIPT = TOP / "tests/results.py"
TABLE = """
[[result]]
file = "rates.json"
commits = '"commit": "([0-9a-f]+)"'
command = "./measure rates"
of = ["code", "lab/*.py"]
"""
ME = ["-c", "user.name=A", "-c", "user.email=a@example.org"]


class Repository:
    """One of its own, with the script and a table of one result."""

    def __init__(self, top):
        self.top = top
        self.git("init", "-q", "-b", "main")
        self.write("tests/results.py", SCRIPT.read_text())
        self.write("tests/results.toml", TABLE)

    def git(self, *words):
        done = subprocess.run(
            ["git", *ME, "-C", self.top, *words], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, name, text):
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text)

    def commit(self, name, text):
        self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"change {name}")
        return self.git("rev-parse", "--short=12", "HEAD")

    def measured(self, *commits):
        return self.commit("rates.json", "\n".join(f'"commit": "{c}"' for c in commits))

    def told(self, *words):
        """(exit status, what it says, what it complains of)"""
        done = subprocess.run(
            [sys.executable, self.top / "tests/results.py", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def test_a_result_of_the_code_as_it_is(repository):
    run = repository.commit("code/a.c", "1")
    repository.measured(run)
    repository.commit("README", "what is not measured")
    assert repository.told() == (0, [f"rates.json: nothing has changed since {run}"], "")


def test_an_older_one_with_the_last_change_and_the_command(repository):
    run = repository.commit("code/a.c", "1")
    repository.measured(run)
    repository.commit("code/b.c", "1")
    last = repository.commit("lab/way.py", "1")
    code, lines, _ = repository.told()
    assert code == 0
    assert lines[0] == f"rates.json: 2 commits newer than {run}"
    assert lines[1].startswith(f"    last: {last[:7]}") and lines[1].endswith("change lab/way.py")
    assert lines[2] == "    again: ./measure rates"


def test_of_several_runs_the_oldest(repository):
    runs = [repository.commit("code/a.c", str(n)) for n in range(3)]
    repository.measured(runs[1], runs[0], runs[2])
    assert repository.told()[1][0] == f"rates.json: 2 commits newer than {runs[0]}"


def test_a_run_whose_commit_is_gone(repository):
    """As after a rebase: it is as old as the commit that brought its name."""
    repository.commit("code/a.c", "1")
    repository.measured("123456789abc")
    repository.commit("code/a.c", "2")
    assert repository.told()[1][0] == "rates.json: 1 commit newer than 123456789abc"


def test_what_cannot_be_told(repository):
    repository.commit("rates.json", "no commit")
    assert repository.told() == (
        1,
        [],
        "results: rates.json: no commit in it: mend tests/results.toml, or the text\n",
    )
    assert repository.told("others") == (0, [], "")


def test_the_table_is_of_files_that_are_there():
    for result in results.table(TOP):
        assert result.found(TOP), result.name
        for path in result.of:
            assert list(TOP.glob(path)), f"{result.name}: {path}"


def test_every_committed_result_is_in_the_table():
    files = {result.file for result in results.table(TOP)}
    assert {f"bench/results/{f.name}" for f in (TOP / "bench/results").iterdir()} <= files
