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
from lab import Path as LabPath
from lab import until
from terminal import terminal
from traffic import connection, info, upload

TOP = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((TOP / "docs/reference/stats.schema.json").read_text())
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
        assert b["rates"]["picks_per_s"] == pytest.approx(picks / seconds, rel=0.01, abs=0.1)
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


def test_under_nohup_a_hangup_does_not_end_it(labs):
    words = ("stats", "--watch", "0.2", "--json", "--netns", labs().client.name)
    process = subprocess.Popen(
        ["nohup", PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    later = [process.stdout.readline() for _ in range(3)]
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert all(json.loads(line)["connections"] == [] for line in later)


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


def test_the_top_alone(labs):
    """Of three connections the two that send now, through a pipe, as JSON and in a terminal."""
    lab = labs(SLOW, SLOW).endpoints()
    lab.client.scheduler = "bpf_minrtt"
    words = ("stats", "--watch", "0.5", "--top", "2", "--netns", lab.client.name)
    with contextlib.ExitStack() as stack:
        conns = [stack.enter_context(connection(lab)) for _ in range(3)]
        for conn, size in zip(conns, (3 << 20, 1000, 1000), strict=True):
            upload(conn, size).finish().acknowledged()
        tokens = {info(c.client).token for c in conns[1:]}
        left = "less busy and not shown: 1 of 3 connections"
        process = watch(*words, "--json")

        def shown():
            document = json.loads(process.stdout.readline())
            VALIDATOR.validate(document)
            assert document["notes"] == [left] and len(document["connections"]) == 2
            return {int(c["token"], 16) for c in document["connections"]}

        assert info(conns[0].client).token in shown(), "it has sent most so far"
        transfers = [upload(c, 30 << 20) for c in conns[1:]]
        until(lambda: shown() == tokens, 30, "those that send now")
        process.terminate()
        process.communicate()
        text = sched("stats", "--top", "2", "--netns", lab.client.name).out
        assert text.count(" > ") == 2 and f"note: {left}" in text
        with terminal(*words, rows=24, cols=60) as on:
            on.wait_for(lambda p: p.frames > 2 and "B/s" in p.text)
            on.press(END)
            page = on.wait_for(lambda p: "not shown: 1 of 3" in " ".join(p.text.split()))
            assert max(map(len, page.lines)) <= 60
            assert on.end(signal.SIGTERM) == 0
        for transfer in transfers:
            transfer.stop = True
        for conn in conns:
            conn.abort()
        for thread in (t for transfer in transfers for t in transfer.threads):
            thread.join(30)


def test_through_a_pipe(labs):
    """Plain blocks: no escape sequences, nothing cut."""
    lab = labs().endpoints()
    with busy(lab):
        process = watch(
            "stats",
            "--watch",
            "0.5",
            "--netns",
            lab.client.name,
            env={"PATH": "/usr/sbin:/usr/bin", "TERM": "xterm", "COLUMNS": "20"},
        )
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
        assert re.match(r"\d\d:\d\d:\d\d  every 0.5 s  1 connections, 2 subflows", block)
        assert len(re.findall(r"\[[#.]{20}\] +\d+ %", block)) == 2
        assert max(map(len, block.splitlines())) > 100
    assert not re.search(r"[kM]?B/s\b", blocks[0])
    for block in blocks[1:]:
        assert len(re.findall(r"\d [kM]?B/s\b", block)) == 4  # all, the connection, subflows
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
        assert len(re.findall(token, page.text)) == 1, "one block, not one below another"
        assert len(re.findall(r"\[[#.]{20}\]", page.text)) == 2
        assert "wait:" in page.text
        assert shown.end(number) == 0
        assert not shown.page.second and shown.page.cursor, "as it was"


UP, DOWN, RIGHT, LEFT = (b"\x1b[" + c for c in (b"A", b"B", b"C", b"D"))
PAGE_DOWN, HOME, END = b"\x1b[6~", b"\x1b[H", b"\x1b[F"
# What is sent lasts for as long as a test looks at it.
SLOW = LabPath(mbit=2)
HEADS = (
    "SUBFLOW",
    "SHARE",
    "RATE",
    "LOCAL",
    "REMOTE",
    "FLAGS",
    "SRTT us",
    "CWND",
    "IN FLIGHT",
    "UNSENT B",
    "PICKS",
    "SENT B",
    "RE-SENT B",
)


def heads_of(page):
    (line,) = [x for x in page.text.splitlines() if x.startswith("  SUBFLOW")]
    return re.split(r"\s{2,}", line.strip())


def test_a_tiny_terminal(labs):
    """No line goes on behind the margin, the page never scrolls; it follows the terminal's size."""
    lab = labs().endpoints()
    words = ("stats", "--watch", "0.3", "--netns", lab.client.name)
    with busy(lab), terminal(*words, rows=5, cols=30) as shown:
        page = shown.wait_for(lambda p: p.frames > 2)
        assert page.lines[0].startswith(b"--- ")
        assert max(map(len, page.lines)) <= 30
        assert page.status.startswith("q: quit") and page.text.endswith("+")
        shown.resize(40, 200)
        # the line below is drawn last, and a page may be read half drawn
        page = shown.wait_for(
            lambda p: p.text.count("[#") + p.text.count("[.") == 2 and "q: quit" in p.text
        )
        assert max(map(len, page.lines)) > 100
        assert page.status == "q: quit", "all of it is there"
        assert heads_of(page) == list(HEADS)
        assert shown.end(signal.SIGTERM) == 0
    for rows, cols in ((1, 1), (1, 40), (2, 2), (3, 12)):
        with terminal(*words, rows=rows, cols=cols) as shown:
            shown.wait_for(lambda p: p.second)
            shown.read(1)
            assert shown.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("rows, cols", [(24, 80), (20, 60)])
def test_what_has_no_room_is_named_and_can_be_reached(labs, rows, cols):
    """Each column is on one sheet, whole; the last line says which are not on this one."""
    lab = labs(SLOW, SLOW).endpoints()
    words = ("stats", "--watch", "0.3", "--netns", lab.client.name)
    with busy(lab), terminal(*words, rows=rows, cols=cols) as shown:
        page = shown.wait_for(lambda p: p.frames > 3 and "B/s" in p.text)
        (mine,) = ok("stats", "--netns", lab.client.name)["connections"]
        (sheets,) = re.findall(r"left, right: columns 1/(\d)", page.status)
        assert {"SHARE", "RATE"} <= set(heads_of(page)), "what matters most comes first"
        reached, text = [], ""
        for sheet in range(1, int(sheets) + 1):
            page = shown.wait_for(lambda p, n=sheet: f"columns {n}/" in p.status)
            assert max(map(len, page.lines)) <= cols
            assert not any(x.endswith(b"+") for x in page.lines), "nothing is cut"
            here = heads_of(page)
            (missing,) = re.findall(r"not shown: (.*)$", page.status)
            assert sorted(here + missing.split(", ")) == sorted(HEADS)
            reached += here[1:]
            text += page.text
            shown.press(RIGHT)
        assert sorted(reached) == sorted(HEADS[1:])
        words = text.split()
        for s in mine["subflows"]:
            assert s["local"] in words and s["remote"] in words, "to the last digit"
        shown.press(LEFT)
        shown.wait_for(lambda p: f"columns {int(sheets) - 1}/" in p.status)
        shown.press(b"q")
        assert shown.end() == 0
        assert shown.echoes and shown.page.cursor and not shown.page.second


def test_lines_beyond_the_page(labs):
    lab = labs(SLOW, SLOW).endpoints()
    words = ("stats", "--watch", "0.3", "--netns", lab.client.name)
    with busy(lab), terminal(*words, rows=8, cols=80) as shown:
        page = shown.wait_for(lambda p: p.frames > 3 and "B/s" in p.text)
        assert "lines 1-" in page.status and page.lines[0].startswith(b"--- ")
        shown.press(DOWN)
        page = shown.wait_for(lambda p: "lines 2-" in p.status)
        assert b"---" not in page.lines[0]
        shown.press(PAGE_DOWN)
        shown.wait_for(lambda p: not re.search(r"lines [12]-", p.status))
        shown.press(END)
        page = shown.wait_for(lambda p: re.search(r"lines \d+-(\d+) of \1", p.status))
        row = [x for x in page.text.splitlines() if "q: quit" not in x and "[" in x]
        assert len(row) == 2, "the last subflow's line is in sight"
        shown.press(UP)
        shown.press(HOME)
        shown.wait_for(lambda p: p.lines[0].startswith(b"--- "))
        assert not shown.echoes
        assert shown.end(signal.SIGINT) == 0
        assert shown.echoes


def test_keys_do_not_put_off_the_next_reading(labs):
    """One that is held down draws anew, and time goes on."""
    lab = labs(SLOW, SLOW).endpoints()
    words = ("stats", "--watch", "1", "--netns", lab.client.name)
    with busy(lab), terminal(*words, rows=10, cols=80) as shown:
        shown.wait_for(lambda p: p.frames > 1)
        clocks = set()

        def goes_on():
            shown.press(DOWN + UP)
            shown.read(0.1)
            clocks.update(re.findall(r"--- (\S+)", shown.page.text))
            return len(clocks) >= 3

        until(goes_on, 20, "three readings", every=0)
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
