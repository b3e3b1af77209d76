# SPDX-License-Identifier: GPL-2.0
"""What loaded schedulers cost a connection that is not theirs: plain TCP, per segment.

A long transfer between two namespaces without shaping and without offloads, so that each segment
is seen by itself: with no scheduler loaded, with one, with all but bpf_queueaware, which also has a
program where packets are given to a device, and with all. One CPU does all the work and never
waits, so in virtual time, where an instruction takes 2 ns, the time is what the kernel spends. Each
figure is the mean of several transfers, the first of each kind left out.

Exit status 0: everything was measured.
"""

import argparse
import random
import statistics
import threading
import time

from mptcplab import result, schedulers
from mptcplab.lab.netlab import Lab
from mptcplab.lab.transfer import Receiver, connection
from mptcplab.path import Path as NetPath
from mptcplab.process import LabError
from mptcplab.table import table

NS_PER_INSTRUCTION = 2  # QEMU: -icount shift=1
ONE = "bpf_ecf"
AT_DEVICES = "bpf_queueaware"
FIRST_PORT = 5001


def segments(lab):
    """Received so far, by both ends."""
    return sum(lab.tcp_mib(role)["InSegs"] for role in ("client", "server"))


def timed(lab, ends, data):
    """Seconds that the client takes to send it."""
    reader = Receiver(lab, "server", ends["server"], len(data))
    writer = threading.Thread(target=ends["client"].sendall, args=(data,), daemon=True)
    begun = time.monotonic()
    for thread in (reader, writer):
        thread.start()
    for thread in (reader, writer):
        thread.join()
    if reader.error or reader.data != data:
        raise LabError(f"not the data that was sent: {reader.error}")
    return reader.ended - begun


def transfers(lab, size, repeat):
    """Nanoseconds per segment of each transfer."""
    data = random.Random(1).randbytes(size)
    out = []
    for i in range(repeat + 1):
        with connection(lab, mptcp=False, port=FIRST_PORT + i) as ends:
            before = segments(lab)
            seconds = timed(lab, ends, data)
            out.append(seconds * 1e9 / (segments(lab) - before))
    return out[1:]


def measure(lab, what, names, size, repeat):
    schedulers.mptcp_sched("unload", "--all")
    for name in names:
        schedulers.mptcp_sched("load", name)
    got = transfers(lab, size, repeat)
    return {"loaded": what, "schedulers": len(names), "ns_per_segment": got}


def report(rows, virtual):
    unit = NS_PER_INSTRUCTION if virtual else 1
    what = "instructions" if virtual else "ns"
    means = [statistics.mean(r["ns_per_segment"]) for r in rows]
    print(f"plain TCP, {what} of the whole machine per segment received:")
    out = []
    for r, mean in zip(rows, means, strict=True):
        own = r["ns_per_segment"]
        out.append(
            (
                r["loaded"],
                r["schedulers"],
                f"{mean / unit:.0f}",
                f"{min(own) / unit:.0f}",
                f"{max(own) / unit:.0f}",
                f"{(mean - means[0]) / unit:+.0f}",
                f"{100 * (mean / means[0] - 1):+.1f} %",
            )
        )
    head = ("loaded", "schedulers", "mean", "min", "max", "more", "")
    print("\n".join(table(head, out)))


def run(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench segments",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    p.add_argument("--mb", type=int, default=16, help="of each transfer (16)")
    p.add_argument("--repeat", type=int, default=5, help="transfers of each kind (5)")
    args = p.parse_args(argv)
    print(result.heading())
    listed = schedulers.mptcp_sched("list")["schedulers"]
    every = [s["name"] for s in listed if s["name"] != "default"]
    kinds = {
        "nothing": [],
        ONE: [ONE],
        f"all but {AT_DEVICES}": [n for n in every if n != AT_DEVICES],
        "all": every,
    }
    with Lab([NetPath("a", mbit=None)]) as lab:
        rows = [
            measure(lab, what, names, args.mb << 20, args.repeat) for what, names in kinds.items()
        ]
    schedulers.mptcp_sched("unload", "--all")
    report(rows, result.facts()["virtual_time"])
    result.save("segments", size=args.mb << 20, plain_tcp=rows)
    return 0
