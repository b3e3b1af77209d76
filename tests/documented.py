# SPDX-License-Identifier: GPL-2.0
"""The commands that the documents show, one by one, and what runs each of them (documented.toml)."""

import re
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
DOCUMENTS = [
    str(path.relative_to(TOP))
    for path in (*sorted(TOP.glob("*.md")), *sorted((TOP / "docs").rglob("*.md")))
]
BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```\n(\$ .*?)^```", re.MULTILINE | re.DOTALL)
HERE_DOCUMENT = re.compile(r"<<'(\w+)'")
TABLE = tomllib.loads((HERE / "documented.toml").read_text())


def blocks(document):
    return BLOCK.findall((TOP / document).read_text())


def is_whole(lines):
    """Would a shell begin with it, or ask for more?"""
    text = "\n".join(lines)
    if end := HERE_DOCUMENT.search(text):
        return lines[-1] == end[1]
    if lines[0].startswith("for "):
        return lines[-1] == "done"
    return not lines[-1].endswith(("\\", "|"))


def commands_of(block):
    """What a reader types up to the Enter that begins it."""
    lines = []
    for line in block.splitlines():
        if not lines and not line.strip():
            continue
        lines.append(re.sub(r"\s+#\s.*$", "", line))
        if is_whole(lines):
            yield "\n".join(lines)
            lines = []
    assert not lines, f"it has no end: {lines}"


def commands(document):
    return [command for block in blocks(document) for command in commands_of(block)]


def key(command):
    """In the table's form: on one line."""
    return " ".join(command.replace("\\\n", " ").split())


def row_of(document, command):
    """What the table says of it, or None."""
    for row in TABLE.get(document, []):
        if key(command) in row["commands"]:
            return row
    return None


def typed(document):
    """Those that a test of the page types, in the page's order; one without a row is among them."""
    found = ((row_of(document, command), command) for command in commands(document))
    return [command for row, command in found if row is None or "typed" in row]


def one(document, words):
    """The only command of the document that has these words, however often it is there."""
    (found,) = {command for command in commands(document) if words in command}
    return found


def shown(document):
    """[(command, the lines that it is shown to print)]"""
    found = []
    for block in SHOWN.findall((TOP / document).read_text()):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ ").removeprefix("sudo "), []))
            else:
                found[-1][1].append(line)
    return found
