# SPDX-License-Identifier: GPL-2.0
"""Bulk data for a time, by iperf3; goodput as its receiver counts it."""

import contextlib
import json
import subprocess

from mptcplab.fluid import mean_rate
from mptcplab.path import FRAME, PAYLOAD
from mptcplab.process import LabError
from mptcplab.schema import NUMBER
from mptcplab.workloads import Option, Workload, workload

PORT = 5201
# From this size on a block costs little; a limited load should not come in large bursts.
BLOCK = "16K"


def limit_mbit(cell, begin, end):
    """Payload that the paths, the links that they share and the load allow, Mbit/s."""
    whole = min(
        mean_rate(cell.paths, cell.changes, begin, end),
        *(t.mbit for t in cell.trunk),
        float("inf"),
    )
    load = cell.workload.get("load_mbit") or float("inf")
    return min(whole * PAYLOAD / FRAME, load)


@workload(
    "bulk",
    seconds=Option(NUMBER, low=1),
    direction=Option(str, "down", among=("down", "up")),
    load_mbit=Option(NUMBER, 0, low=0),  # what the application offers; 0: as much as goes
    # Growth of the windows at the start, which is not counted.
    omit_s=Option(int, 0, low=0),
)
class Bulk(Workload):
    HEADLINE = "goodput_mbit"

    @staticmethod
    def seconds(options):
        return options["seconds"] + options["omit_s"]

    @staticmethod
    def sender(options):
        return {"down": "server", "up": "client"}[options["direction"]]

    @staticmethod
    def run(bench):
        w = bench.cell.workload
        cmd = ["iperf3", "--json", "--port", str(PORT)]
        if bench.mptcp:
            cmd = ["mptcpize", "run", *cmd]
        client = [
            *cmd,
            "--client",
            bench.host,
            "--time",
            f"{w['seconds']:g}",
            "--omit",
            str(w["omit_s"]),
            "--length",
            BLOCK,
            "--get-server-output",
        ]
        client += ["--reverse"] * (w["direction"] == "down")
        client += ["--bitrate", f"{w['load_mbit']:g}M"] * bool(w["load_mbit"])
        with listening(bench, [*cmd, "--server", "--one-off"]), bench.start():
            proc = bench.lab.start(
                "client",
                *client,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                # While its connections are there.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    proc.wait(Bulk.seconds(w) / 2)
                bench.check_in_use()
                said, complained = proc.communicate(timeout=Bulk.seconds(w) + 60)
            finally:
                bench.lab.stop(proc)
        return Bulk._result(bench, said, complained)

    @staticmethod
    def _result(bench, said, complained):
        w = bench.cell.workload
        try:
            report = json.loads(said)
            receiver = report if w["direction"] == "down" else report["server_output_json"]
            rows = [i["sum"] for i in receiver["intervals"]]
            counted = [r for r in rows if not r["omitted"]]
            goodput = 8e-6 * sum(r["bytes"] for r in counted) / sum(r["seconds"] for r in counted)
        except (ValueError, KeyError, ZeroDivisionError) as e:
            raise LabError(
                f"iperf3 gave no result ({e!r}): {(complained or said).strip()[:300]}"
            ) from None
        # Intervals begin anew behind what is omitted.
        shift = sum(r["seconds"] for r in rows if r["omitted"])
        series = [
            (r["start"] + (0 if r["omitted"] else shift), r["bits_per_second"] / 1e6) for r in rows
        ]
        arrived = bench.counted["received"]
        values = {"goodput_mbit": goodput}
        for path, got in zip(bench.cell.paths, arrived, strict=True):
            values[f"goodput_{path.name}"] = goodput * got / sum(arrived)
        values["goodput_ratio"] = goodput / limit_mbit(bench.cell, 0, Bulk.seconds(w))
        size = sum(r["bytes"] for r in rows)
        return {
            "objects": [{"name": "bulk", "bytes": size, "begun": 0, "seconds": Bulk.seconds(w)}],
            "values": values,
            "series": {"goodput": series},
            "active": [[0, Bulk.seconds(w)]],
        }

    @staticmethod
    def bound(cell, result):
        return limit_mbit(cell, 0, Bulk.seconds(cell.workload))


@contextlib.contextmanager
def listening(bench, cmd):
    """iperf3's server, ready."""
    proc = bench.lab.start("server", *cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kind = "-M" if bench.mptcp else "-t"
    try:
        bench.lab.wait_for(
            "iperf3", lambda: f":{PORT} " in bench.lab.run("server", "ss", "-Hnl", kind)
        )
        yield
    finally:
        bench.lab.stop(proc)
