# SPDX-License-Identifier: GPL-2.0
"""What the pages show of a command's output, against what it prints."""

import json
import re

import documented
import pytest
import tables
from command import ok, stats_of
from conftest import TOP
from lab import Path, run
from reader import Running
from tracer import trace
from traffic import connection, download, info

steer_loaded = tables.steer_loaded
STEER = "docs/use/steering.md"
TRACE = "docs/use/trace.md"
PAGE = "docs/use/page.md"
FIRST = "docs/use/first-use.md"
JSON = "docs/reference/json.md"
OTHERS = {"doctor", "list", "load", "use", "get", "set", "unload", "apply", "help"}
SIZE = 512 << 10
# A test of this file each, by the command's first words.
TESTED = {
    STEER: ("steer list", "steer test"),
    TRACE: ("trace", "replay"),
    PAGE: ("exporter",),
    FIRST: ("doctor", "use", "stats"),
}

# What differs from run to run.
SHAPES = (
    (r"Linux [\w.+-]+", "Linux KERNEL"),
    (r"\b(active|sends)[\w,]*", "FLAGS"),
    (r"rate (unknown|[\d.]+ \w*B/s)", "rate RATE"),
    (r"0x[0-9a-f]+", "TOKEN"),
    (r"another send|send [\d.]+ B to path \d+|\bsend\b|wait [a-z_]+", "VERDICT"),
    (r"bpf_\w+(:beta=[\d.]+)?", "SCHEDULER"),
    (r"\[[#.]+\]", "BAR"),
    (r"\+?\d[\d.:]*", "N"),
    (r" +", " "),
)


def shape(line):
    for pattern, word in SHAPES:
        line = re.sub(pattern, word, line)
    return line.strip()


def shapes(text):
    return {shape(line) for line in text if line not in ("", "...")}


def of(document, words):
    """[(command, lines)] of those with these words."""
    return [(c, out) for c, out in documented.shown(document) if f"mptcp-sched {words}" in c]


def the(document, words):
    (found,) = of(document, words)
    return found


def test_each_has_a_test():
    for document in documented.DOCUMENTS:
        for command, _ in documented.shown(document):
            assert command.removeprefix("mptcp-sched ").startswith(TESTED.get(document, ())), (
                command
            )


@pytest.mark.usefixtures("none_loaded", "steer_loaded")
def test_steering(tmp_path):
    _, listed = the(STEER, "steer list")
    tables.replace(tmp_path, listed)
    assert tables.lines().splitlines() == listed
    tests = of(STEER, "steer test")
    assert tests
    for command, said in tests:
        assert run("bash", "-c", command).stdout.splitlines() == said, command


def test_the_exporter(tmp_path):
    command, said = the(PAGE, "exporter")
    running = Running(["bash", "-c", f"exec {command}"], tmp_path / "said")
    try:
        running.has_said(said[-1])
        assert running.said.splitlines()[: len(said)] == said
    finally:
        running.close()


@pytest.fixture
def fetching(labs, _shared):
    """fetching(mbit, mbit): the server's end, and a download from it over 20 and 60 ms."""
    _shared.need("bpf_ecf")

    def lab_of(one, two):
        lab = labs(Path(one, 20), Path(two, 60)).endpoints()
        lab.server.scheduler = "bpf_ecf"
        return lab.server, lambda: loads(lab)

    def loads(lab):
        with connection(lab) as conn:
            download(conn, SIZE).finish().acknowledged()

    return lab_of


def test_trace(fetching, tmp_path):
    command, said = the(TRACE, "trace")
    server, loads = fetching(20, 10)
    here = command.replace("--netns server", f"--netns {server.name}")
    assert here != command
    running = Running(["bash", "-c", f"exec {here}"], tmp_path / "said")
    try:
        running.has_said("is traced")
        loads()
        running.interrupt()
    finally:
        running.close()
    printed = shapes(line.replace(server.name, "server") for line in running.said.splitlines())
    assert shapes(said) <= printed, (shapes(said) - printed, running.said)


def test_replay(fetching, tmp_path):
    command, said = the(TRACE, "replay")
    server, loads = fetching(2, 8.6)
    with trace("--record", tmp_path / "slow.rec", "--netns", server.name) as recorded:
        loads()
        recorded.end()
    printed = run("bash", "-c", f"cd {tmp_path} && {command}").stdout.splitlines()
    assert shapes(said) <= shapes(printed), (shapes(said) - shapes(printed), printed)


@pytest.mark.usefixtures("none_loaded")
def test_first_use(labs):
    """All of it in one, as a reader does it."""
    lab = labs(Path(20, 20), Path(10, 60)).endpoints()

    def printed(words):
        command, said = the(FIRST, words)
        out = lab.server.run("bash", "-c", command).stdout.replace(lab.server.name, "server")
        return said, out.splitlines()

    for words in "doctor", "use":
        said, out = printed(words)
        assert shapes(said) <= shapes(out), (words, shapes(said) - shapes(out), out)
    assert lab.server.scheduler == "bpf_auto"
    with connection(lab) as conn:
        moving = download(conn, 16 * SIZE).reached(0.4)
        (head, counters, *rows), out = printed("stats")
        now = stats_of(info(conn.server).token)
        moving.finish()
    known = {*now["counters"], *(f"wait:{reason}" for reason in now["waits"])}
    assert set(re.findall(r"([a-z_:]+) [0-9]+", counters)) <= known, known
    # a token in hexadecimal figures
    assert shape(out[0].split(" ", 1)[1]) == shape(head.split(" ", 1)[1])
    assert out[2].split() == rows[0].split()
    assert shapes(rows[1:]) == shapes(out[3:]), out


def told_keys():
    """[(command, {key: keys of its items})] of the table at the end of the page about JSON."""
    rows = re.findall(r"^\| `([^`]+)` \| (`.*) \|$", (TOP / JSON).read_text(), re.MULTILINE)
    for command, text in rows:
        keys = re.findall(r"`(\w+)`(?: \(([^)]*)\))?", text)
        yield command, {key: set(re.findall(r"`(\w+)`", items)) for key, items in keys}


@pytest.mark.usefixtures("none_loaded")
def test_keys_of_json(labs, tmp_path):
    """In the page's order: what one command loads the next one uses."""
    lab = labs()
    conf = tmp_path / "conf"
    conf.write_text(f"[netns]\n{lab.server.name} = bpf_ecf\n")
    words = {"TUNABLE=VALUE": "beta=1", "NAME": "bpf_ecf", "apply": f"apply --config {conf}"}
    table = [row for row in told_keys() if row[0].split()[0] in OTHERS]
    assert {command.split()[0] for command, _ in table} == OTHERS
    for command, keys in table:
        if command.startswith("unload"):
            ok("use", "default", "--all")
        for word, here in words.items():
            command = command.replace(word, here)
        printed = json.loads(lab.server.run("mptcp-sched", *command.split(), "--json").stdout)
        assert set(printed) - {"notes", "copies"} == set(keys), command
        for key, items in keys.items():
            assert not items or set(printed[key][0]) == items, (command, key)
