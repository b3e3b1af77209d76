# SPDX-License-Identifier: GPL-2.0
"""bpf_redundant: every byte on every path, once; what counts is the first that arrives."""

import dataclasses
import time

import pytest
from cells import bench_lab, netlab
from command import ok, stats_of
from traffic import connection, download, info, ss

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

NAME = "bpf_redundant"
SIZE, LONG = 256 << 10, 4 << 20
# A path without room at the moment of a copy has it a segment later, and misses
# what was acknowledged till then: seen with one segment of one fragment.
KEPT_UP = 0.99
# Of a long transfer, in which a path's own losses may let it fall behind for a moment: 0.98 was seen.
NEARLY = 0.95
PATIENT = ("--set", "silence=0")


def path(name, mbit=8, rtt_ms=40):
    return netlab.Path(name, mbit=mbit, rtt_ms=rtt_ms).roomy()


def received(lab):
    """Payload bytes that came in at the client on each path, none of them counted twice by TCP."""
    found = ss(lab.client)
    return [found[netlab.Lab.address("client", i)]["bytes_received"] for i in range(len(lab.paths))]


def measure(paths, during=lambda lab, transfer: None, size=SIZE, name=NAME, receive=None):
    """A download after a short one: seconds, payload bytes per path, the sender's statistics.

    receive: bytes of the client's receive buffer, which then does not grow.
    """
    with bench_lab(*paths) as lab:
        if receive:
            lab.client.sysctl("ipv4/tcp_rmem", f"4096 {receive} {receive}")
        lab.server.scheduler = name
        with connection(lab) as conn:
            download(conn, 64 << 10).finish().acknowledged()
            time.sleep(1)
            before = received(lab)
            transfer = download(conn, size)
            during(lab, transfer)
            transfer.finish().acknowledged()
            # what is still on its way, on the slower paths
            time.sleep(2)
            carried = [b - a for a, b in zip(before, received(lab), strict=True)]
            found = stats_of(info(conn.server).token)
    return transfer.seconds, carried, found


@pytest.mark.parametrize(("count", "rtt_ms"), [(2, 40), (2, 80), (3, 40)])
def test_every_byte_on_every_path(count, rtt_ms):
    """At the receiver, and no byte twice on a path; strict=0, the control, leaves bytes out.

    Seen to fail, by two segments per path, when copies were not asked for ahead: the
    first acknowledgement of each fragment came before its copies. And with 80 ms, by
    8,600 bytes, when the timer's pass sent the oldest fragment alone, which then nobody
    lacked any more.
    """
    paths = [path(f"path{i}", rtt_ms=rtt_ms) for i in range(count)]
    # by default the next batch is assigned ahead: what arrives before its copies are made has none
    for ahead, least in ((64, KEPT_UP), (2, NEARLY)):
        ok("load", NAME, "--set", f"overlap={ahead}")
        _, carried, _ = measure(paths)
        assert min(carried) > least * SIZE, (ahead, carried)
        assert max(carried) <= SIZE, (ahead, carried)
        ok("unload", NAME)
    ok("load", NAME, "--set", "strict=0")
    _, carried, _ = measure(paths)
    assert min(carried) < KEPT_UP * SIZE, carried
    assert max(carried) <= SIZE, carried


@pytest.mark.parametrize("rtt_ms", [40, 80])
def test_several_windows_in_a_round_trip(rtt_ms, passes_go_on):
    """All of it on every path, and the wait for its acknowledgement seldom.

    Seen to be 1.38 and 1.56 times as fast. Where a pass copies one fragment only, so does the
    batch have one. A path whose full queue dropped the end of a batch is silent, and would be left
    for a moment: silence=0.
    """
    paths = [path(name, rtt_ms=rtt_ms) for name in ("one", "two")]
    seconds = {}
    for windows in (1, 8):
        # each waits for the end of the last: see below
        ok("load", NAME, "--set", f"batch_windows={windows}", "--set", "overlap=64", *PATIENT)
        seconds[windows], carried, _ = measure(paths, size=LONG)
        assert min(carried) > NEARLY * LONG, (windows, carried)
        assert max(carried) <= LONG, (windows, carried)
        ok("unload", NAME)
    faster = seconds[1] / seconds[8]
    assert faster > 1.15 if passes_go_on else 0.95 < faster < 1.05, seconds


@pytest.mark.parametrize("ahead", [1, 2])
def test_the_next_batch_does_not_wait_for_the_last(ahead, passes_go_on):
    """Only what arrives in the moment before its copies are made has none.

    Seen to be 1.19 to 1.65 times as fast, with 0.98 to 1 of the bytes on each path.
    """
    paths = [path(name, rtt_ms=80) for name in ("one", "two")]
    seconds = {}
    for least in (ahead, 64):
        ok("load", NAME, "--set", f"overlap={least}")
        seconds[least], carried, _ = measure(paths, size=2 * SIZE)
        assert min(carried) > NEARLY * 2 * SIZE, (least, carried)
        assert max(carried) <= 2 * SIZE, (least, carried)
        ok("unload", NAME)
    faster = seconds[64] / seconds[ahead]
    # a batch of one fragment is never as long as two
    never = ahead > 1 and not passes_go_on
    assert 0.95 < faster < 1.05 if never else faster > 1.1, seconds


def test_who_leads_is_not_penalised(passes_go_on):
    """It fills the peer's window since it is the first of all, and not by being slow.

    Half of its window was not used then, and what waited in its queue went on for longer.
    """
    paths = [path("one", mbit=20, rtt_ms=20), path("two", mbit=20, rtt_ms=60)]
    seconds = []
    for options in ((), ("--set", "penalise=1")):
        ok("load", NAME, *options)
        seconds.append(measure(paths, size=LONG, receive=512 << 10)[0])
        ok("unload", NAME)
    ours, control = seconds
    # a batch of one fragment does not fill it
    assert ours < 0.97 * control if passes_go_on else ours < 1.03 * control, seconds


def test_alone_it_waits_for_nothing():
    """A single path is as fast as with bpf_minrtt.

    Seen to take 1.2 times as long, on 6.12 twice, when it waited for copies that nobody could get.
    """
    seconds = {}
    for name in ("bpf_minrtt", NAME):
        ok("load", name)
        seconds[name], *_ = measure([path("one")], name=name, size=LONG)
        ok("unload", name)
    assert seconds[NAME] < 1.05 * seconds["bpf_minrtt"], seconds


def becomes(i, **values):
    """For `measure`: in mid-transfer path i is no longer as it was."""

    def change(lab, transfer):
        transfer.reached(0.3)
        lab.shape(dataclasses.replace(lab.paths[i], **values))
        assert transfer.received < 0.8 * transfer.size, "it was nearly over"

    return change


@pytest.mark.parametrize("ahead", [2, 64])
@pytest.mark.parametrize("dead", [0, 1])
def test_a_dead_path_stops_nothing(dead, ahead):
    """The copy on the other path is there already: no time is lost by waiting for a timer.

    Seen to take three times as long when the request for copies was refused while
    the retransmission timer runs, or dropped in the jiffy of the last pass. One transfer
    takes 0.9 to 1.4 times as long: it may lose a round trip, or what it takes until the path counts
    as silent. Of four the mean was 0.98 to 1.19, in 16 cases.
    """
    ok("load", NAME, "--set", f"overlap={ahead}")
    paths = [path("one"), path("two")]
    both, alone = [], []
    for _ in range(4):
        both.append(measure(paths)[0])
        seconds, carried, _ = measure(paths, becomes(dead, loss=100))
        alone.append(seconds)
        assert carried[1 - dead] >= (1 if ahead == 64 else NEARLY) * SIZE, carried
    assert sum(alone) < 1.4 * sum(both), (alone, both)


def test_a_slow_path_stops_nothing():
    """One that does not keep up gets less, and the other goes on as with its like."""
    ok("load", NAME)
    both, *_ = measure([path("one"), path("two")])
    seconds, carried, _ = measure([path("one"), path("two", mbit=0.5)])
    assert seconds < 1.25 * both, (seconds, both)
    assert carried[0] == SIZE
    assert 0 < carried[1] < SIZE, carried
