# SPDX-License-Identifier: GPL-2.0
"""A real web server and a real client: nginx under mptcpize, and curl --mptcp.

curl does all its downloads in one process over one connection. Between two of them it is given a
file:// URL that is a FIFO: it stands still in open() until the other end is opened here. So the
pauses are ours, the time of each download is curl's own, and a look at the statistics in a pause
disturbs no download.
"""

import contextlib
import dataclasses
import functools
import hashlib
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

from mptcplab.process import LabError

PORT = 80
MAX_SECONDS = 120  # for one download: a connection that hangs must not take everything with it
# Debian's defaults where they concern the sending of files; the connection is never closed by
# nginx, however long the pauses.
NGINX_CONF = """\
daemon off;
master_process off;
user root;
pid {dir}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 64; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 1h;
    keepalive_requests 1000000;
    client_body_temp_path {dir}/body;
    server {{
        listen {port};
        root {dir}/www;
    }}
}}
"""


@dataclasses.dataclass(frozen=True)
class Download:
    """One download as curl saw it."""

    name: str
    seconds: float
    size: int
    connects: int  # new connections that it took: 0 on a persistent one
    verified: bool


@functools.cache
def content(name, size):
    """Random data, made once: in an emulated guest that takes longer than a download."""
    return random.Random(name).randbytes(size)


class Server:
    """nginx in the lab's server namespace, with files of random data."""

    def __init__(self, lab, sizes, mptcp=True):
        self.lab = lab
        self.mptcp = mptcp
        self.sizes = dict(sizes)  # name: bytes
        self.sha256 = {}

    def __enter__(self):
        self.temp = tempfile.TemporaryDirectory(prefix="web-")
        top = Path(self.temp.name)
        (top / "www").mkdir()
        for name, size in self.sizes.items():
            (top / "www" / name).write_bytes(content(name, size))
        # Of what the server will read, not of what was meant to be written.
        for name in self.sizes:
            data = (top / "www" / name).read_bytes()
            self.sha256[name] = hashlib.sha256(data).hexdigest()
        conf = top / "nginx.conf"
        conf.write_text(NGINX_CONF.format(dir=top, port=PORT))
        cmd = ["nginx", "-c", str(conf), "-p", str(top), "-e", str(top / "error.log")]
        if self.mptcp:
            cmd = ["mptcpize", "run", *cmd]
        self.proc = self.lab.start("server", *cmd, stderr=subprocess.PIPE, text=True)
        try:
            self.lab.wait_for("nginx", self._listens)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _listens(self):
        if self.proc.poll() is not None:
            raise LabError(f"nginx ended: {self.proc.stderr.read().strip()}")
        kind = "-M" if self.mptcp else "-t"
        return f":{PORT} " in self.lab.run("server", "ss", "-Hnl", kind)

    def __exit__(self, *_):
        self.lab.stop(self.proc)
        self.proc.stderr.close()
        self.temp.cleanup()


def curl_config(urls, fifo, folder, mptcp, fresh):
    """curl's whole programme: after each download, one visit to the FIFO."""
    lines = ["mptcp"] if mptcp else []
    lines += ['header = "Connection: close"'] if fresh else []
    lines += [
        "silent",
        "show-error",
        "fail",
        "ipv4",
        "noproxy = *",
        f"max-time = {MAX_SECONDS}",
        # stderr has no buffer: a line is here as soon as its download is complete
        r'write-out = "%{stderr}%{scheme} %{time_total} %{size_download} %{num_connects}\n"',
    ]
    for i, url in enumerate(urls):
        lines += [f'url = "{url}"', f'output = "{folder}/{i}"']
        lines += [f'url = "file://{fifo}"', 'output = "/dev/null"']
    return "\n".join(lines) + "\n"


def read_line(curl, said):
    """curl's line on the next HTTP download; anything else that it says is kept in `said`."""
    for line in curl.stderr:
        words = line.split()
        if len(words) == 4 and words[0].lower() == "http":
            return float(words[1]), int(words[2]), int(words[3])
        if not (words and words[0].lower() == "file"):
            said.append(line.strip())
    raise LabError(f"curl ended early, exit status {curl.wait()}: {' '.join(said) or '?'}")


def open_gate(fifo, curl):
    """Lets curl go on; it may still be on its way to the FIFO."""
    end = time.monotonic() + 10
    while time.monotonic() < end and curl.poll() is None:
        with contextlib.suppress(OSError):
            os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
            return
        time.sleep(0.005)
    raise LabError("curl does not come to the pause")


def download(server, names, host, pause=1.0, fresh=False):
    """Downloads the named files in turn over one connection, `pause` seconds after one another.

    `fresh`: over a new connection each time.

    Yields one Download per name. The connection rests until the next one is asked for.
    """
    lab = server.lab
    with tempfile.TemporaryDirectory(prefix="curl-") as folder:
        fifo = f"{folder}/pause"
        os.mkfifo(fifo)
        config = Path(folder, "config")
        urls = [f"http://{host}:{PORT}/{name}" for name in names]
        config.write_text(curl_config(urls, fifo, folder, server.mptcp, fresh))
        curl = lab.start(
            "client",
            "curl",
            "--config",
            str(config),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        said = []
        try:
            for i, name in enumerate(names):
                seconds, size, connects = read_line(curl, said)
                done = time.monotonic()
                copy = Path(folder, str(i))
                digest = hashlib.sha256(copy.read_bytes()).hexdigest()
                copy.unlink()
                right = digest == server.sha256[name] and size == server.sizes[name]
                yield Download(name, seconds, size, connects, right)
                time.sleep(max(0, done + pause - time.monotonic()))
                open_gate(fifo, curl)
            if curl.wait(10):
                raise LabError(f"curl: exit status {curl.returncode}: {' '.join(said)}")
        finally:
            lab.stop(curl)
            curl.stderr.close()
