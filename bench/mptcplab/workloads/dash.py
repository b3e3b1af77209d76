# SPDX-License-Identifier: GPL-2.0
"""Video over HTTP: chunks over one persistent connection, the bit rate chosen by the buffer."""

import dataclasses
import statistics
import time

from mptcplab.fluid import mean_rate
from mptcplab.lab.fetch import fetcher
from mptcplab.lab.web import Server
from mptcplab.player import Abr, play
from mptcplab.schema import NUMBER
from mptcplab.workloads import Option, Workload, workload


@workload(
    "dash",
    seconds=Option(NUMBER, low=1),  # of video
    chunk_s=Option(NUMBER, 5, low=0.1),
    rates=Option(list, [0.26, 0.64, 1.00, 1.60, 4.14, 8.47], low=0.001),
    max_buffer_s=Option(NUMBER, 30, low=1),
    reservoir_s=Option(NUMBER, 8, low=0),
    cushion_s=Option(NUMBER, 12, low=0.1),
    start_s=Option(NUMBER, 5, low=0.1),
    # The first chunks fill the buffer and say little in a short run: not in the averages.
    skip=Option(int, 0, low=0),
)
class Dash(Workload):
    HEADLINE = "bitrate_ratio"

    @staticmethod
    def seconds(options):
        # Stalls make it longer; what changes then is drawn all the same.
        return 2 * options["seconds"]

    @staticmethod
    def run(bench):
        w = bench.cell.workload
        rates = w["rates"]
        names = [f"{r:g}Mbit" for r in rates]
        sizes = {n: round(r * 1e6 / 8 * w["chunk_s"]) for n, r in zip(names, rates, strict=True)}
        abr = Abr(tuple(rates), w["reservoir_s"], w["cushion_s"])
        got = []
        with (
            Server(bench.lab, sizes, bench.mptcp),
            bench.start(),
            fetcher(bench.lab, bench.host, bench.mptcp) as conn,
        ):
            chunks = play(
                lambda i: got.append(conn.get(names[i])),
                abr,
                round(w["seconds"] / w["chunk_s"]),
                w["chunk_s"],
                w["max_buffer_s"],
                w["start_s"],
                time.monotonic,
                time.sleep,
            )
            bench.check_in_use()
        for one in got:
            bench.check(one.right, f"{one.name}: not the data that the server has")
        counted = chunks[w["skip"] :]
        bits = sum(sizes[names[c.rate]] * 8e-6 for c in counted)
        begun = got[w["skip"]].begun - bench.zero
        ended = got[-1].begun + got[-1].seconds - bench.zero
        cell = bench.cell
        top = mean_rate(cell.paths, cell.changes, begun, ended, rates[-1])
        whole = mean_rate(cell.paths, cell.changes, begun, ended)
        average = statistics.fmean(rates[c.rate] for c in counted)
        return {
            "objects": [
                g.as_object(
                    bench.zero,
                    **{
                        k: v
                        for k, v in dataclasses.asdict(c).items()
                        if k not in ("begun", "seconds")
                    },
                )
                for g, c in zip(got, chunks, strict=True)
            ],
            "values": {
                "bitrate_mbit": average,
                "bitrate_ratio": average / top,
                "throughput_mbit": bits / sum(c.seconds for c in counted),
                "throughput_ratio": bits / sum(c.seconds for c in counted) / whole,
                "stalled_s": sum(c.stalled for c in chunks),
            },
            "active": [[g.begun - bench.zero, g.begun - bench.zero + g.seconds] for g in got],
        }

    @staticmethod
    def bound(cell, result):
        return 1.0
