# SPDX-License-Identifier: GPL-2.0
"""bpf_cfs: what a slow path has of the end of a transfer comes by the fast one, and no more than that."""

import socket
import time

import pytest
from cells import bench_lab, downloads, from_nginx, netlab, sent
from command import ok, stats_of, total
from lab import until
from libbpf import Object
from passes import BUILT, MOST, TIMER
from traffic import connection, download, info

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

NAME = "bpf_cfs"
SIZE = 1 << 20
FRAGMENT = 32 << 10
RECORD = 3000
AGAIN = ("bytes_copied", "bytes_retrans")
SO_SNDBUFFORCE = 32  # asm-generic/socket.h


def path(name, mbit=3, rtt_ms=40, **options):
    return netlab.Path(name, mbit=mbit, rtt_ms=rtt_ms, limit=100, **options)


FAST = path("one")
SECOND = path("two", rtt_ms=60)
SLOW = path("two", mbit=0.1, rtt_ms=60)
# what happens to the second path, towards the client, and when: bytes still to be assigned
PORT = netlab.Lab.port(SECOND, "client")
SLOWS_DOWN = ("tc", f"qdisc change dev {PORT} root {SLOW.queue()}", SIZE // 4)
DIES = ("ip", f"link set {PORT} down", 0)
NOTHING = ("ip", f"link set {PORT} up", 0)


def measure(paths, event=NOTHING, copy=1, **options):
    """A download in which something happens: seconds, statistics before and after it, and how many
    copies there had been, again and again, while data waited to be assigned.
    """
    tool, line, left = event
    # what else helps against a path that dies is switched off
    ok("load", NAME, "--set", f"copy={copy}", "--set", "silence=0")
    samples = []
    with bench_lab(*paths) as lab, lab.at_once(tool, line) as happens:
        lab.server.scheduler = NAME
        with connection(lab) as conn:
            # all of it in one write, so that there is data left to assign until the end
            conn.server.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 4 * SIZE)
            download(conn, 128 << 10).finish().acknowledged()
            time.sleep(1)
            before = stats_of(info(conn.server).token)
            end = info(conn.server).bytes_sent + SIZE - left
            transfer = download(conn, SIZE, **options)
            # each look takes the command some time
            while copy and len(paths) > 1 and transfer.received < 0.4 * SIZE:
                now = stats_of(info(conn.server).token)
                if now["pending"]:
                    samples.append(now["counters"]["copies"])
            if len(paths) > 1:
                until(lambda: info(conn.server).bytes_sent >= end, 20, "assigned")
                happens()
                assert SIZE - transfer.received > FRAGMENT, "the end came too early"
            transfer.finish(120)
            after = stats_of(info(conn.server).token)
    ok("unload", NAME)
    return transfer.seconds, before, after, samples


@pytest.mark.parametrize("event", [SLOWS_DOWN, DIES], ids=["slow", "dead"])
def test_the_end_comes_by_the_fast_path(event):
    """Not later than with that one only; copy=0 is the control.

    Without copies the data on the slow path comes at its rate, and that on a dead
    one when the timer has fired again and again: twice at least.
    """
    alone, *_ = measure([FAST])
    seconds, before, after, samples = measure([FAST, SECOND], event)
    without, *_ = measure([FAST, SECOND], event, copy=0)
    assert seconds < alone, (seconds, without, alone)
    assert without > seconds + 2 * TIMER, (seconds, without, alone)

    copies = before["counters"]["copies"]
    assert after["counters"]["copies"] > copies, "the end was copied"
    assert len(samples) > 1 and set(samples) == {copies}, "nothing but the end"
    # what comes twice is what the slow path was given, in whole fragments
    slow = sent(after)[1] - sent(before)[1]
    again = total(after, *AGAIN) - total(before, *AGAIN)
    assert 0 < again <= slow + FRAGMENT, (again, slow)


# bytes of the receive buffer; about half of that is the window
@pytest.mark.parametrize("receive", [96 << 10, 16 << 20], ids=["tight", "wide"])
def test_it_leaves_a_tight_window_to_the_fast_path(receive):
    """No copy mends a window that the slow path blocks while new data waits. window_wait=0 is the control."""
    found = []
    for factor in (0, 1):
        ok("load", NAME, "--set", f"window_wait={factor}")
        paths = path("slow", 2, 120), path("fast", 8, 20)
        found.append(downloads(NAME, paths, [512 << 10] * 3, receive=receive))
        ok("unload", NAME)
    (control, ours), waits = map(sent, found), [f["waits"]["window"] for f in found]
    assert waits[0] == 0
    if receive < 1 << 20:
        assert waits[1] > 0
        assert ours[0] < 0.7 * control[0], (ours, control)
    else:
        assert waits[1] <= 0.02 * found[1]["counters"]["decisions"], found[1]
        assert ours[0] > 0.8 * control[0], (ours, control)


def test_a_pass_goes_on(passes_go_on):
    """From 7.3 on it sends one fragment after the other, and each of them once.

    Those of short messages are short, so there is room for more than one. Booked as the
    oldest, as the frame did before it knew, the second one of a pass goes out again and
    again.
    """
    with Object(BUILT / "passes.bpf.o") as work:
        work.attach("worker")
        work.attach("answered")
        _, before, after, _ = measure([FAST, SECOND], DIES, record=RECORD)
        most = work.u64("fragments", MOST)
    # how many depends on the room that the fast path has when the worker runs
    assert most > 1 if passes_go_on else most == 1, most
    copied = total(after, "bytes_copied") - total(before, "bytes_copied")
    assert copied <= sent(after)[1] - sent(before)[1]


def test_the_end_of_a_copy_is_not_held_back(passes_go_on):
    """Nagle's rule is for what an application writes in small pieces, not for the end of a copy.

    nginx writes a file's last bytes behind a fragment of its own, so both of them end with a short
    segment, and of two short segments TCP holds the second one until the first is acknowledged.
    Seen to take 1.29 times as long as plain TCP on the fast path, a round trip more in most of the
    downloads, without msb_end_is_elsewhere(), and 1.11 times with it. Where a pass copies one
    fragment only, the end behind it is copied that round trip later in any case: 1.34 to 1.37 times.
    """
    plain, ours = (from_nginx(w, "0.3/8.6", "64K", repeat=8) for w in ("plain TCP", NAME))
    assert ours < (1.2 if passes_go_on else 1.5) * plain, (ours, plain)
