# SPDX-License-Identifier: GPL-2.0
"""`mptcp-sched trace`, as it runs beside a test."""

import contextlib
import json
import signal
import subprocess
import threading

from command import PROGRAM
from hygiene import links, pins
from lab import SLOW, run, until

FAR = 60 * SLOW


class Trace:
    """It runs when this is made, and is read as it goes."""

    def __init__(self, *args, prefix=(), net=None):
        with net.inside() if net else contextlib.nullcontext():
            self.process = subprocess.Popen(
                [*prefix, PROGRAM, "--json", "trace", *map(str, args)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        self.told, self.lines = [], []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.wait("started")

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            self.told.append(json.loads(line))

    def events(self, name, **fields):
        return [e for e in self.told if e["event"] == name and fields.items() <= e.items()]

    def wait(self, name, **fields):
        until(
            lambda: self.events(name, **fields) or not self.reader.is_alive(),
            FAR,
            f"{name} {fields}",
        )
        assert self.events(name, **fields), (self.told[-5:], self.process.stderr.read())

    def end(self, number=signal.SIGINT):
        """What it says in the end."""
        if number:
            self.process.send_signal(number)
        assert self.process.wait(FAR) == 0
        self.reader.join(FAR)
        complaint = self.process.stderr.read()
        assert not complaint, complaint
        (ended,) = self.events("ended")
        assert self.told[-1] is ended
        return ended

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(FAR)

    def decisions(self):
        return [e for e in self.told if e["event"] in ("decision", "copies")]

    def tokens(self):
        return {int(e["token"], 16) for e in self.decisions()}


@contextlib.contextmanager
def trace(*args, **options):
    made = Trace(*args, **options)
    try:
        yield made
    finally:
        made.close()


def observers():
    """Names of our programs that the kernel has."""
    programs = json.loads(run("bpftool", "--json", "prog", "show").stdout)
    return [p["name"] for p in programs if p.get("name", "").startswith("mps_trace")]


def nothing_left():
    until(lambda: not observers() and links() == len(pins()), 20 * SLOW, "all detached")
