# SPDX-License-Identifier: GPL-2.0
"""What clangd is told of each C file is true: the file compiles that way (contrib/compile_commands.py)."""

import json
import subprocess
import sys

import pytest
from hostlib import TOP

# One of each kind: BPF of two folders, the command, a test of the host, a fuzz target.
KINDS = (
    "bpf/schedulers/ecf.bpf.c",
    "loader/bpf/stats.bpf.c",
    "loader/cmd/stats.c",
    "loader/replay/policy.c",
    "tests/host/text.c",
    "tests/fuzz/pick.c",
)
# The same place by another name: what is looked for there is found.
ROOT = "/."


def told(folder, *options):
    """{file: its entry}"""
    out = folder / "made" / "compile_commands.json"
    subprocess.run([sys.executable, TOP / "contrib/compile_commands.py", out, *options], check=True)
    return {entry["file"]: entry for entry in json.loads(out.read_text())}


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    return told(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def of_root(tmp_path_factory):
    # skeletons of BPF objects are headers of the command
    subprocess.run(["make", "-s", "loader"], cwd=TOP, check=True, capture_output=True)
    return told(tmp_path_factory.mktemp("root"), "--root", ROOT)


@pytest.mark.parametrize("pattern", ["bpf/*/*.c", "loader/*.c", "loader/*/*.c", "tests/host/*.c"])
def test_every_file_has_an_entry(entries, pattern):
    files = {f.relative_to(TOP).as_posix() for f in TOP.glob(pattern)}
    assert files and files <= set(entries)


def flags_of(words):
    """Without the compiler, the files, and what is written: -o and make's dependencies."""
    left, skipped = [], False
    for word in words[1:]:
        if skipped or word in ("-c", "-MMD", "-MP") or (word.endswith(".c") and word[0] != "-"):
            skipped = False
        elif word in ("-o", "-MF", "-MT"):
            skipped = True
        else:
            left.append(word)
    return left


@pytest.mark.parametrize("file", KINDS)
def test_it_compiles_that_way(of_root, file):
    """By clang, as clangd is: whichever compiler make calls."""
    entry = of_root[file]
    flags = flags_of(entry["arguments"])
    assert f"--sysroot={ROOT}" in flags
    assert not [f for f in flags if "/usr/" in f and ROOT not in f]
    done = subprocess.run(
        ["clang", "-fsyntax-only", *flags, file],
        cwd=entry["directory"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_where_the_editor_sees_the_project(tmp_path):
    entries = told(tmp_path, "--directory", "/home/me/project")
    assert {entry["directory"] for entry in entries.values()} == {"/home/me/project"}
