# SPDX-License-Identifier: GPL-2.0
"""One long transfer between the two ends of a lab, from a single send to the last byte received.

Both ends are threads of this process with sockets in the lab's namespaces: no process is started,
and what little Python does per system call is all that is spent beside the kernel's own work.
"""

import contextlib
import dataclasses
import socket
import struct
import threading
import time

from mptcplab.process import LabError

PORT = 5001
MAX_SECONDS = 120  # without any progress
SAMPLES = 16  # per transfer, of what the devices carried
SOL_MPTCP = 284
MPTCP_INFO = 1
# struct mptcp_info, uapi/linux/mptcp.h
INFO_BYTES = 96
INFO_EXTRA_SUBFLOWS = 0
INFO_BYTES_RETRANS = 48


def make_socket(lab, role, mptcp, dscp=0):
    protocol = socket.IPPROTO_MPTCP if mptcp else socket.IPPROTO_TCP
    with lab.inside(role):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    # Python's own time limits would make the socket one that never blocks.
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", MAX_SECONDS, 0))
    # Or Nagle's rule holds the last short segment back for a round trip, of whichever path has it.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if dscp:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
    return sock


@contextlib.contextmanager
def connection(lab, path=0, mptcp=True, port=PORT, dscp=0):
    """{"client": socket, "server": socket}, with all subflows there."""
    with contextlib.ExitStack() as stack:
        # An accepted socket has its listener's DSCP, so the first byte has it, too.
        listener = stack.enter_context(make_socket(lab, "server", mptcp, dscp))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        address = (lab.address("server", path), port)
        listener.bind(address)
        listener.listen()
        client = stack.enter_context(make_socket(lab, "client", mptcp, dscp))
        client.connect(address)
        server = stack.enter_context(listener.accept()[0])
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            limit = struct.pack("ll", MAX_SECONDS, 0)
            server.setsockopt(socket.SOL_SOCKET, option, limit)
        # The client joins its other subflows once data has gone both ways.
        for a, b in ((client, server), (server, client)):
            a.sendall(b"!")
            b.recv(1)
        if mptcp:
            want = len(lab.paths) - 1
            for sock in (client, server):
                lab.wait_for("subflows", lambda s=sock: info(s)[0] >= want)
        # Whatever the handshakes left on their way arrives.
        time.sleep(0.5)
        yield {"client": client, "server": server}


def other(role):
    return "server" if role == "client" else "client"


def is_mptcp(sock):
    protocol = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL)
    return protocol == socket.IPPROTO_MPTCP


def info(sock):
    """(subflows beside the first, bytes that MPTCP sent again)."""
    raw = sock.getsockopt(SOL_MPTCP, MPTCP_INFO, INFO_BYTES)
    return raw[INFO_EXTRA_SUBFLOWS], struct.unpack_from("=Q", raw, INFO_BYTES_RETRANS)[0]


def received(lab):
    """Bytes that each device of this thread's namespace has received."""
    with open("/proc/thread-self/net/dev") as f:
        rows = dict(line.split(":") for line in f if ":" in line)
    found = {name.strip(): int(words.split()[0]) for name, words in rows.items()}
    return [found[p.name] for p in lab.paths]


class Receiver(threading.Thread):
    """Reads `size` bytes into memory and takes the time."""

    def __init__(self, lab, role, sock, size):
        super().__init__(daemon=True)
        self.lab, self.role, self.sock = lab, role, sock
        self.data = bytearray(size)
        self.samples = []  # (seconds, bytes of each device)
        self.ended = None
        self.error = None

    def run(self):
        try:
            with self.lab.inside(self.role):
                self._read(memoryview(self.data))
        except OSError as e:
            self.error = e

    def _read(self, rest):
        step = len(rest) // SAMPLES
        due = len(rest) - 1
        while rest:
            n = self.sock.recv_into(rest[: 64 << 10])
            if not n:
                raise OSError("the connection ended early")
            rest = rest[n:]
            if len(rest) <= due:
                self.samples.append((time.monotonic(), received(self.lab)))
                due -= step
        self.ended = time.monotonic()

    def peak(self, path):
        """The highest rate, in bit/s of frames, at which a path carried a quarter of it all."""
        best = 0
        for i, (begun, before) in enumerate(self.samples):
            for ended, after in self.samples[i + SAMPLES // 4 :]:
                best = max(best, (after[path] - before[path]) * 8 / (ended - begun))
        return best


def idle_seconds():
    with open("/proc/uptime") as f:
        return float(f.read().split()[1])


@dataclasses.dataclass(frozen=True)
class Counters:
    """What only grows, of the sending end."""

    wire: list  # bytes that each device sent
    dropped: list  # by each path's queue towards the receiver
    segments_resent: int  # by TCP
    bytes_resent: int  # by MPTCP, on another subflow

    @classmethod
    def read(cls, lab, sender, socks):
        return cls(
            wire=[c["tx"]["bytes"] for c in lab.counters(sender)],
            dropped=[q[other(sender)]["drops"] for q in lab.queues()],
            segments_resent=lab.tcp_mib(sender)["RetransSegs"],
            bytes_resent=sum(info(s)[1] for s in socks if is_mptcp(s)),
        )

    def __sub__(self, before):
        def minus(a, b):
            return [minus(*x) for x in zip(a, b, strict=True)] if isinstance(a, list) else a - b

        pairs = ((getattr(x, f.name) for x in (self, before)) for f in dataclasses.fields(self))
        return Counters(*(minus(a, b) for a, b in pairs))


def transfer(lab, sender, parts, both=False):
    """Sends all at once; `parts`: (ends of a connection, data for it). What there is to tell.

    both: the other end sends the same meanwhile. Then it ends when all of both has arrived.
    """
    socks = [ends[sender] for ends, _ in parts]
    senders = (sender, other(sender)) if both else (sender,)
    flows = [(ends, data, role) for role in senders for ends, data in parts]
    before = Counters.read(lab, sender, socks)
    readers = [Receiver(lab, other(role), ends[other(role)], len(d)) for ends, d, role in flows]
    writers = [
        threading.Thread(target=ends[role].sendall, args=(data,), daemon=True)
        for ends, data, role in flows
    ]
    for reader in readers:
        reader.start()
    idle, begun = idle_seconds(), time.monotonic()
    for writer in writers:
        writer.start()
    for thread in (*readers, *writers):
        thread.join()
    ended, idle = time.monotonic(), idle_seconds() - idle
    for reader in readers:
        if not reader.ended:
            raise LabError(f"after {len(reader.samples)} of {SAMPLES} parts: {reader.error}")
    # What is still on its way belongs to it.
    time.sleep(0.5)
    moved = Counters.read(lab, sender, socks) - before
    pairs = zip(readers, flows, strict=True)
    verified = all(reader.data == data for reader, (_, data, _) in pairs)
    return {
        "seconds": max(r.ended for r in readers) - begun,
        "busy": 1 - idle / (ended - begun),
        "verified": verified,
        "peaks": [[r.peak(i) for i in range(len(lab.paths))] for r in readers],
        **dataclasses.asdict(moved),
    }
