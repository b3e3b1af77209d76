# SPDX-License-Identifier: GPL-2.0
"""bpf_queueaware: the queue's length, the service time, and what follows from them.

In virtual time, so that a queue is read before it has changed; the lengths of the
other kinds of queue are in test_queue_length.py.
"""

import contextlib
import time

import pytest
from command import ok, stats_of
from lab import Path
from queues import NAME, Flood, Qdiscs, Scheduler, burst, queueaware
from traffic import connection, info, upload

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]
# fast enough to be no queue themselves
WIDE = Path(mbit=1000, rtt_ms=2, limit=1000)


@pytest.fixture
def measured(labs, suffix):
    """measured(path, ...): a connection, its probe and its subflows' ports in order."""

    @contextlib.contextmanager
    def make(*paths):
        with queueaware(suffix) as probe:
            lab = labs(*paths).endpoints()
            lab.client.scheduler = NAME
            with connection(lab) as conn:
                upload(conn, 64 << 10).finish().acknowledged()
                first = conn.client.getsockname()[1]
                ports = sorted(probe.read(lab.client), key=lambda port: port != first)
                assert ports[0] == first and len(ports) == len(paths)
                yield lab, conn, probe, ports

    return make


QUEUES = {
    "netem": "netem rate 1mbit limit 200",
    "fq": "fq maxrate 1mbit flow_limit 200",
    "tbf": "tbf rate 1mbit burst 2000 limit 200000",
}


@pytest.mark.parametrize("kind", QUEUES)
def test_length_follows_the_qdisc(measured, kind):
    """Within one packet while a flood of another socket fills and leaves the queue."""
    seen = []
    with measured(WIDE, WIDE) as (lab, _, probe, ports), Qdiscs(lab.client) as qdiscs:
        lab.client.tc(f"qdisc replace dev p1 root {QUEUES[kind]}")
        with Flood(lab, 1, per_second=400):
            end = time.monotonic() + 1
            while time.monotonic() < end:
                seen.append(look(lab, probe, ports, qdiscs))
                time.sleep(0.02)
        while qdiscs.length("p1"):
            seen.append(look(lab, probe, ports, qdiscs))
            time.sleep(0.02)
        assert probe.read(lab.client)[ports[0]].queue == 0
    assert max(n for n, *_ in seen) > 50, seen
    for n, other, before, after in seen:
        assert min(before, after) - 1 <= n <= max(before, after) + 1, seen
        assert other == 0


def look(lab, probe, ports, qdiscs):
    before = qdiscs.length("p1")
    found = probe.read(lab.client)
    after = qdiscs.length("p1")
    return found[ports[0]].queue, found[ports[1]].queue, before, after


def test_service_time_is_the_round_trip_without_the_local_queue(measured):
    """40 ms behind the device, 4 Mbit/s at it; then another socket fills its queue.

    The smoothed RTT, which a scheduler without the measurement would have to go by,
    is the control: it grows with the queue.
    """
    behind = 40
    with measured(WIDE) as (lab, conn, probe, (port,)):
        lab.server.tc(f"qdisc replace dev p1 root netem delay {behind}ms limit 1000")
        lab.client.tc("qdisc replace dev p1 root netem rate 4mbit limit 1000")

        def now():
            return probe.read(lab.client)[port]

        transfer = upload(conn, 1 << 20).reached(0.5)
        idle = now()
        transfer.finish().acknowledged()
        with Flood(lab, 1, per_second=300):
            transfer = upload(conn, 512 << 10).reached(0.8)
            flooded = now()
            transfer.finish().acknowledged()
    print(idle, flooded)
    for found in (idle, flooded):
        assert abs(found.service_us - behind * 1000) < 0.1 * behind * 1000, found
        assert found.samples > 50
        # the wait is the difference, as far as a smoothed value tells
        assert found.srtt_us - found.service_us > 0.5 * found.wait_us
    assert flooded.wait_us > 3 * idle.wait_us > 0
    assert flooded.srtt_us > 2 * idle.srtt_us


def test_without_a_queue_its_own_unsent_data_counts(measured):
    """A device with no queue: what TCP has and has not sent, in packets."""
    with measured(WIDE) as (lab, conn, probe, (port,)):
        lab.client.tc("qdisc replace dev p1 root noqueue")
        lab.server.tc("qdisc replace dev p1 root netem delay 100ms limit 1000")
        seen = []
        transfer = upload(conn, 2 << 20)
        while transfer.received < transfer.size:
            seen.append(probe.read(lab.client)[port])
            time.sleep(0.01)
        transfer.finish().acknowledged()
        assert probe.read(lab.client)[port].queue == 0
    assert all(q.queue == -(-q.unsent // q.mss) for q in seen), seen
    assert max(q.queue for q in seen) > 5, seen


@contextlib.contextmanager
def registered(name, suffix):
    """Either scheduler, as its user has it."""
    if name == NAME:
        with Scheduler(suffix):
            yield
    else:
        ok("load", name)
        yield


def local_queues(lab, *rates, delays):
    """The rates at the client's own devices, the delays behind them."""
    for i, (mbit, ms) in enumerate(zip(rates, delays, strict=True), 1):
        lab.client.tc(f"qdisc replace dev p{i} root netem rate {mbit}mbit limit 100")
        lab.server.tc(f"qdisc replace dev p{i} root netem delay {ms}ms limit 1000")


def given(conn):
    subflows = stats_of(info(conn.client).token)["subflows"]
    return [s["counters"]["bytes_sent"] for s in subflows]


@pytest.mark.parametrize("name", [NAME, "bpf_minrtt"])
def test_a_queue_that_just_filled_is_avoided(labs, suffix, name):
    """The nearer path's queue fills by another socket a moment before each message.

    Its RTT does not know that yet: bpf_minrtt, the control, takes it all the same.
    """
    with registered(name, suffix):
        lab = labs(WIDE, WIDE).endpoints()
        lab.client.scheduler = name
        with connection(lab) as conn:
            local_queues(lab, 4, 4, delays=(10, 30))
            for _ in range(10):  # both are measured after this
                upload(conn, 64 << 10).finish().acknowledged()
            before = given(conn)
            for _ in range(8):
                time.sleep(1)
                burst(lab, 1, 60)
                upload(conn, 6 << 10).finish().acknowledged()
            near, far = (b - a for a, b in zip(before, given(conn), strict=True))
    print(name, near, far)
    assert near + far == 8 * (6 << 10)
    if name == NAME:
        assert far > 0.9 * (near + far), (near, far)
    else:
        assert near > 0.5 * (near + far), (near, far)


def goodput(labs, suffix, name, rates, delays, seconds=8):
    """Mbit/s of an upload whose writer never stops; and what each path was given."""
    with registered(name, suffix):
        lab = labs(WIDE, WIDE).endpoints()
        lab.client.scheduler = name
        local_queues(lab, *rates, delays=delays)
        with connection(lab) as conn:
            transfer = upload(conn, 32 << 20)
            time.sleep(1)
            start, at = transfer.received, time.monotonic()
            time.sleep(seconds)
            mbit = (transfer.received - start) * 8e-6 / (time.monotonic() - at)
            shares = given(conn)
            conn.abort()
            transfer.stop = True
    return mbit, shares


PAPER = {
    "6+6": ((6, 6), (20, 20)),
    "12+6": ((12, 6), (20, 20)),
    "6+12 far": ((6, 12), (20, 60)),
}


@pytest.mark.parametrize("case", PAPER)
def test_both_access_links_are_used(labs, suffix, case, record_property):
    """The paper's three topologies with reliable paths, the queues of 100 packets local.

    Its measure, the goodput against minRTT's, is recorded and not judged.
    """
    rates, delays = PAPER[case]
    for name in (NAME, "bpf_minrtt"):
        mbit, shares = goodput(labs, suffix, name, rates, delays)
        text = f"{mbit:.2f} Mbit/s of {sum(rates)}, {shares[1] / sum(shares):.2f} on the second"
        print(case, name, text)
        record_property(name, text)
        if name == NAME:
            assert mbit > 0.7 * sum(rates)
            assert shares[1] / sum(shares) > 0.7 * rates[1] / sum(rates)
        else:
            ok("unload", name)
