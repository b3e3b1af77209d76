# SPDX-License-Identifier: GPL-2.0
"""How often MPTCP's worker ran for a connection, against what gave it reason to."""

import time
from dataclasses import astuple, dataclass
from pathlib import Path

BUILT = Path(__file__).resolve().parents[2] / "build" / "tests"
TIMER = 0.2  # s: TCP_RTO_MIN, the least that the timer waits (mptcp_set_timeout())
# The worker does other things, too: path management, what is going on at the ends of a measurement.
OTHER = 5
MOST = 1  # of the map "fragments" of passes.bpf.c: that one run sent again


@dataclass(frozen=True)
class Done:
    """What there was to do and what was done, up to now."""

    seconds: float
    arrived: int  # packets, at both ends
    runs: int  # of the kernel's worker, of both ends

    @classmethod
    def now(cls, lab, worker):
        """worker: an object of bpf/passes.bpf.c."""
        return cls(
            seconds=time.monotonic(),
            arrived=lab.arrived(lab.client) + lab.arrived(lab.server),
            runs=worker.u64("runs", 0),
        )

    def __sub__(self, before):
        pairs = zip(astuple(self), astuple(before), strict=True)
        return Done(*(a - b for a, b in pairs))

    @property
    def rounds(self):
        return self.seconds / TIMER + OTHER

    def bounded_by_segments(self):
        assert self.runs <= self.arrived + self.rounds, self

    def bounded_by_the_timer(self):
        """Whatever arrives: acknowledgements of probes are no progress."""
        assert self.runs <= self.rounds, self


def passes(conn_stats):
    """How often the worker asked the scheduler; a kernel's worker may ask more than once a run."""
    kinds = ("copies", "copies_none", "retransmissions", "retrans_none")
    return sum(conn_stats["counters"][kind] for kind in kinds)
