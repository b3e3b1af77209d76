#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes compile_commands.json, by which clangd knows how each C file is compiled, BPF or not.

compile_commands.py OUT [--directory DIR] [--root DIR]

The commands are those that make would run. --directory: where the project lies for the editor, if
not here. --root: the Debian root whose headers count, for a host that has none of the libraries.
The bridge (kmod/) is compiled by the kernel's own build, which has a script for this.
"""

import argparse
import json
import os
import shlex
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
GOALS = ("all", "fuzz-build")
# tests/host/hostlib.py compiles these as a test wants them: without its sanitizers.
HOST = "cc -std=gnu11 -Wall -Wextra -D_GNU_SOURCE -Iinclude -Itests/host -Iloader -c"
SYSTEM = "/usr/include"


def printed():
    """What make would run for all of it, a command each."""
    env = {name: text for name, text in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    command = ["make", "-Bnk", "--no-print-directory", "V=1", *GOALS]
    done = subprocess.run(command, cwd=TOP, env=env, capture_output=True, text=True, check=False)
    return done.stdout.replace("\\\n", " ").splitlines()


def source_of(words):
    """The C file that a command compiles, or None. It may link, too."""
    compiles = words and words[0].rpartition("/")[2].partition("-")[0] in ("cc", "gcc", "clang")
    sources = [w for w in words if w.endswith(".c") and not w.startswith("-")]
    return sources[0] if compiles and len(sources) == 1 else None


def commands():
    """{source: its command}, the first where there are several."""
    found = {}
    for line in printed():
        if ".c" not in line or line.startswith("{"):
            continue
        words = shlex.split(line)
        source = source_of(words)
        if source and not source.startswith("build/"):
            found.setdefault(source, words)
    for file in sorted((TOP / "tests/host").glob("*.c")):
        source = file.relative_to(TOP).as_posix()
        found.setdefault(source, [*HOST.split(), source])
    return found


def of_root(words, root):
    """The same command with the headers of another root."""
    moved = [w.replace(SYSTEM, f"{root}{SYSTEM}") if SYSTEM in w else w for w in words[1:]]
    return [words[0], f"--sysroot={root}", *moved]


def entries(directory, root):
    for source, words in sorted(commands().items()):
        arguments = of_root(words, root) if root else words
        yield {"directory": str(directory), "file": source, "arguments": arguments}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--directory", default=TOP)
    parser.add_argument("--root")
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(list(entries(args.directory, args.root)), indent=1) + "\n")


if __name__ == "__main__":
    main()
