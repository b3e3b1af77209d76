# SPDX-License-Identifier: GPL-2.0
"""Flows of given sizes, each on a new connection, timed at the receiver."""

import random
import threading
import time

from mptcplab.fluid import fluid_time
from mptcplab.lab import transfer
from mptcplab.lab.downloads import size_of
from mptcplab.process import LabError
from mptcplab.schema import NUMBER
from mptcplab.workloads import SIZE, Option, Workload, mean_bound, workload


class Acceptor(threading.Thread):
    """Takes one connection and reads it to its end."""

    def __init__(self, listener, size):
        super().__init__(daemon=True)
        self.listener, self.data = listener, bytearray(size)
        self.got, self.ended, self.error = 0, None, None

    def run(self):
        try:
            sock, _ = self.listener.accept()
            with sock:
                left = memoryview(self.data)
                while left and (n := sock.recv_into(left)):
                    left, self.got = left[n:], self.got + n
                self.ended = time.monotonic()
        except OSError as e:
            self.error = e


@workload(
    "flows",
    sizes=Option(list, pattern=SIZE),
    repeat=Option(int, 1, low=1),
    pause_s=Option(NUMBER, 1, low=0),
)
class Flows(Workload):
    """The client sends."""

    @staticmethod
    def seconds(options):
        return 60 * len(options["sizes"]) * options["repeat"]

    @staticmethod
    def sender(options):
        return "client"

    @staticmethod
    def run(bench):
        w = bench.cell.workload
        order = [s for s in w["sizes"] for _ in range(w["repeat"])]
        data = random.Random(1).randbytes(max(map(size_of, order)))
        objects = []
        with (
            transfer.make_socket(bench.lab, "server", bench.mptcp) as listener,
            bench.start(),
        ):
            listener.bind((bench.host, transfer.PORT))
            listener.listen()
            for name in order:
                objects.append(Flows._one(bench, listener, name, data[: size_of(name)]))
                time.sleep(w["pause_s"])
        return {
            "objects": objects,
            "values": {},
            "active": [[o["begun"], o["begun"] + o["seconds"]] for o in objects],
        }

    @staticmethod
    def _one(bench, listener, name, data):
        reader = Acceptor(listener, len(data))
        reader.start()
        begun = time.monotonic()
        with transfer.make_socket(bench.lab, "client", bench.mptcp) as sock:
            sock.connect((bench.host, transfer.PORT))
            sock.sendall(data)
            reader.join()
            if reader.error or not reader.ended:
                raise LabError(
                    f"{name}: {reader.error or 'did not arrive'} after {reader.got} bytes"
                )
        bench.check(reader.data == data, f"{name}: not the data that was sent")
        return {
            "name": name,
            "bytes": len(data),
            "begun": begun - bench.zero,
            "seconds": reader.ended - begun,
        }

    @staticmethod
    def bound(cell, result):
        # The connection is opened first, and then nothing has to be asked for.
        lines = [(p.one_way_ms("server") / 1000, p.goodput) for p in cell.paths]
        return mean_bound(
            result,
            lambda o: cell.paths[0].rtt_ms / 1000 + fluid_time(o["bytes"], lines),
        )
