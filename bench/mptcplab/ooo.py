# SPDX-License-Identifier: GPL-2.0
"""Out-of-order delay: how long each packet waits at the receiver for data that comes before it.

From a capture at the receiver, because that is the same on every kernel and for every scheduler,
plain TCP included: where a packet's data belongs in the connection is in its DSS option (RFC 8684,
3.3), or with plain TCP in its sequence number. dpkt reads the file and the headers; it does not know
MPTCP's options, which is the part that is here.
"""

import dataclasses
import hashlib
import heapq
import struct

import dpkt

from mptcplab.schema import PARTS

MPTCP = 30  # TCP option
CAPABLE, JOIN, DSS = 0, 1, 2  # its subtypes
MASK = 0xFFFFFFFF


@dataclasses.dataclass
class Mapping:
    """Bytes of a subflow and where they belong in the connection."""

    data: int  # low 32 bits of the data sequence number
    subflow: int  # relative to the subflow's first sequence number
    length: int

    def place(self, offset):
        """Where the byte at that offset of the subflow belongs; None: not in here."""
        inside = (offset - self.subflow) & MASK
        return (self.data + inside) & MASK if inside < self.length else None


def mptcp_options(data):
    """(subtype, bytes from the subtype on) of each MPTCP option among TCP's."""
    for kind, body in dpkt.tcp.parse_opts(data):
        if kind == MPTCP and body:
            yield body[0] >> 4, body


def mapping(body):
    """Of a DSS option's bytes (from the subtype on); None where there is none."""
    flags = body[1]
    if not flags & 4:
        return None
    at = 2 + ((8 if flags & 2 else 4) if flags & 1 else 0)
    # Of a long number the low half is enough: nothing here is longer than 4 GB.
    at += 4 if flags & 8 else 0
    data, subflow, length = struct.unpack_from(">IIH", body, at)
    return Mapping(data, subflow, length)


class Connection:
    """Data of one connection, on all its subflows, in the order in which it arrives."""

    def __init__(self, first):
        self.first = first  # low 32 bits of the first byte's number
        self.next = 0  # all before it is there
        self.waiting = []  # heap of (begin, end, when it came)
        self.held = set()  # where those begin
        self.delays = []
        self.again = 0  # packets with nothing new

    def arrives(self, number, length, now):
        begin = (number - self.first) & MASK
        end = begin + length
        if end <= self.next or begin > MASK // 2 or begin in self.held:
            self.again += 1
            return
        if begin > self.next:
            self.held.add(begin)
            heapq.heappush(self.waiting, (begin, end, now))
            return
        self.next = end
        self.delays.append(0.0)
        while self.waiting and self.waiting[0][0] <= self.next:
            begin, end, came = heapq.heappop(self.waiting)
            self.held.remove(begin)
            if end <= self.next:
                self.again += 1
            else:
                self.next = end
                self.delays.append(now - came)


@dataclasses.dataclass
class Subflow:
    """One direction of one TCP connection."""

    isn: int
    join: tuple | None = None  # the key in Capture.known of the connection that it joins
    connection: Connection | None = None
    mapping: Mapping | None = None
    is_mptcp: bool = False


def token_and_first(key):
    """Of a key: the connection's token at that end, the low half of its first data number."""
    digest = hashlib.sha256(key).digest()
    return digest[:4], (int.from_bytes(digest[-4:], "big") + 1) & MASK


class Capture:
    """The packets of a capture, one after the other."""

    def __init__(self):
        self.subflows = {}  # (source, its port, destination, its port): Subflow
        self.known = {}  # (token of the end that listened, whether it sends): Connection
        self.connections = []
        self.largest = 0  # IP packet
        self.unmapped = 0

    def _connection(self, first):
        self.connections.append(Connection(first))
        return self.connections[-1]

    def packet(self, ip, now):
        tcp = ip.data
        if not isinstance(tcp, dpkt.tcp.TCP):
            return
        self.largest = max(self.largest, ip.len)
        way = (ip.src, tcp.sport, ip.dst, tcp.dport)
        options = dict(mptcp_options(tcp.opts))
        if tcp.flags & dpkt.tcp.TH_SYN:
            self._syn(way, tcp, options)
            return
        subflow = self.subflows.get(way)
        if not subflow:
            return
        length = ip.len - ip.hl * 4 - tcp.off * 4
        if len(options.get(CAPABLE, b"")) >= 18 and not subflow.connection:
            self._third_ack(subflow, options[CAPABLE])
        if DSS in options:
            subflow.mapping = mapping(options[DSS]) or subflow.mapping
        if length > 0:
            self._data(subflow, (tcp.seq - subflow.isn) & MASK, length, now)

    def _syn(self, way, tcp, options):
        subflow = self.subflows.setdefault(way, Subflow(tcp.seq))
        subflow.is_mptcp = CAPABLE in options or JOIN in options
        answers = tcp.flags & dpkt.tcp.TH_ACK
        if JOIN in options and not answers:
            # It names the connection by the token of the end that it goes to.
            token = options[JOIN][2:6]
            subflow.join = (token, False)
            # The answer has not come yet, or was left out of the capture.
            back = way[2:] + way[:2]
            self.subflows[back] = Subflow(0, join=(token, True), is_mptcp=True)
        elif JOIN in options:
            subflow.isn = tcp.seq
        elif len(options.get(CAPABLE, b"")) >= 10 and answers and not subflow.connection:
            token, first = token_and_first(options[CAPABLE][2:10])
            subflow.connection = self.known[token, True] = self._connection(first)

    def _third_ack(self, subflow, body):
        """Has both keys: the sender's own, then that of the end that listened."""
        _, first = token_and_first(body[2:10])
        token, _ = token_and_first(body[10:18])
        subflow.connection = self.known[token, False] = self._connection(first)
        # With data in it the mapping goes without saying.
        length = int.from_bytes(body[18:20], "big")
        subflow.mapping = Mapping(first, 1, length) if length else None

    def _data(self, subflow, offset, length, now):
        if not subflow.connection:
            # What is not MPTCP's has numbers that will do.
            subflow.connection = (
                self.known.get(subflow.join) if subflow.is_mptcp else self._connection(1)
            )
        number = offset
        if subflow.is_mptcp:
            number = subflow.mapping.place(offset) if subflow.mapping else None
        if number is None or not subflow.connection:
            self.unmapped += 1
        else:
            subflow.connection.arrives(number, length, now)


def analyse(file):
    """Plain data: packets, delays, the largest packet."""
    found = Capture()
    with open(file, "rb") as f:
        reader = dpkt.pcap.UniversalReader(f)
        for now, raw in reader:
            ip = dpkt.sll2.SLL2(raw).data
            if isinstance(ip, dpkt.ip.IP):
                found.packet(ip, float(now))
    return summary(found)


def summary(found):
    delays = sorted(d for c in found.connections for d in c.delays)
    out = {
        "packets": len(delays),
        "again": sum(c.again for c in found.connections),
        "unmapped": found.unmapped,
        "largest_packet": found.largest,
        "never_in_order": sum(len(c.waiting) for c in found.connections),
    }
    if delays:
        last = len(delays) - 1
        out["mean_s"] = sum(delays) / len(delays)
        out["quantiles_s"] = [round(delays[min(last, int(p * len(delays)))], 7) for p in PARTS]
    return out
