# SPDX-License-Identifier: GPL-2.0
"""What the documents say about the command and each other is so."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from documented import DOCUMENTS, commands, key

TOP = Path(__file__).resolve().parents[2]
PROGRAM = TOP / "build/mptcp-sched"


@pytest.fixture(scope="module")
def tables():
    subprocess.run(["make", "-s", "loader"], cwd=TOP, check=True, capture_output=True)
    done = subprocess.run([PROGRAM, "--json", "help"], capture_output=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def said(tables):
    """All that the command can say, and the module."""
    sources = "".join(p.read_text() for p in (TOP / "kmod").glob("*.c"))
    return PROGRAM.read_bytes().decode(errors="replace") + sources


def anchors(document):
    heads = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links(name):
    """That lead to something in the tree."""
    here = TOP / name
    for target in re.findall(r"\]\(([^)\s]+)\)", here.read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        document = (here.parent / path).resolve() if path else here
        assert document.exists(), f"{name}: {target}"
        assert not anchor or anchor in anchors(document), f"{name}: {target}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_commands_exist_with_these_options(name, tables):
    known = {c["name"]: c for c in tables["commands"]}
    everywhere = {o["name"] for o in tables["options"] if o["every_command"]}
    letters = {o["letter"] for o in tables["options"]}
    for line in map(key, commands(name)):
        for command in re.findall(r"(?:^|[;&|] *|sudo )mptcp-sched ([^;&|]*)", line):
            words = shlex.split(command)
            given = [w for w in words if w in known][:1]
            assert given, f"{name}: {line}"
            used = {w[2:].partition("=")[0] for w in words if w.startswith("--")}
            assert used <= set(known[given[0]]["options"]) | everywhere, f"{name}: {line}"
            assert {w[1] for w in words if re.fullmatch(r"-\w", w)} <= letters


def test_the_fields_that_the_guide_names_are_there():
    guide = re.sub(r"\s+", " ", (TOP / "docs/dev/writing-a-scheduler.md").read_text())
    named = re.search(r"fields that are there to be read, such as `(\w+)` and `(\w+)`", guide)
    structs = (TOP / "bpf/kernel/structs.h").read_text()
    (body,) = re.findall(r"^struct tcp_sock \{(.*?)^\}", structs, re.MULTILINE | re.DOTALL)
    for field in named.groups():
        assert re.search(rf"\b{field};", body), field


def test_what_troubleshooting_quotes_is_what_is_said(said):
    """Headings and lists quote errors; `...` stands for what differs."""
    text = (TOP / "docs/use/troubleshooting.md").read_text()
    heads = re.findall(r"^### (.*)$", text, re.MULTILINE)
    quotes = [q for h in heads for q in re.findall(r'"([^"]+)"', h)]
    quotes += re.findall(r'such as "([^"]+)"', re.sub(r"\s+", " ", text))
    of_others = {"Module mptcp_sched_bpf is in use"}
    assert of_others < set(quotes) and len(quotes) > 10
    for quote in set(quotes) - of_others:
        for part in quote.split("..."):
            assert part.strip() in said, quote


def test_the_index_has_every_page():
    text = (TOP / "docs/README.md").read_text()
    pages = {d.removeprefix("docs/") for d in DOCUMENTS if d.count("/") == 2}
    assert len(pages) > 10
    missing = {page for page in pages if f"]({page})" not in text}
    assert not missing
