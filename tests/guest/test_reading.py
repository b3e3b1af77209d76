# SPDX-License-Identifier: GPL-2.0
"""Statistics are read while connections come and go: right ones, and the kernel has no complaint.

The kernel's own iterator over socket storage follows a NULL pointer where a socket ends at the
wrong moment (7.3): loader/bpf/walk.h.
"""

import subprocess
import time

import pytest
from command import ok, sched
from libbpf import Object
from mptcplab.places import BUILD

pytestmark = pytest.mark.usefixtures("none_loaded")

SECONDS = 10
AT_ONCE = 400  # more than a page has


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
    subprocess.run(["pkill", "-g", str(process.pid)], check=False)
    process.wait()


def test_while_connections_end(churning, compiled):
    seen = set()
    with Object(compiled("dawdles")) as slow:
        slow.attach("dawdle")
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = ok("stats")["connections"]
            # one that is over has none any more
            tokens = [c["token"] for c in found if int(c["token"], 16)]
            assert len(tokens) == len(set(tokens))
            seen.update(tokens)
            assert churning.poll() is None
    assert len(seen) > 2 * AT_ONCE, "connections came and went"
    assert sched("stats").code == 0
