# SPDX-License-Identifier: GPL-2.0
"""MPTCP connections and transfers whose content is checked by its hash."""

import contextlib
import hashlib
import itertools
import random
import re
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass

from command import stats
from lab import PATIENCE, SLOW, until

IPPROTO_MPTCP = 262
SOL_MPTCP = 284
MPTCP_INFO = 1
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}

_ports = itertools.count(5001)
_seeds = itertools.count(1)


@dataclass
class Info:
    """struct mptcp_info, uapi/linux/mptcp.h: what the tests need of it."""

    extra_subflows: int
    checksums: bool
    token: int
    write_seq: int
    snd_una: int
    retransmits: int
    bytes_retrans: int
    bytes_sent: int
    subflows: int


def info(sock):
    raw = sock.getsockopt(SOL_MPTCP, MPTCP_INFO, 96)
    return Info(
        extra_subflows=raw[0],
        checksums=bool(raw[42]),
        token=struct.unpack_from("=I", raw, 12)[0],
        write_seq=struct.unpack_from("=Q", raw, 16)[0],
        snd_una=struct.unpack_from("=Q", raw, 24)[0],
        retransmits=struct.unpack_from("=I", raw, 44)[0],
        bytes_retrans=struct.unpack_from("=Q", raw, 48)[0],
        bytes_sent=struct.unpack_from("=Q", raw, 56)[0],
        subflows=raw[80],
    )


def token_of(sock):
    """Of its connection, as the command has it."""
    return f"0x{info(sock).token:08x}"


def make_socket(net, family, protocol=IPPROTO_MPTCP):
    with net.inside():
        sock = socket.socket(FAMILY[family], socket.SOCK_STREAM, protocol)
    sock.settimeout(60 * SLOW * PATIENCE)
    return sock


def listen(lab, protocol=IPPROTO_MPTCP):
    sock = make_socket(lab.server, lab.family, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((lab.address, next(_ports)))
    sock.listen(64)
    return sock


class Connection:
    """Both ends of one connection."""

    def __init__(self, lab, listener, protocol=IPPROTO_MPTCP):
        self.client = make_socket(lab.client, lab.family, protocol)
        self.server = None
        try:
            self.client.connect(listener.getsockname()[:2])
            self.server = listener.accept()[0]
            self.server.settimeout(60 * SLOW * PATIENCE)
            self._greet(lab)
        except BaseException:
            self.abort()
            raise

    def _greet(self, lab):
        """The client makes its other subflows once data has come back to it.

        Its own counters stay at 0.
        """
        self.server.sendall(b"!")
        try:
            assert self.client.recv(1) == b"!"
        except TimeoutError:
            state = [net.run("ss", "-tiMnO").stdout for net in (lab.client, lab.server)]
            text = f"no first byte: {stats()} {state}"
            raise AssertionError(text) from None

    def close(self):
        self.client.close()
        self.server.close()

    def abort(self):
        """Closes without a goodbye: a connection that hangs must not outlive its test."""
        for sock in filter(None, (self.client, self.server)):
            if sock.fileno() < 0:
                continue  # ended already
            now = struct.pack("ii", 1, 0)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            sock.close()

    def wait_subflows(self, count, seconds=20):
        """Until both ends have that many subflows besides the first."""
        ends = {"client": self.client, "server": self.server}
        for name, end in ends.items():
            until(
                lambda end=end: info(end).extra_subflows >= count,
                seconds,
                f"{count} more subflows at the {name}'s end",
            )
        return self


@contextlib.contextmanager
def connection(lab, protocol=IPPROTO_MPTCP, subflows=None):
    """One connection with all its subflows; the client's end has its scheduler."""
    if subflows is None:
        subflows = len(lab.paths) if protocol == IPPROTO_MPTCP else 1
    listener = listen(lab)
    try:
        conn = Connection(lab, listener, protocol)
        try:
            if subflows > 1:
                conn.wait_subflows(subflows - 1)
            yield conn
        except BaseException:
            conn.abort()
            raise
        conn.close()
    finally:
        listener.close()


def random_bytes(size):
    return random.Random(next(_seeds)).randbytes(size)


class Transfer:
    """One direction of a connection in the background: data, and its receiver."""

    def __init__(self, source, sink, size, record=None):
        """record: bytes of a message, each of which ends with MSG_EOR."""
        self.source, self.sink, self.size, self.record = source, sink, size, record
        self.data = random_bytes(size)
        self.received = 0
        self.begun, self.ended = time.monotonic(), None
        self.reading = threading.Event()
        self.reading.set()
        self.errors = []
        self.digest = hashlib.sha256()
        self.stop = False
        self.threads = [
            threading.Thread(target=self._guard, args=(work,), daemon=True)
            for work in (self._send, self._receive)
        ]
        for thread in self.threads:
            thread.start()

    def __str__(self):
        return f"all of {self.size} bytes, {self.received} arrived"

    def _guard(self, work):
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the test's thread raises it
            self.errors.append(error)

    def _send(self):
        if not self.record:
            self.source.sendall(self.data)
            return
        for at in range(0, self.size, self.record):
            rest = memoryview(self.data)[at : at + self.record]
            while rest:
                rest = rest[self.source.send(rest, socket.MSG_EOR) :]

    def _receive(self):
        while self.received < self.size and not self.stop:
            if not self.reading.wait(0.2):
                continue
            if not select.select([self.sink], [], [], 0.2)[0]:
                continue
            part = self.sink.recv(65536)
            if not part:
                break
            self.digest.update(part)
            self.received += len(part)
        self.ended = time.monotonic()

    @property
    def seconds(self):
        """From the first send to the last byte, once that is there."""
        return self.ended - self.begun

    def reached(self, part, seconds=30):
        """Until that part of the data (0 to 1) has arrived."""
        want = self.size * part
        until(
            lambda: self.received >= want or self.errors,
            seconds,
            f"{want:.0f} of {self.size} bytes, {self.received} arrived",
        )
        assert not self.errors, self.errors
        return self

    def written(self, seconds=60):
        """All of it is the connection's: in its buffer, on its way, or there."""
        self.threads[0].join(seconds)
        assert not self.threads[0].is_alive() and not self.errors, (str(self), self.errors)
        return self

    def finish(self, seconds=60):
        """All of it arrived, as it was sent, and is acknowledged."""
        try:
            until(
                lambda: self.received == self.size or self.errors,
                seconds,
                self,
            )
            assert not self.errors, self.errors
        finally:
            self.stop = True
            self.reading.set()
            for thread in self.threads:
                thread.join(5)
        assert self.digest.digest() == hashlib.sha256(self.data).digest()
        return self

    def acknowledged(self, seconds=20):
        def done():
            now = info(self.source)
            return now.snd_una == now.write_seq

        until(done, seconds, "everything acknowledged at data level")
        return self


def upload(conn, size, **options):
    return Transfer(conn.client, conn.server, size, **options)


def download(conn, size, **options):
    return Transfer(conn.server, conn.client, size, **options)


def both_ways(conn, size, **options):
    """In both directions at the same time."""
    moving = [way(conn, size, **options) for way in (upload, download)]
    for transfer in moving:
        transfer.finish()
    for transfer in moving:
        transfer.acknowledged()


def ss(net):
    """What `ss -tin` says of each established subflow, by local address."""
    found = {}
    lines = net.run("ss", "-tinHO", "state", "established").stdout.splitlines()
    for line in lines:
        local = re.match(r"\s*\d+\s+\d+\s+(\S+)", line).group(1).split("%")[0]
        number = {
            key: float(value)
            for key, value in re.findall(r"\b(bytes_\w+|cwnd|mss|notsent|rtt):([0-9.]+)", line)
        }
        found[local.rsplit(":", 1)[0]] = number
    return found
