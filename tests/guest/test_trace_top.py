# SPDX-License-Identifier: GPL-2.0
"""`trace` where there is much to show and little room: the busiest connections, narrow terminals."""

import contextlib
import re

import pytest
from lab import Path, until
from terminal import terminal
from tracer import FAR, nothing_left, trace
from traffic import Connection, connection, info, listen, upload


@pytest.fixture
def lab(labs, _shared):
    """bpf_ecf at the end that sends."""
    _shared.need("bpf_ecf")
    made = labs(Path(2, 20), Path(1, 60)).endpoints()
    made.client.scheduler = "bpf_ecf"
    return made


@pytest.mark.virtual_time  # where tasks preempt each other amid a decision a busy host loses some
def test_the_busiest(lab):
    """The one that sends most and no other, then another one; of those that other filters leave."""
    listener = listen(lab)
    port = listener.getsockname()[1]
    words = ("--top", 1, "--netns", lab.client.name)
    with (
        connection(lab) as much,
        connection(lab) as little,
        contextlib.closing(listener),
        contextlib.closing(Connection(lab, listener)) as by_port,
    ):
        tokens = {c: info(c.client).token for c in (much, little, by_port)}
        for conn in (little, by_port):
            upload(conn, 1000).finish().acknowledged()
        with trace(*words) as one, trace(*words, "--port", port) as other:
            transfer = upload(much, 4 << 20)
            until(lambda: tokens[much] in one.tokens(), FAR, "the one that sends")
            for conn in (little, by_port):
                upload(conn, 1000).finish().acknowledged()
            assert transfer.received < transfer.size, "it went on meanwhile"
            assert one.tokens() == {tokens[much]}
            transfer.finish().acknowledged()
            until(lambda: sends(little, one, tokens[little]), FAR, "another one is the busiest")
            until(lambda: sends(by_port, other, tokens[by_port]), FAR, "with that port")
            assert one.end()["lost"] == other.end()["lost"] == 0
    assert other.tokens() == {tokens[by_port]}
    nothing_left()


def sends(conn, traced, token):
    """Some more; True once that connection is told of."""
    upload(conn, 50_000).finish().acknowledged()
    return token in traced.tokens()


def test_a_narrow_terminal(lab):
    """Fields go on in the next line, and no number falls apart; through a pipe lines stay whole."""
    words = ("trace", "--limit", "20", "--each-path", "--netns", lab.client.name)
    with connection(lab) as conn, terminal(*words, rows=500, cols=60) as shown:
        shown.wait_for(lambda p: "is traced" in p.text)
        upload(conn, 1 << 20).finish().acknowledged()
        shown.wait_for(lambda p: "20 shown, 0 lost" in " ".join(p.text.split()))
        assert shown.end() == 0
        lines = [line.decode().rstrip() for line in shown.page.lines]
    assert max(map(len, lines)) <= 60
    assert sum(line.startswith("    pending ") or "  pending " in line for line in lines) > 5
    assert not any(line.endswith("+") for line in lines)
    clocks = [line for line in lines if re.match(r"\d\d:\d\d:\d\d\.\d{6} ", line)]
    assert len(clocks) == 20
