# SPDX-License-Identifier: GPL-2.0
"""What must be as it was when a test is over."""

import os
from pathlib import Path

from boot import COMPLAINTS
from command import PIN_DIR, available
from libbpf import links

BPFFS = "/sys/fs/bpf"


class KernelLog:
    """What the kernel says from now on; its whole log is read record by record."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(self.fd, 0, os.SEEK_END)

    def lines(self):
        """Every line since the last call."""
        texts = []
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return texts
            except BrokenPipeError:  # overwritten before it was read: say so
                texts.append("BUG: the kernel log overran")
                continue
            texts.append(record.partition(";")[2].splitlines()[0])

    def close(self):
        os.close(self.fd)


def warn_again():
    """What the kernel says only once it says again, so that each test hears of its own."""
    Path("/sys/kernel/debug/clear_warn_once").write_text("1")


def complaints(lines):
    return [line for line in lines if COMPLAINTS.search(line)]


def pins():
    found = []
    for where, _, files in os.walk(BPFFS):
        found += [os.path.join(where, name) for name in files]
    return sorted(found)


def namespaces():
    return sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else []


def leftovers(shared):
    """What is there beyond what the shared book says; empty when all is well."""
    found = []
    extra = available() ^ ({"default"} | shared.names)
    if extra:
        found.append(f"schedulers registered and not expected, or the reverse: {extra}")
    # Behind an "@" stand the programs that a scheduler has besides its hooks.
    expected = {os.path.join(PIN_DIR, name) for name in shared.names}
    if {pin.partition("@")[0] for pin in pins()} != expected:
        found.append(f"pins {pins()}, expected {expected}")
    if links() != len(pins()):
        found.append(f"{links()} BPF links are there, and {len(pins())} pins")
    if spare := set(namespaces()) ^ shared.namespaces:
        found.append(f"network namespaces not expected, or gone: {spare}")
    with open("/proc/sys/net/mptcp/scheduler") as f:
        name = f.read().strip()
    if name != "default":
        found.append(f"the guest's own namespace selects {name}")
    return found
