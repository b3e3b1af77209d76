# SPDX-License-Identifier: GPL-2.0
"""`use default --reinject`: on, off, and nobody else notices."""

import json
import os
import socket
import time

import pytest
from command import HIDE_KFUNC, PIN_DIR, available, ok, sched
from hygiene import pins
from lab import Netns, Path, run, until
from libbpf import Object, links
from traffic import connection, info, upload

BRIDGE = "mptcp_sched_bpf"
FAILED, USAGE, KERNEL, PERMISSION = 1, 2, 3, 4
# What the slow path holds at the end is outstanding when the fast one is idle.
UNLIKE = (Path(0.5, 20), Path(20, 20))
ALIKE = (Path(5, 20), Path(5, 60))
SIZE = 256 << 10
HIDE_MODULES = 'rmmod mptcp_sched_bpf && mount -t tmpfs none /lib/modules && exec "$@"'
READ_ONLY = 'mount -t proc -o ro proc /proc && exec "$@"'

pytestmark = pytest.mark.usefixtures("none_loaded")


@pytest.fixture
def nets():
    made = [Netns(), Netns()]
    yield made
    for net in made:
        net.close()


def in_mounts(script):
    """A prefix of a command: in mounts of its own, after this."""
    return ("unshare", "-m", "sh", "-c", script, "sh")


def turn(on, net, **options):
    words = ["--reinject"] if on else []
    said = ok("use", "default", *words, "--netns", net.name, **options)
    assert said["reinject"] is on
    return said


def shown(net):
    (found,) = (n for n in ok("show")["namespaces"] if n["netns"] == net.name)
    return found


def counters(net):
    return shown(net)["reinject_counters"]


def is_off():
    return (pins(), links(), os.path.exists(PIN_DIR)) == ([], 0, False)


def test_on_and_off(nets):
    here, there = nets
    turn(True, here)
    assert os.listdir(PIN_DIR) == ["@reinject"] and links() == 1
    assert [shown(net)["reinject"] for net in nets] == [True, False]
    assert set(counters(here).values()) == {0}
    assert "reinject_counters" not in shown(there)
    # again: nothing new; and elsewhere too, with the one program
    turn(True, here)
    turn(True, there)
    assert links() == 1
    assert here.name in sched("show").out.partition("Early copies")[2]
    turn(False, here)
    assert [shown(net)["reinject"] for net in nets] == [False, True]
    assert links() == 1
    turn(False, there)
    assert is_off()
    # right behind: the bridge is free
    try:
        assert run("rmmod", BRIDGE, check=False).stderr == ""
    finally:
        run("modprobe", BRIDGE)


def test_another_scheduler_turns_it_off(nets):
    turn(True, nets[0])
    said = ok("use", "bpf_minrtt", "--netns", nets[0].name)
    assert said["reinject"] is False
    assert not [pin for pin in pins() if "@reinject" in pin]
    turn(False, nets[0])


def test_it_loads_the_bridge(nets):
    run("rmmod", BRIDGE)
    turn(True, nets[0])
    assert os.path.isdir(f"/sys/module/{BRIDGE}")
    turn(False, nets[0])


def test_namespaces_that_are_gone_are_forgotten(nets):
    gone = Netns()
    turn(True, gone)
    gone.close()
    # any use of the command notices
    turn(False, nets[0])
    assert is_off()


def test_unload_all_removes_it(nets):
    turn(True, nets[0])
    ok("load", "bpf_minrtt")
    said = ok("unload", "--all")
    assert said["reinject_removed"] is True
    assert [u["name"] for u in said["unloaded"]] == ["bpf_minrtt"]
    assert any(nets[0].name in note and "--reinject" in note for note in said["notes"])
    assert is_off()
    assert shown(nets[0])["reinject"] is False


def test_live_connections_of_the_namespace_and_no_others(labs):
    """Both labs carry the same; only the one that opted in is looked at."""
    mine, other = (labs(*UNLIKE).endpoints() for _ in range(2))
    with connection(mine) as conn, connection(other) as elsewhere:
        turn(True, mine.client)

        def asked():
            transfers = [upload(c, SIZE) for c in (conn, elsewhere)]
            for transfer in transfers:
                transfer.finish().acknowledged()
            return counters(mine.client)["asked"]

        # not where the guest is too slow for the faster path
        until(asked, 60, "a request")
        found = counters(mine.client)
        # refused: two segments at once, on two processors
        assert found["looks"] == sum(found[k] for k in ("no_idle", "no_gain")) + sum(
            found[k] for k in ("asked", "refused", "held_back")
        ), found
        assert info(conn.client).bytes_retrans > 0
        states = {n["netns"]: n["reinject"] for n in ok("show")["namespaces"]}
        assert states[mine.client.name] is True
        for net in (mine.server, other.client, other.server):
            assert states[net.name] is False
        turn(False, mine.client)
        assert is_off()
        # the connection goes on as before
        upload(conn, 10_000).finish()


def test_plain_tcp_is_left_alone(labs):
    lab = labs()
    turn(True, lab.client)
    with connection(lab, protocol=socket.IPPROTO_TCP) as conn:
        upload(conn, SIZE).finish()
    assert set(counters(lab.client).values()) == {0}
    turn(False, lab.client)


def test_other_schedulers_are_left_alone(labs):
    """Selected behind the command's back, so that the namespace is still opted in."""
    ok("load", "bpf_minrtt")
    lab = labs(*UNLIKE).endpoints()
    turn(True, lab.client)
    lab.client.scheduler = "bpf_minrtt"
    with connection(lab) as conn:
        upload(conn, SIZE).finish().acknowledged()
    assert set(counters(lab.client).values()) == {0}
    turn(False, lab.client)
    ok("unload", "bpf_minrtt")


@pytest.mark.virtual_time
def test_the_end_comes_earlier(labs):
    """What a slow path holds up is copied; alike paths see no request at all."""
    seconds, asked = {}, {}
    for paths in (UNLIKE, ALIKE):
        for on in (False, True):
            lab = labs(*paths).endpoints()
            turn(on, lab.client)
            with connection(lab) as conn:
                begun = time.monotonic()
                upload(conn, SIZE).finish()
                seconds[paths, on] = time.monotonic() - begun
            if on:
                asked[paths] = counters(lab.client)["asked"]
            turn(False, lab.client)
    assert asked[UNLIKE] > 0
    assert asked[ALIKE] == 0
    assert seconds[UNLIKE, True] < 0.6 * seconds[UNLIKE, False], seconds


@pytest.mark.virtual_time
def test_what_came_ahead_by_the_shorter_way_back(labs):
    """The near path's ACKs tell of the far one's data before that one's own do.

    They stop when the near one has no more to do, and the far one's are in vain for a while.
    That passed for copies in front of the data once, and 7 to 10 of these uploads saw a request.
    """
    asked = 0
    for far_ms in (80, 100, 120):
        lab = labs(Path(5, 20), Path(5, far_ms)).endpoints()
        turn(True, lab.client)
        with connection(lab) as conn:
            upload(conn, 200 << 10).finish().acknowledged()
            asked -= counters(lab.client)["asked"]  # until the windows are open
            for size in range(440, 680, 20):
                upload(conn, size << 10).finish().acknowledged()
                time.sleep(1)
        found = counters(lab.client)
        assert found["no_gain"] > 0, found
        asked += found["asked"]
        turn(False, lab.client)
    assert asked <= 4


def corked(conn, size):
    """Seconds of an upload whose writer uncorks at its end, as nginx does with a file."""
    begun = time.monotonic()
    conn.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    transfer = upload(conn, size)
    until(lambda: transfer.received > size - 3000, 60, f"but for its end {transfer}")
    conn.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    transfer.finish().acknowledged()
    return time.monotonic() - begun


@pytest.mark.virtual_time
def test_a_corked_end_does_not_hold_up_the_rest(labs):
    """What is given to a subflow may end with a short segment, which TCP_CORK holds back there."""
    seconds = {}
    for on in (False, True):
        lab = labs(*ALIKE).endpoints()
        turn(on, lab.client)
        with connection(lab) as conn:
            upload(conn, SIZE).finish().acknowledged()
            seconds[on] = 0
            for size in range(1_100_000, 1_300_000, 50_000):
                seconds[on] += corked(conn, size)
                time.sleep(1)
        turn(False, lab.client)
    # without the requests for it: 1.00 and 1.01 times
    assert seconds[True] < 0.85 * seconds[False], seconds


@pytest.mark.virtual_time
def test_the_end_of_all_corked_data_stays(labs):
    """That is what TCP_CORK is for; each of the five saw a request or two where all short ends did."""
    lab = labs(*ALIKE).endpoints()
    turn(True, lab.client)
    with connection(lab) as conn:
        upload(conn, SIZE).finish().acknowledged()
        conn.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        before = counters(lab.client)["asked"]
        for size in range(10_000, 60_000, 10_000):
            transfer = upload(conn, size)
            until(lambda t=transfer: t.received > t.size - 1500, 60, "but for its end")
            time.sleep(0.1)
            conn.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
            conn.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            transfer.finish().acknowledged()
        assert counters(lab.client)["asked"] - before <= 2
    turn(False, lab.client)


@pytest.mark.parametrize(
    ("words", "prefix", "code", "reason", "hint"),
    [
        (["bpf_minrtt"], (), USAGE, "for the kernel's default", "show"),
        (["default", "--netns", "nosuch"], (), FAILED, "no such network", "ip netns"),
        (["default"], in_mounts(HIDE_KFUNC), KERNEL, "kfunc", "DKMS"),
        (["default"], in_mounts(HIDE_MODULES), KERNEL, BRIDGE, "DKMS"),
        (["default"], in_mounts(READ_ONLY), FAILED, "net.mptcp.scheduler", ""),
        (
            ["default"],
            ("setpriv", "--bounding-set=-all", "--inh-caps=-all"),
            PERMISSION,
            "CAP_",
            "root",
        ),
    ],
    ids=["other scheduler", "namespace", "kfunc", "bridge", "read-only", "privilege"],
)
def test_errors_leave_nothing(words, prefix, code, reason, hint, nets):
    try:
        result = sched("--json", "use", *words, "--reinject", net=nets[0], prefix=prefix)
        assert result.code == code, result
        assert result.error["exit_code"] == code
        assert reason in result.error["reason"]
        assert hint in result.error.get("hint", "")
        assert result.out == ""
        assert is_off()
        assert available() == {"default"}
    finally:
        run("modprobe", BRIDGE)


def test_something_else_under_its_name(nets, compiled):
    """Another version's, or anybody's: it is not touched, and the user is told."""
    ok("load", compiled("copies"))
    pin = f"{PIN_DIR}/@reinject"
    os.rename(f"{PIN_DIR}/t_copies@t_copies_entry", pin)
    before = (pins(), links())
    result = sched("--json", "use", "default", "--reinject", net=nets[0])
    assert result.code == FAILED
    assert "@reinject is not what" in result.error["reason"]
    assert "unload --all" in result.error["hint"]
    assert (pins(), links()) == before
    ok("unload", "--all")
    assert is_off()


def test_what_an_earlier_version_has_attached(nets, compiled):
    """It serves on until the last namespace goes; the next time it is this version's."""
    os.mkdir(PIN_DIR, 0o700)
    with Object(compiled("oldreinject")) as old:
        old.attach("reinject")
        old.pin(f"{PIN_DIR}/@reinject")
    turn(True, nets[0])
    assert links() == 1 and shown(nets[0])["reinject"]
    turn(False, nets[0])
    until(is_off, 10, "nothing left of the old one")
    turn(True, nets[0])
    (link,) = json.loads(run("bpftool", "-j", "link", "show").stdout)
    assert link["type"] == "struct_ops"
    turn(False, nets[0])
    assert is_off()


def test_only_for_use():
    result = sched("--json", "load", "bpf_minrtt", "--reinject")
    assert result.code == USAGE and "no such option" in result.error["reason"]
