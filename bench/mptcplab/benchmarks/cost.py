# SPDX-License-Identifier: GPL-2.0
"""What the schedulers cost: time per question "where to send", state, memory of the command.

The time is that of mptcp_sched_get_send(), the function in front of every scheduler, during a
download by curl from nginx over 2, 4 and 8 subflows; the kernel's own default is measured in the
same way, and what measuring costs is taken off. In virtual time one instruction takes 2 ns, so
instructions are counted, whatever machine runs this. Beside it stand the kernel's own statistics
of the BPF program alone (kernel.bpf_stats_enabled), which include what taking them costs.

With --rules bpf_steer is measured once more for each number of rules, of which the last one matches.
They count at a connection's first decision, which is the longest in the part that is measured there.

Exit status 0: everything was measured, and is within the limits below.
"""

import argparse

from mptcplab import result, schedulers
from mptcplab.lab import probe
from mptcplab.lab.netlab import Lab
from mptcplab.lab.web import Server, download
from mptcplab.path import Path as NetPath
from mptcplab.process import LabError
from mptcplab.table import number, table

SCHEDULERS = ("default", "bpf_minrtt", "bpf_ecf")
SUBFLOWS = (2, 4, 8)
NS_PER_INSTRUCTION = 2  # QEMU: -icount shift=1
# Paths of unlike RTT, all of them busy: full windows, waits and picks in about their usual mix.
MBIT = 2
FIRST_RTT_MS = 10
STEP_RTT_MS = 10
BYTES_PER_PATH = 512 << 10

MAX_RSS_KB = 50 * 1024
MAX_MORE_BY_RULES = 50  # instructions of a decision behind the first
MAX_STATE = {"mps_conn": 544, "mps_subflow": 256}  # by map, without its version


def steer(rules):
    """That many rules, of which the last one matches a connection."""
    others = (f"rule local-port {i} dscp ef uid 12345 mode auto\n" for i in range(1, rules))
    schedulers.steer("".join(others) + "rule mode bpf_minrtt\n")


def measure(name, subflows, rules=None):
    """One scheduler with that many subflows."""
    paths = [
        NetPath(f"p{i}", mbit=MBIT, rtt_ms=FIRST_RTT_MS + i * STEP_RTT_MS) for i in range(subflows)
    ]
    sizes = {"warm-up": 256 << 10, "data": BYTES_PER_PATH * subflows}
    row = {"scheduler": name, "subflows": subflows, "rules": rules}
    with Lab(paths) as lab, probe.Probe() as meter:
        schedulers.use(lab, schedulers.Choice(name))
        if rules is not None:
            steer(rules)
        with Server(lab, sizes) as server:
            # The second time with run statistics, which would lengthen the first one's calls.
            steps = download(server, ["warm-up", "data", "data"], lab.address("server", 0))
            next(steps)
            longest = meter.read().most
            joined = lab.mib("server")["MPJoinAckRx"]
            if joined != subflows - 1:
                raise LabError(f"{joined} subflows joined, not {subflows - 1}")
            before = meter.read()
            got = [next(steps)]
            calls = meter.read() - before
            runs = probe.run_time(name)
            with probe.run_statistics():
                got.append(next(steps))
            ns, n = (b - a for a, b in zip(runs, probe.run_time(name), strict=True))
            for _ in steps:
                pass
        row["overhead_ns"] = meter.overhead
    if not all(d.verified for d in got):
        raise LabError(f"{name}, {subflows} subflows: not the data that the server has")
    if calls.calls < 100:
        raise LabError(f"{name}, {subflows} subflows: only {calls.calls} calls seen")
    row["calls"] = calls.calls
    row["seconds"] = [d.seconds for d in got]
    row["mean_ns"] = calls.mean - row["overhead_ns"]
    row["longest_first_ns"] = longest - row["overhead_ns"]
    for key, q in (("median_ns", 0.5), ("p99_ns", 0.99)):
        row[key] = calls.quantile(q) - row["overhead_ns"]
    row["calls_per_mb"] = calls.calls / (sizes["data"] / 1e6)
    row["program_ns"] = ns / n if n else None
    row["program_runs"] = n
    return row


def memory():
    """KB of peak resident memory per command, while a connection is there to be shown."""
    exe = schedulers.command()
    with Lab([NetPath("a", mbit=None), NetPath("b", mbit=None)]) as lab:
        schedulers.use(lab, schedulers.Choice("bpf_ecf"))
        netns = lab.names["server"]
        sizes = {"one": 64 << 10}
        with Server(lab, sizes) as server:
            for _ in download(server, ["one"], lab.address("server", 0), pause=0):
                peak = {
                    "stats": probe.peak_rss(exe, "stats", "--netns", netns),
                    "show": probe.peak_rss(exe, "show"),
                    "list": probe.peak_rss(exe, "list"),
                }
    schedulers.mptcp_sched("unload", "bpf_ecf")
    peak["load"] = probe.peak_rss(exe, "load", "bpf_ecf")
    return peak


def more_by_rules(rows):
    """(subflows, rules, ns of a decision more than with the least number of them)"""
    of = {}
    for r in rows:
        if r["rules"] is not None:
            of.setdefault(r["subflows"], []).append((r["rules"], r["mean_ns"]))
    for subflows, found in of.items():
        (_, least), *others = sorted(found)
        yield from ((subflows, rules, ns - least) for rules, ns in others)


TIMES = ("mean_ns", "median_ns", "p99_ns", "longest_first_ns")


def report(rows, virtual):
    unit = NS_PER_INSTRUCTION if virtual else 1
    what = "instructions" if virtual else "ns"
    base = {r["subflows"]: r["mean_ns"] for r in rows if r["scheduler"] == "default"}
    print(f"{what} per call of mptcp_sched_get_send, without those of measuring:")
    head = (
        "scheduler",
        "subflows",
        "rules",
        "calls",
        "per MB",
        "mean",
        "median",
        "99 %",
        "longest of the first",
        "x default",
        "program alone",
        "runs",
    )
    out = []
    for r in rows:
        own = base.get(r["subflows"])
        alone = r["program_ns"]
        out.append(
            (
                r["scheduler"],
                r["subflows"],
                "-" if r["rules"] is None else r["rules"],
                r["calls"],
                f"{r['calls_per_mb']:.0f}",
                *(f"{r[k] / unit:.0f}" for k in TIMES),
                number(own and r["mean_ns"] / own, ".1f"),
                number(alone and alone / unit, ".0f"),
                r["program_runs"] or "-",
            )
        )
    print("\n".join(table(head, out)))


def limits(sizes, peak, rows=()):
    for subflows, rules, ns in more_by_rules(rows):
        if ns > MAX_MORE_BY_RULES * NS_PER_INSTRUCTION:
            yield f"{subflows} subflows, {rules} rules: {ns / NS_PER_INSTRUCTION:.0f} instructions more"
    found = {name.rpartition("_v")[0]: size for name, size in sizes.items()}
    for name, most in MAX_STATE.items():
        if name not in found:
            yield f"no map {name}"
        elif found[name] > most:
            yield f"{name} takes {found[name]} bytes, more than {most}"
    for name, kb in peak.items():
        if kb > MAX_RSS_KB:
            yield f"mptcp-sched {name} takes {kb} KB, more than {MAX_RSS_KB}"


def run(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench cost",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    p.add_argument("--scheduler", action="append")
    p.add_argument("--subflows", type=int, action="append", help="1 to 8")
    p.add_argument("--rules", type=int, action="append", help="1 to 1024, of bpf_steer")
    args = p.parse_args(argv)
    virtual = result.facts()["virtual_time"]
    print(result.heading())
    names = [(name, None) for name in args.scheduler or (() if args.rules else SCHEDULERS)]
    names += [(schedulers.STEER, rules) for rules in args.rules or ()]
    rows = [measure(name, n, rules) for n in args.subflows or SUBFLOWS for name, rules in names]
    report(rows, virtual)
    peak = memory()
    sizes = probe.state_sizes()
    print("\nstate, bytes: ", ", ".join(f"{k} {v}" for k, v in sorted(sizes.items())))
    print("peak memory, KB:", ", ".join(f"{k} {v}" for k, v in peak.items()))
    problems = list(limits(sizes, peak, rows))
    result.save(
        "cost",
        ns_per_instruction=NS_PER_INSTRUCTION if virtual else None,
        paths={
            "mbit": MBIT,
            "first_rtt_ms": FIRST_RTT_MS,
            "step_rtt_ms": STEP_RTT_MS,
        },
        get_send=rows,
        state_bytes=sizes,
        peak_rss_kb=peak,
        problems=problems,
    )
    return result.status("cost", problems)
