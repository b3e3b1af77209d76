# SPDX-License-Identifier: GPL-2.0
"""The player's logic against answers worked out by hand."""

import pytest
from mptcplab.player import Abr, play

ABR = Abr((1, 2, 4, 10), reservoir=10, cushion=9)


@pytest.mark.parametrize(
    ("buffer", "last", "index"),
    [
        (0, None, 0),
        (30, None, 0),  # the first chunk is always the smallest
        (10, 3, 0),  # in the reservoir
        (19, 0, 3),  # above the cushion
        # The map: 1 Mbit/s at 10 s, one more with each second.
        (10.9, 0, 0),  # 1.9 is not yet 2
        (11, 0, 1),
        (13.5, 0, 2),  # 4.5: as high as it goes
        (12.5, 1, 1),  # 3.5 is between the neighbours 1 and 4
        (11.1, 2, 2),  # 2.1 is not yet down to the neighbour 2
        (11, 2, 1),
        (10.5, 3, 1),  # 1.5: the lowest that is at least that
    ],
)
def test_the_buffer_chooses(buffer, last, index):
    assert ABR.choose(buffer, last) == index


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def playing(seconds_of, chunks, **more):
    """Plays with downloads of these lengths; (chunks, clock)."""
    clock = Clock()
    lengths = iter(seconds_of)

    def fetch(rate):
        clock.now += next(lengths) if more.get("each") else seconds_of[rate]

    options = {"chunk_s": 5, "max_buffer": 20, "start_s": 5}
    got = play(fetch, Abr((1, 2), 8, 4), chunks, *options.values(), clock, clock.sleep)
    return got, clock


def test_a_buffer_that_is_full_is_waited_for():
    # A chunk takes 1 s, whatever its rate: the buffer gains 4 s with each.
    got, _ = playing([1, 1], 6)
    # 5 after the first, which nobody plays meanwhile; then 9, 13, 17.
    assert [c.buffer for c in got] == [0, 5, 9, 13, 15, 15]
    assert [c.waited for c in got] == [0, 0, 0, 0, 2, 4]
    # The map is at 1.25 with 9 s: not 2; from 12 s on it is.
    assert [c.rate for c in got] == [0, 0, 0, 1, 1, 1]
    assert all(c.stalled == 0 for c in got)


def test_an_empty_buffer_stalls_until_there_is_enough_again():
    got, clock = playing([8, 3, 11, 2], 4, each=True)
    # 8 s for the first, which plays then: 5. The second takes 3: 2 + 5. The third takes 11: 7 of
    # them are played, 4 stand still, and 5 s are there. The fourth takes 2 of those.
    assert [c.buffer for c in got] == [0, 5, 7, 5]
    assert [c.stalled for c in got] == [0, 0, 4, 0]
    assert clock.now == 100 + 8 + 3 + 11 + 2
