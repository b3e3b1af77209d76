# SPDX-License-Identifier: GPL-2.0
"""A web page: many objects over a few persistent connections, as a browser gets them."""

import math
import queue
import random
import threading
import time

from mptcplab.fluid import fluid_bound
from mptcplab.lab.fetch import Fetcher
from mptcplab.lab.web import Server
from mptcplab.process import LabError
from mptcplab.schema import NUMBER
from mptcplab.workloads import Option, Workload, mean_bound, workload


def object_sizes(count, median, sigma, seed):
    """Bytes of each object, log-normal and cut off where real pages end: a page is its seed."""
    rng = random.Random(f"page {seed}")
    sizes = (rng.lognormvariate(math.log(median), sigma) for _ in range(count))
    return [round(min(max(200, s), 400_000)) for s in sizes]


@workload(
    "page",
    objects=Option(int, 107, low=1),
    connections=Option(int, 6, low=1),
    median_bytes=Option(NUMBER, 8000, low=1),
    sigma=Option(NUMBER, 1.4, low=0),
    page_seed=Option(int, 1),
)
class Page(Workload):
    @staticmethod
    def seconds(options):
        return options["objects"]

    @staticmethod
    def run(bench):
        w = bench.cell.workload
        sizes = object_sizes(w["objects"], w["median_bytes"], w["sigma"], w["page_seed"])
        files = {f"object-{i}": size for i, size in enumerate(sizes)}
        todo = queue.SimpleQueue()
        for name in files:
            todo.put(name)
        got, failures = [], []
        with Server(bench.lab, files, bench.mptcp), bench.start():
            conns = []

            def fetch_all():
                try:
                    conn = Fetcher(bench.lab, bench.host, bench.mptcp)
                    conns.append(conn)
                    while True:
                        got.append(conn.get(todo.get_nowait()))
                except queue.Empty:
                    pass
                except LabError as e:
                    failures.append(str(e))

            threads = [threading.Thread(target=fetch_all) for _ in range(w["connections"])]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            ended = time.monotonic() - bench.zero
            bench.check_in_use()
            for conn in conns:
                conn.close()
        bench.problems += failures
        for one in got:
            bench.check(one.right, f"{one.name}: not the data that the server has")
        bench.check(len(got) == len(files), f"{len(got)} of {len(files)} objects")
        return {
            "objects": [g.as_object(bench.zero) for g in sorted(got, key=lambda g: g.begun)],
            "values": {"page_s": ended},
            "active": [[0, ended]],
        }

    @staticmethod
    def bound(cell, result):
        # The objects share the paths; each alone on them would be the bound of its own.
        return mean_bound(result, lambda o: fluid_bound(o["bytes"], cell.paths))
