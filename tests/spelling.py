#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Common misspellings in all texts and comments, by Debian's spellintian: a part of `make lint`.

spelling.py [FILE...]     these, or all that git knows; exit status 1: there is a misspelling

Words that stand twice are looked for in the documents alone, and there not in code: in a program
many do so rightly.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from words import CODE, LEFT_OUT

TOP = Path(__file__).resolve().parent.parent
# Words that are right here.
OURS = {
    "ofo": "the kernel's name of the queue of what is out of order",
    "CoNEXT": "a conference",
    "addd": "a function",
}
NO_TEXT = (".svg", ".json")
# Inputs that fuzzing found.
MADE = "tests/fuzz/seeds/"
TOLD = re.compile(r"^(.*): (\S.*) -> (.*)$")


class NoSpeller(Exception):
    pass


def of_git():
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=TOP, capture_output=True, text=True, check=True)
    return [TOP / name for name in done.stdout.split("\0") if name]


def is_text(path):
    name = path.relative_to(TOP).as_posix() if path.is_relative_to(TOP) else path.name
    return path.is_file() and not name.endswith(NO_TEXT) and not name.startswith(MADE)


def prose(path):
    """A document without its code; any other file as it is."""
    text = path.read_text(errors="replace")
    return CODE.sub("", LEFT_OUT.sub("\n\n", text)) if path.suffix == ".md" else text


def asked(files):
    """[(number of the file, word, what it should be)]"""
    try:
        done = subprocess.run(["spellintian", *files], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise NoSpeller("no spellintian (package lintian); ./vmtest.sh lint has it") from None
    told = (TOLD.match(line) for line in done.stdout.splitlines())
    return [(int(Path(m[1]).name), m[2], m[3]) for m in told if m]


def misspelt(paths):
    """[(path, word, what it should be)]"""
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(paths):
            (Path(folder) / str(number)).write_text(prose(path))
        found = asked([Path(folder) / str(n) for n in range(len(paths))])
    said = [(paths[number], word, right) for number, word, right in found]
    return [
        (path, word, right)
        for path, word, right in said
        if word not in OURS and (path.suffix == ".md" or "(duplicate word)" not in word)
    ]


def main():
    named = [Path(name).resolve() for name in sys.argv[1:]]
    try:
        found = misspelt([path for path in named or of_git() if is_text(path)])
    except NoSpeller as e:
        print(f"spelling: {e}", file=sys.stderr)
        return 1
    for path, word, right in found:
        name = path.relative_to(TOP) if path.is_relative_to(TOP) else path
        print(f"{name}: {word} -> {right}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
