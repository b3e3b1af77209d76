# SPDX-License-Identifier: GPL-2.0
"""n_k is what `tc -s qdisc` says, for queues that only a busy driver fills.

A veth is never busy, so a module holds its transmit queue. Lengths per CPU
(pfifo_fast) are written by each of the guest's CPUs.
"""

import contextlib
import itertools
import json
import os
import socket

import pytest
from lab import Path, run, until
from queues import NAME, PROBE, Qdiscs, queueaware, settled
from traffic import connection, upload

pytestmark = pytest.mark.usefixtures("none_loaded")
HOLD = "/sys/module/txhold/parameters/hold"
PATH = Path(mbit=1000, rtt_ms=0, limit=1000)


@pytest.fixture
def hold(kernel_release):
    """hold(lab, device, bytes): its driver has that many in flight; 0: none, and goes on."""
    run("insmod", PROBE.parent / f"txhold-{kernel_release}.ko")

    def set_hold(lab, device, size):
        with lab.client.inside(), open(HOLD, "w") as f:
            f.write(f"{device} {size}")

    yield set_hold
    run("rmmod", "txhold")


@pytest.fixture
def subflow(labs):
    """subflow(qdisc): a lab, its connection, and the reader of the subflow's n_k."""

    @contextlib.contextmanager
    def make(qdisc):
        with queueaware() as probe:
            lab = labs(PATH)
            lab.client.tc(f"qdisc replace dev p1 root {qdisc}")
            lab.client.scheduler = NAME
            with connection(lab) as conn:
                upload(conn, 32 << 10).finish().acknowledged()
                port = conn.client.getsockname()[1]
                yield lab, conn, lambda: probe.read(lab.client)[port]

    return make


class Senders:
    """Packets of other sockets, by turns from each CPU of the guest."""

    def __init__(self, lab):
        with lab.client.inside():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((lab.local(1, 2), 9))
        self.home = os.sched_getaffinity(0)
        self.cpus = itertools.cycle(sorted(self.home))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.sched_setaffinity(0, self.home)
        self.socket.close()

    def send(self, count):
        os.sched_setaffinity(0, {next(self.cpus)})
        for _ in range(count):
            with contextlib.suppress(ConnectionRefusedError):
                self.socket.send(bytes(200))


def within_one(before, n, after):
    """Other traffic, ARP say, may come at any time, so the other is read twice."""
    return min(before, after) - 1 <= n <= max(before, after) + 1


def tc_length(lab):
    """What a user sees."""
    text = lab.client.run("tc", "-s", "-j", "qdisc", "show", "dev", "p1").stdout
    (root,) = (q for q in json.loads(text) if q.get("root"))
    return root["qlen"]


@pytest.mark.parametrize("kind", ["pfifo_fast", "fq_codel", "fq", "pfifo"])
def test_as_tc_says(subflow, hold, kind):
    """Step by step while packets pile up, then while they leave."""
    with (
        subflow(kind) as (lab, _, read),
        Senders(lab) as senders,
        Qdiscs(lab.client) as q,
    ):
        assert len(senders.home) > 1, "one CPU is no test of lengths per CPU"
        assert settled(lambda: read().queue) == 0
        hold(lab, "p1", 1)

        def now():
            """The qdisc's own length before and after the other; a byte in the driver is one more."""
            return q.length("p1"), read().queue - 1, q.length("p1")

        seen = [now()]
        try:
            for _ in range(12):
                senders.send(7)
                seen.append(now())
            last = tc_length(lab)
        finally:
            hold(lab, "p1", 0)
        assert all(within_one(*found) for found in seen), seen
        # what tc says is what was compared with; and no less than was sent
        assert last >= seen[-1][2] >= 12 * 7, (last, seen)
        assert settled(lambda: read().queue) == q.length("p1") == 0


def test_bytes_in_the_driver(subflow, hold):
    """Where the driver counts bytes (BQL), they count as packets of the subflow's size."""
    with subflow("fq_codel") as (lab, _, read):
        hold(lab, "p1", 20000)
        try:
            found = read()
        finally:
            hold(lab, "p1", 0)
        assert found.queue == -(-20000 // found.mss) > 10
        assert read().queue == 0


def test_of_several_queues_its_own(subflow, hold):
    """mq: the length of the queue that the subflow is mapped to, not of the others."""
    with subflow("fq_codel") as (lab, conn, read):
        for net in (lab.client, lab.server):
            # or what IPv6 says when a device changes comes between the two looks
            net.sysctl("ipv6/conf/p1/disable_ipv6", 1)
            net.run("ethtool", "-L", "p1", "tx", "2", "rx", "2")
        lab.client.tc("qdisc replace dev p1 root mq")
        hold(lab, "p1", 1)
        try:
            conn.client.sendall(bytes(8 << 10))
            until(lambda: read().queue > 1, 10, "the subflow's data in its queue")
            before, found, after = children(lab), read().queue - 1, children(lab)
        finally:
            hold(lab, "p1", 0)
        assert within_one(max(before), found, max(after)), (before, found, after)
        # not the other one, whatever else went there
        assert found > min(after) + 1, (before, found, after)
        conn.server.settimeout(10)
        assert len(conn.server.recv(8 << 10)) > 0


def children(lab):
    text = lab.client.run("tc", "-s", "-j", "qdisc", "show", "dev", "p1").stdout
    return [q["qlen"] for q in json.loads(text) if "parent" in q]
