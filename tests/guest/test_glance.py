# SPDX-License-Identifier: GPL-2.0
"""A glance at the subflows says what the full decision says, and so does a quick look."""

import pytest
from command import ok
from lab import Path
from passes import BUILT
from traffic import both_ways, connection, download, upload

pytestmark = [pytest.mark.virtual_time, pytest.mark.usefixtures("none_loaded")]
NAME = "t_glance"
SIZE = 1 << 20
UNLIKE = (Path(10, 10, limit=30), Path(3, 40, limit=30))
BACKUP = (Path(10, 10, limit=30), Path(5, 20, backup=True))
MANY = tuple(Path(4, 10 + 5 * i, limit=20) for i in range(9))


def tunables(name):
    return {t["name"]: t["value"] for t in ok("get", name)["tunables"]}


@pytest.fixture(params=[0, 1, 2], ids=["minrtt", "ecf", "auto"])
def looked(request, suffix):
    """looked(): {counter: value} of the scheduler that looks twice, since the test began."""
    ok("load", BUILT / f"glance{suffix}", "--set", f"which={request.param}")

    yield lambda: tunables(NAME)
    ok("unload", NAME)


def check(found):
    assert not found["differed"] + found["not_quick"], str(found)
    assert found["agreed"] > 50 + 20 * found["moved"], str(found)
    return found


@pytest.mark.parametrize("loss", [0, 1], ids=["clean", "lossy"])
@pytest.mark.parametrize("paths", [UNLIKE, BACKUP, UNLIKE[:1]], ids=["two", "backup", "one"])
def test_it_agrees(labs, looked, paths, loss):
    lab = labs(*paths)
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        lab.shape(loss=loss)
        download(conn, SIZE).finish().acknowledged()
        upload(conn, SIZE).finish().acknowledged()
        both_ways(conn, SIZE // 4)
    found = check(looked())
    if not loss:
        assert found["agreed"] > found["missed"], found
    assert found["quick"] > 20, found


def test_it_agrees_while_a_path_dies(labs, looked):
    lab = labs(*UNLIKE)
    with (
        lab.lent(NAME) as lent,
        connection(lent.endpoints()) as conn,
        lab.outage(2, "loss") as (kill, revive),
    ):
        data = download(conn, 4 * SIZE)
        data.reached(0.2)
        kill()
        data.reached(0.6)
        revive()
        data.finish().acknowledged()
    check(looked())


def test_more_subflows_than_a_snapshot_has_take_the_full_look(labs, looked):
    lab = labs(*MANY)
    with lab.lent(NAME) as lent, connection(lent.endpoints()) as conn:
        before = looked()
        download(conn, SIZE).finish().acknowledged()
    found = looked()
    assert found["agreed"] == before["agreed"], (before, found)
    assert not found["differed"], str(found)


def test_the_cores_timer_knows_what_was_pushed(labs, suffix):
    """Or data is sent again after the least that the timer has, on paths that answer later."""
    name = "t_timed"
    ok("load", BUILT / f"timed{suffix}")
    lab = labs(*UNLIKE)
    with lab.lent(name) as lent, connection(lent.endpoints()) as conn:
        download(conn, SIZE).finish().acknowledged()
    found = tunables(name)
    ok("unload", name)
    assert found["timed"] > 50, str(found)
    assert not found["untimed"], str(found)
