# SPDX-License-Identifier: GPL-2.0
"""Small requests with answers, one after the other: games, calls, sensors; alone or beside a bulk flow."""

import contextlib
import socket
import statistics
import struct
import threading
import time

from mptcplab.fluid import fluid_time, path_at
from mptcplab.lab import transfer
from mptcplab.process import LabError
from mptcplab.schema import NUMBER
from mptcplab.workloads import Option, Workload, mean_bound, workload

HEAD = struct.Struct("!II")  # bytes of the request with this, bytes of the answer
BULK_BYTES = bytes(1 << 16)


def receive(sock, size):
    left = size
    while left:
        got = sock.recv(min(left, 1 << 16))
        if not got:
            raise OSError("the connection ended early")
        left -= len(got)


class Answers(threading.Thread):
    """Reads requests and answers each with as many bytes as it asks for."""

    def __init__(self, sock):
        super().__init__(daemon=True)
        self.sock, self.error = sock, None

    def run(self):
        try:
            while head := self.sock.recv(HEAD.size, socket.MSG_WAITALL):
                size, answer = HEAD.unpack(head)
                receive(self.sock, size - HEAD.size)
                self.sock.sendall(bytes(answer))
        except (OSError, struct.error) as e:
            self.error = e


class Download(threading.Thread):
    """A bulk flow from the server, as long as it is let."""

    def __init__(self, ends):
        super().__init__(daemon=True)
        self.ends, self.got, self.stop = ends, 0, threading.Event()
        self.writer = threading.Thread(target=self._write, daemon=True)

    def _write(self):
        with contextlib.suppress(OSError):
            while not self.stop.is_set():
                self.ends["server"].sendall(BULK_BYTES)
            self.ends["server"].shutdown(socket.SHUT_WR)

    def run(self):
        self.writer.start()
        with contextlib.suppress(OSError):
            while got := self.ends["client"].recv(1 << 18):
                if not self.stop.is_set():
                    self.got += len(got)

    def end(self):
        self.stop.set()
        self.join()
        self.writer.join()


@workload(
    "requests",
    seconds=Option(NUMBER, low=0.1),
    interval_ms=Option(NUMBER, 100, low=0),  # from one request to the next, if the answer is there
    request_bytes=Option(int, 64, low=HEAD.size),
    response_bytes=Option(NUMBER, 64, low=1),
    beside=Option(str, "nothing", among=("nothing", "bulk")),
    dscp=Option(int, 0, among=tuple(range(64))),  # of the requests' connection, at both ends
)
class Requests(Workload):
    HEADLINE = "rtt_ms"

    @staticmethod
    def fast(paths):
        # Here the shorter way is the better one.
        return min(range(len(paths)), key=lambda i: paths[i].rtt_ms)

    @staticmethod
    def run(bench):
        w = bench.cell.workload
        path = bench.fast if bench.choice.is_tcp else 0
        with contextlib.ExitStack() as stack:
            mine = transfer.connection(bench.lab, path, bench.mptcp, dscp=w["dscp"])
            ends = stack.enter_context(mine)
            beside = None
            if w["beside"] == "bulk":
                other = transfer.connection(bench.lab, path, bench.mptcp, transfer.PORT + 1)
                beside = Download(stack.enter_context(other))
            for end in ends.values():
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server = Answers(ends["server"])
            server.start()
            with bench.start():
                if beside:
                    beside.start()
                times = Requests._ask(bench, ends["client"])
                ended = time.monotonic() - bench.zero
                if beside:
                    beside.end()
                bench.check_in_use()
            ends["client"].shutdown(socket.SHUT_WR)
            server.join()
            bench.check(not server.error, f"the server's end: {server.error}")
        return Requests._result(bench, times, ended, beside)

    @staticmethod
    def _ask(bench, sock):
        w = bench.cell.workload
        answer = round(w["response_bytes"])
        request = HEAD.pack(w["request_bytes"], answer).ljust(w["request_bytes"], b"\0")
        times, due = [], bench.zero
        while due - bench.zero < w["seconds"]:
            time.sleep(max(0, due - time.monotonic()))
            begun = time.monotonic()
            try:
                sock.sendall(request)
                receive(sock, answer)
            except OSError as e:
                raise LabError(f"request {len(times) + 1}: {e}") from e
            now = time.monotonic()
            times.append((begun - bench.zero, now - begun))
            due = max(due + w["interval_ms"] / 1000, now)
        return times

    @staticmethod
    def _result(bench, times, ended, beside):
        answer = round(bench.cell.workload["response_bytes"])
        rtts = sorted(t * 1000 for _, t in times)
        values = {
            "rtt_ms": statistics.fmean(rtts),
            "rtt_p99_ms": rtts[int(0.99 * (len(rtts) - 1))],
            "rtt_max_ms": rtts[-1],
        }
        if beside:
            values["beside_mbit"] = beside.got * 8e-6 / ended
        objects = [{"name": "request", "bytes": answer, "begun": b, "seconds": s} for b, s in times]
        if beside:
            # Not a request: the flow is in no mean, but its bytes were delivered.
            values["beside_bytes"] = beside.got
        return {
            "objects": objects,
            "values": values,
            "series": {"rtt_ms": [(b, s * 1000) for b, s in times]},
            "active": [[0, ended]] if beside else [[b, b + s] for b, s in times],
        }

    @staticmethod
    def bound(cell, result):
        """Request and answer each by what is best for them at that moment."""
        frames = cell.workload["request_bytes"]

        def one(o):
            now = [path_at(p, cell.changes.get(p.name, ()), o["begun"]) for p in cell.paths]
            up = [(p.one_way_ms("server") / 1000, p.goodput) for p in now]
            down = [(p.one_way_ms("client") / 1000, p.goodput) for p in now]
            return 1000 * (fluid_time(frames, up) + fluid_time(o["bytes"], down))

        return mean_bound(result, one)
