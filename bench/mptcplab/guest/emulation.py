# SPDX-License-Identifier: GPL-2.0
"""Is a path what it is said to be? Checked in the guest before any result over it counts.

Each path alone, without its randomness: plain TCP reaches the configured rate within 3 %, a small
packet there and back takes the configured delays within 1 ms (and the time that the rate needs for
it), no packet is larger than the MTU. Then what is random: losses as many as the rate of loss lets
expect, delays within the jitter, packets in their order.
"""

import dataclasses
import math
import random
import socket
import statistics
import threading
import time
from pathlib import Path

from mptcplab.lab import transfer
from mptcplab.lab.capture import capture
from mptcplab.lab.netlab import Lab
from mptcplab.path import ROLES
from mptcplab.path import Path as NetPath

RATE_WITHIN = 0.03
RTT_WITHIN_MS = 1.0
ORDERLY = 300  # packets, 1 ms apart
LOSSES = 1500  # packets of which some are lost
SIGMAS = 4
PROBES = 10
PORT = 7
PROBE_BYTES = 18
PROBE_FRAME = 14 + 20 + 8 + PROBE_BYTES
# A quarter of a transfer is a measure: its packets must be many.
LEAST_BYTES = 450_000
SECONDS = 4
LEAST_S = 1
# Round trips that a transfer has at least, to let its window grow.
ROUNDS = 12
# Of the sockets: what is checked is the path, and not what a host gives one connection.
BUFFER = 64 << 20


def udp(lab, role, bind=None):
    with lab.inside(role):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(10)
    if bind:
        sock.bind(bind)
    return sock


class Echo(threading.Thread):
    """Sends back what comes, and remembers the numbers in their order."""

    def __init__(self, sock, answer):
        super().__init__(daemon=True)
        self.sock, self.answer, self.seen = sock, answer, []
        sock.settimeout(None)

    def run(self):
        while True:
            data, peer = self.sock.recvfrom(64)
            if data == b"end":
                return
            self.seen.append(int(data))
            if self.answer:
                self.sock.sendto(data, peer)


class Peer:
    """A numbered packet at a time from one end to the other, which may echo it."""

    def __init__(self, lab, answer, to="server"):
        address = (lab.address(to, 0), PORT)
        self.server = udp(lab, to, address)
        self.client = udp(lab, transfer.other(to))
        self.client.connect(address)
        self.echo = Echo(self.server, answer)
        self.echo.start()

    def send(self, number):
        self.client.send(b"%0*d" % (PROBE_BYTES, number))

    def close(self):
        # The end may be lost as well.
        while self.echo.is_alive():
            self.client.send(b"end")
            self.echo.join(0.5)
        self.client.close()
        self.server.close()


def rtts_ms(lab, count):
    peer = Peer(lab, answer=True)
    out = []
    for number in range(count):
        begun = time.monotonic()
        peer.send(number)
        peer.client.recv(64)
        out.append((time.monotonic() - begun) * 1000)
    peer.close()
    return out


def received(lab, path, count, to=""):
    """The numbers of those that came to an end, of `count` sent at half the rate at most."""
    peer = Peer(lab, answer=False, to=to or "server")
    pause = max(0.001, 2 * PROBE_FRAME * 8 / (path.mbit * 1e6))
    for number in range(count):
        peer.send(number)
        time.sleep(pause)
    time.sleep(2 * path.rtt_ms / 1000 + 0.2)
    peer.close()
    return peer.echo.seen


def expected_rtt_ms(path):
    if path.aqm:
        return path.rtt_ms  # it fits into the bucket
    return path.rtt_ms + 2 * PROBE_FRAME * 8 / (path.mbit * 1e3)


def rate_of(lab, path):
    """Part of the configured rate that plain TCP reaches, over a quarter of a transfer."""
    seconds = max(SECONDS * min(1, 10 / path.mbit), ROUNDS * path.rtt_ms / 1000, LEAST_S)
    size = max(LEAST_BYTES, round(seconds * path.goodput))
    for role in ROLES:
        with lab.inside(role):
            for name in ("tcp_rmem", "tcp_wmem"):
                Path(f"/proc/sys/net/ipv4/{name}").write_text(f"4096 131072 {BUFFER}")
    data = random.Random(1).randbytes(min(size, 1 << 20)) * (size // (1 << 20) + 1)
    with transfer.connection(lab, 0, mptcp=False) as ends:
        sender = path.local or "server"
        run = transfer.transfer(lab, sender, [(ends, data[:size])])
    return run["peaks"][0][0] / (path.mbit * 1e6)


def check_path(spec, trunk, folder):
    """({"path", "rate_ratio", "rtt_ms", ..., "problems"}, files); `trunk`: the links behind the path."""
    path = NetPath(**spec)
    links = [NetPath(**t) for t in trunk]
    # one that drops early keeps a single connection below the rate
    still = dataclasses.replace(path, loss=0, jitter_ms=0, aqm=path.aqm and "pfifo")
    found, problems = {"path": spec}, []
    file = Path(folder, "check.pcap")
    with Lab([still], tag="", trunk=links) as lab:
        found["rtt_ms"] = statistics.median(rtts_ms(lab, PROBES))
        found["rtt_expected_ms"] = expected_rtt_ms(still)
        if abs(found["rtt_ms"] - found["rtt_expected_ms"]) > RTT_WITHIN_MS:
            problems.append(f"RTT {found['rtt_ms']:.2f} ms, not {found['rtt_expected_ms']:.2f}")
        with capture(lab, transfer.other(path.local or "server"), file):
            found["rate_ratio"] = rate_of(lab, still)
        if abs(found["rate_ratio"] - 1) > RATE_WITHIN:
            problems.append(
                f"TCP reaches {100 * found['rate_ratio']:.1f} % of {path.mbit:g} Mbit/s"
            )
    if path.jitter_ms:
        with Lab([dataclasses.replace(path, loss=0)], tag="", trunk=links) as lab:
            problems += jitter(lab, path, found)
    if path.loss:
        with Lab([dataclasses.replace(path, jitter_ms=0)], tag="", trunk=links) as lab:
            problems += losses(lab, path, found)
    found["problems"] = problems
    return found, {"capture": file}


def jitter(lab, path, found):
    """Problems with delays that vary."""
    found["jittered_ms"] = times = rtts_ms(lab, 5 * PROBES)
    span = f"RTTs from {min(times):.1f} to {max(times):.1f} ms"
    off = [t - expected_rtt_ms(path) for t in times]
    if max(map(abs, off)) > 2 * path.jitter_ms + RTT_WITHIN_MS:
        yield f"{span}, jitter {path.jitter_ms:g} each way"
    if max(off) - min(off) < path.jitter_ms:
        yield f"{span}: hardly any jitter"
    came = received(lab, path, ORDERLY, path.loss_to)
    if came != list(range(ORDERLY)):
        yield "packets overtake each other"


def losses(lab, path, found):
    """Problems with how many packets are lost."""
    came = received(lab, path, LOSSES, path.loss_to)
    p = path.loss / 100
    found["lost"] = 1 - len(came) / LOSSES
    if abs(found["lost"] - p) > SIGMAS * math.sqrt(p * (1 - p) / LOSSES):
        yield f"lost {100 * found['lost']:.2f} % of {LOSSES} packets, not {path.loss:g} %"
