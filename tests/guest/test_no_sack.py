# SPDX-License-Identifier: GPL-2.0
"""Without SACK TCP stays in recovery once all is acknowledged: no reason not to send there."""

import pytest
from lab import Path, run, until
from traffic import connection, upload


@pytest.fixture(scope="module")
def one(shared_lab):
    return shared_lab(Path(20, 10))


@pytest.fixture
def lab(one, every):
    with one.lent(every) as lent:
        for net in (lent.client, lent.server):
            net.sysctl("ipv4/tcp_sack", 0)
        yield lent
        for net in (lent.client, lent.server):
            net.sysctl("ipv4/tcp_sack", 1)


def timeouts(lab):
    """TCP's retransmission timers that fired at the client."""
    lines = lab.client.read("/proc/thread-self/net/netstat").splitlines()
    head, values = (x.split()[1:] for x in lines if x.startswith("TcpExt:"))
    return int(dict(zip(head, values, strict=True))["TCPTimeouts"])


def is_dead(lab):
    shapes = [
        run("tc", "-n", net.name, "qdisc", "show", "dev", lab.device(1)).stdout
        for net in (lab.client, lab.server)
    ]
    return all("loss 100%" in shape for shape in shapes)


def test_data_flows_after_a_timeout(lab):
    """TCP leaves Loss with the first acknowledgement beyond what was out then, and not before."""
    with connection(lab) as conn, lab.outage(1, "loss") as (kill, revive):
        upload(conn, 50_000).finish().acknowledged()
        before = timeouts(lab)
        kill()
        until(lambda: is_dead(lab), 10, "the path swallows everything")
        late = upload(conn, 2000)
        until(lambda: timeouts(lab) > before, 10, "a timeout")
        revive()
        late.finish().acknowledged()
        upload(conn, 50_000).finish(15)
