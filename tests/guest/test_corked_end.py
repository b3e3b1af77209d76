# SPDX-License-Identifier: GPL-2.0
"""The end of a stream comes when its writer closes it, as with TCP: nginx corks what it sends."""

import itertools
import socket
import threading
import time

import pytest
from cells import bench_lab, netlab
from command import ok
from traffic import IPPROTO_MPTCP, connection, info, random_bytes

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]

RTT_MS = 20
PATHS = (
    netlab.Path("one", mbit=50, rtt_ms=RTT_MS).roomy(),
    netlab.Path("two", mbit=20, rtt_ms=30).roomy(),
)
# With a short segment at the end: less than the first window, where all is assigned when it is
# closed, and more.
SIZES = 5_000, 96_300
# A tick of the kernel, for which a pass may wait, and what it takes to get there.
TICK = 0.007
CLOSES = {
    "close": lambda sock: sock.close(),
    "shutdown": lambda sock: sock.shutdown(socket.SHUT_WR),
}
# What keeps TCP from sending it: the cork, or Nagle's rule.
HELD = "cork", "nagle"
OPTIONS = {"cork": socket.TCP_CORK, "nodelay": socket.TCP_NODELAY}


def seconds(conn, size, held, close=CLOSES["close"]):
    """Of a download whose writer closes it."""
    if held in OPTIONS:
        conn.server.setsockopt(socket.IPPROTO_TCP, OPTIONS[held], 1)
    data = random_bytes(size)

    def write():
        conn.server.sendall(data)
        close(conn.server)

    writer = threading.Thread(target=write)
    begun = time.monotonic()
    writer.start()
    got = b""
    while len(got) < size:
        part = conn.client.recv(size)
        assert part, (len(got), size)
        got += part
    taken = time.monotonic() - begun
    writer.join()
    assert got == data
    assert conn.client.recv(1) == b""
    return taken


def in_lab(paths, name, *how, protocol=IPPROTO_MPTCP):
    with bench_lab(*paths) as lab:
        if name == "default --reinject":
            ok("use", *name.split(), net=lab.server)
        else:
            lab.server.scheduler = name
        with connection(lab, protocol) as conn:
            if protocol == IPPROTO_MPTCP:
                assert info(conn.server).extra_subflows == len(paths) - 1
            if name == "default --reinject":
                # the program that serves it has seen a segment then
                conn.client.sendall(b"?")
                assert conn.server.recv(1) == b"?"
            return seconds(conn, *how)


@pytest.fixture(scope="module")
def plain():
    """Seconds of plain TCP over the first path, by the same arguments."""
    seen = {}

    def get(*how):
        if how not in seen:
            seen[how] = in_lab(PATHS[:1], "default", *how, protocol=socket.IPPROTO_TCP)
        return seen[how]

    return get


@pytest.mark.parametrize(("size", "held"), itertools.product(SIZES, HELD))
@pytest.mark.parametrize("name", ["bpf_auto", "bpf_minrtt"])
def test_it_comes_as_soon_as_with_tcp(name, size, held, plain):
    ok("load", name)
    taken = in_lab(PATHS[:1], name, size, held)
    assert taken < plain(size, held) + TICK, (taken, plain(size, held))


@pytest.mark.parametrize("size", SIZES)
def test_with_early_copies_of_the_default(size, plain):
    """The default asks for no push with the last that it assigns: acknowledgements do, later."""
    taken = in_lab(PATHS[:1], "default --reinject", size, "cork")
    later = 0.1 if size == SIZES[1] else TICK
    assert taken < plain(size, "cork") + later, (taken, plain(size, "cork"))


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("name", ["bpf_auto", "bpf_minrtt"])
def test_over_two_paths(name, held):
    """As soon as where nothing is ever held back, but for what lies between two runs."""
    ok("load", name)
    taken, free = (in_lab(PATHS, name, SIZES[1], how) for how in (held, "nodelay"))
    assert taken < free + RTT_MS / 1000, (taken, free)


@pytest.mark.parametrize("size", SIZES)
def test_half_closed(size, plain):
    ok("load", "bpf_minrtt")
    taken = in_lab(PATHS[:1], "bpf_minrtt", size, "cork", CLOSES["shutdown"])
    assert taken < plain(size, "cork") + TICK, (taken, plain(size, "cork"))


def of_the_default(size, held, plain):
    """Seconds of the kernel's default and of plain TCP."""
    taken = in_lab(PATHS[:1], "default", size, held), plain(size, held)
    print(f"{size} bytes, {held}: the default {taken[0]:.3f} s, plain TCP {taken[1]:.3f} s")
    return taken


@pytest.fixture(params=[False, True], ids=["alone", "another_namespace_opted_in"])
def elsewhere(request, net):
    """Has another namespace early copies?"""
    if request.param:
        ok("use", "default", "--reinject", "--netns", net.name)
    yield
    if request.param:
        ok("use", "default", "--netns", net.name)


@pytest.mark.parametrize("size", SIZES)
def test_the_control(size, plain, elsewhere):
    """The kernel's default waits for TCP's timer."""
    taken, tcp = of_the_default(size, "cork", plain)
    assert taken > tcp + 0.1


def test_the_control_by_nagles_rule(plain):
    """Or for the acknowledgement of the byte before."""
    taken, tcp = of_the_default(SIZES[0], "nagle", plain)
    assert taken > tcp + TICK
