# SPDX-License-Identifier: GPL-2.0
"""The lab's part in the guest: measures the cells of a plan, one after the other.

PLAN is what supervise.py wrote, STREAM where each finished cell goes at once: the name of a virtio
port, or a file. Exit status 0: every cell was measured, whatever came out.
"""

import json
import sys
import tempfile
import time
import traceback
from pathlib import Path

from mptcplab.cell import cell_from
from mptcplab.guest import emulation, measure
from mptcplab.lab import cwnd


class Stream:
    """Where finished cells go, at once: a virtio port, or a file. A header line, then the files."""

    def __init__(self, target):
        self.out = open(target, "wb", buffering=0)  # noqa: SIM115

    def put(self, record, files):
        sizes = {name: path.stat().st_size for name, path in files.items()}
        self._all((json.dumps(record | {"files": sizes}) + "\n").encode())
        for path in files.values():
            with open(path, "rb") as f:
                while part := f.read(1 << 16):
                    self._all(part)

    def _all(self, data):
        while data:
            data = data[self.out.write(data) :]


def port(name):
    """The device of a virtio port, by its name: nothing makes links for them here."""
    for entry in Path("/sys/class/virtio-ports").glob("*"):
        if (entry / "name").read_text().strip() == name:
            return f"/dev/{entry.name}"
    return name


def run_all(jobs, stream):
    """Measures the jobs of a plan; how many failed. Each job: {"key", "kind", "cell" or "path"}."""
    failed = 0
    with cwnd.probe() as resets:
        for job in jobs:
            begun = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="cell-") as folder:
                try:
                    if job["kind"] == "check":
                        got, files = emulation.check_path(job["path"], job["trunk"], folder)
                    else:
                        got, files = measure.measure(cell_from(job["cell"]), resets, folder)
                except Exception as e:  # noqa: BLE001
                    # Whatever it is, it is this cell's and not that of those behind it.
                    traceback.print_exc(file=sys.stdout)
                    got, files = {"problems": [f"{type(e).__name__}: {e}"]}, {}
                failed += bool(got["problems"])
                took = time.monotonic() - begun
                stream.put(
                    {
                        "key": job["key"],
                        "kind": job["kind"],
                        "guest_seconds": took,
                        "result": got,
                    },
                    files,
                )
    return failed


def run(plan, stream):
    jobs = json.loads(Path(plan).read_text())["jobs"]
    failed = run_all(jobs, Stream(port(stream)))
    print(f"lab: {len(jobs)} cells, {failed} of them with problems")
    return 0
