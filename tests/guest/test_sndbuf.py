# SPDX-License-Identifier: GPL-2.0
"""The send buffer takes what all subflows carry in the slowest's round trip, in virtual time."""

import contextlib
import errno
import socket
import time
from pathlib import Path

import pytest
from cells import bench_lab, netlab
from libbpf import Object
from passes import BUILT
from traffic import connection, upload

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("_shared")]
SIZE = 5_000_000
# A fragment takes half a second on the slow path; TCP's buffer lasts less than that on the other.
UNLIKE = (
    netlab.Path("slow", mbit=0.7, rtt_ms=20, limit=24),
    netlab.Path("fast", mbit=8.6, rtt_ms=40, limit=48),
)
LIKE = (
    netlab.Path("one", mbit=5, rtt_ms=40),
    netlab.Path("two", mbit=5, rtt_ms=40),
)
HOME = (
    netlab.Path("near", mbit=20, rtt_ms=20),
    netlab.Path("far", mbit=20, rtt_ms=60),
)
MESSAGE = 64 << 10  # two fragments; less than the window of the near path once that has grown
ANSWERS = 128  # of expanding.bpf.c
TCP_MEM = Path("/proc/sys/net/ipv4/tcp_mem")


def upload_with(name, paths=UNLIKE, wmem=None, own=None):
    """SO_SNDBUF of the sender, as the kernel accounts it, before and after a long upload."""
    with bench_lab(*paths) as lab:
        lab.client.scheduler = name
        if wmem:
            lab.client.sysctl("ipv4/tcp_wmem", wmem)
        with connection(lab) as conn:
            if own:
                conn.client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, own)
            before = conn.client.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
            upload(conn, SIZE).finish()
            return before, conn.client.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)


def buffer_after(shared, sndbuf=1, name="bpf_minrtt", **options):
    shared.need(name, values=("copy=0", f"sndbuf={sndbuf}"))
    return upload_with(name, **options)[1]


@pytest.fixture(scope="module")
def by_tcp(_shared):
    return buffer_after(_shared, sndbuf=0)


@contextlib.contextmanager
def tcp_mem(text):
    before = TCP_MEM.read_text()
    TCP_MEM.write_text(text)
    try:
        yield
    finally:
        TCP_MEM.write_text(before)


@pytest.mark.parametrize("name", ["bpf_minrtt", "bpf_ecf"])
def test_unlike_paths_get_a_larger_one(_shared, by_tcp, name):
    assert buffer_after(_shared, name=name) > 1.5 * by_tcp


def test_like_paths_need_none(_shared):
    """TCP's own is six of its largest windows, theirs two. How large those become differs from run to run."""
    mine = buffer_after(_shared, paths=LIKE)
    assert mine <= 1.2 * max(buffer_after(_shared, sndbuf=0, paths=LIKE) for _ in range(2))


def message_s(shared, sndbuf):
    """Seconds from a write to its last byte at the peer, the least of some on a connection in use."""
    shared.need("bpf_ecf", values=(f"sndbuf={sndbuf}",))
    took = []
    with bench_lab(*HOME) as lab:
        lab.client.scheduler = "bpf_ecf"
        with connection(lab) as conn:
            for _ in range(12):
                begun = time.monotonic()
                conn.client.sendall(bytes(MESSAGE))
                left = MESSAGE
                while left:
                    left -= len(conn.server.recv(left))
                took.append(time.monotonic() - begun)
                time.sleep(0.1)
    return min(took)


def test_a_message_of_two_fragments_waits_for_no_acknowledgement(_shared):
    """The writer does not wait, and yet the near path's buffer has room for one of them only."""
    assert message_s(_shared, 1) < message_s(_shared, 0) - 0.5 * HOME[0].rtt_ms / 1000


@pytest.fixture
def asking(none_loaded, suffix):
    """asking(**options): uploads with a scheduler that asks for a gigabyte at each decision."""

    def run(**options):
        with Object(BUILT / f"expanding{suffix}") as loaded:
            loaded.register("t_expanding")
            before, after = upload_with("t_expanding", **options)
            answers = {
                table: {n for n in range(ANSWERS) if loaded.u64(table, n)}
                for table in ("of_subflows", "of_others")
            }
        assert answers["of_others"] == {errno.EINVAL}
        return answers["of_subflows"], before, after

    return run


def test_as_much_as_tcp_wmem_allows(asking):
    """The core adds the first of the three to what its subflows have."""
    limit = 100_000
    answers, before, after = asking(wmem=f"4096 16384 {limit}")
    assert answers == {0}
    assert before < after == 4096 + len(UNLIKE) * limit


def test_what_the_application_has_set_stays(asking):
    assert asking(own=100_000) == ({errno.EPERM}, 200_000, 200_000)


def test_not_when_tcp_is_short_of_memory(asking, by_tcp):
    """Beyond the first of the three limits, in pages, no buffer grows."""
    pages = [1, *map(int, TCP_MEM.read_text().split()[1:])]
    with tcp_mem(" ".join(map(str, pages))):
        answers, _, after = asking()
    # nothing is allocated yet when the first byte is written
    assert errno.ENOBUFS in answers <= {0, errno.ENOBUFS}
    assert after <= by_tcp
