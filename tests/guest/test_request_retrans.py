# SPDX-License-Identifier: GPL-2.0
"""bpf_mptcp_request_retrans(): asked for at every segment of every socket."""

import errno
import os
import socket

import pytest
from command import available, ok, stats_of
from lab import SLOW, Path
from libbpf import Object
from traffic import connection, info, upload

ASKED, INVALID, NO_DATA, ALREADY, BUSY, OTHER = range(6)
SIZE = 1 << 20


@pytest.fixture
def probe(_shared, compiled):
    _shared.need()
    with Object(compiled("asks")) as loaded:
        loaded.attach("asks")
        yield loaded


def answers(probe):
    return [probe.u64("answers", i) for i in range(OTHER + 1)]


def test_harmless_on_plain_tcp(labs, probe):
    lab = labs()
    with connection(lab, protocol=socket.IPPROTO_TCP) as conn:
        upload(conn, SIZE // 4).finish()
        retransmits = lab.client.mib("MPTCPRetrans")
    count = answers(probe)
    assert count[INVALID] > 100
    assert count[INVALID] == sum(count), count
    assert retransmits == 0


@pytest.mark.parametrize("protocol", [socket.IPPROTO_TCP, socket.IPPROTO_MPTCP])
def test_raw_sockets_are_none(_shared, compiled, protocol):
    """They may have the number of either, and are smaller than what it stands for."""
    _shared.need()
    with (
        Object(compiled("raw")) as loaded,
        socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol) as raw,
    ):
        loaded.attach("t_sent")
        raw.connect(("127.0.0.1", 0))
        raw.send(b"x" * 40)
        asked, answer = loaded.u64("asked", 0), loaded.u64("asked", 1)
    assert asked == 1 and answer == errno.EINVAL


def test_every_answer_and_the_rate(labs, probe):
    """Granted at most once per jiffy and connection; the data survives it all.

    Seen to fail with the bridge's look at the jiffy removed.
    """
    # What the slow path holds at the end is outstanding when the fast one is idle.
    lab = labs(Path(0.5, 20), Path(20, 20)).endpoints()
    answered = (ASKED, NO_DATA, ALREADY, BUSY)
    with connection(lab) as conn:
        for times in range(20):
            upload(conn, SIZE // 4).finish().acknowledged()
            # how often the socket is busy then hangs on the machine
            if times > 1 and all(answers(probe)[answer] for answer in answered):
                break
        again = info(conn.client).bytes_retrans
        copies = lab.client.mib("MPTCPRetrans")
    assert again > 0
    probe.detach()
    count = answers(probe)
    assert count[OTHER] == 0, count
    # INVALID: the handshakes of subflows, of which nobody knows the connection
    for answer in answered:
        assert count[answer] > 0, count
    assert copies > 0
    granted = [probe.u64("connections", key, 3) for key in probe.keys("connections")]
    # two CPUs may meet at a connection's first grant and count it once
    assert count[ASKED] - len(granted) <= sum(g[0] for g in granted) <= count[ASKED]
    for total, first, last in granted:
        # the clock is read a moment after the grant, perhaps a tick later
        assert total <= last - first + 2, granted


def test_asking_makes_no_live_path_stale(labs, probe):
    """A pass on request is no sign of a dead path: nothing is lost here.

    The core counts passes without an ACK in between, and gives a path up after
    five: at one pass per jiffy that is less than the round trip of most paths.
    """
    lab = labs(Path(8, 10, limit=2000), Path(8, 60, limit=2000)).endpoints()
    with connection(lab) as conn:
        upload(conn, SIZE).finish().acknowledged()
        asking = lab.client.mib("SubflowStale")
        asked = answers(probe)[ASKED]
        probe.detach()
        upload(conn, SIZE).finish().acknowledged()
        not_asking = lab.client.mib("SubflowStale") - asking
    assert asked > 0
    assert (asking, not_asking) == (0, 0)


def test_the_end_of_a_stream_alone_is_no_reason(labs, probe):
    """Of a DATA_FIN nothing can be copied, and a pass for it would count as a retransmission."""
    path = Path(20, 20)
    lab = labs(path)
    to_server = f"qdisc change dev {lab.device(1)} root netem "
    with connection(lab) as conn:
        upload(conn, SIZE // 4).finish().acknowledged()
        lab.client.tc(to_server + path.netem(100))
        conn.client.shutdown(socket.SHUT_WR)
        before = answers(probe)
        conn.server.sendall(bytes(10_000))
        left = 10_000
        while left:
            left -= len(conn.client.recv(left))
        after = answers(probe)
        lab.client.tc(to_server + path.netem())
    assert after[NO_DATA] > before[NO_DATA], (before, after)
    assert after[ASKED] == before[ASKED], (before, after)


def test_from_a_scheduler(labs, none_loaded, compiled):
    """A scheduler of a user's own, built in the frame, asks at each decision."""
    path = compiled("asking")
    # a guest that stands still for a moment looks silent
    said = ok("load", path, "--set", "unused=2", "--set", "silence=0")
    assert said["loaded"] == "t_asking"
    assert available() == {"default", "t_asking"}
    lab = labs(Path(8, 10), Path(8, 60)).endpoints()
    ok("use", "t_asking", "--netns", lab.client.name)
    with connection(lab) as conn:
        upload(conn, SIZE).finish().acknowledged()
        found = stats_of(info(conn.client).token)
    assert found["scheduler"] == "t_asking"
    # get_retrans was called, for what was asked; nothing else would do that without a loss
    counters = found["counters"]
    # fewer where each step takes longer and so more is in one decision
    assert counters["copies_none"] > 10 // SLOW
    # where the guest stands still for longer than its timer waits, a pass is the timer's
    assert SLOW > 1 or counters["retransmissions"] * 5 < counters["copies_none"]
    lab.client.scheduler = "default"
    ok("unload", "t_asking")
    assert available() == {"default"}


def test_attached_the_program_costs_plain_tcp_next_to_nothing(labs, probe):
    """Many short plain connections: no state is made for any of them."""
    lab = labs(Path(200, 0))
    listener_data = os.urandom(2000)
    for _ in range(20):
        with connection(lab, protocol=socket.IPPROTO_TCP) as conn:
            conn.client.sendall(listener_data)
    assert probe.keys("connections") == []
