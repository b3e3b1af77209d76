# SPDX-License-Identifier: GPL-2.0
"""Changes a lab's paths while it is used: one tc stands by, since starting one takes too long."""

import dataclasses
import subprocess
import threading
import time

from mptcplab.process import LabError


class Shaper(threading.Thread):
    """Runs while its block does; run() calls change() and waits with self.ended.wait()."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.lab, self.ended = lab, threading.Event()
        self.tc = lab.start("net", "tc", "-batch", "-", stdin=subprocess.PIPE, text=True)

    def __enter__(self):
        self.begun = time.monotonic()
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()
        self.tc.stdin.close()
        if self.tc.wait(30):
            status = self.tc.returncode
            raise LabError(f"tc, which changes the paths: exit status {status}")

    def change(self, path):
        """Gives the path of that name these delays, rates and losses."""
        for line in self.lab.shape_lines(path):
            # "replace" would begin with an empty queue.
            self.tc.stdin.write(line.replace("replace", "change", 1) + "\n")
        self.tc.stdin.flush()


class Changes(Shaper):
    """What a scenario says that its paths become, each when its time comes."""

    def __init__(self, lab, paths, changes):
        super().__init__(lab)
        now = {p.name: p for p in paths}
        self.due = []
        events = [(c.at, n, c) for n, found in changes.items() for c in found]
        for index, (at, name, change) in enumerate(sorted(events, key=lambda e: e[:2])):
            now[name] = dataclasses.replace(now[name], **{change.what: change.value})
            # tc sows netem's random numbers anew with every change.
            seed = (now[name].seed + index + 1) & 0x3FFFFFFF
            self.due.append((at, dataclasses.replace(now[name], seed=seed)))

    def run(self):
        for at, path in self.due:
            if self.ended.wait(max(0, self.begun + at - time.monotonic())):
                return
            self.change(path)
