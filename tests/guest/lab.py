# SPDX-License-Identifier: GPL-2.0
"""Two network namespaces and the paths between them, one lab per test.

The client reaches the server's address over path 1; every further path is a
subflow endpoint of the client, with a routing table of its own. Namespaces are
entered per thread (setns), so sockets need no process of their own, which would
cost seconds in a guest without KVM.

This is not the benchmarks' lab (bench/mptcplab/lab/netlab.py): a test needs it set up in a
second, with IPv6, backups or eight paths, and no exact timing. Tests that do need
that take the other one (test_ecf_waits.py).
"""

import contextlib
import os
import secrets
import subprocess
import time
from dataclasses import dataclass

# How many times as long as usual things may take: on a kernel that watches each step
SLOW = int(os.environ.get("VM_SLOW", "1"))
PATIENCE = 4
# With `--set`: all paths of a guest that stands still for a moment look silent to it.
STANDS_STILL = "silence=0"
SERVICE = {4: "10.99.0.1", 6: "fd99::1"}


def run(*command, stdin=None, check=True, timeout=240):
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout * SLOW,
        check=False,
    )
    if check and done.returncode:
        line = " ".join(map(str, command))
        raise AssertionError(f"{line}: {done.stdout}{done.stderr}{stdin}")
    return done


def until(condition, seconds, what, every=0.02):
    """Polls; returns what the condition returned.

    A deadline is not a measure: a host that has other guests to run may take several times as long.
    """
    seconds *= SLOW * PATIENCE
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(every)


@dataclass(frozen=True)
class Path:
    mbit: float = 20
    rtt_ms: float = 10
    backup: bool = False
    limit: int = 300  # packets in each direction's queue

    def netem(self, loss=0):
        shape = f"rate {round(self.mbit * 1e6)}bit delay {self.rtt_ms / 2:g}ms"
        return f"{shape} limit {self.limit}" + (f" loss {loss}%" if loss else "")


class Standby:
    """A batch of ip or tc that waits for its lines."""

    def __init__(self, tool, name):
        self.process = subprocess.Popen(
            [tool, "-n", name, "-batch", "-"], stdin=subprocess.PIPE, text=True
        )

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0


class Netns:
    """A new namespace; with a name, one that somebody else has made and removes."""

    def __init__(self, name=None):
        self.name = name or f"t{secrets.token_hex(4)}"
        self.own = not name
        if self.own:
            run("ip", "netns", "add", self.name)
        self.fd = os.open(f"/run/netns/{self.name}", os.O_RDONLY | os.O_CLOEXEC)

    @property
    def inode(self):
        return os.fstat(self.fd).st_ino

    def close(self):
        os.close(self.fd)
        if self.own:
            run("ip", "netns", "del", self.name)

    @contextlib.contextmanager
    def inside(self):
        """The calling thread in this namespace; what it starts begins there too."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        os.setns(self.fd, os.CLONE_NEWNET)
        try:
            yield
        finally:
            os.setns(home, os.CLONE_NEWNET)
            os.close(home)

    def ip(self, *lines, family=4):
        """ip's own batches: a process for each line would cost seconds."""
        text = "\n".join(lines) + "\n"
        run("ip", f"-{family}", "-n", self.name, "-batch", "-", stdin=text)

    def tc(self, *lines):
        run("tc", "-n", self.name, "-batch", "-", stdin="\n".join(lines) + "\n")

    def standby(self, tool):
        return Standby(tool, self.name)

    def run(self, *command, **options):
        with self.inside():
            return run(*command, **options)

    def read(self, path):
        with self.inside(), open(path) as f:
            return f.read()

    def sysctl(self, key, value=None):
        """The value of net.KEY, after setting it where one is given."""
        path = f"/proc/sys/net/{key}"
        if value is not None:
            with self.inside(), open(path, "w") as f:
                f.write(str(value))
        return self.read(path).strip()

    @property
    def scheduler(self):
        return self.sysctl("mptcp/scheduler")

    @scheduler.setter
    def scheduler(self, name):
        assert self.sysctl("mptcp/scheduler", name) == name

    def mib(self, name):
        """One counter of the MPTCP MIB."""
        head, values = (
            line.split()[1:]
            for line in self.read("/proc/thread-self/net/netstat").splitlines()
            if line.startswith("MPTcpExt:")
        )
        return int(dict(zip(head, values, strict=True))[name])

    def _device(self, device, column):
        for line in self.read("/proc/thread-self/net/dev").splitlines():
            name, _, rest = line.partition(":")
            if name.strip() == device:
                return int(rest.split()[column])
        raise AssertionError(f"no device {device} in {self.name}")

    def sent_bytes(self, device):
        """Bytes that left through a device, headers included."""
        return self._device(device, 8)

    def packets(self, device):
        """That came in there."""
        return self._device(device, 1)


class Lab:
    def __init__(self, *paths, v6=False):
        self.paths = paths or (Path(), Path())
        self.family = 6 if v6 else 4
        self.address = SERVICE[self.family]
        self.client = Netns()
        try:
            self.server = Netns()
        except BaseException:
            self.client.close()
            raise
        try:
            self._link()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.client.close()
        finally:
            self.server.close()

    def local(self, i, end=1):
        """Address of the client (1) or the server (2) on path i, from 1."""
        return f"fd00:{i}::{end}" if self.family == 6 else f"10.0.{i}.{end}"

    def device(self, i):
        return f"p{i}"

    def endpoint(self, i, verb="add"):
        """Client endpoint: path i as a further subflow of each connection."""
        self.client.ip(self._endpoint_line(i, verb))

    def _endpoint_line(self, i, verb="add"):
        if verb == "del":
            return f"mptcp endpoint delete id {i}"
        flags = "subflow backup" if self.paths[i - 1].backup else "subflow"
        return f"mptcp endpoint add {self.local(i)} id {i} dev p{i} {flags}"

    def _route(self, i):
        """The service over path i."""
        return f"route add {self.address} via {self.local(i, 2)} dev {self.device(i)}"

    def own_route(self, i):
        """What packets from the client's address on path i go by."""
        return f"{self._route(i)} table {100 + i}"

    def _link(self):
        width, host = (64, 128) if self.family == 6 else (24, 32)
        nodad = " nodad" if self.family == 6 else ""
        service = f"{self.address}/{host}"
        client = ["link set lo up"]
        server = ["link set lo up", f"addr add {service} dev lo{nodad}"]
        for i, _ in enumerate(self.paths, 1):
            dev = self.device(i)
            client += [
                f"link add {dev} type veth peer name {dev} netns {self.server.name}",
                f"link set {dev} gso_max_segs 1 up",
                f"addr add {self.local(i)}/{width} dev {dev}{nodad}",
            ]
            server += [
                f"addr add {self.local(i, 2)}/{width} dev {dev}{nodad}",
                f"link set {dev} gso_max_segs 1 up",
            ]
        limits = "mptcp limits set subflow 8 add_addr_accepted 8"
        self.client.ip(*client, family=self.family)
        self.server.ip(*server, limits, family=self.family)
        routes = []
        for i, _ in enumerate(self.paths, 1):
            routes.append(self.own_route(i))
            routes.append(f"rule add from {self.local(i)} lookup {100 + i}")
            if i == 1:
                routes.append(self._route(i))
        self.client.ip(limits, *routes, family=self.family)
        self.shape()

    def shape(self, loss=0):
        """Every path as it is meant to be, but for that loss in per cent."""
        for net in (self.client, self.server):
            net.tc(
                *(
                    f"qdisc replace dev {self.device(i)} root netem {path.netem(loss)}"
                    for i, path in enumerate(self.paths, 1)
                )
            )

    def endpoints(self, first=2, last=None):
        """All paths but the first become subflows, or only these do; returns the lab."""
        last = len(self.paths) if last is None else last
        lines = [self._endpoint_line(i) for i in range(first, last + 1)]
        if lines:
            self.client.ip(*lines)
        return self

    @contextlib.contextmanager
    def lent(self, scheduler):
        """For one test, with that scheduler at both ends; afterwards it is as it was at first."""
        for net in (self.client, self.server):
            net.scheduler = scheduler
        try:
            yield self
        finally:
            self.client.ip("mptcp endpoint flush")
            for net in (self.client, self.server):
                net.scheduler = "default"
            self.shape()

    @contextlib.contextmanager
    def outage(self, i, how):
        """Yields kill() and revive() of path i, which act at once.

        Starting a process can take longer than a transfer, so they wait in line.
        how: "carrier", the server's end is down, so the client loses its carrier;
        "loss", the path swallows everything.
        """
        device = self.device(i)
        if how == "carrier":
            tools = [self.server.standby("ip")]
            off, on = (f"link set {device} {word}" for word in ("down", "up"))
        else:
            tools = [net.standby("tc") for net in (self.client, self.server)]
            shape = f"qdisc change dev {device} root netem "
            off, on = (shape + self.paths[i - 1].netem(loss) for loss in (100, 0))
        said = on

        def say(line):
            nonlocal said
            said = line
            for tool in tools:
                tool.say(line)

        try:
            yield lambda: say(off), lambda: say(on)
        finally:
            # or a test that fails meanwhile leaves it so to those behind it
            if said == off:
                say(on)
            for tool in tools:
                tool.close()

    def sent(self, net=None):
        """Bytes that left the client (or another end), per path."""
        net = net or self.client
        return [net.sent_bytes(self.device(i + 1)) for i in range(len(self.paths))]

    def arrived(self, net=None):
        """Packets that came in at the client (or another end), on all paths."""
        net = net or self.client
        return sum(net.packets(self.device(i + 1)) for i in range(len(self.paths)))
