# SPDX-License-Identifier: GPL-2.0
"""Downloads in the benchmarks' lab, whose queues stand between the ends as in a network.

For tests in virtual time: real time would make the RTTs depend on the host's load.
"""

import argparse
import contextlib
import time

from command import stats_of
from lab import Netns
from mptcplab import schedulers
from mptcplab.lab import downloads as web
from mptcplab.lab import netlab, transfer
from traffic import connection, download, info


class BenchLab:
    """The benchmarks' lab as traffic.py takes it."""

    family = 4

    def __init__(self, lab):
        self.paths = lab.paths
        self.shape, self.port, self.mib = lab.shape, lab.port, lab.mib
        self.address = lab.address("server", 0)
        self.client = Netns(lab.names["client"])
        self.server = Netns(lab.names["server"])
        self.middle = Netns(lab.names["net"])

    def close(self):
        self.client.close()
        self.server.close()
        self.middle.close()

    @contextlib.contextmanager
    def at_once(self, tool, *lines):
        """Yields what has the lines done between the ends, by ip or tc, which stands by."""
        standby = self.middle.standby(tool)
        try:
            yield lambda: [standby.say(line) for line in lines]
        finally:
            standby.close()


@contextlib.contextmanager
def bench_lab(*paths):
    with netlab.Lab(paths) as bench, contextlib.closing(BenchLab(bench)) as lab:
        yield lab


def first_upload(name, paths, data):
    """Seconds that it takes on a fresh connection, the server's MPTCP counters."""
    with netlab.Lab(paths) as lab:
        schedulers.use(lab, schedulers.Choice(name), "client")
        with transfer.connection(lab) as ends:
            run = transfer.transfer(lab, "client", [(ends, data)])
        assert run["verified"]
        return run["seconds"], lab.mib("server")


def downloads(name, paths, sizes, pause=1, receive=None):
    """These downloads over one connection, whose data is compared; the server's statistics of it.

    receive: bytes of the client's receive buffer, which then does not grow.
    """
    with bench_lab(*paths) as lab:
        if receive:
            lab.client.sysctl("ipv4/tcp_rmem", f"4096 {receive} {receive}")
        lab.server.scheduler = name
        with connection(lab) as conn:
            for size in sizes:
                download(conn, size).finish().acknowledged()
                time.sleep(pause)
            return stats_of(info(conn.server).token)


def sent(conn_stats):
    return [s["counters"]["bytes_sent"] for s in conn_stats["subflows"]]


def from_nginx(word, cell, size, repeat=1):
    """Mean seconds of downloads by curl on a connection that was in use before."""
    args = argparse.Namespace(repeat=repeat, pause=1.0, gso=False)
    sizes = {size: web.size_of(size)}
    rows, problems = web.measure(cell, schedulers.Choice(word), sizes, args, looks=False)
    assert not problems
    return rows[0]["mean"]
