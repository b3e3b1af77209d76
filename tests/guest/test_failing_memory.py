# SPDX-License-Identifier: GPL-2.0
"""Each allocation of the kernel fails once, one after the other: nothing is lost, nothing stays.

/proc/PID/fail-nth of a kernel with fault injection (tests/native/config.debug) fails the n-th one
that a thread makes, and tells whether there was one.
"""

import ctypes
import errno
import os
from pathlib import Path

import pytest
from command import BRIDGE
from lab import run
from libbpf import Object, Refused
from traffic import connection

FAIL_NTH = Path("/proc/thread-self/fail-nth")
# Beyond what a module's start, or a registration, takes: a kernel in which it never ends is found
MOST = 5000

pytestmark = pytest.mark.skipif(not FAIL_NTH.exists(), reason="this kernel has no fault injection")
libc = ctypes.CDLL(None, use_errno=True)


def failing(n, call):
    """Calls it; the n-th allocation of this thread fails. Was there an n-th?"""
    FAIL_NTH.write_text(str(n))
    try:
        call()
    finally:
        left = int(FAIL_NTH.read_text())
        FAIL_NTH.write_text("0")
    return left == 0


def one_after_the_other(call):
    """How many allocations there are: each has failed once."""
    for n in range(1, MOST):
        if not failing(n, call):
            return n - 1
    raise AssertionError(f"more than {MOST} allocations")


@pytest.fixture
def insert(_shared, by_the_bridge, kernel_release):
    """Loads the bridge, by one system call; it is out for the test."""
    _shared.need()
    run("rmmod", BRIDGE)
    built = Path(__file__).resolve().parents[2] / f"build/kmod/{kernel_release}"
    fd = os.open(built / f"{BRIDGE}.ko", os.O_RDONLY | os.O_CLOEXEC)

    def insert():
        return ctypes.get_errno() if libc.finit_module(fd, b"", 0) else 0

    yield insert
    os.close(fd)
    run("modprobe", BRIDGE)


@pytest.mark.timeout(7200)
def test_the_bridge_loads_or_does_not(insert):
    """Where it says no it is not there, and it says no for want of memory only."""
    said = set()

    def load():
        code = insert()
        said.add(code)
        assert (code == 0) == os.path.exists(f"/sys/module/{BRIDGE}"), code
        if not code:
            run("rmmod", BRIDGE)

    assert one_after_the_other(load) > 20
    assert errno.ENOMEM in said
    # an unknown symbol: where the kernel had no memory to look at what the module needs
    assert said <= {0, errno.ENOMEM, errno.ENOENT}, {errno.errorcode.get(c) for c in said}


@pytest.fixture
def loaded(_shared, compiled):
    _shared.need()
    with Object(compiled("whichpass")) as loaded:
        yield loaded


def test_registered_or_not(loaded):
    """And unregistered, which nothing may keep from being done."""
    refused = []

    def register():
        try:
            loaded.register("t_passes")
        except Refused as error:
            refused.append(error.code)
        loaded.detach()

    assert one_after_the_other(register) >= 1
    assert set(refused) <= {errno.ENOMEM}


def test_data_flows_without_a_memory(labs, _shared):
    """A scheduler that gets no storage for the connection or a subflow sends all the same."""
    _shared.need("bpf_ecf")
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_ecf"
    failed = []

    def one(n):
        with connection(lab, subflows=1) as conn:
            FAIL_NTH.write_text(str(n))
            try:
                conn.client.send(b"x")
            except OSError as error:
                failed.append(error.errno)
            hit = FAIL_NTH.read_text().strip() == "0"
            FAIL_NTH.write_text("0")
            if not failed:
                assert conn.server.recv(1) == b"x"
            failed.clear()
        return hit

    hits = sum(one(n) for n in range(1, 40))
    assert hits > 5
