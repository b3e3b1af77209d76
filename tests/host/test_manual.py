# SPDX-License-Identifier: GPL-2.0
"""The manual pages say what the command's tables say, and nothing complains about them."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROGRAM = TOP / "build/mptcp-sched"
TEMPLATES = sorted((TOP / "packaging/man").glob("*.in"))


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def pages():
    output("make", "-s", "docs", cwd=TOP)
    return {t.stem: TOP / "build/man" / t.stem for t in TEMPLATES}


@pytest.fixture(scope="module")
def tables():
    output("make", "-s", "loader", cwd=TOP)
    return json.loads(output(PROGRAM, "--json", "help"))


@pytest.fixture(scope="module")
def text(pages):
    """As a reader sees it, one long line per paragraph."""
    shown = output("mandoc", "-T", "utf8", "-O", "width=1000", pages["mptcp-sched.8"])
    return re.sub(".\b", "", shown)


@pytest.mark.parametrize("page", [t.stem for t in TEMPLATES])
def test_nothing_complains(page, pages):
    assert output("mandoc", "-T", "lint", "-W", "style", pages[page]) == ""
    assert output("groff", "-man", "-Tutf8", "-ww", "-z", pages[page]) == ""
    options = {"env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANROFFSEQ": ""}}
    shown = output("man", "--warnings", "-E", "UTF-8", "-l", pages[page], **options)
    assert "warning" not in shown and "EXIT STATUS" in shown.replace("\b", "")


def section(text, head, level):
    """What stands below a head of that indentation."""
    found = re.search(
        rf"^ {{{level}}}{re.escape(head)}$\n(.*?)(?=^ {{0,{level}}}\S|\Z)",
        text,
        re.MULTILINE | re.DOTALL,
    )
    assert found, f"no section {head!r}"
    return found[1]


def test_every_command_with_its_options_and_capabilities(text, tables):
    for command in tables["commands"]:
        head = f"{command['name']} {command['synopsis']}".rstrip()
        body = section(text, head, 3)
        assert command["text"][1:] in body
        for name in command["options"]:
            assert re.search(rf"--{name}\b", body), f"{command['name']} --{name}"
        for cap in command["capabilities"]:
            when = f" ({cap['when']})" if cap["when"] else ""
            assert f"{cap['name']}{when}\n" in body and cap["text"] in body


def test_commands_have_room_in_the_list(tables):
    """`help` has one column of them, and one of what they do."""
    for command in tables["commands"]:
        assert len(f"{command['name']} {command['synopsis']}") <= 40


def test_every_word_of_steer(text, tables):
    """Each on a line of its own, in `help steer` and the page."""
    steer = tables["steer"]
    page = re.sub(r"\s+", " ", section(text, "steer [rule|path|account] VERB ...", 3))
    lines = output(PROGRAM, "help", "steer").splitlines()
    rows = [("words", v) for v in steer["verbs"]] + [("words", m) for m in steer["modes"]]
    rows += [("value", f) for f in steer["rule"] + steer["path"]]
    assert len(rows) > 40
    for key, row in rows:
        head = f"{row['name']} {row.get(key) or ''}".rstrip()
        assert f"  {head}: {row['text']}" in lines, head
        assert f" {head} {row['text'].replace('`', '')}" in page, head


def test_options_exit_status_files(text, tables):
    for opt in tables["options"]:
        assert opt["text"].replace("`", "") in text, opt
    body = section(text, "EXIT STATUS", 0)
    for code in tables["exit_codes"]:
        assert re.search(
            rf"^\s+{code['code']}\s+{re.escape(code['text']).replace('`', '')}", body, re.MULTILINE
        ), code
    for file in tables["files"]:
        assert file["path"] in section(text, "FILES", 0)


def test_every_tunable(text):
    schedulers = json.loads(output(PROGRAM, "--json", "list"))["schedulers"]
    for scheduler in (s for s in schedulers if s["builtin"]):
        body = section(text, scheduler["name"], 3)
        assert scheduler["about"] in body
        for t in scheduler["tunables"]:
            line = f"{t['name']} ({t['default']}; {t['min']} to {t['max']})"
            assert line in body and t["text"] in body


def test_the_examples_are_commands(text, tables):
    """Each with options that it takes; what they do, the guest's tests try."""
    known = {c["name"]: set(c["options"]) for c in tables["commands"]}
    everywhere = {o["name"] for o in tables["options"] if o["every_command"]}
    lines = re.findall(r"^ +(mptcp-sched .*)$", section(text, "EXAMPLES", 0), re.MULTILINE)
    assert len(lines) > 5
    for line in lines:
        words = shlex.split(line)[1:]
        (name,) = [w for w in words if w in known][:1]
        used = {w[2:] for w in words if w.startswith("--")}
        assert used <= known[name] | everywhere, line
