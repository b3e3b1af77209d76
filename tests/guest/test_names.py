# SPDX-License-Identifier: GPL-2.0
"""Names that somebody else gives: what a terminal would obey is not printed, JSON stays JSON."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import unicodedata

import pytest
from command import PROGRAM, ok, sched
from lab import Netns, run, until
from tracer import trace
from traffic import make_socket

# Clears the screen, begins a line, sets colours by a control of eight bits; and no UTF-8.
NASTY = "\x1b[2J\nroot\x9b31m".encode() + b"\xff\xc0\x80"
FOUND = "?[2J?root?31m???"
# a process has 15 bytes
COMM = b"\x1b[2J\nr\xc2\x9b31m\xff"
COMM_FOUND = "?[2J?r?31m?"

LISTENER = """
import ctypes, socket, sys, time
ctypes.CDLL(None).prctl(15, bytes.fromhex(sys.argv[1]), 0, 0, 0)
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
sock.bind(("127.0.0.1", 0))
sock.listen()
print("ready", flush=True)
time.sleep(600)
"""


def check_plain(text):
    """No control character but the ends of lines."""
    bad = [c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]
    assert not bad, text
    return text


def check_json(text):
    """It is JSON, and as a text it is no danger either."""
    document = json.loads(text)
    check_plain(text)
    return document


@contextlib.contextmanager
def listener(net, comm=b"listener"):
    with net.inside():
        process = subprocess.Popen(
            [sys.executable, "-c", LISTENER, comm.hex()], stdout=subprocess.PIPE, text=True
        )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def nasty(both_loaded):
    """A namespace of that name."""
    name = os.fsdecode(NASTY)
    run("ip", "netns", "add", name)
    net = Netns(name)
    net.ip("link set lo up")
    yield net
    net.close()
    run("ip", "netns", "del", name)


def test_a_process_and_a_namespace(nasty):
    with listener(nasty, COMM) as process:
        ok("use", "bpf_minrtt", "--netns", nasty.name)
        for words in (["show"], ["use", "bpf_ecf", "--netns", nasty.name]):
            done = sched(*words)
            assert done.code == 0, done.err
            text = check_plain(done.out)
            assert COMM_FOUND in text and FOUND in text
            assert not [x for x in text.splitlines() if x.startswith("r")]
        done = sched("--json", "show")
        (row,) = [x for x in check_json(done.out)["listeners"] if x["pid"] == process.pid]
        assert row["command"] == "\x1b[2J\nr\x9b31m\N{REPLACEMENT CHARACTER}"
        assert row["netns"] == NASTY.decode(errors="replace")
    ok("use", "default", "--netns", nasty.name)


def test_columns_stay_columns(nasty):
    """Characters of several bytes are one column."""
    run("ip", "netns", "add", "m\u00fcller")
    try:
        lines = sched("show").out.splitlines()
        (head,) = [x for x in lines if x.startswith("NAMESPACE")]
        at = head.index("INODE") + len("INODE")
        for name in (FOUND, "m\u00fcller"):
            (row,) = [x for x in lines if x.startswith(name)]
            assert row[at - 1].isdigit() and row[at] == " ", row
    finally:
        run("ip", "netns", "del", "m\u00fcller")


def test_statistics_and_events(nasty):
    ok("use", "bpf_minrtt", "--netns", nasty.name)
    monitor = subprocess.Popen(
        [PROGRAM, "monitor", "--netns", nasty.name], stdout=subprocess.PIPE, text=True
    )
    with (
        trace("--netns", nasty.name) as traced,
        contextlib.closing(make_socket(nasty, 4)) as server,
        contextlib.closing(make_socket(nasty, 4)) as client,
    ):
        assert FOUND in check_plain(monitor.stdout.readline())
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())
        client.sendall(b"x")
        until(lambda: ok("stats", "--netns", nasty.name)["connections"], 20, "counters")
        done = sched("stats")
        assert FOUND in check_plain(done.out)
        (conn, *_) = check_json(sched("--json", "stats", "--netns", nasty.name).out)["connections"]
        assert conn["netns"] == NASTY.decode(errors="replace")
        traced.end()
        assert {e["netns"] for e in traced.decisions()} == {conn["netns"]}
        check_plain("".join(traced.lines))
    monitor.send_signal(signal.SIGINT)
    check_plain(monitor.communicate(timeout=120)[0])
    ok("use", "default", "--netns", nasty.name)


def test_files(both_loaded, tmp_path):
    """In errors, which stay one line."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/" + NASTY + b".o")
    with open(path, "w") as f:
        f.write("no object\n")
    for words in (["load", path], ["apply", "--config", path], ["load", path + "x.o"]):
        done = sched(*words)
        assert done.code == 1
        (line,) = check_plain(done.err).splitlines()
        assert FOUND in line
        done = sched("--json", *words)
        error = check_json(done.err)["error"]
        assert "\x1b[2J\nroot" in error["object"]
    with open(path, "wb") as f:
        f.write(b"[load]\n\x1b[2J\xff =\n")
    check_plain(sched("apply", "--config", path).err)


def test_words_of_the_command_itself(both_loaded):
    name = os.fsdecode(NASTY)
    for words in (
        [name],
        ["load", name],
        ["list", name],
        ["use", "bpf_ecf", "--netns", name],
    ):
        done = sched(*words)
        assert done.code in (1, 2)
        assert FOUND in check_plain(done.err)
