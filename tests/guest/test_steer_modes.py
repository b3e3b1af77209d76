# SPDX-License-Identifier: GPL-2.0
"""bpf_steer: what each mode does with the bytes; virtual time.

The server sends, and knows the paths by the client's prefixes or by its own devices.
"""

import re
import socket
import time

import pytest
import steered
from cells import netlab
from lab import until
from steered import FREE, KB, MB, PAID, counted, flags, given, served
from tables import steer
from tracer import trace
from traffic import download

pytestmark = pytest.mark.virtual_time
LIKE = (
    netlab.Path("one", mbit=20, rtt_ms=30).roomy(),
    netlab.Path("two", mbit=20, rtt_ms=30).roomy(),
)


tables = steered.tables


def chunks(conn, size, count, pause):
    """Downloads with pauses between them, as of a video; seconds that each took."""
    took = []
    for _ in range(count):
        took.append(download(conn, size).finish().acknowledged().seconds)
        print(took, given(conn))
        time.sleep(pause)
    return took


FRAGMENT = 32 * KB
RANKS = "path name free device free rank 0", "path name paid device paid rank 1 metered"


def test_priority_leaves_the_paid_path_alone(tables, _shared):
    """A free line that suffices: at least 95 % fewer bytes on the other than minRTT gives it.

    In time, and no later than over the free line alone.
    """
    paid, took = {}, {}
    for mode in ("bpf_minrtt", "active-standby", "priority"):
        tables(*RANKS, f"rule mode {mode}")
        with served(FREE, PAID) as (_, conn):
            took[mode] = chunks(conn, 500 * KB, 6, 0.7)
            paid[mode] = given(conn)[1]
    assert paid["bpf_minrtt"] > MB, paid
    assert paid["active-standby"] == 0, paid
    assert paid["priority"] <= 0.05 * paid["bpf_minrtt"], paid
    # the deadline where the rule says none
    assert max(took["priority"]) < 1.0, took
    # seen: 0.5 % longer
    assert sum(took["priority"]) < 1.03 * sum(took["active-standby"]), took


def test_priority_overflows_where_it_would_be_late(tables):
    """3 MB take 1.4 s on the free line; in 700 ms they need the other one, which gets the rest."""
    deadline = 0.7
    tables(*RANKS, f"rule mode priority deadline {deadline * 1000:.0f}ms")
    with served(FREE, PAID) as (_, conn):
        took = chunks(conn, 3 * MB, 3, 0.5)
        free, paid = given(conn)
        assert paid > 3 * 300 * KB, (free, paid, took)
        assert free > 0.3 * (free + paid), (free, paid, took)
        # by two fragments, which the free line takes so long for: seen are 0.69 and 0.68
        assert max(took[1:]) < deadline + 2 * FRAGMENT / FREE.goodput, took
        # late: what a new connection has at hand is little, and the other line is in slow start
        assert took[0] < deadline + 0.2, took
        steer("rule flush")
        tables(*RANKS, "rule mode priority deadline none")
        chunks(conn, 1 * MB, 1, 0.2)
        before = given(conn)[1]
        (alone,) = chunks(conn, 3 * MB, 1, 0.2)
        assert given(conn)[1] == before, "no deadline, no overflow"
        assert alone > 3 * MB / FREE.goodput


def test_stats_says_that_it_overflows(tables):
    """The note, and who stands by before and behind it; each rank that helps does not."""
    last = netlab.Path("last", mbit=20, rtt_ms=30).roomy()
    rows = (*RANKS, "path name last device last rank 2")
    tables(*rows, "rule mode priority deadline 700ms")
    with served(FREE, PAID, last) as (_, conn):
        chunks(conn, 64 * KB, 2, 0.5)
        # metered is behind all that is not
        assert flags(conn) == [set(), {"standby"}, {"standby"}]
        assert counted(conn)["notes"] == ["standby"]
        transfer = download(conn, 16 * MB)
        until(lambda: "overflow" in counted(conn)["notes"], 20, "it overflows")
        assert "standby" not in flags(conn)[0] | flags(conn)[2], counted(conn)
        transfer.finish().acknowledged()
        assert given(conn)[2] > 300 * KB, counted(conn)
        tables(*rows, "rule mode priority deadline none")
        chunks(conn, 64 * KB, 2, 0.5)
        assert flags(conn) == [set(), {"standby"}, {"standby"}]
        assert counted(conn)["notes"] == ["standby"]


@pytest.mark.parametrize("first", [50, 80, 99])
def test_shares_of_the_bytes(tables, first):
    """Within 2 % over 10 MB."""
    tables(
        f"path name one remote 10.77.1.0/24 weight {first}",
        f"path name two remote 10.77.2.0/24 weight {100 - first}",
        "rule mode load-balancing",
    )
    with served(*LIKE) as (_, conn):
        # the second path is known with the first decision that sees it
        before = [*given(conn), 0][:2]
        download(conn, 10 * MB).finish().acknowledged()
        one, two = (b - a for a, b in zip(before, given(conn), strict=True))
    assert abs(one / (one + two) - first / 100) < 0.02, (one, two)


def test_the_device_of_a_route_that_is_forgotten(tables):
    """As by a socket option: the subflow has no route when rows are looked for the next time."""

    def ranks(one, two):
        tables(
            f"path name one device one rank {one}",
            f"path name two device two rank {two}",
            "rule mode active-standby",
        )

    ranks(0, 1)
    with served(*LIKE) as (_, conn):
        download(conn, MB).finish().acknowledged()
        for mark, first in ((7, 1), (8, 0)):
            conn.server.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
            ranks(first, 1 - first)
            before = given(conn)
            download(conn, 256 * KB).finish().acknowledged()
            moved = [b - a for a, b in zip(before, given(conn), strict=True)]
            # the one of rank 0
            assert moved[first] == sum(moved) == 256 * KB, (mark, moved)


def test_standby_takes_over_and_gives_back(tables):
    tables(*RANKS, "rule mode active-standby")
    with served(FREE, PAID) as (lab, conn):
        download(conn, MB).finish().acknowledged()
        assert given(conn)[1] == 0
        assert "standby" in counted(conn)["notes"]
        assert flags(conn) == [set(), {"standby"}]
        kill = [f"qdisc change dev free-{end} root netem loss 100% limit 1000" for end in "cs"]
        back = [f"qdisc change dev free-{end} root {FREE.queue()} loss 0%" for end in "cs"]
        with lab.at_once("tc", *kill) as kill, lab.at_once("tc", *back) as revive:
            transfer = download(conn, 2 * MB).reached(0.2)
            kill()
            transfer.finish().acknowledged()
            assert given(conn)[1] > MB
            assert flags(conn)[1] == set(), counted(conn)
            revive()
            # until the dead path has been heard of again
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                before = given(conn)
                download(conn, 64 * KB).finish().acknowledged()
                if given(conn)[0] - before[0] == 64 * KB:
                    break
                time.sleep(0.5)
            else:
                raise AssertionError(counted(conn))
            assert flags(conn) == [set(), {"standby"}]


def test_a_rule_changes_under_way(tables):
    """In force on an open connection within 100 ms, and no byte is lost."""
    tables(*RANKS, "rule mode active-standby")
    with served(FREE, PAID) as (_, conn):
        transfer = download(conn, 16 * MB).reached(0.05)
        assert given(conn)[1] == 0
        tables(*RANKS, "rule mode bpf_minrtt")
        time.sleep(0.1)
        assert given(conn)[1] > 0
        tables(*(line.replace("rank", "weight 1 rank") for line in RANKS), "rule mode redundant")
        transfer.reached(0.6)
        tables(
            "path name free device free rank 1",
            "path name paid device paid",
            "rule mode active-standby",
        )
        time.sleep(0.1)
        before = given(conn)[0]
        time.sleep(0.3)
        assert given(conn)[0] == before
        transfer.finish().acknowledged()


def test_a_slow_path_is_left_out(tables):
    """Over its RTT threshold: no new data while another path is within its own."""
    far = netlab.Path("far", mbit=20, rtt_ms=200).roomy()
    tables("path name far device far rtt 150ms", "rule mode bpf_rr")
    with served(netlab.Path("near", mbit=20, rtt_ms=20).roomy(), far) as (_, conn):
        download(conn, MB).finish().acknowledged()
        assert given(conn)[1] < 64 * KB, counted(conn)
        assert "over_rtt" in counted(conn)["notes"]
        tables("rule mode bpf_rr")
        download(conn, MB).finish().acknowledged()
        assert given(conn)[1] > 20 * KB, counted(conn)


def test_a_path_that_loses_much_is_left_out(tables):
    """Over its loss threshold, and back some time after it has become better."""
    bad = [f"qdisc change dev two-{end} root {LIKE[1].queue()} loss 15%" for end in "cs"]
    good = [f"qdisc change dev two-{end} root {LIKE[1].queue()} loss 0%" for end in "cs"]
    tables("path name two device two loss 5%", "rule mode bpf_rr")
    with served(*LIKE) as (lab, conn), lab.at_once("tc", *bad) as worse:
        download(conn, MB).finish().acknowledged()
        assert "over_loss" not in counted(conn)["notes"]
        worse()
        download(conn, 4 * MB).finish().acknowledged()
        assert "over_loss" in counted(conn)["notes"]
        assert "over_loss" in sorted(counted(conn)["subflows"], key=lambda s: s["id"])[1]["flags"]
        before = given(conn)
        download(conn, MB).finish().acknowledged()
        assert given(conn)[1] - before[1] < 64 * KB, (before, counted(conn))
        with lab.at_once("tc", *good) as better:
            better()
            time.sleep(60)
            download(conn, 64 * KB).finish().acknowledged()
            before = given(conn)
            download(conn, MB).finish().acknowledged()
        assert given(conn)[1] - before[1] > 128 * KB, (before, counted(conn))


@pytest.mark.parametrize("mode", ["bpf_rr", "priority"])
def test_a_path_that_is_fast_again_is_found(tables, mode):
    """Over its threshold it gets a fragment when it was idle for some seconds, and no more."""
    far, near = (netlab.Path("far", mbit=20, rtt_ms=ms).roomy() for ms in (200, 20))
    tables(
        "path name far device far rtt 150ms",
        "path name near device near rank 1",
        f"rule mode {mode}",
    )
    with served(netlab.Path("near", mbit=20, rtt_ms=20).roomy(), far) as (lab, conn):
        change = [f"qdisc change dev far-{end} root {near.queue()}" for end in "cs"]
        chunks(conn, 256 * KB, 4, 8)
        before = given(conn)[1]
        assert 0 < before < 256 * KB, counted(conn)
        with lab.at_once("tc", *change) as faster:
            faster()
            chunks(conn, 256 * KB, 6, 8)
            assert given(conn)[1] - before > 256 * KB, counted(conn)


def carries(lab, conn, i):
    """Does path i get any of what is downloaded now?"""
    before = given(conn)[i]
    download(conn, 512 * KB).finish().acknowledged()
    return given(conn)[i] > before


def test_a_path_becomes_a_backup(tables):
    """While it is in use, by MP_PRIO: then it is another row's."""
    tables("path name spare backup rank 1", "path name usual rank 0", "rule mode active-standby")
    with served(*LIKE) as (lab, conn):
        assert carries(lab, conn, 0)
        assert carries(lab, conn, 1)
        lab.client.ip("mptcp endpoint change id 1 backup")
        time.sleep(0.5)
        assert not carries(lab, conn, 1), counted(conn)
        lab.client.ip("mptcp endpoint change id 1 nobackup")
        time.sleep(0.5)
        assert carries(lab, conn, 1), counted(conn)


def on_the_wire(net):
    """TCP's payload that the server has sent, each transmission of it."""
    lines = net.run("ss", "-tinHO", "state", "established").stdout
    return sum(map(int, re.findall(r"\bbytes_sent:(\d+)", lines)))


def copied_of(lab, conn, size, count):
    """Of these messages from the server, how much more than they have went out."""
    before = on_the_wire(lab.server)
    for _ in range(count):
        download(conn, size).finish().acknowledged()
    return (on_the_wire(lab.server) - before) / (size * count) - 1


def test_copies_within_their_budget(tables):
    """20 % of messages and of a long transfer at most, and of messages not much less."""
    tables("rule mode redundant budget 20%")
    with served(*LIKE) as (lab, conn):
        some = copied_of(lab, conn, 3000, 60)
        assert 0.12 < some < 0.21, (some, counted(conn))
        bulk = copied_of(lab, conn, 3 * MB, 1)
        assert 0 <= bulk < 0.21, (bulk, counted(conn))
        steer("rule flush")
        tables("rule mode redundant")
        assert copied_of(lab, conn, 3000, 60) > 0.8, counted(conn)


@pytest.mark.parametrize(
    "mode", ["auto", "smallest-delay", "bpf_ecf", "bpf_blest", "bpf_cfs", "bpf_thin", "bpf_rr"]
)
def test_every_mode_delivers(tables, mode):
    tables(f"rule mode {mode}")
    with served(*LIKE) as (_, conn):
        download(conn, 512 * KB).finish().acknowledged()
        assert sum(given(conn)) == 512 * KB + 1
        # no row, no thresholds and no caps
        assert counted(conn)["notes"] == []


@pytest.mark.parametrize(
    "mode, enough",
    [("auto", True), ("bpf_cfs", True), ("active-standby", False), ("redundant", False)],
)
def test_a_glance_is_enough_where_the_mode_has_nothing_to_wait_for(tables, mode, enough):
    """That no path has room ends most decisions. Standbys keep times, and copies fill queues."""
    tables(*RANKS, f"rule mode {mode}")
    with served(FREE, PAID) as (lab, conn), trace("--netns", lab.server.name) as traced:
        download(conn, 2 * MB).finish().acknowledged()
        assert traced.end()["lost"] == 0
    asked = traced.events("decision")
    glances = [e for e in asked if e.get("glance")]
    assert len(asked) > 100
    assert all(e["reason"] == "no_room" for e in glances)
    assert len(glances) > len(asked) / 20 if enough else not glances, (len(glances), len(asked))
