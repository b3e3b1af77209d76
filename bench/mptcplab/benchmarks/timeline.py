# SPDX-License-Identifier: GPL-2.0
"""What each path brought when, in the last of a few downloads: why it took as long as it did.

From a capture at the client. A line is what came in one go: packets of one path whose data follows
on one another, with no more than a few ms between them. "again": all of it had come before.

The sender's decisions are recorded beside it, of a scheduler that can be traced, and drawn: paths as
rows, with windows, queues, copies, losses and waits. Recordings that are named are drawn alone.
"""

import contextlib
import dataclasses
import importlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import dpkt

from mptcplab import ooo, recording, result, schedulers
from mptcplab.fluid import best_path
from mptcplab.lab import downloads, outage
from mptcplab.lab.capture import capture
from mptcplab.lab.netlab import Lab
from mptcplab.lab.web import Server, download
from mptcplab.places import OUT
from mptcplab.process import LabError
from mptcplab.table import table

CELL, SIZE = "0.3/8.6", "256K"
APART_S = 0.005
TO = OUT / "timeline"
# What is drawn besides the download, so that its beginning and its end are seen.
AROUND_S = 0.02


@dataclasses.dataclass
class Piece:
    path: str
    begin: int
    end: int
    first: float  # when its first and its last packet came
    last: float
    packets: int
    again: bool

    def takes(self, other):
        return (
            (other.path, other.begin, other.again) == (self.path, self.end, self.again)
        ) and other.first - self.last <= APART_S


class Connection(ooo.Connection):
    def __init__(self, first, capture):
        super().__init__(first)
        self.capture = capture

    def arrives(self, number, length, now):
        again = self.again
        super().arrives(number, length, now)
        begin = (number - self.first) & ooo.MASK
        self.capture.pieces.append(
            Piece(self.capture.path, begin, begin + length, now, now, 1, self.again > again)
        )


class Capture(ooo.Capture):
    """Also keeps what came, packet by packet."""

    def __init__(self, names):
        super().__init__()
        self.names = names  # of the paths, by the client's address
        self.path = None
        self.pieces = []

    def _connection(self, first):
        self.connections.append(Connection(first, self))
        return self.connections[-1]

    def packet(self, ip, now):
        self.path = self.names.get(ip.dst)
        super().packet(ip, now)


def read(file, lab):
    names = {
        bytes(map(int, lab.address("client", i).split("."))): path.name
        for i, path in enumerate(lab.paths)
    }
    found = Capture(names)
    with open(file, "rb") as f:
        for now, raw in dpkt.pcap.UniversalReader(f):
            ip = dpkt.sll2.SLL2(raw).data
            # the requests go to the server, whose address is no path's
            if isinstance(ip, dpkt.ip.IP) and (ip.dst in names or ip.src in names):
                found.packet(ip, float(now))
    return [p for p in found.pieces if p.path]


def last_download(pieces, seconds):
    """Its pieces; what an earlier one has still on its way is not among them.

    All that is new since the request, which the capture has not: so from the end on backwards.
    """
    new = [p for p in pieces if not p.again]
    zero = max(p.last for p in new) - seconds
    begin = min(p.begin for p in new if p.first >= zero)
    return zero, begin, [p for p in pieces if p.begin >= begin]


def merge(pieces):
    out = []
    for piece in pieces:
        for open_piece in reversed(out):
            if open_piece.path == piece.path:
                break
        else:
            open_piece = None
        if open_piece and open_piece.takes(piece):
            open_piece.end, open_piece.last = piece.end, piece.last
            open_piece.packets += 1
        else:
            out.append(piece)
    return out


def lines_of(pieces, begin, zero):
    """Times since the request."""
    rows = []
    for p in merge(pieces):
        times = (f"{1000 * (t - zero):.1f}" for t in (p.first, p.last))
        what = "again" if p.again else ""
        rows.append((p.path, *times, p.begin - begin, p.end - begin, p.packets, what))
    yield from table(("path", "from ms", "to ms", "byte", "to", "packets", ""), rows)


# --- the recording


@contextlib.contextmanager
def recorded(lab, choice, file):
    """Decisions of the server's scheduler, into the file; nothing where it cannot be traced."""
    if not choice.is_ours:
        yield
        return
    proc = subprocess.Popen(
        [schedulers.command(), "trace", "--record", file, "--netns", lab.names["server"]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # it says so once it is attached
        if not proc.stdout.readline():
            raise LabError(f"trace ended: {proc.stderr.read().strip()}")
        yield
        proc.send_signal(signal.SIGINT)
        said, wrong = proc.communicate(timeout=60)
        if proc.returncode or not said.splitlines()[-1].endswith(" 0 lost"):
            raise LabError(f"trace: {(wrong or said).strip()}")
    finally:
        proc.kill()
        proc.communicate()


def keep(file, cell, choice, size, args, times):
    """The recording's part between two times, under a name that says what it is of."""
    words = [choice.word.replace(":", "-"), cell.replace("/", "-"), size]
    words += [args.event] if args.event else []
    TO.mkdir(parents=True, exist_ok=True)
    kept = TO / f"{'_'.join(words)}_{os.uname().release}.rec"
    kept.write_bytes(recording.cut(file.read_bytes(), *times))
    return kept


@contextlib.contextmanager
def happening(lab, args, pause):
    """The event on the second path, at its time after the download that comes after the pause."""
    if not args.event:
        yield
        return
    with outage.EVENTS[args.event](lab, 1) as (begin, end):

        def acts():
            time.sleep(pause + args.at)
            begin()
            time.sleep(args.lasts)
            end()

        thread = threading.Thread(target=acts)
        thread.start()
        yield
        thread.join()


# --- the whole


def last_of(lab, server, order, host, args):
    """Downloads one after the other, the last with the event."""
    asked = download(server, order, host, args.pause)
    for _ in order[:-1]:
        yield next(asked)
    with happening(lab, args, args.pause):
        yield next(asked)
    yield from asked


def timeline(cell, choice, size, args):
    """The last of a few downloads; (lines, problems)"""
    paths = downloads.paths_of(cell)
    order = [downloads.WARM_UP[0], *[size] * args.repeat]
    files = dict([downloads.WARM_UP, (size, downloads.size_of(size))])
    with tempfile.TemporaryDirectory() as folder, Lab(paths, tag="", gso=args.gso) as lab:
        file, rec = Path(folder, "pcap"), Path(folder, "recording")
        host = lab.address("server", best_path(paths) if choice.is_tcp else 0)
        if not choice.is_tcp:
            schedulers.use(lab, choice)
        with (
            recorded(lab, choice, rec),
            capture(lab, "client", file),
            Server(lab, files, mptcp=not choice.is_tcp) as server,
        ):
            got = list(last_of(lab, server, order, host, args))
        pieces = read(file, lab)
        if not pieces:
            raise LabError(f"{cell}, {choice}: the capture has no data")
        zero, begin, pieces = last_download(pieces, got[-1].seconds)
        text = [f"{choice}, {size} over {cell} Mbit/s: {got[-1].seconds:.3f} s"]
        text += lines_of(pieces, begin, zero)
        if rec.exists():
            times = zero - AROUND_S, zero + got[-1].seconds + AROUND_S
            kept = keep(rec, cell, choice, size, args, times)
            text.append(f"recorded: {kept.relative_to(OUT.parent.parent)}")
    return text, [] if all(d.verified for d in got) else [f"{cell}, {choice}: wrong data"]


def draw(args):
    """What is in the root alone is imported here: a guest in virtual time has no matplotlib."""
    for file in args.recording:
        if not file.is_file():
            raise LabError(f"{file}: there is no such file")
    drawing = importlib.import_module("mptcplab.report.timeline")
    for file in args.recording:
        for made in drawing.write(file, TO, args.connection, args.begin, args.end):
            print(made.relative_to(OUT.parent.parent))
    return 0


def token(text):
    return int(text, 16)


def parse(argv):
    p = downloads.parser(__doc__, "vmtest.sh bench timeline")
    add = p.add_argument
    add("recording", nargs="*", type=Path, help="draws these, and measures nothing")
    add("--from", dest="begin", type=float, metavar="SECONDS", help="of a recording: from then on")
    add("--to", dest="end", type=float, metavar="SECONDS", help="and up to then")
    add("--connection", type=token, metavar="TOKEN", help="this one, and not the busiest")
    add("--event", choices=list(outage.EVENTS), help="what becomes of the second path meanwhile")
    add("--at", type=float, default=1.0, metavar="SECONDS", help="into the last download (1)")
    add("--lasts", type=float, default=2.0, metavar="SECONDS", help="the event (2)")
    args = p.parse_args(argv)
    alone = (args.begin, args.end, args.connection)
    if not args.recording and any(v is not None for v in alone):
        p.error("--from, --to and --connection are for a recording: name one")
    if args.begin is not None and args.end is not None and args.begin >= args.end:
        p.error("--from is behind --to")
    return args


def run(argv):
    args = parse(argv)
    if args.recording:
        return draw(args)
    problems = []
    print(result.heading())
    for cell in args.cell or [CELL]:
        for choice in schedulers.choices(args.scheduler):
            for size in args.size or [SIZE]:
                lines, bad = timeline(cell, choice, size, args)
                print("", *lines, sep="\n", flush=True)
                problems += bad
    return result.status("timeline", problems)
