# SPDX-License-Identifier: GPL-2.0
"""Out again: schedulers in use, the bridge in use, and both clean afterwards."""

import contextlib
import os

import pytest
from command import PIN_DIR, available, ok, sched
from lab import Netns, run, until
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
            assert {pin.partition("@")[0] for pin in os.listdir(PIN_DIR)} == {
                "bpf_minrtt"
            }
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
            # the command brings it back by itself
            ok("load", "bpf_minrtt")
            assert bridge_loaded()
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
