# SPDX-License-Identifier: GPL-2.0
"""With data-level checksums a copy takes along what of its fragment was not assigned yet."""

import pytest
from command import ok, stats_of, total
from lab import Path
from traffic import connection, download, info

pytestmark = pytest.mark.usefixtures("none_loaded")

NAME = "bpf_redundant"
# More than the peer's first window, 64 KB, whose end cuts a fragment.
SIZE = 160 << 10
RECORD = 3000
CONNECTIONS = 20


def test_the_kernel_does_not_warn(labs):
    """What a copy finished is not what comes next any more; nobody's log says a word.

    Seen to fail (net/mptcp/protocol.c, __mptcp_clean_una()) when the scheduler waited for
    that to be acknowledged, and so left it where it was.
    """
    ok("load", NAME)
    lab = labs(Path(50, 4), Path(50, 10)).endpoints()
    lab.server.scheduler = NAME
    for net in (lab.client, lab.server):
        net.sysctl("mptcp/checksum_enabled", 1)
    for _ in range(CONNECTIONS):
        with connection(lab) as conn:
            assert info(conn.server).checksums
            download(conn, SIZE, record=RECORD).finish().acknowledged()
            found = stats_of(info(conn.server).token)
            assert total(found, "bytes_sent") == SIZE + 1, found
            assert total(found, "bytes_copied") > 0, found
