#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which committed results are older than the code that they measure: `make results`.

results.py [WORD...]     those whose file or part has one of the words, or all

A line for each: how many commits have changed since its run what tests/results.toml lists for it,
and the last of them. Whether a change moves a figure is for the reader to say, so this is no test:
exit status 1 means that it cannot be told.
"""

import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import tomllib

TOP = Path(__file__).resolve().parent.parent
TABLE = "tests/results.toml"


class Untold(Exception):
    """What cannot be told, and why."""


@dataclass
class Result:
    file: str
    commits: str
    command: str
    of: list
    part: str = ""

    @property
    def name(self):
        return f"{self.file} ({self.part})" if self.part else self.file

    def found(self, top):
        """The commits that it names, each once."""
        named = list(dict.fromkeys(re.findall(self.commits, (top / self.file).read_text())))
        if not named:
            raise Untold(f"{self.name}: no commit in it: mend {TABLE}, or the text")
        return named


def table(top):
    with open(top / TABLE, "rb") as f:
        return [Result(**entry) for entry in tomllib.load(f)["result"]]


def git(top, *words):
    try:
        done = subprocess.run(
            ["git", "-C", top, *words], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise Untold("no history to look into: there is no git") from None
    if done.returncode:
        raise Untold(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def begin(top, result, name):
    """The commit of a run in this history; one that is not there any more: what brought its name."""
    try:
        return git(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")[0]
    except Untold:
        brought = git(top, "log", "--format=%H", "-S", name, "--", result.file)
        if not brought:
            raise Untold(f"{result.name}: {name} is no commit of this history") from None
        return brought[-1]


def since(top, result):
    """(name of the run that most was changed after, those changes as lines, newest first)"""
    runs = [(name, begin(top, result, name)) for name in result.found(top)]
    changes = [
        (name, git(top, "log", "--format=%h %as %s", f"{commit}..HEAD", "--", *result.of))
        for name, commit in runs
    ]
    return max(changes, key=lambda found: len(found[1]))


def lines_of(top, result):
    name, changes = since(top, result)
    if not changes:
        yield f"{result.name}: nothing has changed since {name}"
        return
    count = f"{len(changes)} commit{'s' if len(changes) > 1 else ''}"
    yield f"{result.name}: {count} newer than {name}"
    yield f"    last: {changes[0]}"
    yield f"    again: {result.command}"


def main(top=TOP):
    words, status = sys.argv[1:], 0
    for result in table(top):
        if words and not any(word in result.name for word in words):
            continue
        try:
            print("\n".join(lines_of(top, result)))
        except (OSError, Untold) as e:
            print(f"results: {e}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    # `make results | head` is no error
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
