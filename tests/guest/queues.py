# SPDX-License-Identifier: GPL-2.0
"""What bpf_queueaware measures, and what the kernel says of the same queues."""

import contextlib
import ctypes
import json
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import libbpf
from command import ok
from lab import run, until

PROBE = Path(__file__).resolve().parents[2] / "build" / "tests" / "queues.bpf.o"
NAME = "bpf_queueaware"
STORAGE = "mps_service_v1"

_ptr, _int = ctypes.c_void_p, ctypes.c_int
_map_by_id = libbpf._declare("bpf_map_get_fd_by_id", _int, ctypes.c_uint32)
_reuse = libbpf._declare("bpf_map__reuse_fd", _int, _ptr, _int)
_attach_iter = libbpf._declare("bpf_program__attach_iter", _ptr, _ptr, _ptr)
_link_fd = libbpf._declare("bpf_link__fd", _int, _ptr)
_iter_create = libbpf._declare("bpf_iter_create", _int, _int)


@contextlib.contextmanager
def loaded(name, *values):
    """A scheduler as its user has it, with the programs that come with it."""
    ok("load", name, *(w for v in values for w in ("--set", v)))
    try:
        yield
    finally:
        ok("unload", "--force", name)


@dataclass(frozen=True)
class Queue:
    """struct queue_rec of bpf/queues.bpf.c: one subflow."""

    port: int
    queue: int
    service_us: int
    wait_us: int
    samples: int
    seen: int
    srtt_us: int
    unsent: int
    mss: int

    FORM = struct.Struct("=9I4x")


class Probe(libbpf.Object):
    """Reads what bpf_queueaware, which is loaded, keeps of its subflows."""

    def __init__(self):
        super().__init__(PROBE, only_ops=STORAGE)
        program = libbpf._find_prog(self.object, b"queues")
        self._keep(_attach_iter(program, None), "attach the iterator")

    def _choose(self, name):
        """The probe's map is the scheduler's."""
        maps = json.loads(run("bpftool", "-j", "map", "show").stdout)
        # an earlier one lives as long as a connection that used it
        theirs = max(m["id"] for m in maps if m["name"] == name)
        fd = _map_by_id(theirs)
        assert fd >= 0, f"{name}: {os.strerror(ctypes.get_errno())}"
        try:
            code = _reuse(dict(self._maps())[name], fd)
            assert not code, f"{name}: {os.strerror(-code)}"
        finally:
            os.close(fd)

    def read(self, net):
        """The subflows of a namespace, by their local ports."""
        with net.inside():
            fd = _iter_create(_link_fd(self.links[0]))
            assert fd >= 0, os.strerror(ctypes.get_errno())
            with open(fd, "rb", buffering=0) as stream:
                data = b"".join(iter(lambda: stream.read(4096), b""))
        found = [Queue(*values) for values in Queue.FORM.iter_unpack(data)]
        return {q.port: q for q in found}


@contextlib.contextmanager
def queueaware():
    """The scheduler loaded; yields the reader of its measurements."""
    with loaded(NAME), Probe() as probe:
        yield probe


RTM_GETQDISC = 38
NLM_F_REQUEST_DUMP = 0x301
NLMSG_DONE = 3
TCA_STATS2 = 7
TCA_STATS_QUEUE = 3
TC_H_ROOT = 0xFFFFFFFF


def attributes(data):
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        yield kind & 0x3FFF, data[at + 4 : at + size]
        at += (size + 3) & ~3


class Qdiscs:
    """The lengths that tc -s prints, without tc: a process takes too long."""

    def __init__(self, net):
        with net.inside():
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.net = net

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _messages(self):
        head = struct.pack("=IHHII", 36, RTM_GETQDISC, NLM_F_REQUEST_DUMP, 1, 0)
        self.socket.send(head + bytes(20))
        while True:
            data = self.socket.recv(1 << 20)
            at = 0
            while at < len(data):
                size, kind = struct.unpack_from("=IH", data, at)
                if kind == NLMSG_DONE:
                    return
                yield data[at + 16 : at + size]
                at += (size + 3) & ~3

    def length(self, device):
        """Packets in the root queue of a device."""
        with self.net.inside():
            index = socket.if_nametoindex(device)
        found = []
        for message in self._messages():
            _, ifindex, _, parent, _ = struct.unpack_from("=IiIII", message)
            if ifindex != index or parent != TC_H_ROOT:
                continue
            stats = dict(attributes(message[20:]))[TCA_STATS2]
            queue = dict(attributes(stats))[TCA_STATS_QUEUE]
            found.append(struct.unpack_from("=I", queue)[0])
        assert len(found) == 1, f"{device}: {found}"
        return found[0]


class Flood:
    """Packets of another socket over path i, at a rate that the test sets."""

    def __init__(self, lab, i, per_second, size=1000):
        with lab.client.inside():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # what a device queue holds must not be the sender's limit
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
        self.socket.setblocking(False)
        self.socket.connect((lab.local(i, 2), 9))
        self.data, self.gap = bytes(size), 1 / per_second
        self.running, self.sent = True, 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        due = time.monotonic()
        while self.running:
            with contextlib.suppress(OSError):  # full, or nobody listens there
                self.socket.send(self.data)
                self.sent += 1
            due += self.gap
            time.sleep(max(0, due - time.monotonic()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.running = False
        self.thread.join(10)
        self.socket.close()


def burst(lab, i, count, size=1000):
    """That many packets of another socket at once."""
    with lab.client.inside():
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
    sock.connect((lab.local(i, 2), 9))
    with sock:
        for _ in range(count):
            with contextlib.suppress(ConnectionRefusedError):
                sock.send(bytes(size))


def settled(read, seconds=10):
    """The value of read() once it is the same thrice in a row."""
    last = []

    def same():
        last.append(read())
        time.sleep(0.05)
        return len(last) > 2 and len({str(x) for x in last[-3:]}) == 1

    until(same, seconds, "a value that stands still")
    return last[-1]
