# SPDX-License-Identifier: GPL-2.0
"""Each command of the documents is run by something, or says why not (tests/documented.toml)."""

import argparse
import re
import shlex
import subprocess

import documented
import pytest
import test_deb
import test_vmtest
from documented import DOCUMENTS, TABLE, TOP, blocks, commands, commands_of, key, row_of
from mptcplab import cli
from privateroot import run

root, built, sudo = test_deb.root, test_deb.built, test_vmtest.sudo
ROWS = [(document, row) for document, rows in TABLE.items() for row in rows]
KINDS = {"typed", "test", "file", "each_of", "by_hand"}
CI = ".ci/run"
# What a command by hand costs, which is why it is one.
COST = re.compile(r"\b(hours?|minutes?|GB|network)\b|changes the tree")
SUDO = 'sudo() { "$@"; }\n'


def without_row(document):
    return [command for command in commands(document) if not row_of(document, command)]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_has_a_row(document):
    assert not without_row(document), "tests/documented.toml says what runs it"


def test_a_command_that_is_new_has_none(tmp_path, monkeypatch):
    """And neither has one that is changed."""
    text = (TOP / "README.md").read_text()
    new = "sudo mptcp-sched show --json"
    monkeypatch.setattr(documented, "TOP", tmp_path)
    for before, after in (
        ("use default --all", "use default"),
        ("```sh\n", f"```sh\n{new}  # x\n"),
    ):
        (tmp_path / "README.md").write_text(text.replace(before, after, 1))
        (found,) = without_row("README.md")
        assert found in (new, "sudo mptcp-sched use default && sudo mptcp-sched unload bpf_ecf")


def test_what_a_command_is():
    block = "a \\\n  b   # c\n\nd |\n  e\nf <<'END'\n# g\nEND\nfor i in 1; do\n  h\ndone\n"
    assert list(map(key, commands_of(block))) == [
        "a b",
        "d | e",
        "f <<'END' # g END",
        "for i in 1; do h done",
    ]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_shell_is_called_otherwise(document):
    """Or its commands would not be seen: a block's language is one of these."""
    text = (TOP / document).read_text()
    fences = re.findall(r"^\s*(?:```|~~~)(.*)$", text, re.MULTILINE)
    assert set(fences) <= {"", "sh", "c", "ini", "python", "yaml"}
    assert fences.count("sh") == len(blocks(document))


def test_no_row_is_stale():
    assert set(TABLE) <= set(DOCUMENTS)
    for document in TABLE:
        listed = [command for row in TABLE[document] for command in row["commands"]]
        assert len(listed) == len(set(listed)), f"{document}: a command is in two rows"
        gone = set(listed) - set(map(key, commands(document)))
        assert not gone, f"{document} has these no more"


def kind_of(row):
    (kind,) = KINDS & set(row)
    assert set(row) <= {kind, "commands", "says"}, row
    return kind


def source_of(test):
    """Of the file; the test, where one is named, is in it."""
    name, _, function = test.partition("::")
    source = (TOP / "tests" / name).read_text()
    assert not function or f"\ndef {function}(" in source, test
    return source


def packages_of(command):
    """Without their suite, and without what only the machine knows of a name."""
    words = shlex.split(command.partition(" install ")[2])
    return [re.split(r"/|-\$\(", word)[0] for word in words]


def check(document, row):
    kind = kind_of(row)
    if kind == "typed":
        for test in row["typed"]:
            assert document.removeprefix("docs/") in source_of(test), row
    elif kind == "test":
        assert row.get("says", "") in source_of(row["test"]), row
    elif kind == "by_hand":
        assert COST.search(row["by_hand"]), f"what does it cost? {row}"
        for name in re.findall(r"\w+/[\w/]+\.\w+", row["by_hand"]):
            assert (TOP / name).exists(), name
    else:
        text = (TOP / row[kind]).read_text()
        for command in row["commands"]:
            first = " ".join(command.split()[:2])
            wanted = packages_of(command) if kind == "each_of" else [row.get("says", first)]
            assert wanted and all(re.search(rf"{re.escape(w)}(?!\w)", text) for w in wanted), row
            assert row[kind] != CI or "says" not in row, "CI runs the very command"


@pytest.mark.parametrize(("document", "row"), ROWS, ids=lambda value: str(value)[:60])
def test_what_a_row_says_is_so(document, row):
    check(document, row)


@pytest.mark.parametrize(
    "row",
    [
        {"test": "host/test_commands.py::test_nowhere"},
        {"test": "host/test_deb.py::test_lintian", "says": "what is not there"},
        {"file": CI},
        {"each_of": "tests/vm/root.sh"},
        {"by_hand": "Nobody wants to."},
        {"by_hand": "Hours. The last result is in docs/nowhere.md."},
        {"typed": ["guest/test_smoke.py::test_bpftool_registers_a_scheduler"]},
    ],
)
def test_what_is_not_so_is_found(row):
    row = row | {"commands": ["./vmtest.sh shell", "apt install no-such-package"]}
    with pytest.raises((AssertionError, FileNotFoundError)):
        check("docs/use/using.md", row)


def calls(name):
    """Each `./vmtest.sh` of the documents whose command has that name, or any."""
    found = (part for d in DOCUMENTS for c in commands(d) for part in key(c).split(" && "))
    return sorted({c for c in found if re.match(rf"\./vmtest\.sh {name}\b", c)})


@pytest.mark.parametrize("command", calls(r"\w+"))
def test_vmtest_takes_it(command, sudo):
    """Up to where it needs root: its options, and the names of tests."""
    words = shlex.split(command)[1:]
    done = test_vmtest.vmtest(*words, path=sudo)
    assert done.returncode == 0 and done.stdout.splitlines()[-len(words) :] == words, done


class Taken(BaseException):
    """The words are parsed: what they ask for takes hours."""


@pytest.mark.parametrize("command", calls("bench"))
def test_the_lab_takes_it(command, monkeypatch):
    """Its options and their values."""
    parse = argparse.ArgumentParser.parse_args

    def only_parse(parser, *words):
        parse(parser, *words)
        raise Taken

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", only_parse)
    words = [w for w in shlex.split(command)[2:] if w != "--"]
    if words[:1] not in [[w] for w in (*cli.LAB, *cli.BENCHMARKS)]:
        words = ["run", "--kernel", "any", *words]
    with pytest.raises(Taken):
        cli.main(words)


SOURCES = """\
Types: deb
URIs: http://archive.example.org/debian
Suites: trixie trixie-updates
Components: main

Types: deb
URIs: http://security.example.org
Suites: trixie-security
"""


def test_the_next_release_is_made_available(tmp_path):
    for name in ("sources.list.d", "preferences.d"):
        (tmp_path / name).mkdir()
    (tmp_path / "sources.list.d/debian.sources").write_text(SOURCES)
    for words in ("debian.sources", "preferences.d"):
        command = documented.one("docs/use/building.md", words).replace("/etc/apt", str(tmp_path))
        subprocess.run(["bash", "-euc", SUDO + command], check=True, stdout=subprocess.DEVNULL)
    first = SOURCES.partition("\n\n")[0] + "\n"
    made = (tmp_path / "sources.list.d/forky.sources").read_text()
    assert made == first.replace("trixie trixie-updates", "forky")
    pin = (tmp_path / "preferences.d/forky").read_text()
    assert pin == "Package: *\nPin: release n=forky\nPin-Priority: 50\n"


@pytest.fixture
def machine(root):
    """Where a kernel of the root's runs, as far as `uname -r` says; of its types /sys has none."""
    kernel = root.own_kernels()[0]
    stand_in = root.root / "usr/local/bin/uname"
    stand_in.write_text(
        f'#!/bin/sh\n[ "$*" = -r ] && exec echo {kernel}\nexec /usr/bin/uname "$@"\n'
    )
    stand_in.chmod(0o755)
    run("mount", "-t", "tmpfs", "tmpfs", root.root / "sys")
    yield root
    run("umount", root.root / "sys")


def test_dkms(machine, version):
    """What both pages have of it, one after the other."""

    def does(document, words, status):
        command = documented.one(document, words).replace("VERSION", version)
        machine.run("bash", "-euc", f"cd /src; {SUDO}{command}", timeout=300)
        said = machine.run("dkms", "status", "mptcp-sched-bpf").stdout
        assert re.search(rf": {status}$", said, re.MULTILINE) if status else not said, said

    does("docs/use/building.md", "dkms install ./kmod", "installed")
    does("docs/use/troubleshooting.md", "dkms unbuild", "added")
    does("docs/use/troubleshooting.md", "dkms install", "installed")
    does("docs/use/building.md", "dkms remove", None)
