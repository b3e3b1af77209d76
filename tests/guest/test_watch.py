# SPDX-License-Identifier: GPL-2.0
"""`stats` as it is watched: in a terminal, through a pipe, as JSON that keeps to its schema."""

import contextlib
import itertools
import json
import re
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest
from command import PROGRAM, ok, sched, total
from lab import until
from terminal import terminal
from traffic import connection, info, upload

TOP = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((TOP / "docs/stats.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
# What it takes to look, without anything that changes the network or loads modules.
LOOK = "+sys_admin,+bpf,+perfmon,+sys_ptrace,+dac_override"
LOOKING = (
    "setpriv",
    f"--bounding-set=-all,{LOOK}",
    "--inh-caps=-all",
)


@pytest.fixture(autouse=True)
def _loaded(both_loaded):
    pass


@contextlib.contextmanager
def busy(lab, size=30 << 20):
    """A connection that sends for longer than a test takes."""
    lab.client.scheduler = "bpf_ecf"
    with connection(lab) as conn:
        transfer = upload(conn, size)
        try:
            yield conn
        finally:
            transfer.stop = True
            conn.abort()
            for thread in transfer.threads:
                thread.join(30)


def watch(*args, **options):
    return subprocess.Popen(
        [PROGRAM, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_one_document_keeps_to_the_schema(labs):
    lab = labs().endpoints()
    with busy(lab) as conn:
        document = ok("stats", "--netns", lab.client.name)
        VALIDATOR.validate(document)
        (mine,) = document["connections"]
        assert int(mine["token"], 16) == info(conn.client).token
    assert document["interval_s"] is None
    assert mine["rates"] is None
    assert sum(s["share"] for s in mine["subflows"]) == pytest.approx(1, abs=0.001)
    VALIDATOR.validate(ok("stats"))


def test_the_schema_refuses_what_is_not_described(labs):
    """That it says anything: each of these spoils a real document."""
    with busy(labs().endpoints()):
        good = json.dumps(ok("stats"))

    def spoiled(change):
        document = json.loads(good)
        change(document, document["connections"][0])
        return not VALIDATOR.is_valid(document)

    assert spoiled(lambda d, c: d.update(more=1))
    assert spoiled(lambda d, c: c.update(more=1))
    assert spoiled(lambda d, c: c.pop("rates"))
    assert spoiled(lambda d, c: c["counters"].update(picks=-1))
    assert spoiled(lambda d, c: c["subflows"][0].update(share=1.5))
    assert spoiled(lambda d, c: c["subflows"][0].update(local="x"))


def test_lines_of_json(labs):
    """One document per line, whose rates are the differences of its counters."""
    lab = labs().endpoints()
    with busy(lab):
        process = watch("stats", "--watch", "0.5", "--json", "--netns", lab.client.name)
        lines = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        rest = process.stdout.read()
    documents = [json.loads(line) for line in lines + rest.splitlines()]
    assert len(documents) >= 4
    for document in documents:
        VALIDATOR.validate(document)
    assert documents[0]["interval_s"] is None
    assert documents[0]["connections"][0]["rates"] is None
    moved = 0
    for before, now in itertools.pairwise(documents):
        assert now["interval_s"] >= 0.5
        (a,), (b,) = before["connections"], now["connections"]
        counters = ("bytes_sent", "bytes_retrans", "bytes_copied")
        given = total(b, *counters) - total(a, *counters)
        seconds = now["interval_s"]
        assert b["rates"]["bytes_per_s"] == pytest.approx(given / seconds, rel=0.01)
        per_subflow = sum(s["bytes_per_s"] for s in b["subflows"])
        assert per_subflow == pytest.approx(b["rates"]["bytes_per_s"], rel=0.01)
        picks = b["counters"]["picks"] - a["counters"]["picks"]
        assert b["rates"]["picks_per_s"] == pytest.approx(
            picks / seconds, rel=0.01, abs=0.1
        )
        for reason, rate in b["rates"]["waits_per_s"].items():
            waits = b["waits"][reason] - a["waits"][reason]
            assert rate == pytest.approx(waits / seconds, rel=0.01, abs=0.1)
        if given:
            assert sum(s["share"] for s in b["subflows"]) == pytest.approx(1, abs=0.001)
            for s, was in zip(b["subflows"], a["subflows"], strict=True):
                part = sum(s["counters"][c] - was["counters"][c] for c in counters)
                assert s["share"] == pytest.approx(part / given, abs=0.001)
        moved += given
    assert moved > 100_000


def test_the_busiest_connection_comes_first(labs):
    """By what it sends now, not by what it sent."""
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_minrtt"
    with connection(lab) as old, connection(lab) as new:
        upload(old, 3 << 20).finish().acknowledged()
        upload(new, 1).finish().acknowledged()
        process = watch("stats", "--watch", "0.5", "--json", "--netns", lab.client.name)

        def first():
            connections = json.loads(process.stdout.readline())["connections"]
            assert len(connections) == 2
            return int(connections[0]["token"], 16)

        assert first() == info(old.client).token
        upload(new, 2 << 20)
        until(lambda: first() == info(new.client).token, 30, "the busy one at the top")
        process.terminate()
        process.communicate()
        for conn in (old, new):
            conn.abort()


def test_through_a_pipe(labs):
    """Plain blocks: no escape sequences, nothing cut."""
    lab = labs().endpoints()
    with busy(lab):
        process = watch("stats", "--watch", "0.5", "--netns", lab.client.name, env={"PATH": "/usr/sbin:/usr/bin", "TERM": "xterm", "COLUMNS": "20"})  # fmt: skip
        text = ""
        while text.count("--- ") < 4:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        process.communicate()
    assert "\033" not in text
    blocks = text.split("--- ")[1:4]
    for block in blocks:
        assert re.match(
            r"\d\d:\d\d:\d\d  every 0.5 s  1 connections, 2 subflows", block
        )
        assert len(re.findall(r"\[[#.]{20}\] +\d+ %", block)) == 2
        assert max(map(len, block.splitlines())) > 100
    assert not re.search(r"[kM]?B/s\b", blocks[0])
    for block in blocks[1:]:
        assert (
            len(re.findall(r"\d [kM]?B/s\b", block)) == 4
        )  # all, the connection, subflows
        assert re.search(r"wait:no_room \d+", block)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_terminal_is_drawn_in_place_and_given_back(labs, number):
    lab = labs().endpoints()
    words = ("stats", "--watch", "0.3", "--netns", lab.client.name)
    with busy(lab) as conn, terminal(*words) as shown:
        page = shown.wait_for(lambda p: p.frames > 3 and "B/s" in p.text)
        assert page.second and not page.cursor
        assert page.cleared == 0, "wiping the page flickers"
        token = f"{info(conn.client).token:08x}"
        assert len(re.findall(token, page.text)) == 1, (
            "one block, not one below another"
        )
        assert len(re.findall(r"\[[#.]{20}\]", page.text)) == 2
        assert "wait:" in page.text
        assert shown.end(number) == 0
        assert not shown.page.second and shown.page.cursor, "as it was"


def test_a_narrow_terminal(labs):
    """Lines are cut, none is wrapped, the page never scrolls; it follows the terminal's size."""
    lab = labs().endpoints()
    words = ("stats", "--watch", "0.3", "--netns", lab.client.name)
    with busy(lab), terminal(*words, rows=5, cols=30) as shown:
        page = shown.wait_for(lambda p: p.frames > 2)
        assert page.lines[0].startswith(b"--- ")
        assert max(map(len, page.lines)) == 30
        assert page.lines[4].startswith(b"(more: 1 connections")
        shown.resize(40, 200)
        page = shown.wait_for(lambda p: p.text.count("[#") + p.text.count("[.") == 2)
        assert max(map(len, page.lines)) > 100
        assert shown.end(signal.SIGTERM) == 0


def test_reading_needs_no_right_to_change(labs):
    """Neither what changes the network nor what loads modules, and nothing changes."""
    lab = labs().endpoints()
    with busy(lab):
        document = sched("--json", "stats", "--netns", lab.client.name, prefix=LOOKING)
        assert document.code == 0, document.err
        VALIDATOR.validate(document.data)
        assert len(document.data["connections"]) == 1
        assert sched("show", prefix=LOOKING).code == 0
        refused = sched("--json", "use", "bpf_ecf", prefix=LOOKING)
        assert "CAP_NET_ADMIN" in refused.error["reason"]


def test_a_reader_that_goes(labs):
    """`stats --watch | head`: it ends with its reader."""
    process = watch("stats", "--watch", "0.1")
    process.stdout.readline()
    process.stdout.close()
    begun = time.monotonic()
    process.wait(20)
    assert time.monotonic() - begun < 20
    process.stderr.close()
