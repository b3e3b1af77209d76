# SPDX-License-Identifier: GPL-2.0
"""kmod/silence.h: when a subflow that owes something counts as silent."""

import ctypes
import random

import hostlib
import pytest

NEVER = (1 << 32) - 1
MS = 1000
SLACK = 45 * MS
SOURCE = hostlib.TOP / "kmod/silence.h"
DELAYED_ACK = 40 * MS
RTO = 200 * MS


@pytest.fixture(scope="module")
def lib():
    return hostlib.make_library("silence.c", hostlib.OUT / "silence.so")


@pytest.fixture(scope="module")
def until(lib):
    return asking(lib.until_silent)


@pytest.fixture(scope="module")
def until_quiet(lib):
    return asking(lib.until_quiet)


def asking(of):
    def ask(srtt, mdev=0, apart=0, quiet=0, age=0, rto=1000 * MS, slack=SLACK, much=1):
        flight = (ctypes.c_uint32 * 7)(srtt, mdev, apart, quiet, age, rto, much)
        return of(flight, slack) & NEVER

    return ask


def want(srtt, mdev, apart, quiet, age, rto, slack):
    """The header's comment, in whole numbers without a limit."""
    if not srtt:
        return NEVER
    swing = 4 * mdev
    by_age = min(srtt + max(swing, slack) + apart, rto) - age
    by_quiet = min(max(srtt // 2, slack) + swing + apart, rto) - quiet
    return max(0, by_age, by_quiet)


def want_quiet(srtt, mdev, apart, quiet, _age, rto, slack, much):
    if not srtt or not much:
        return NEVER
    return max(0, min(srtt + max(4 * mdev, slack // 2) + apart, rto) - quiet)


def flights():
    rng = random.Random(1)
    for _ in range(20000):
        yield [
            rng.choice((0, rng.randrange(1 << rng.randrange(1, 31)), rng.randrange(200 * MS)))
            for _ in range(7)
        ]


def test_as_it_is_meant(until):
    for numbers in flights():
        assert until(*numbers) == want(*numbers), numbers


def test_quiet_as_it_is_meant(until_quiet):
    for n, numbers in enumerate(flights()):
        assert until_quiet(*numbers, n & 1) == want_quiet(*numbers, n & 1), numbers


def test_quiet_before_it_is_silent(until, until_quiet):
    """By half of the slack, where the RTT does not swing."""
    now = 20 * MS + SLACK // 2
    assert until_quiet(20 * MS, quiet=now, age=now) == 0
    assert until(20 * MS, quiet=now, age=now) == SLACK // 2


def test_one_segment_is_never_quiet(until_quiet):
    """Its acknowledgement may be delayed."""
    assert until_quiet(20 * MS, quiet=RTO, age=RTO, much=0) == NEVER


def test_a_delayed_acknowledgement_is_none(until):
    """One segment, whose acknowledgement the receiver delays on a path that never swings."""
    srtt = 20 * MS
    when = srtt + DELAYED_ACK + 4 * MS
    assert until(srtt, quiet=when, age=when) > 0
    assert until(srtt, quiet=when + 2 * MS, age=when + 2 * MS) == 0


def test_a_slow_line_is_none(until):
    """0.3 Mbit/s take 80 ms for the two segments of one acknowledgement."""
    quiet = 20 * MS + 80 * MS
    assert until(20 * MS, apart=80 * MS, quiet=quiet, age=quiet, rto=300 * MS) > 0


def test_much_on_its_way_shows_it_before_a_round_trip(until):
    """A queue of 100 ms in the RTT is not waited for: the oldest has waited in it already."""
    srtt = 120 * MS
    assert until(srtt, quiet=60 * MS, age=srtt + 60 * MS) == 0
    assert until(srtt, quiet=59 * MS, age=srtt + 59 * MS) == MS


def test_tcps_timer_ends_the_wait(until):
    assert until(400 * MS, mdev=300 * MS, quiet=600 * MS, age=600 * MS, rto=600 * MS) == 0


def test_without_an_rtt_nobody_knows(until):
    assert until(0, quiet=NEVER, age=NEVER) == NEVER


MUTANTS = {
    "no-swing": (
        "4ULL * f->mdev;\n\tconst unsigned long long more",
        "0;\n\tconst unsigned long long more",
    ),
    "no-age": ("return age > quiet ? age : quiet", "return quiet"),
    "no-quiet": ("return age > quiet ? age : quiet", "return age"),
    "no-rto": ("if (limit > rto)", "if (0)"),
    "slow-line": (") + f->apart;\n\tconst", ");\n\tconst"),
    "unknown": ("if (!f->srtt)", "if (0)"),
}
QUIET = {
    "no-swing": ("swing > slack / 2 ? swing : slack / 2", "slack / 2"),
    "no-slack": ("swing > slack / 2 ? swing : slack / 2", "swing"),
    "slow-line": (" + f->apart, f->rto,\n\t\t\t   f->quiet", ", f->rto,\n\t\t\t   f->quiet"),
    "unknown": ("if (!f->srtt || ", "if ("),
    "little": (" || !f->much", ""),
}


def make_mutant(text, changed, tmp_path):
    header = SOURCE.read_text()
    assert header.count(text) == 1, text
    (tmp_path / "silence.h").write_text(header.replace(text, changed))
    source = (hostlib.HERE / "silence.c").read_text()
    source = source.replace("../../kmod/silence.h", str(tmp_path / "silence.h"))
    (tmp_path / "silence.c").write_text(source)
    quiet = [*hostlib.TRAPS, *hostlib.QUIET]
    return hostlib.make_library(tmp_path / "silence.c", tmp_path / "silence.so", flags=quiet)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name, tmp_path):
    lib = make_mutant(*MUTANTS[name], tmp_path)
    with pytest.raises(AssertionError):
        test_as_it_is_meant(asking(lib.until_silent))


@pytest.mark.parametrize("name", QUIET)
def test_mutants_of_quiet_are_found(name, tmp_path):
    lib = make_mutant(*QUIET[name], tmp_path)
    with pytest.raises(AssertionError):
        test_quiet_as_it_is_meant(asking(lib.until_quiet))
