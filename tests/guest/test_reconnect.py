# SPDX-License-Identifier: GPL-2.0
"""An application that uses one socket for several connections, by connect() with AF_UNSPEC.

The kernel keeps the socket and its first subflow's, with what schedulers stored of them; virtual
time.
"""

import contextlib
import ctypes
import os
import socket
import struct

import pytest
from command import stats_of, total
from lab import SLOW, Path, until
from scrape import exporter
from traffic import info, listen, make_socket, upload

SIZE = 400_000
TIMES = 4
BYTES = ("bytes_sent", "bytes_retrans", "bytes_copied")

pytestmark = pytest.mark.virtual_time

_libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(scope="module")
def two(shared_lab):
    return shared_lab(Path(20, 10), Path(20, 30))


def disconnect(sock):
    nowhere = struct.pack("H14x", socket.AF_UNSPEC)
    if _libc.connect(sock.fileno(), nowhere, len(nowhere)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Reused:
    """A client whose socket stays, and the server's end of each of its connections."""

    def __init__(self, lab, listener, port=0):
        self.listener, self.server = listener, None
        self.client = make_socket(lab.client, lab.family)
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.client.bind((lab.local(1), port))

    def connect(self):
        """With both subflows."""
        self.client.connect(self.listener.getsockname()[:2])
        self.server = self.listener.accept()[0]
        self.server.settimeout(60 * SLOW)
        self.server.sendall(b"!")
        assert self.client.recv(1) == b"!"
        for end in (self.client, self.server):
            until(lambda end=end: info(end).extra_subflows == 1, 20, "two subflows")

    def disconnect(self):
        disconnect(self.client)
        self.server.close()

    def counted(self):
        return stats_of(info(self.client).token)


@contextlib.contextmanager
def reused(lab, port=0):
    with listen(lab) as listener:
        conn = Reused(lab, listener, port)
        try:
            yield conn
        finally:
            conn.client.close()
            if conn.server:
                conn.server.close()


def test_each_connection_is_counted_by_itself(two, every):
    """From 0 on, and to the byte: all of it once as new, and what the core sent again besides."""
    with two.lent(every) as lab, reused(lab.endpoints()) as conn:
        for i in range(TIMES):
            conn.connect()
            if i:
                found = conn.counted()
                assert not any(found["counters"].values()), found
                assert not any(found["waits"].values()), found
                assert total(found, *BYTES) == 0, found
            upload(conn, SIZE).finish().acknowledged()
            found, again = conn.counted(), info(conn.client).bytes_retrans
            assert found["scheduler"] == every
            assert len(found["subflows"]) == 2
            assert total(found, "bytes_sent") == SIZE, found
            assert total(found, "bytes_retrans", "bytes_copied") == again, found
            conn.disconnect()


def test_sums_go_on(two, every):
    """The exporter's, over connections of the same socket and ports."""
    with two.lent(every) as lab, exporter("--interval", "60") as served:
        with reused(lab.endpoints(), port=4999) as conn:
            served.text()
            for i in range(1, TIMES):
                conn.connect()
                upload(conn, SIZE).finish().acknowledged()
                served.text()
                of = {"netns": lab.client.name, "scheduler": every}
                sent = served.sum("mptcp_sched_path_bytes_sent_total", **of)
                assert sent == i * SIZE
                assert served.sum("mptcp_sched_connections_begun_total", **of) == i
                conn.disconnect()
        assert served.end()[0] == 0
