# SPDX-License-Identifier: GPL-2.0
"""Events of the kernel's tracing, in an instance of its own."""

import contextlib
from pathlib import Path

INSTANCE = Path("/sys/kernel/tracing/instances/mptcp-sched-test")


@contextlib.contextmanager
def event(system, name, condition):
    """Records those for which `condition` is true, as a filter of an event says it."""
    INSTANCE.mkdir()
    try:
        at = INSTANCE / "events" / system / name
        (at / "filter").write_text(condition)
        (at / "enable").write_text("1")
        yield
        (at / "enable").write_text("0")
    finally:
        INSTANCE.rmdir()


def lines():
    """What was recorded so far."""
    return [r for r in (INSTANCE / "trace").read_text().splitlines() if not r.startswith("#")]
