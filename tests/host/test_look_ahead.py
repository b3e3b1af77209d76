# SPDX-License-Identifier: GPL-2.0
"""ECF: how much a writer that waits for room has at hand beyond the buffer."""

import headers
import pytest


@pytest.mark.parametrize("start", [0, 1, (1 << 32) - 30_000])
def test_a_writer_that_waits_has_as_much_again(start):
    """Until 20 ms after it waited last; from the last idle time on; and nothing without it."""
    lib = headers.plain("headers.c")
    state = (headers.U64 * 2)()

    def pending(ms, given, waits, unacked=1, part=1000):
        now = (start + ms * 1000) % (1 << 32)
        return lib.ecf_look_ahead(100, unacked, now, given, waits, part, state)

    assert pending(0, 5000, 0, unacked=0) == 100
    assert pending(1, 6000, 0) == 100
    assert pending(2, 7000, 1) == 100 + 2000
    assert pending(22, 9000, 0) == 100 + 4000
    assert pending(23, 9000, 0) == 100
    assert pending(24, 9000, 0) == 100
    assert pending(25, 9500, 1) == 100 + 4500
    assert pending(25, 9500, 1, part=125) == 100 + 4500 // 8
    assert pending(25, 9500, 1, part=0) == 100
    # what went before the connection was idle does not count
    assert pending(26, 9500, 1, unacked=0) == 100
    assert pending(27, 9600, 1) == 100 + 100


def test_state_that_is_new_in_mid_connection():
    """As where a live change takes another policy: what went before it is not known, and no IDSN."""
    lib = headers.plain("headers.c")
    state = (headers.U64 * 2)()
    given = (1 << 63) + 5000
    assert lib.ecf_look_ahead(100, 70_000, 1, given, 1, 250, state) == 100
    assert lib.ecf_look_ahead(100, 70_000, 2, given + 4000, 1, 250, state) == 100 + 1000
