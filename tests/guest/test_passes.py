# SPDX-License-Identifier: GPL-2.0
"""bpf_mptcp_retrans_pass(): which pass a call of get_retrans belongs to, against the passes."""

import time

import pytest
from lab import Path, until
from libbpf import Object
from traffic import connection, upload

PASSES, WITH_CALLS, FIRST, NEXT, ASKED, GRANTED, DEAF = range(7)
SIZE = 1 << 20


@pytest.fixture
def watched(labs, _shared, compiled):
    """A lab of two paths whose client has the scheduler that counts."""
    _shared.need()
    with Object(compiled("whichpass")) as loaded:
        loaded.register("t_passes")
        loaded.attach("begins")
        lab = labs(Path(8, 10), Path(8, 60)).endpoints()
        lab.client.scheduler = "t_passes"
        yield lab, loaded
        lab.client.scheduler = "default"


def counts(loaded):
    return [loaded.u64("counts", key) for key in range(GRANTED + 1)]


def quiet(loaded):
    """The counts when no pass is under way any more: they are read one after the other."""

    def same():
        before = counts(loaded)
        time.sleep(0.3)
        return counts(loaded) == before and before

    return until(same, 20, "an end of passes")


def amid_outage(lab, conn, loaded):
    """The counts after an upload of which the second path dies."""
    with lab.outage(1, "loss") as (kill, revive):
        sending = upload(conn, SIZE).reached(0.1)
        kill()
        sending.finish().acknowledged()
        revive()
        return quiet(loaded)


def test_the_timers_passes(watched, passes_go_on):
    """Of each pass the first call is the first, and nobody asked."""
    lab, loaded = watched
    with connection(lab) as conn:
        found = amid_outage(lab, conn, loaded)
    assert found[PASSES] >= found[WITH_CALLS] > 0, found
    assert found[FIRST] == found[WITH_CALLS], found
    assert (found[NEXT] > 0) == passes_go_on, found
    assert found[ASKED] == 0, found


def test_who_asked_is_told(watched):
    """Passes on request are told from the timer's, which go on amid requests."""
    lab, loaded = watched
    loaded.attach("clock")
    with connection(lab) as conn:
        upload(conn, SIZE // 4).finish().acknowledged()
        alive = quiet(loaded)
        dead = amid_outage(lab, conn, loaded)
    assert 0 < dead[ASKED] <= dead[GRANTED], dead
    assert dead[FIRST] == dead[WITH_CALLS], dead
    assert dead[FIRST] - dead[ASKED] > alive[FIRST] - alive[ASKED], (alive, dead)


def test_what_was_asked_for_before_is_forgotten(watched):
    """A pass on request that nobody asked about leaves nothing to the timer's behind it."""
    lab, loaded = watched
    loaded.put("counts", DEAF, 1)
    loaded.attach("clock")
    with connection(lab) as conn:
        upload(conn, SIZE // 4).finish().acknowledged()
        granted = quiet(loaded)[GRANTED]
        loaded.detach_last()
        loaded.put("counts", DEAF, 0)
        found = amid_outage(lab, conn, loaded)
    assert granted > 0
    assert found[FIRST] == found[WITH_CALLS] > 0, found
    assert found[ASKED] == 0, found
