# SPDX-License-Identifier: GPL-2.0
"""Out again: schedulers in use, the bridge in use, and both clean afterwards."""

import contextlib
import os

import pytest
from command import PIN_DIR, available, ok, sched
from lab import Netns, Path, run, until
from libbpf import Object
from traffic import connection, download, upload

BRIDGE = "mptcp_sched_bpf"
pytestmark = pytest.mark.usefixtures("none_loaded")


def bridge_loaded():
    return os.path.isdir(f"/sys/module/{BRIDGE}")


def rmmod():
    return run("rmmod", BRIDGE, check=False)


@contextlib.contextmanager
def bridge_returns():
    try:
        yield
    finally:
        run("modprobe", BRIDGE)


def test_refused_while_a_namespace_selects_it():
    net = Netns()
    try:
        ok("use", "bpf_minrtt", "--netns", net.name)
        assert available() == {"default", "bpf_minrtt"}
        for words in (["bpf_minrtt"], ["--all"]):
            result = sched("unload", *words)
            assert result.code == 1
            assert "in use" in result.err and net.name in result.err
            assert "use default" in result.err, "the remedy"
            assert available() == {"default", "bpf_minrtt"}
            assert {pin.partition("@")[0] for pin in os.listdir(PIN_DIR)} == {"bpf_minrtt"}
        ok("use", "default", "--netns", net.name)
        assert ok("unload", "bpf_minrtt")["unloaded"][0]["name"] == "bpf_minrtt"
        assert available() == {"default"}
        assert not os.path.exists(PIN_DIR)
    finally:
        net.close()


def test_forced_while_selected(labs):
    """New sockets then get the kernel's own; the namespace still works."""
    lab = labs().endpoints()
    ok("use", "bpf_minrtt", "--netns", lab.client.name)
    ok("unload", "--force", "bpf_minrtt")
    assert available() == {"default"}
    with connection(lab) as conn:
        upload(conn, 100_000).finish()
        # the kernel frees the map when it finds the time, on 6.12 later than unload waits
        until(
            lambda: [s["name"] for s in ok("show")["schedulers"]] == ["default"],
            15,
            "the map of the scheduler gone: nothing uses it",
        )


@pytest.mark.usefixtures("by_the_bridge")
def test_connections_and_the_bridge_outlive_it(labs):
    """A live connection keeps the scheduler, and that the bridge, until it ends."""
    lab = labs().endpoints()
    lab.client.scheduler = "default"
    with bridge_returns():
        ok("use", "bpf_minrtt", "--netns", lab.client.name)
        busy = rmmod()
        assert busy.returncode != 0 and "in use" in busy.stderr
        with connection(lab) as conn:
            transfer = upload(conn, 1 << 20).reached(0.1)
            lab.client.scheduler = "default"
            said = ok("unload", "bpf_minrtt")["unloaded"][0]
            assert said["connections"] == 1
            assert available() == {"default"}
            still = [s for s in ok("show")["schedulers"] if s["name"] == "bpf_minrtt"]
            assert still[0]["state"] == "unregistered, in use"
            assert still[0]["connections"] == 1
            busy = rmmod()
            assert busy.returncode != 0 and "in use" in busy.stderr
            transfer.finish()
            # the name is free again, beside the old one
            ok("load", "bpf_minrtt")
            upload(conn, 100_000).finish()
            ok("unload", "bpf_minrtt")
        until(lambda: rmmod().returncode == 0, 20, "rmmod after the last connection")


def test_a_dead_path_is_given_up_by_who_keeps_it(labs, compiled):
    """The core looks from 7.2 on; before, the bridge does, for what an unregistered scheduler left.

    This scheduler sends on the first active subflow, so without that it would stay with the dead one.
    """
    lab = labs(Path(8, 10), Path(8, 20)).endpoints()
    with Object(compiled("whichpass")) as loaded:
        loaded.register("t_passes")
        lab.client.scheduler = "t_passes"
        with connection(lab) as conn, lab.outage(1, "loss") as (kill, revive):
            lab.client.scheduler = "default"
            loaded.detach()
            assert available() == {"default"}
            # more than the buffers hold, so that there is new data to assign in each round
            transfer = upload(conn, 1 << 21).reached(0.05)
            kill()
            transfer.finish()
            revive()
        assert lab.client.mib("SubflowStale") > 0


@pytest.mark.usefixtures("by_the_bridge")
def test_the_bridge_comes_and_goes(labs):
    """Twice out and in: what it adds to the kernel's own table is added once."""
    lab = labs().endpoints()
    with bridge_returns():
        for _ in range(2):
            assert bridge_loaded()
            until(lambda: rmmod().returncode == 0, 10, "rmmod of the unused bridge")
            assert not bridge_loaded()
            state = ok("show")
            assert state["kernel"]["support"] == "none"
            assert state["kernel"]["bridge"] == "installed"
            assert "installed, `load` loads it" in sched("show").out
            # the command brings it back by itself
            ok("load", "bpf_minrtt")
            assert bridge_loaded()
            assert ok("show")["kernel"]["bridge"] == "loaded"
            lab.server.scheduler = "bpf_minrtt"
            with connection(lab) as conn:
                download(conn, 100_000).finish()
                names = {c["scheduler"] for c in ok("stats")["connections"]}
                assert names == {"bpf_minrtt"}
            lab.server.scheduler = "default"
            ok("unload", "bpf_minrtt")


def test_unload_all():
    ok("load", "bpf_minrtt")
    assert available() == {"default", "bpf_minrtt"}
    assert [u["name"] for u in ok("unload", "--all")["unloaded"]] == ["bpf_minrtt"]
    assert available() == {"default"}
    assert ok("unload", "--all")["unloaded"] == []


def rows_of(name):
    """Connections and listeners of those that have had the name, by their state."""
    return {
        s["state"]: (s["connections"], s["listeners"])
        for s in ok("show")["schedulers"]
        if s["name"] == name
    }


def test_two_of_one_name_are_counted_apart(labs):
    """The one that sockets keep after `unload`, and the one that was loaded since."""
    lab = labs().endpoints()
    lab.client.scheduler = "default"
    ok("load", "bpf_minrtt")
    lab.client.scheduler = lab.server.scheduler = "bpf_minrtt"
    with connection(lab) as old:
        upload(old, 100_000).finish()
        found = rows_of("bpf_minrtt")
        connections, listeners = found.pop("registered")
        assert found == {} and connections >= 1
        ok("unload", "--force", "bpf_minrtt")
        ok("load", "bpf_minrtt")
        kept = rows_of("bpf_minrtt")
        assert kept == {
            "unregistered, in use": (connections, listeners),
            "registered": (0, 0),
        }
        with connection(lab) as new:
            upload(new, 100_000).finish()
            found = rows_of("bpf_minrtt")
            assert found["unregistered, in use"] == (connections, listeners)
            assert found["registered"][0] >= 1
            lab.client.scheduler = lab.server.scheduler = "default"
            said = ok("unload", "bpf_minrtt")["unloaded"][0]
            assert said["connections"] == found["registered"][0]
