# SPDX-License-Identifier: GPL-2.0
"""After a pause a subflow's window is restarted once, as TCP's is, in virtual time."""

import socket
import time
from pathlib import Path as File

import pytest
from command import ok
from lab import Path
from traffic import IPPROTO_MPTCP, connection, upload

pytestmark = pytest.mark.virtual_time
SPARED = File("/sys/module/mptcp_sched_bpf/parameters/restarts_spared")
LONG = Path(20, 200, limit=700)
SIZE = 2 << 20
CASES = [("bpf_ecf", 1), ("bpf_ecf", 3), ("bpf_minrtt", 1), ("default --reinject", 1)]


def spared():
    return int(SPARED.read_text())


def seconds_after(lab, pause, protocol=IPPROTO_MPTCP):
    with connection(lab, protocol) as conn:
        upload(conn, SIZE).finish()
        time.sleep(pause)
        begun = time.monotonic()
        upload(conn, SIZE).finish()
        return time.monotonic() - begun


@pytest.fixture
def using(_shared):
    """using(words, lab): the client's scheduler, as `use` takes it."""
    undo = []

    def use(words, lab):
        name, *options = words.split()
        _shared.need(*[name] * (name != "default"))
        ok("use", name, *options, "--netns", lab.client.name)
        undo.append(lab.client.name)

    yield use
    for net in undo:
        ok("use", "default", "--netns", net)


@pytest.fixture(scope="module")
def plain_seconds():
    """{pause: seconds of plain TCP}, each measured once."""
    return {}


@pytest.mark.parametrize("words, pause", CASES)
def test_it_takes_as_long_as_with_plain_tcp(labs, using, plain_seconds, words, pause):
    """Not less, as with no restart at all; with one per segment some 1.5 times as long."""
    lab = labs(LONG)
    if pause not in plain_seconds:
        plain_seconds[pause] = seconds_after(lab, pause, socket.IPPROTO_TCP)
    plain = plain_seconds[pause]
    using(words, lab)
    before = spared()
    mine = seconds_after(lab, pause)
    assert spared() > before
    assert 0.95 * plain < mine < 1.15 * plain, (mine, plain)


def test_another_scheduler_s_windows_are_left_alone(labs, _shared):
    _shared.need("bpf_minrtt")
    lab = labs(LONG)
    before = spared()
    for protocol in (IPPROTO_MPTCP, socket.IPPROTO_TCP):
        seconds_after(lab, 1, protocol)
    assert spared() == before
