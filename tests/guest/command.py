# SPDX-License-Identifier: GPL-2.0
"""Runs mptcp-sched, and keeps book of the schedulers that tests share."""

import json
import subprocess
from dataclasses import dataclass

from lab import SLOW

PROGRAM = "mptcp-sched"
PIN_DIR = "/sys/fs/bpf/mptcp-sched"
BRIDGE = "mptcp_sched_bpf"
# Both on one CPU: a guest takes ten times as long to wake the other one for each system call.
STRACE = ("taskset", "-c", "0", "strace")
# For `sh -c` in mounts of its own: as with a bridge of another version, whose types have no
# function of that name.
HIDE_KFUNC = """
LC_ALL=C sed s/bpf_mptcp_request_retrans/xpf_mptcp_request_retrans/ \\
    /sys/kernel/btf/mptcp_sched_bpf >/run/t-btf &&
mount --bind /run/t-btf /sys/kernel/btf/mptcp_sched_bpf && rm /run/t-btf && exec "$@"
"""


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)

    @property
    def error(self):
        """The last error object on stderr, as --json prints it."""
        errors = [json.loads(line) for line in self.err.splitlines()]
        return [e["error"] for e in errors if "error" in e][-1]


def sched(*args, net=None, prefix=()):
    """Runs it in a namespace and, where `prefix` says so, under another command."""

    def call():
        return subprocess.run(
            [*prefix, PROGRAM, *map(str, args)],
            capture_output=True,
            text=True,
            timeout=300 * SLOW,
            check=False,
        )

    if net:
        with net.inside():
            done = call()
    else:
        done = call()
    return Result(done.returncode, done.stdout, done.stderr)


def ok(*args, **options):
    """Runs it with --json and returns what it prints."""
    result = sched("--json", *args, **options)
    assert result.code == 0, f"{PROGRAM} {args}: {result.code} {result.err}"
    return result.data


def stats(net=None):
    args = ("--netns", net.name) if net else ()
    return ok("stats", *args)["connections"]


def stats_of(token, net=None):
    """The statistics of one connection, by the token of its end."""
    found = [c for c in stats(net) if int(c["token"], 16) == token]
    assert len(found) == 1, f"token {token:08x} is in {found}"
    return found[0]


def builtin():
    """The names of the schedulers that come with the program, whatever they are."""
    return sorted(s["name"] for s in ok("list")["schedulers"] if s["builtin"])


def total(conn_stats, *counters):
    """Of all subflows of a connection, by its statistics."""
    return sum(s["counters"][c] for s in conn_stats["subflows"] for c in counters)


def available():
    with open("/proc/sys/net/mptcp/available_schedulers") as f:
        return set(f.read().split())


class Shared:
    """Loading takes seconds without KVM, so modules pass loaded schedulers on."""

    def __init__(self):
        self.loaded = {}
        self.namespaces = set()  # of labs that a module's tests share

    @property
    def names(self):
        return set(self.loaded)

    def need(self, *names, values=()):
        """Exactly these of ours are loaded, with these values of tunables."""
        for name in self.names:
            if name not in names or self.loaded[name] != values:
                ok("unload", "--force", name)
                del self.loaded[name]
        for name in sorted(set(names) - self.names):
            ok("load", name, *(w for v in values for w in ("--set", v)))
            self.loaded[name] = values
