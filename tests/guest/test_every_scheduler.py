# SPDX-License-Identifier: GPL-2.0
"""What holds whatever the scheduler, with paths that die, stand still, come and go; virtual time."""

import json
import random
import socket
import time

import pytest
from command import ok, stats_of, total
from lab import Netns, Path, run, until
from libbpf import Object, verified
from mptcplab.benchmarks import stress
from mptcplab.lab import transfer as bulk
from passes import BUILT, Done, passes
from traffic import connection, info, ss, upload

SIZE = 512 << 10
# The kernel's limit is a million, and a load without KVM takes a second for 50,000. On 6.12, where
# both hooks are one program: 39,000 to 69,000.
FEW_INSTRUCTIONS = 85_000
# One that holds several others: 165,000.
OF_SEVERAL = {"bpf_steer": 200_000}

pytestmark = pytest.mark.virtual_time


@pytest.fixture(scope="module")
def two(shared_lab):
    return shared_lab(Path(4, 10), Path(4, 30))


@pytest.fixture(scope="module")
def with_backup(shared_lab):
    return shared_lab(Path(4, 10), Path(8, 30, backup=True))


@pytest.fixture(scope="module")
def slow_second(shared_lab):
    return shared_lab(Path(8, 40), Path(1, 40))


@pytest.fixture
def worker():
    with Object(BUILT / "passes.bpf.o") as loaded:
        loaded.attach("worker")
        yield loaded


def carries_again(lab, conn, i, seconds=40):
    """Small transfers until the scheduler gives path i some of one.

    What was stuck on the path leaves it before, so the second time counts.
    """
    end, times = time.monotonic() + seconds, 0
    while time.monotonic() < end and times < 2:
        before = lab.sent()[i - 1]
        upload(conn, 128 << 10).finish().acknowledged()
        times += lab.sent()[i - 1] - before > 16 << 10
        time.sleep(0.2)
    return times == 2


@pytest.mark.each_kernel
def test_the_verifier_is_soon_done(every):
    """Of the scheduler's programs: one loop with branches in it can make that ten times as much.

    Those of others may stay for a while, until their last connection is gone.
    """
    programs = json.loads(run("bpftool", "-j", "prog", "show").stdout)
    start = f"{every}_"[:15]
    found = verified({p["id"] for p in programs if p.get("name", "").startswith(start)})
    assert len(found) >= 2, f"the hooks of {every}"
    assert max(found) < OF_SEVERAL.get(every, FEW_INSTRUCTIONS), found


def has_unsent(lab, i):
    """Does data wait in the client's subflow over path i, more than is sent until the path dies?"""
    return ss(lab.client)[lab.local(i)].get("notsent", 0) > 8 << 10


@pytest.mark.parametrize("how", ["carrier", "loss"])
def test_a_path_dies_and_comes_back(two, every, how):
    """The transfer completes without path 1, and uses it again when it is back.

    What the dead path holds is sent again on the other. Seen to fail when the
    window was measured from snd_nxt: the core goes back behind that once a path
    is given up, and the transfer hung.
    """
    with (
        two.lent(every) as lab,
        connection(lab.endpoints()) as conn,
        lab.outage(1, how) as (kill, revive),
    ):
        transfer = upload(conn, SIZE).reached(0.2)
        until(
            lambda: has_unsent(lab, 1) or transfer.received > 0.5 * SIZE,
            20,
            "something for the path to hold",
        )
        kill()
        assert transfer.received < 0.8 * SIZE, "it was over before the path died"
        transfer.finish(60).acknowledged()
        again = info(conn.client).bytes_retrans
        found = stats_of(info(conn.client).token)
        counted = total(found, "bytes_retrans", "bytes_copied")
        # what goes out again because a path was given up only our counters have
        assert counted >= again
        assert counted > 0, "what the dead path held must have been sent again"
        assert info(conn.client).extra_subflows == 1, "both subflows still exist"
        revive()
        assert carries_again(lab, conn, 1)


def rounds(conn):
    """Of the retransmission timer so far, at the client."""
    counters = stats_of(info(conn.client).token)["counters"]
    return counters["retransmissions"] + counters["retrans_none"]


def test_a_dead_path_is_given_up_and_taken_back(slow_second, every):
    """SubflowStale: the core marks it, so that schedulers are not offered it.

    Where the core leaves that to the scheduler (6.12), the bridge drives it: seen
    to fail with its check for stale subflows taken out. It takes five rounds of the
    timer without an answer, so the other path is a slow one; where all is repaired
    before, by copies or by chance, there are no such rounds. The last answer may come after the first.
    """
    with (
        slow_second.lent(every) as lab,
        connection(lab.endpoints()) as conn,
        lab.outage(1, "loss") as (kill, revive),
    ):
        upload(conn, SIZE).finish().acknowledged()
        stale, before = lab.client.mib("SubflowStale"), rounds(conn)
        kill()
        upload(conn, SIZE).finish(60).acknowledged()
        given_up = lab.client.mib("SubflowStale") > stale
        assert given_up or rounds(conn) - before < 6
        revive()
        assert carries_again(lab, conn, 1)


def test_backup_takes_over(with_backup, every):
    """A backup is used when the other path dies, and only then."""
    with (
        with_backup.lent(every) as lab,
        connection(lab.endpoints()) as conn,
        lab.outage(1, "loss") as (kill, _),
    ):
        before = lab.sent()[1]
        transfer = upload(conn, SIZE).reached(0.2)
        assert lab.sent()[1] - before < 8 << 10
        kill()
        assert transfer.received < 0.7 * SIZE, "it was over before the path died"
        transfer.finish(60)
        assert lab.sent()[1] - before > SIZE // 4


def test_a_path_is_added_and_taken_away(two, every):
    """A subflow comes in mid-transfer, carries, and is closed while it does."""
    with two.lent(every) as lab, connection(lab, subflows=1) as conn:
        before = lab.sent()[1]
        transfer = upload(conn, 2 * SIZE).reached(0.1)
        assert lab.sent()[1] - before < 1000
        lab.endpoint(2)
        conn.wait_subflows(1)
        until(lambda: lab.sent()[1] - before > 32 << 10, 20, "data on the path added")
        lab.endpoint(2, "del")
        until(
            lambda: info(conn.client).extra_subflows == 0,
            20,
            "the subflow of the endpoint taken away gone",
        )
        left = lab.sent()[1]
        assert transfer.received < 2 * SIZE, "it was over before"
        transfer.finish(60)
        # its closing, and what was in its queue already
        assert lab.sent()[1] - left < 300 << 10


def test_a_path_that_comes_amid_is_counted_right(two, every):
    """Schedulers see the subflow before it is established: seen to count a byte that was not sent."""
    with two.lent(every) as lab, connection(lab, subflows=1) as conn:
        transfer = upload(conn, SIZE).reached(0.1)
        lab.endpoint(2)
        conn.wait_subflows(1)
        assert transfer.received < SIZE, "it was over before"
        transfer.finish(60).acknowledged()
        found = stats_of(info(conn.client).token)
        assert total(found, "bytes_sent") == SIZE
        again = total(found, "bytes_retrans", "bytes_copied")
        assert again == info(conn.client).bytes_retrans, found


def test_the_first_path_is_taken_away(two, every):
    """The subflow that made the connection goes; the other carries on alone.

    It stays in the kernel's list. Seen to count 4 GB less what it had sent before.
    """
    with two.lent(every) as lab, connection(lab.endpoints()) as conn:
        transfer = upload(conn, SIZE).reached(0.2)
        lab.client.ip(f"mptcp endpoint delete id 0 {lab.local(1)}")
        transfer.finish(60)
        until(lambda: info(conn.client).subflows == 1, 20, "one subflow left")
        found = stats_of(info(conn.client).token)
        counted = total(found, "bytes_sent", "bytes_retrans", "bytes_copied")
        assert counted < 3 * SIZE, found


def neighbours(lab, i):
    """Path i's ends know each other's hardware address: what waits for that is not lost."""
    with lab.client.inside():
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sock:
        sock.connect((lab.local(i, 2), 9))
        sock.send(b"?")
        time.sleep(0.2)


def test_a_subflow_of_unknown_rtt(two, every):
    """Its first SYN is lost and there are no timestamps, so no RTT was measured: it is used."""
    with two.lent(every) as lab, lab.outage(2, "loss") as (kill, revive):
        for net in (lab.client, lab.server):
            net.sysctl("ipv4/tcp_timestamps", 0)
        neighbours(lab, 2)
        with connection(lab, subflows=1) as conn:
            kill()
            time.sleep(0.1)
            lab.endpoints()
            time.sleep(0.3)
            assert len(ss(lab.client)) == 1
            revive()
            until(lambda: len(ss(lab.client)) == 2, 20, "the second SYN's answer")
            assert "rtt" in ss(lab.client)[lab.local(1)]
            assert "rtt" not in ss(lab.client)[lab.local(2)]
            upload(conn, SIZE).finish().acknowledged()
            found = stats_of(info(conn.client).token)
            second = found["subflows"][1]["counters"]
            assert second["bytes_sent"] + second["bytes_copied"] > 0, found
        for net in (lab.client, lab.server):
            net.sysctl("ipv4/tcp_timestamps", 1)


def quiet(lab, worker, seconds=5):
    """What is done while nothing moves."""
    before = Done.now(lab, worker)
    time.sleep(seconds)
    done = Done.now(lab, worker) - before
    return done


def stands_still(conn):
    """Nothing has been acknowledged for some time."""
    last = info(conn.client).snd_una
    time.sleep(1)
    return info(conn.client).snd_una == last


def test_a_pass_needs_a_segment(slow_second, every, worker):
    """While data flows over unlike paths, and with losses."""
    with slow_second.lent(every) as lab, connection(lab.endpoints()) as conn:
        begun = Done.now(lab, worker)
        for loss in (0, 3):
            lab.shape(loss)
            before = Done.now(lab, worker)
            upload(conn, SIZE // 2).finish().acknowledged()
            (Done.now(lab, worker) - before).bounded_by_segments()
        done = Done.now(lab, worker) - begun
        found = stats_of(info(conn.client).token)
        assert passes(found) <= done.arrived + done.rounds


def test_the_reader_stops(two, every, worker):
    """The peer's window closes, is probed, and opens; nothing is lost meanwhile.

    The receive buffer is the kernel's: shrinking that of a live connection hangs
    6.12's receiver, with its own scheduler too.
    """
    with two.lent(every) as lab, connection(lab.endpoints()) as conn:
        transfer = upload(conn, 2 * SIZE)
        transfer.reading.clear()
        until(lambda: stands_still(conn), 60, "the window is shut")
        before = stats_of(info(conn.client).token)
        done = quiet(lab, worker)
        after = stats_of(info(conn.client).token)
        done.bounded_by_the_timer()
        assert passes(after) - passes(before) <= done.rounds
        # each pass looks at the send queue, and so may a probe's answer
        asked = after["counters"]["decisions"] - before["counters"]["decisions"]
        assert asked <= 2 * done.rounds
        assert after["pending"] > 0
        assert transfer.received < transfer.size
        # the peer's window, and that the kernel keeps asking
        probes = after["counters"]["window_probes"]
        assert after["waits"]["peer_window"] + probes > 0
        transfer.reading.set()
        transfer.finish().acknowledged()


def nothing_arrives(lab, conn, worker, seconds):
    """Every path swallows all, with data on its way."""
    with lab.outage(1, "loss") as first, lab.outage(2, "loss") as second:
        transfer = upload(conn, SIZE // 2).reached(0.3)
        for kill, _ in (first, second):
            kill()
        until(lambda: stands_still(conn), 20, "nothing arrives")
        assert info(conn.client).snd_una < info(conn.client).write_seq
        done = quiet(lab, worker, seconds)
        for _, revive in (first, second):
            revive()
        transfer.finish(120).acknowledged()
    return done


def test_paths_are_dead(two, every, worker):
    """One with data on it, while the other goes on; then both."""
    with two.lent(every) as lab, connection(lab.endpoints()) as conn:
        begun = Done.now(lab, worker)
        with lab.outage(2, "loss") as (kill, revive):
            transfer = upload(conn, SIZE // 2).reached(0.3)
            before = Done.now(lab, worker)
            kill()
            transfer.finish(60).acknowledged()
            (Done.now(lab, worker) - before).bounded_by_segments()
            quiet(lab, worker).bounded_by_the_timer()
            revive()
        nothing_arrives(lab, conn, worker, 5).bounded_by_the_timer()
        done = Done.now(lab, worker) - begun
        found = stats_of(info(conn.client).token)
        assert passes(found) <= done.arrived + done.rounds


def test_a_loop_is_found(two, none_loaded, worker, suffix):
    """The control: a scheduler whose passes call for each other."""
    ok("load", BUILT / f"looping{suffix}")
    with two.lent("t_looping") as lab, connection(lab.endpoints()) as conn:
        done = nothing_arrives(lab, conn, worker, 0.5)
        with pytest.raises(AssertionError):
            done.bounded_by_the_timer()
        # every jiffy or two, and not just a little too often
        assert done.runs > 50 * done.seconds, done


def test_stress(every):
    """The benchmark in short: losses, reordering, and paths that fail for a quarter of each second."""

    def prepare(lab):
        server = Netns(lab.names["server"])
        server.scheduler = every
        server.close()

    data = random.Random(1).randbytes(8 << 20)
    with stress.connected(prepare) as (lab, ends, flapping):
        run = bulk.transfer(lab, stress.SENDER, [(ends, data)])
    assert run["verified"]
    # that there was stress
    assert flapping.failures > 1 and run["segments_resent"] > 0
