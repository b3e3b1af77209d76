# SPDX-License-Identifier: GPL-2.0
"""A path between client and server: its rate, delays, losses, and the queue that makes it so."""

import dataclasses
import math

from mptcplab.process import LabError

ROLES = ("client", "server")
MTU = 1500
# What netem charges the rate for: Ethernet header (no checksum, no preamble) and IP packet.
FRAME = MTU + 14
# Payload of a full segment: IPv4 and TCP headers with timestamps. An MPTCP segment also carries a
# DSS option of up to 28 bytes, so this is what no transport can exceed, not what MPTCP gets.
PAYLOAD = MTU - 20 - 32
FAR = 10000  # packets: no limit for what is only on its way
# A bucket of tbf: a frame, and what is lost when its time is rounded.
BUCKET = 1600
CODEL = "fq_codel"


@dataclasses.dataclass(frozen=True)
class Path:
    """One path; the name is also that of its device in both namespaces."""

    name: str
    mbit: float | None  # each direction; None: as fast as the machine
    rtt_ms: float = 0  # half of it in each direction
    limit: int = 100  # packets that the queue holds, those on their way included
    loss: float = 0  # per cent, each direction
    reorder: float = 0  # per cent that overtake: they go without the delay
    skew_ms: float = 0  # that much longer to the server than back; rtt_ms stays their sum
    jitter_ms: float = 0  # each packet's delay is that much longer or shorter, in their order
    loss_to: str = ""  # loses only towards this end
    local: str = ""  # this end's own device holds the rate and the queue, as a WiFi card does
    seed: int | None = None  # of netem's random numbers; None: other ones each time
    aqm: str = ""  # tc's name of what manages the queue; limit is then without those on their way

    @property
    def goodput(self):
        """Payload bytes per second when every frame is full."""
        return self.mbit * 1e6 / 8 * PAYLOAD / FRAME

    @property
    def owd(self):
        """One-way delay in seconds."""
        return self.rtt_ms / 2000

    def roomy(self):
        """The same path, whose queue holds one round trip of data beyond what is on its way."""
        packets = (self.owd + 2 * self.owd) * self.mbit * 1e6 / 8 / FRAME
        return dataclasses.replace(self, limit=max(self.limit, math.ceil(packets)))

    def one_way_ms(self, towards):
        """Delay towards one end."""
        return (self.rtt_ms + (self.skew_ms if towards == "server" else -self.skew_ms)) / 2

    def queue(self, towards=""):
        """tc's words for the queue in front of an end; without a name, of one that is as the other."""
        delay_us = (self.one_way_ms(towards) if towards else self.rtt_ms / 2) * 1000
        loss = self.loss if self.loss_to in ("", towards) else 0
        # The other end's device has them: see local_queue().
        rate, limit = self.mbit, self.limit
        if self.aqm or (self.local and towards not in ("", self.local)):
            rate, limit = None, FAR
        if not (rate or delay_us or loss or self.aqm):
            return "pfifo limit 1000"
        words = f"netem limit {limit}"
        if delay_us:
            words += f" delay {delay_us:.0f}us"
        if self.jitter_ms:
            words += f" {self.jitter_ms * 1000:.0f}us"
            # A queue with a rate keeps the order by itself.
            words += "" if rate else " rate 100gbit"
        if self.reorder:
            words += f" reorder {self.reorder:g}%"
        if loss:
            words += f" loss {loss:g}%"
        if rate:
            words += f" rate {rate * 1e6:.0f}bit"
        if self.seed is not None:
            # Each end's own: else both would lose at the same moments.
            words += f" seed {2 * self.seed + (towards == 'server')}"
        return words

    def queues(self, towards):
        """(where it hangs, tc's words) of all that an end has in front of it, in tc's order.

        Behind a managed queue nothing may wait, so the delay comes before it. The first packet after
        a pause is not slowed by the rate.
        """
        if not self.aqm:
            yield "root", self.queue(towards)
            return
        yield "root handle 1:", self.queue(towards)
        rate = f"rate {self.mbit * 1e6:.0f}bit burst {BUCKET} limit {FAR * FRAME}"
        yield "parent 1:1 handle 2:", f"tbf {rate}"
        yield "parent 2:1 handle 3:", f"{self.aqm} limit {self.limit}"

    def local_queue(self):
        """tc's words for the queue of an end's own device, where that is the bottleneck."""
        return f"netem limit {self.limit} rate {self.mbit * 1e6:.0f}bit"


def of_cell(cell, names, rtt_ms=None, spread=lambda: 0):
    """Roomy paths of "rates@RTTs", as 20/100@20/60; rtt_ms: where the cell names none.

    spread: by which part an RTT is longer than the cell's.
    """
    rates, _, rtts = cell.partition("@")
    try:
        rates = [float(r) for r in rates.split("/")]
        rtts = [float(t) for t in rtts.split("/")] if rtts else list(rtt_ms or ())
        parts = list(zip(rates, rtts, strict=True))
    except ValueError:
        parts = []
    if not 0 < len(parts) <= len(names) or min(rates) <= 0 or min(rtts) < 0:
        raise LabError(f"cell '{cell}': rates in Mbit/s and as many RTTs in ms, as 20/100@20/60")
    return [
        Path(name, mbit=rate, rtt_ms=rtt * (1 + spread())).roomy()
        for name, (rate, rtt) in zip(names, parts, strict=False)
    ]
