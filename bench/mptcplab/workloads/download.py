# SPDX-License-Identifier: GPL-2.0
"""Files from a web server by curl, one after the other."""

import time

from mptcplab.fluid import fluid_bound
from mptcplab.lab.downloads import WARM_UP, size_of
from mptcplab.lab.web import Server, download
from mptcplab.schema import NUMBER
from mptcplab.workloads import SIZE, Option, Workload, mean_bound, workload


@workload(
    "download",
    sizes=Option(list, pattern=SIZE),  # as "64K"
    repeat=Option(int, 1, low=1),
    pause_s=Option(NUMBER, 1, low=0),
    deadline_s=Option(NUMBER, 0, low=0),  # what takes longer is late; 0: nothing is
    # A new connection for each file, as wget has it; else one for all, warmed up by one download.
    fresh=Option(bool, False),
)
class Downloads(Workload):
    @staticmethod
    def seconds(options):
        return 60 * len(options["sizes"]) * options["repeat"]

    @staticmethod
    def run(bench):
        w = bench.cell.workload
        files = {s: size_of(s) for s in w["sizes"]}
        order = [s for s in files for _ in range(w["repeat"])]
        if not w["fresh"]:
            files[WARM_UP[0]] = WARM_UP[1]
            order.insert(0, WARM_UP[0])
        objects = []
        with Server(bench.lab, files, bench.mptcp) as server, bench.start():
            for i, one in enumerate(download(server, order, bench.host, w["pause_s"], w["fresh"])):
                ended = time.monotonic() - bench.zero
                bench.check(one.verified, f"{one.name}: not the data that the server has")
                want = 1 if w["fresh"] or i == 0 else 0
                bench.check(one.connects == want, f"{one.name}: {one.connects} new connections")
                if one.name != WARM_UP[0]:
                    objects.append(
                        {
                            "name": one.name,
                            "bytes": one.size,
                            "begun": ended - one.seconds,
                            "seconds": one.seconds,
                        }
                    )
                if not w["fresh"] and i == len(order) - 1:
                    bench.check_in_use()
        return {
            "objects": objects,
            "values": {},
            "active": [[o["begun"], o["begun"] + o["seconds"]] for o in objects],
        }

    @staticmethod
    def bound(cell, result):
        # A new connection has to be opened first.
        more = cell.paths[0].rtt_ms / 1000 if cell.workload["fresh"] else 0
        return mean_bound(result, lambda o: more + fluid_bound(o["bytes"], cell.paths))
