# SPDX-License-Identifier: GPL-2.0
"""Each allocation of the kernel fails once, one after the other: nothing is lost, nothing stays.

/proc/PID/fail-nth of a kernel with fault injection (tests/native/config.debug) fails the n-th one
that a thread makes, and tells whether there was one.
"""

import ctypes
import errno
import os
import platform
from pathlib import Path

import made
import pytest
from command import BRIDGE
from lab import run
from libbpf import Object, Refused
from traffic import connection

FAIL_NTH = "/proc/thread-self/fail-nth"
FAILSLAB = Path("/sys/kernel/debug/failslab")
# Beyond what a module's start, or a registration, takes: a kernel in which it never ends is found
MOST = 5000

libc = ctypes.CDLL(None, use_errno=True)
# libc has no function of its own for it
FINIT_MODULE = {"x86_64": 313, "aarch64": 273}[platform.machine()]


@pytest.fixture(autouse=True)
def _faults_only():
    if not os.path.exists(FAIL_NTH):
        made.skip_for_want(made.FAULTS)


@pytest.fixture
def failing():
    """failing(n, call): (was there an n-th, what the call returned)."""
    # By default only those fail that may not wait; and each says so with a trace.
    before = {name: (FAILSLAB / name).read_text() for name in ("ignore-gfp-wait", "verbose")}
    for name, value in {"ignore-gfp-wait": "N", "verbose": "1"}.items():
        (FAILSLAB / name).write_text(value)
    # Opened once: an open allocates, and would have the n-th where the call has fewer.
    fd = os.open(FAIL_NTH, os.O_RDWR | os.O_CLOEXEC)

    def failing(n, call):
        os.pwrite(fd, b"%d" % n, 0)
        try:
            result = call()
        finally:
            left = int(os.pread(fd, 16, 0))
            os.pwrite(fd, b"0", 0)
        return left == 0, result

    yield failing
    os.close(fd)
    for name, value in before.items():
        (FAILSLAB / name).write_text(value)


@pytest.fixture
def one_after_the_other(failing):
    """Calls `judge` with what each call returned; how many allocations there are, each has failed once."""

    def one_after_the_other(call, judge):
        for n in range(1, MOST):
            hit, result = failing(n, call)
            judge(result)
            if not hit:
                return n - 1
        raise AssertionError(f"more than {MOST} allocations")

    return one_after_the_other


@pytest.fixture
def insert(_shared, by_the_bridge, kernel_release):
    """Loads the bridge, by one system call; it is out for the test."""
    _shared.need()
    run("rmmod", BRIDGE)
    built = Path(__file__).resolve().parents[2] / f"build/kmod/{kernel_release}"
    fd = os.open(built / f"{BRIDGE}.ko", os.O_RDONLY | os.O_CLOEXEC)

    def insert():
        return ctypes.get_errno() if libc.syscall(FINIT_MODULE, fd, b"", 0) else 0

    yield insert
    os.close(fd)
    run("modprobe", BRIDGE)


@pytest.mark.timeout(7200)
def test_the_bridge_loads_or_does_not(insert, one_after_the_other):
    """Where it says no it is not there, and it says no for want of memory only."""
    said = set()

    def judge(code):
        said.add(code)
        assert (code == 0) == os.path.exists(f"/sys/module/{BRIDGE}"), code
        if not code:
            run("rmmod", BRIDGE)

    assert one_after_the_other(insert, judge) > 20
    assert errno.ENOMEM in said
    # Without memory the kernel says unknown symbol of what it could not look at (ENOENT), and goes on
    # without a module's BTF that it could not read, which then has no kfuncs (EINVAL).
    assert said <= {0, errno.ENOMEM, errno.ENOENT, errno.EINVAL}, said


@pytest.fixture
def loaded(_shared, compiled):
    _shared.need()
    with Object(compiled("whichpass")) as loaded:
        yield loaded


def test_registered_or_not(loaded, one_after_the_other):
    """And unregistered, which nothing may keep from being done."""
    said = set()

    def register():
        try:
            loaded.register("t_passes")
        except Refused as error:
            return error.code
        loaded.detach()
        return 0

    assert one_after_the_other(register, said.add) >= 1
    assert said == {0, errno.ENOMEM}


def test_what_was_sent_arrives(labs, _shared, failing):
    """A send that finds no memory says so; one that does not is carried, and so is what comes next."""
    _shared.need("bpf_ecf")
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_ecf"
    hits = 0
    for n in range(1, 12):
        with connection(lab, subflows=1) as conn:

            def send(conn=conn):
                try:
                    return conn.client.send(b"x")
                except OSError as error:
                    return error

            hit, sent = failing(n, send)
            hits += hit
            if sent != 1:
                assert sent.errno in (errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN), sent
            assert conn.client.send(b"y") == 1
            wanted, got = b"xy" if sent == 1 else b"y", b""
            while len(got) < len(wanted):
                got += conn.server.recv(2)
            assert got == wanted
    assert hits > 1, "a send allocates"
