# SPDX-License-Identifier: GPL-2.0
"""Measures one cell of a scenario in the guest.

A cell has a lab of its own, and everything in it begins anew: namespaces, web server, connections.
Its result is what the workload says, and what devices, queues and kernel counted meanwhile.
"""

import contextlib
import time
from pathlib import Path

from mptcplab import schedulers, workloads
from mptcplab.lab import cwnd, transfer
from mptcplab.lab.capture import capture
from mptcplab.lab.netlab import Lab
from mptcplab.lab.shaper import Changes
from mptcplab.path import FRAME, ROLES

# A cell begins on a full second of the clock and its timers: what was before does not shift it.
GRID_S = 1.0
# A seed also moves the start by up to this: without it, runs in which nothing is random would all
# be the same, and their spread of nothing would look like certainty.
SHIFT_S = 0.1


def align():
    """Waits for the next full second of the clock."""
    time.sleep(GRID_S - time.monotonic() % GRID_S)


class Bench:
    """What a workload gets: the lab, who it is about, and where to say what went wrong."""

    def __init__(self, cell, lab, resets):
        self.cell, self.lab, self.resets = cell, lab, resets
        self.choice = schedulers.Choice(cell.scheduler)
        self.mptcp = not self.choice.is_tcp
        self.work = workloads.of(cell.workload)
        self.sender = self.work.sender(cell.workload)
        self.fast = workloads.fast(cell)
        # Plain TCP has the better path to itself.
        self.host = lab.address("server", self.fast if self.choice.is_tcp else 0)
        self.rng = cell.rng
        self.problems = []
        self.stats = None
        self.zero = None
        self.counted = None

    def check(self, fine, text):
        if not fine:
            self.problems.append(text)

    def check_in_use(self):
        """While a connection is there: does it use what it should? Keeps its statistics."""
        if self.choice.is_tcp:
            return
        for role in self.cell.at:
            self.problems += schedulers.problems(self.lab, self.choice, role)
        if self.choice.is_ours:
            self.stats = schedulers.connections(self.lab, self.sender)

    def look(self):
        now = {
            "wire": {r: self.lab.counters(r) for r in ROLES},
            "queues": self.lab.queues(),
            "resets": self.resets(),
        }
        for role in ROLES:
            now[role] = self.lab.mib(role)
            now[role]["RetransSegs"] = self.lab.tcp_mib(role)["RetransSegs"]
        return now

    @contextlib.contextmanager
    def start(self):
        """Around what is measured: begins on the clock's grid, counts, changes the paths."""
        align()
        time.sleep(self.rng.random() * SHIFT_S)
        before = self.look()
        self.zero = time.monotonic()
        with contextlib.ExitStack() as stack:
            if self.cell.changes:
                stack.enter_context(Changes(self.lab, self.cell.paths, self.cell.changes))
            yield
            self.took = time.monotonic() - self.zero
        self.counted = self._moved(before, self.look())

    def _moved(self, a, b):
        other = transfer.other(self.sender)

        def wire(role, way, key="bytes"):
            return [
                y[way][key] - x[way][key]
                for x, y in zip(a["wire"][role], b["wire"][role], strict=True)
            ]

        received, packets = wire(other, "rx"), wire(other, "rx", "packets")
        for path, size, count in zip(self.lab.paths, received, packets, strict=True):
            self.check(size <= FRAME * count, f"packets larger than the MTU on {path.name}")
        return {
            "seconds": self.took,
            "received": received,
            "packets": packets,
            "sent": wire(self.sender, "tx"),
            "dropped": [
                y[other]["drops"] - x[other]["drops"]
                for x, y in zip(a["queues"], b["queues"], strict=True)
            ],
            "segments_resent": b[self.sender]["RetransSegs"] - a[self.sender]["RetransSegs"],
            "cwnd_resets": self._resets(a["resets"], b["resets"]),
            "mib": {
                r: {k: b[r][k] - a[r].get(k, 0) for k in b[r] if b[r][k] != a[r].get(k, 0)}
                for r in ROLES
            },
        }

    def _resets(self, before, after):
        """Of the sender's windows, per path."""
        out = []
        for i in range(len(self.lab.paths)):
            # The client's address tells the path: the server has the same one on all of them.
            client = self.lab.address("client", i)
            end = 0 if self.sender == "client" else 1
            sums = dict.fromkeys(cwnd.KINDS, 0)
            for pair, counts in after.items():
                if pair[end] == client:
                    old = before.get(pair, {})
                    sums = {k: n + counts[k] - old.get(k, 0) for k, n in sums.items()}
            out.append(sums)
        return out


def used(bench):
    """Problems with what the kernel counted: was it MPTCP, on all paths, with that scheduler?"""
    if bench.choice.is_tcp:
        return
    mib = bench.lab.mib("server")
    # a new connection's file may be there before its second subflow
    joins = len(bench.lab.paths) > 1 and not bench.cell.workload.get("fresh")
    if joins and not mib["MPJoinAckRx"]:
        yield "the further subflows did not come up"
    for key in (
        "MPCapableFallbackACK",
        "MPCapableFallbackSYNACK",
        "MPFallbackTokenInit",
    ):
        if mib.get(key):
            yield f"{mib[key]} connections fell back to TCP ({key})"
    for role in bench.cell.at:
        with bench.lab.inside(role):
            name = Path("/proc/sys/net/mptcp/scheduler").read_text().strip()
        if name != bench.choice.name:
            yield f"the {role} uses {name}"


def measure(cell, resets, folder):
    """(result, files): the result is plain data, the files are captures."""
    files = {}
    with (
        Lab(cell.paths, tag="", trunk=cell.trunk, sysctl=cell.sysctl, gso=cell.gso) as lab,
        contextlib.ExitStack() as stack,
    ):
        bench = Bench(cell, lab, resets)
        if bench.mptcp:
            for role in cell.at:
                schedulers.use(lab, bench.choice, role, cell.tables)
        if cell.capture:
            files["capture"] = Path(folder, "capture.pcap")
            receiver = transfer.other(bench.sender)
            stack.enter_context(capture(lab, receiver, files["capture"]))
        got = bench.work.run(bench)
        bench.problems += used(bench)
    return got | {
        "counted": bench.counted,
        "stats": bench.stats,
        "problems": bench.problems,
    }, files
