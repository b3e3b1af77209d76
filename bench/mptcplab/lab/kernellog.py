# SPDX-License-Identifier: GPL-2.0
"""What the kernel says that is wrong."""

from boot import COMPLAINTS

from mptcplab.process import check


def complaints():
    """Lines of its log so far."""
    return sum(bool(COMPLAINTS.search(line)) for line in check(["dmesg"]).splitlines())
