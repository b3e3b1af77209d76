# SPDX-License-Identifier: GPL-2.0
"""`bench timeline`: packets that belong together are one line, and only those of the last download."""

import pytest
from mptcplab.benchmarks import timeline

MSS = 1000


def packet(path, number, now, again=False):
    begin = number * MSS
    return timeline.Piece(path, begin, begin + MSS, now, now, 1, again)


def merged(*packets):
    return [
        (p.path, p.begin // MSS, p.end // MSS, p.packets, p.again)
        for p in timeline.merge(list(packets))
    ]


def test_what_follows_is_one_line():
    """Whatever comes on the other path in between."""
    assert merged(
        packet("a", 0, 0.000),
        packet("b", 7, 0.001),
        packet("a", 1, 0.002),
        packet("b", 8, 0.003),
    ) == [("a", 0, 2, 2, False), ("b", 7, 9, 2, False)]


@pytest.mark.parametrize(
    "second",
    [
        packet("a", 2, 0.001),
        packet("a", 1, 0.001, again=True),
        packet("a", 1, 2 * timeline.APART_S),
    ],
    ids=["gap", "again", "later"],
)
def test_what_does_not_follow_is_another(second):
    assert len(merged(packet("a", 0, 0.0), second)) == 2


def test_only_the_last_download():
    """All of it, however long nothing came; copies of an earlier one may come after its beginning."""
    first = [packet("a", 0, 0.0), packet("a", 1, 0.1)]
    late = packet("b", 1, 2.1, again=True)
    last = [packet("a", 2, 2.0), packet("b", 3, 3.4), packet("a", 3, 3.5, again=True)]
    zero, begin, pieces = timeline.last_download([*first, last[0], late, *last[1:]], 1.5)
    assert zero == pytest.approx(1.9)
    assert begin == 2 * MSS
    assert pieces == last


def test_times_are_since_the_request():
    """As curl measured it, back from the last packet that brought something new."""
    pieces = [packet("a", 0, 5.0), packet("a", 1, 5.5), packet("b", 1, 7.0, again=True)]
    zero, begin, pieces = timeline.last_download(pieces, 0.75)
    lines = [line.split() for line in timeline.lines_of(pieces, begin, zero)]
    assert [line[:3] for line in lines[1:]] == [
        ["a", "250.0", "250.0"],
        ["a", "750.0", "750.0"],
        ["b", "2250.0", "2250.0"],
    ]
    assert lines[-1][-1] == "again"
