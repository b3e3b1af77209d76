# SPDX-License-Identifier: GPL-2.0
"""Statistics are read while connections come and go: right ones, and the kernel has no complaint.

The kernel's own iterator over socket storage follows a NULL pointer where a socket ends at the
wrong moment (7.3): loader/bpf/walk.h.
"""

import os
import signal
import subprocess
import time

import pytest
from command import ok
from lab import SLOW
from libbpf import Object
from mptcplab.lab.crowd import crowd
from mptcplab.places import BUILD

pytestmark = pytest.mark.usefixtures("none_loaded")

SECONDS = 300 * SLOW  # for a machine that is busy; it takes ten
AT_ONCE = 100
HELD = 150  # with both ends of all of them less than a page has


@pytest.fixture
def churning(net):
    """Connections over loopback in the namespace, many at once and all of them short."""
    ok("use", "bpf_minrtt", "--netns", net.name)
    words = [BUILD / "tests" / "churn", "long", str(AT_ONCE), "3000"]
    loop = 'ip link set lo up; while :; do "$@" || exit 1; done'
    process = subprocess.Popen(
        ["ip", "netns", "exec", net.name, "sh", "-c", loop, "sh", *words], start_new_session=True
    )
    yield process
    os.killpg(process.pid, signal.SIGTERM)
    process.wait()


def tokens(found):
    # one that is over has none any more
    return [c["token"] for c in found if int(c["token"], 16)]


def test_while_connections_end(churning, compiled):
    """Those that stay are in each reading, once, and with what they have carried."""
    seen = set()
    with crowd(HELD, 1, "bpf_minrtt"), Object(compiled("dawdles")) as slow:
        slow.attach("dawdle")
        held = {c["token"]: c["netns"] for c in ok("stats")["connections"]}
        held = {token for token, netns in held.items() if netns.startswith("many")}
        assert len(held) == 2 * HELD
        end = time.monotonic() + SECONDS
        while len(seen - held) < 5 * AT_ONCE:
            assert time.monotonic() < end, "connections come and go"
            found = ok("stats")["connections"]
            now = tokens(found)
            assert len(now) == len(set(now))
            assert held <= set(now), "of those that stay"
            for c in found:
                if c["token"] in held:
                    assert [s["counters"]["bytes_sent"] for s in c["subflows"]] == [1], c
            seen.update(now)
            assert churning.poll() is None
