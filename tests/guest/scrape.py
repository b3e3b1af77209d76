# SPDX-License-Identifier: GPL-2.0
"""The exporter in the background, and what it serves."""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from command import PROGRAM
from lab import SLOW

# Of nobody, with the capabilities of the systemd unit and no others.
TOP = Path(__file__).resolve().parents[2]
UNIT = (TOP / "dist/mptcp-sched-exporter.service.in").read_text()
UNIT_CAPS = re.search(r"^AmbientCapabilities=(.*)$", UNIT, re.MULTILINE)[1].split()
SETPRIV_CAPS = ",".join(f"+{c.removeprefix('CAP_').lower()}" for c in UNIT_CAPS)
AS_THE_UNIT = (
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--no-new-privs",
    f"--bounding-set=-all,{SETPRIV_CAPS}",
    f"--inh-caps=-all,{SETPRIV_CAPS}",
    f"--ambient-caps=-all,{SETPRIV_CAPS}",
)

# So long one look answers all, in seconds, and a little more.
FRESH = 1.05

SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? ([0-9.e+-]+)")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Sample:
    name: str
    labels: dict
    value: float

    def has(self, **labels):
        return all(self.labels.get(k) == v for k, v in labels.items())


def samples(text):
    found = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        found.append(Sample(name, dict(LABEL.findall(labels or "")), float(value)))
    return found


def families(text):
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))


def promtool(text):
    return subprocess.run(
        ["promtool", "check", "metrics"],
        input=text,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Exporter:
    def __init__(self, *args, listen="127.0.0.1:0", net=None, prefix=()):
        with net.inside() if net else contextlib.nullcontext():
            self.process = subprocess.Popen(
                [*prefix, PROGRAM, "--json", "exporter", "--listen", listen, *args],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        text = ""
        while not text.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line, self.process.communicate()
            text += line
        told = json.loads(text)
        self.where, self.page = told["listening"], told.get("page")

    def request(self, path="/metrics", method="GET", **headers):
        """Status, headers, text."""
        if self.where.startswith("unix:"):
            conn = UnixConnection(self.where.removeprefix("unix:"))
        else:
            host, port = re.fullmatch(r"http://\[?(.*?)\]?:(\d+)/metrics", self.where).groups()
            host = {"::": "::1", "0.0.0.0": "127.0.0.1"}.get(host, host)
            conn = http.client.HTTPConnection(host, int(port), timeout=240 * SLOW)
        with contextlib.closing(conn):
            conn.request(method, path, headers=headers)
            answer = conn.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def text(self, **headers):
        """As it is now, by a look that began after this was called: one may be under way."""
        first = None
        while True:
            status, _, text = self.request(**headers)
            assert status == 200, text
            looks = int(re.search(r"exporter_reads_total (\d+)", text)[1])
            first = first or looks
            if looks > first:
                return text
            time.sleep(FRESH)

    def sum(self, name, **labels):
        found = [s for s in samples(self.text()) if s.name == name and s.has(**labels)]
        return sum(s.value for s in found)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=120 * SLOW)
        return self.process.returncode, out, err

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@contextlib.contextmanager
def exporter(*args, **options):
    made = Exporter(*args, **options)
    try:
        yield made
    finally:
        made.close()
