# SPDX-License-Identifier: GPL-2.0
"""One connection over paths of which one fails and comes back: loads, events, and the notes taken.

Both ends are threads of this process; see lab/transfer.py. The server is who sends.
"""

import contextlib
import dataclasses
import subprocess
import threading
import time

from mptcplab import gaps
from mptcplab.lab import transfer
from mptcplab.path import FRAME
from mptcplab.process import LabError

SAMPLE_S = 0.02  # between two looks at the victim's device
REQUEST = 100  # bytes
CHUNK = 64 << 10


@dataclasses.dataclass(frozen=True)
class Load:
    """size None: bulk. asks: a request calls for each message; otherwise the server sends unasked."""

    name: str
    size: int | None = None
    interval: float = 0.0
    asks: bool = False


LOADS = {
    load.name: load
    for load in (
        Load("bulk"),
        Load("stream", 200, 0.1),
        Load("rr1", 1000, 0.1, asks=True),
        Load("rr64", 64 << 10, 0.1, asks=True),
        Load("rr128", 128 << 10, 0.2, asks=True),
        Load("video", 10000, 0.04),
    )
}


def read_all(sock, size):
    """False: the connection ended."""
    while size:
        part = len(sock.recv(min(size, CHUNK)))
        if not part:
            return False
        size -= part
    return True


class Pattern:
    """Data of which every byte says where it belongs, as far as a period of 251 tells."""

    PERIOD = 251
    TEXT = bytes(range(PERIOD)) * (2 * CHUNK // PERIOD + 2)

    def at(self, offset, size):
        begin = offset % self.PERIOD
        return memoryview(self.TEXT)[begin : begin + size]


class Traffic:
    """A load over `ends`; begin(), then end(). What it notes: arrivals, messages, wrong."""

    def __init__(self, lab, ends, load):
        self.lab, self.ends, self.load = lab, ends, load
        self.ended = threading.Event()
        self.arrivals, self.wrong, self.error = [], 0, None
        self.messages = None if load.size is None else []
        parts = [self._answer, self._ask] if load.asks else [self._send, self._receive]
        self.threads = [
            threading.Thread(target=self._guarded, args=(p,), daemon=True) for p in parts
        ]

    def begin(self):
        self.begun = time.monotonic()
        for thread in self.threads:
            thread.start()

    def end(self, seconds):
        """Nothing new is sent; what is on its way may take so long."""
        self.ended.set()
        deadline = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0, deadline - time.monotonic()))
        if any(thread.is_alive() for thread in self.threads):
            self.error = self.error or f"the connection stood still for {seconds} s at the end"

    def _guarded(self, part):
        try:
            part()
        except OSError as e:
            if not self.ended.is_set():
                self.error = str(e)

    def _due(self, n):
        return self.begun + n * self.load.interval

    def _wait(self, n):
        return not self.ended.wait(max(0, self._due(n) - time.monotonic()))

    def _send(self):
        sock, pattern, offset = self.ends["server"], Pattern(), 0
        if self.load.size is None:
            while not self.ended.is_set():
                offset += sock.send(pattern.at(offset, CHUNK))
        else:
            n = 0
            while self._wait(n):
                sock.sendall(pattern.at(offset, self.load.size))
                offset += self.load.size
                n += 1
        sock.shutdown(1)

    def _receive(self):
        sock, pattern, offset = self.ends["client"], Pattern(), 0
        while data := sock.recv(CHUNK):
            now = time.monotonic()
            self.arrivals.append((now, len(data)))
            self.wrong += data != pattern.at(offset, len(data))
            offset += len(data)
            if self.load.size:
                while len(self.messages) < offset // self.load.size:
                    due = self._due(len(self.messages))
                    self.messages.append((due, now - due))

    def _answer(self):
        sock, pattern = self.ends["server"], Pattern()
        while read_all(sock, REQUEST):
            sock.sendall(pattern.at(0, self.load.size))

    def _ask(self):
        """The next request a while after the last answer, as people and programs do."""
        sock, n = self.ends["client"], 0
        while self._wait(n):
            asked = time.monotonic()
            sock.sendall(b"?" * REQUEST)
            if not read_all(sock, self.load.size):
                raise OSError("the connection ended early")
            now = time.monotonic()
            self.arrivals.append((now, self.load.size))
            self.messages.append((asked, now - asked))
            n = max(n + 1, int((now - self.begun) / self.load.interval) + 1)
        sock.shutdown(1)


class Watch(threading.Thread):
    """At times: payload that the victim's device brought to the client; subflows given up."""

    def __init__(self, lab, victim):
        super().__init__(daemon=True)
        self.lab, self.victim = lab, victim
        self.ended, self.samples, self.before, self.sum = threading.Event(), [], None, 0
        self.stale = []  # (time, subflows that the server has given up so far)

    def run(self):
        with self.lab.inside("client"):
            while not self.ended.wait(SAMPLE_S):
                self._look()
                self.stale.append((time.monotonic(), self.lab.mib("server")["SubflowStale"]))

    def _look(self):
        name = self.lab.device(self.victim) + ":"
        with open("/proc/thread-self/net/dev") as f:
            words = next(line for line in f if line.split()[:1] == [name]).split()
        now = int(words[1]), int(words[2])
        if self.before:
            self.sum += gaps.payload(*(a - b for a, b in zip(now, self.before, strict=True)))
        self.before = now
        self.samples.append((time.monotonic(), self.sum))


# --- events


class Standby:
    """A batch of ip or tc that waits for its lines: starting one takes longer than an event."""

    def __init__(self, lab, where, tool):
        self.process = lab.start(where, tool, "-batch", "-", stdin=subprocess.PIPE, text=True)

    def say(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        if self.process.wait(30):
            raise LabError(f"an event: exit status {self.process.returncode}")


def packets(path, queue_ms):
    """netem's limit, for such a queue behind what is on its way."""
    return round((queue_ms + path.rtt_ms / 2) * path.mbit * 1e3 / 8 / FRAME)


def longer(path):
    """The limit of a path that is ten times as long, with the same queue."""
    return path.limit + round(9 * path.rtt_ms / 2 * path.mbit * 1e3 / 8 / FRAME)


def reshaped(**changes):
    """An event that makes the path another one, and back."""

    @contextlib.contextmanager
    def event(lab, victim):
        path, tool = lab.paths[victim], Standby(lab, "net", "tc")
        one, other = (
            [line.replace("replace", "change", 1) for line in lab.shape_lines(p)]
            for p in (dataclasses.replace(path, **{k: f(path) for k, f in changes.items()}), path)
        )
        yield (lambda: tool.say(*one)), (lambda: tool.say(*other))
        tool.close()

    return event


@contextlib.contextmanager
def carrier(lab, victim):
    """The client's device loses its carrier."""
    tool, port = Standby(lab, "net", "ip"), lab.port(lab.paths[victim], "client")
    yield (lambda: tool.say(f"link set {port} down")), (lambda: tool.say(f"link set {port} up"))
    tool.close()


@contextlib.contextmanager
def address(lab, victim):
    """The client tells the server that the address is gone, and later uses it anew."""
    tool, own = Standby(lab, "client", "ip"), lab.address("client", victim)
    # the connection's first subflow has id 0, whichever endpoint it may be
    ident = f"{victim}" if victim else f"0 {own}"
    yield (
        lambda: tool.say(f"mptcp endpoint delete id {ident}"),
        lambda: tool.say(
            f"mptcp endpoint add {own} dev {lab.device(victim)}"
            + (f" id {victim} subflow" if victim else " subflow")
        ),
    )
    tool.close()


EVENTS = {
    "blackhole": reshaped(loss=lambda p: 100),
    "blackhole-data": reshaped(loss=lambda p: 100, loss_to=lambda p: "client"),
    "carrier": carrier,
    "loss": reshaped(loss=lambda p: 30),
    "delay": reshaped(rtt_ms=lambda p: 10 * p.rtt_ms, limit=longer),
    "address": address,
}


def sleep_until(t):
    time.sleep(max(0, t - time.monotonic()))


def run(lab, ends, load, event, victim, times, look):
    """One load through one event; times: seconds until it, how long it lasts, and after. The notes.

    look(): what there is to see of the connection while it is still whole.
    """
    out, away, after = times
    traffic, watch = Traffic(lab, ends, load), Watch(lab, victim)
    with EVENTS[event](lab, victim) as (begin, end):
        watch.start()
        traffic.begin()
        sleep_until(traffic.begun + out)
        begin()
        at = time.monotonic()
        sleep_until(traffic.begun + out + away)
        end()
        back = time.monotonic()
        sleep_until(traffic.begun + out + away + after)
    ended = time.monotonic()
    seen = look()
    traffic.end(transfer.MAX_SECONDS)
    watch.ended.set()
    watch.join()
    return {
        # a connection in its slow start is no measure for what comes
        "begun": traffic.begun + out / 2,
        "out": at,
        "back": back,
        "ended": ended,
        "arrivals": traffic.arrivals,
        "messages": traffic.messages,
        "samples": watch.samples,
        "stale": watch.stale,
        "seen": seen,
        "wrong": traffic.wrong,
        "error": traffic.error,
    }
