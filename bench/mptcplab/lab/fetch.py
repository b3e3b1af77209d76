# SPDX-License-Identifier: GPL-2.0
"""The object fetcher: HTTP/1.1 GET over one persistent connection, timed from the request's first byte.

A browser or player of a few lines, since a real one would cost an emulated guest more than the
network does: what matters here is only when a request leaves and when the answer is complete.
"""

import contextlib
import dataclasses
import re
import time

from mptcplab.lab import transfer
from mptcplab.lab.web import PORT, content
from mptcplab.process import LabError

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
HEAD_LIMIT = 8192


@dataclasses.dataclass(frozen=True)
class Fetched:
    name: str
    bytes: int
    begun: float  # time.monotonic()
    seconds: float
    first: float  # seconds to the first byte
    right: bool  # it was what the server has

    def as_object(self, zero, **more):
        return {
            "name": self.name,
            "bytes": self.bytes,
            "begun": self.begun - zero,
            "seconds": self.seconds,
            "first": self.first,
        } | more


class Fetcher:
    """One connection from the lab's client to its web server."""

    def __init__(self, lab, host, mptcp):
        self.host = host
        self.sock = transfer.make_socket(lab, "client", mptcp)
        try:
            self.sock.connect((host, PORT))
        except OSError as e:
            self.sock.close()
            raise LabError(f"no connection to {host}: {e}") from e

    def close(self):
        self.sock.close()

    def get(self, name):
        request = f"GET /{name} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode()
        begun = time.monotonic()
        self.sock.sendall(request)
        buffer, got = bytearray(HEAD_LIMIT), 0
        first = None
        head = b""
        while b"\r\n\r\n" not in head:
            if got == HEAD_LIMIT:
                raise LabError(f"{name}: no end of the answer's header")
            got += self._receive(name, memoryview(buffer)[got:])
            first = first or time.monotonic()
            head = bytes(buffer[:got])
        head, _, body = head.partition(b"\r\n\r\n")
        status = head.split(b"\r\n", 1)[0]
        length = LENGTH.search(head)
        if b" 200 " not in status + b" " or not length:
            raise LabError(f"{name}: the server says {status.decode(errors='replace')!r}")
        data = self._rest(name, body, int(length[1]))
        seconds = time.monotonic() - begun
        right = data == content(name, len(data))
        return Fetched(name, len(data), begun, seconds, first - begun, right)

    def _rest(self, name, body, length):
        data = bytearray(length)
        data[: len(body)] = body
        left = memoryview(data)[len(body) :]
        while left:
            left = left[self._receive(name, left) :]
        return data

    def _receive(self, name, into):
        """How many bytes came."""
        try:
            count = self.sock.recv_into(into)
        except OSError as e:
            raise LabError(f"{name}: {e}") from e
        if not count:
            raise LabError(f"{name}: the connection ended early")
        return count


@contextlib.contextmanager
def fetcher(lab, host, mptcp):
    one = Fetcher(lab, host, mptcp)
    try:
        yield one
    finally:
        one.close()
