# SPDX-License-Identifier: GPL-2.0
"""Soak: connections by the million with each scheduler, over loopback with two subflows.

Short ones come and go, in rounds; then, in rounds, many live at once and carry data. Exporter and
monitor of the command run beside them. What the kernel's memory, theirs, the pins, links and programs
are is looked at after each round: the first of a kind fills caches, and behind it nothing may grow.

Exit status 0: nothing grew, and the kernel did not complain.
"""

import argparse
import contextlib
import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

from mptcplab import result, schedulers
from mptcplab.lab.kernellog import complaints
from mptcplab.places import BUILD
from mptcplab.process import LabError, check
from mptcplab.table import table

CHURN = BUILD / "tests" / "churn"
NETNS = "soak"
PORT = 9468
SHORT, LONG, LONG_BYTES = 100_000, 5_000, 30_000
ROUNDS = {"short": 10, "long": 5}
# What others in the machine do in the meantime; a leak of 32 bytes per connection is twelve times that.
GROWN_KB = 256
KERNEL = ("SUnreclaim", "Percpu", "VmallocUsed", "KernelStack")


@contextlib.contextmanager
def namespace():
    """Loopback with two addresses, the second of them a subflow endpoint."""
    inside = ["ip", "netns", "exec", NETNS]
    check(["ip", "netns", "add", NETNS])
    try:
        check([*inside, "ip", "link", "set", "lo", "up"])
        check([*inside, "ip", "mptcp", "endpoint", "add", "127.0.0.2", "dev", "lo", "subflow"])
        for name, value in (("tcp_max_tw_buckets", 0), ("ip_local_port_range", "2000 65000")):
            check([*inside, "sh", "-c", f"echo {value} >/proc/sys/net/ipv4/{name}"])
        yield inside
    finally:
        check(["ip", "netns", "delete", NETNS])


@contextlib.contextmanager
def watchers():
    """Exporter and monitor, as they run for weeks; name -> process.

    What they free goes back to the kernel, as far as malloc() can be told: else how much it keeps
    is chance, and more than a leak.
    """
    command = schedulers.command()
    frugal = {"MALLOC_MMAP_THRESHOLD_": "16384", "MALLOC_TRIM_THRESHOLD_": "0"}
    with contextlib.ExitStack() as stack:
        found = {}
        for name, words in (
            ("exporter", ["exporter", "--listen", f"127.0.0.1:{PORT}"]),
            ("monitor", ["monitor", "--json"]),
        ):
            process = subprocess.Popen(
                [command, *words], stdout=subprocess.DEVNULL, env=os.environ | frugal
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            found[name] = process
        time.sleep(1)
        yield found


def kernel_kb():
    with open("/proc/meminfo") as f:
        facts = dict(line.split(":") for line in f)
    return sum(int(facts[name].split()[0]) for name in KERNEL)


def settled_kb():
    """The kernel frees behind the caller's back: the least of ten seconds.

    Slabs that are empty are given back first: how many it keeps of those is chance.
    """
    least = kernel_kb()
    for _ in range(20):
        time.sleep(0.5)
        for slab in Path("/sys/kernel/slab").glob("*/shrink"):
            slab.write_text("1")
        least = min(least, kernel_kb())
    return least


def rss_kb(process):
    if process.poll() is not None:
        raise LabError(f"{process.args[1]} ended with {process.returncode}")
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def objects(kind):
    return len(json.loads(check(["bpftool", "-j", kind, "list"]) or "[]"))


def look(watched):
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=60) as f:
        f.read()
    state = {"kernel": settled_kb()}
    state |= {name: rss_kb(process) for name, process in watched.items()}
    pins = sum(1 for p in Path("/sys/fs/bpf").rglob("*") if p.is_file())
    state |= {"pins": pins, "links": objects("link"), "programs": objects("prog")}
    return state | {"maps": objects("map")}


def problems(name, states, complained):
    """states: by kind of connection, after each round, the first of which filled caches."""
    for kind, (first, *_, last) in states.items():
        for key in ("kernel", "exporter", "monitor"):
            if (grown := last[key] - first[key]) > GROWN_KB:
                yield f"{name}: {key} grew by {grown} KB in {kind} connections"
        for key in ("pins", "links", "programs", "maps"):
            if last[key] != first[key]:
                yield f"{name}: {first[key]} {key}, {last[key]} after {kind} connections"
    if complained:
        yield f"{name}: the kernel complained, {complained} lines of its log"


def soak(choice, args, watched):
    """The state after each round, by kind."""
    words = {
        "short": [args.short // ROUNDS["short"]],
        "long": [args.long, args.bytes],
    }
    states = {kind: [] for kind in words}
    with namespace() as inside:
        schedulers.mptcp_sched("use", choice.name, "--netns", NETNS)
        for kind, numbers in words.items():
            for _ in range(ROUNDS[kind]):
                check([*inside, CHURN, kind, *map(str, numbers)])
                states[kind].append(look(watched))
    return states


def lines_of(rows):
    keys = ("kernel", "exporter", "monitor", "pins", "maps")
    head = ("scheduler", "connections", "kernel KB", "exporter KB", "monitor KB", "pins", "maps")
    cells = []
    for r in rows:
        for kind, (first, *_, last) in r["states"].items():
            grown = [f"{last[k] - first[k]:+d}" for k in keys]
            cells.append((r["scheduler"], kind, *grown))
    return table(head, cells)


def parse(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench soak",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    add = p.add_argument
    add(
        "--scheduler",
        action="append",
        metavar="NAME",
        help="may be given several times",
    )
    add("--short", type=int, default=SHORT, help=f"connections that come and go ({SHORT})")
    add("--long", type=int, default=LONG, help=f"connections at once ({LONG})")
    add(
        "--bytes",
        type=int,
        default=LONG_BYTES,
        help=f"that each carries ({LONG_BYTES})",
    )
    return p.parse_args(argv)


def run(argv):
    args = parse(argv)
    chosen = [c for c in schedulers.choices(args.scheduler) if c.is_ours]
    print(f"{result.heading()}: {args.short} short connections, {args.long} at once", flush=True)
    rows, found = [], []
    with watchers() as watched:
        for choice in chosen:
            before, begun = complaints(), time.monotonic()
            try:
                states = soak(choice, args, watched)
            finally:
                schedulers.mptcp_sched("unload", "--all", "--force")
            seconds = time.monotonic() - begun
            rows.append({"scheduler": choice.name, "seconds": seconds, "states": states})
            found += problems(choice.name, states, complaints() - before)
            print(f"  {choice.name}: {seconds:.0f} s", flush=True)
    print()
    print("\n".join(lines_of(rows)))
    print("grown from the first round of each kind to the last")
    saved = result.save("soak", arguments=vars(args), results=rows, problems=found)
    print(f"\nall figures: {saved}")
    return result.status("soak", found)
