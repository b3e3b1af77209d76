# SPDX-License-Identifier: GPL-2.0
"""Speed: what a scheduler leaves of the throughput where nothing but the CPU bounds it.

Unshaped veth pairs with the offloads that devices have by default; iperf3 from client to server,
under mptcpize, both ends with the scheduler. One CPU does all the work, so in virtual time, where
an instruction takes 2 ns, throughput is what the kernel spends per byte. Each cell, so many paths
and connections, is measured in turns: each scheduler once, then each once more. A single connection
has several stable outcomes: --repeat 10 is for those.

Exit status 0: everything was measured, and every scheduler was in use. How fast it is decides
nothing.
"""

import argparse
import contextlib
import itertools
import json
import statistics
import subprocess

from mptcplab import result, schedulers
from mptcplab.lab.netlab import ROLES, Lab
from mptcplab.path import Path as NetPath
from mptcplab.process import LabError
from mptcplab.table import number, table

PORT = 5201
SCHEDULERS = ("tcp", "default", "bpf_auto", "bpf_minrtt", "bpf_ecf")
PATHS = (1, 2, 4)
CONNECTIONS = (1, 4, 8)
SECONDS = 2.0
OMIT_S = 1


@contextlib.contextmanager
def listening(lab, cmd, mptcp):
    server = lab.start(
        "server", *cmd, "--server", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    kind = "-M" if mptcp else "-t"
    try:
        lab.wait_for("iperf3", lambda: f":{PORT} " in lab.run("server", "ss", "-Hnl", kind))
        yield
    finally:
        lab.stop(server)


def received(said):
    """Bit/s of all connections, as the receiver has them."""
    try:
        return json.loads(said)["end"]["sum_received"]["bits_per_second"]
    except (ValueError, KeyError) as e:
        raise LabError(f"iperf3 gave no result ({e!r}): {said.strip()[:300]}") from None


def once(lab, choice, connections, seconds):
    """Mbit/s, and problems."""
    mptcp = not choice.is_tcp
    if mptcp:
        # else the one before is still selected when it is to be unloaded
        for role in ROLES:
            schedulers.mptcp_sched("use", "default", "--netns", lab.names[role])
        for role in ROLES:
            schedulers.use(lab, choice, role)
    cmd = [*(("mptcpize", "run") if mptcp else ()), "iperf3", "--json", "--port", str(PORT)]
    words = ("--client", lab.address("server", 0), "--parallel", str(connections))
    with listening(lab, cmd, mptcp):
        client = lab.start(
            *("client", *cmd, *words, "--time", f"{seconds:g}", "--omit", str(OMIT_S)),
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            # early: on a CPU that iperf3 keeps busy a look takes long
            with contextlib.suppress(subprocess.TimeoutExpired):
                client.wait(OMIT_S / 4)
            problems = schedulers.problems(lab, choice, "client") if mptcp else []
            said, _ = client.communicate(timeout=600)
        finally:
            lab.stop(client)
    return received(said) / 1e6, problems


def cell(chosen, paths, connections, args):
    """Of each scheduler its Mbit/s, one after the other, and problems."""
    rates, problems = {c.word: [] for c in chosen}, []
    with Lab([NetPath(f"p{i}", mbit=None) for i in range(paths)], offloads=True) as lab:
        for choice in chosen * args.repeat:
            rate, wrong = once(lab, choice, connections, args.seconds)
            rates[choice.word].append(rate)
            where = f"{choice.word}, {paths} paths, {connections} connections"
            problems += [f"{where}: {p}" for p in wrong]
    return rates, problems


def report(rows, chosen):
    """Mbit/s of the default and of plain TCP; of the others the ratio to the default."""
    words = [c.word for c in chosen]
    base = "default" if "default" in words else words[0]
    head = ("paths", "connections", f"{base}, Mbit/s", *(w for w in words if w != base))
    out = []
    for row in rows:
        means = {w: statistics.mean(r) for w, r in row["mbit"].items()}
        ratios = [number(means[w] / means[base], ".3f") for w in words if w != base]
        out.append((row["paths"], row["connections"], number(means[base], ".0f"), *ratios))
    print("\n".join(table(head, out)))


def parse(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench speed",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    add = p.add_argument
    some = " ".join(SCHEDULERS)
    add("--scheduler", action="append", metavar="WORD", help=f"{schedulers.SPELLING} ({some})")
    add("--paths", type=int, nargs="+", default=PATHS, metavar="N", help="(1 2 4)")
    add("--connections", type=int, nargs="+", default=CONNECTIONS, metavar="N", help="(1 4 8)")
    add("--seconds", type=float, default=SECONDS, help=f"of a measurement ({SECONDS:g})")
    add("--repeat", type=int, default=3, help="measurements of each, whose mean counts (3)")
    return p.parse_args(argv)


def run(argv):
    args = parse(argv)
    chosen = schedulers.choices(args.scheduler or SCHEDULERS)
    print(f"{result.heading()}: means of {args.repeat}, times the default", flush=True)
    rows, problems = [], []
    for paths, connections in itertools.product(args.paths, args.connections):
        rates, wrong = cell(chosen, paths, connections, args)
        rows.append({"paths": paths, "connections": connections, "mbit": rates})
        problems += wrong
        print(f"  {paths} paths, {connections} connections: measured", flush=True)
    print()
    report(rows, chosen)
    schedulers.mptcp_sched("unload", "--all")
    saved = result.save(
        "speed",
        arguments=vars(args),
        tunables=schedulers.tunables(chosen),
        results=rows,
        problems=problems,
    )
    print(f"\nall figures: {saved}")
    return result.status("speed", problems)
