# SPDX-License-Identifier: GPL-2.0
"""A write that finds no subflow to carry it goes out once there is one.

Nothing is on its way then, so nothing comes back that would make the core look
at its send queue, and it starts no timer either: with the kernel's own scheduler
the data stays there for as long as the peer is silent.
"""

import contextlib
import os
import threading
import time

import pytest
from lab import SLOW, Path, until
from libbpf import Object
from traffic import connection, info, listen, make_socket

NAMES = ["bpf_minrtt", "bpf_ecf"]
HELD, WRITTEN = range(2)
TRIES = 10
HELD_S = 0.5  # late_child.bpf.c: for that long at most


@pytest.fixture(autouse=True)
def _loaded(both_loaded):
    pass


@pytest.mark.parametrize("name", NAMES)
def test_written_between_two_subflows(labs, name):
    """The last subflow is gone when the server writes; the client joins anew.

    The peer of a connection that moves from one network to another.
    """
    lab = labs()
    lab.server.scheduler = name
    with connection(lab, subflows=1) as conn:
        lab.client.run("ss", "-K", "-tn", "dst", lab.address)
        for end in (conn.client, conn.server):
            until(lambda end=end: info(end).subflows == 0, 20, "the subflow is gone")
        conn.server.sendall(b"late")
        # several times as long as the core's timer: it asks more than once
        time.sleep(0.7)
        unsent = info(conn.server)
        assert (unsent.write_seq - unsent.snd_una, unsent.subflows) == (4, 0)
        lab.endpoint(2)
        conn.client.settimeout(20 * SLOW)
        assert conn.client.recv(4) == b"late"


@contextlib.contextmanager
def on_cpu(number):
    """The calling thread there, and with it what the network does in its name."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {number})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Greeter:
    """Accepts without ever sleeping, and writes at once to what it accepted."""

    def __init__(self, lab):
        self.listener = listen(lab)
        self.listener.setblocking(False)
        self.accepted = []
        self.waited = 0  # seconds in the last accept() that returned a connection
        self.stop = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        with on_cpu(1):
            while not self.stop:
                begun = time.monotonic()
                with contextlib.suppress(BlockingIOError):
                    sock = self.listener.accept()[0]
                    self.waited = time.monotonic() - begun
                    self.accepted.append(sock)
                    sock.send(b"!")

    def close(self):
        self.stop = True
        self.thread.join(20)
        for sock in (*self.accepted, self.listener):
            sock.close()


@pytest.mark.skipif(os.cpu_count() < 2, reason="the guest has one CPU, two race here")
@pytest.mark.parametrize("program", ["until_written", "longer"])
def test_written_before_the_subflow_is_established(labs, compiled, has_get_send, program):
    """accept() returns what is still in SYN_RECV, and the application writes.

    6.12's does. 7.2's waits for the subflow's lock, and thus for its state.
    """
    lab = labs(Path())
    lab.server.scheduler = "bpf_ecf"
    for net in (lab.client, lab.server):
        # without a queue a handshake runs in its connect(), so on one CPU
        net.tc(f"qdisc del dev {lab.device(1)} root")
    with Object(compiled("late_child")) as late, contextlib.ExitStack() as stack:
        late.attach(program)
        greeter = stack.enter_context(contextlib.closing(Greeter(lab)))
        for count in range(1, 3 * TRIES):
            with on_cpu(0), make_socket(lab.client, lab.family) as client:
                client.settimeout(20 * SLOW)
                client.connect(greeter.listener.getsockname()[:2])
                assert client.recv(1) == b"!", f"connection {count}"
            assert late.u64("counts", HELD) == count
            written = late.u64("counts", WRITTEN)
            if written == TRIES:
                return
            if not written and has_get_send:
                # and not that the thread came too late
                assert greeter.waited > HELD_S / 2, greeter.waited
                pytest.skip(
                    "the kernel has no accept() that returns before the subflow is established"
                )
        pytest.fail(f"{written} of {count} were written to in time")
