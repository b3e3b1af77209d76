# SPDX-License-Identifier: GPL-2.0
"""The scheduler is a namespace's choice, and a socket keeps the one it was made with."""

import contextlib
import os
import subprocess
import threading

import pytest
from command import ok, stats
from lab import Netns, run, until
from traffic import Connection, connection, download, info, listen


@pytest.fixture(autouse=True)
def _loaded(both_loaded):
    pass


@contextlib.contextmanager
def namespace():
    net = Netns()
    try:
        yield net
    finally:
        net.close()


def test_two_servers_with_two_schedulers_at_once(labs):
    """Each server's connections are counted under its own scheduler, and nowhere else."""
    first, second = labs().endpoints(), labs().endpoints()
    ok("use", "bpf_minrtt", "--netns", first.server.name)
    ok("use", "bpf_ecf", "--netns", second.server.name)
    assert (first.server.scheduler, second.server.scheduler) == (
        "bpf_minrtt",
        "bpf_ecf",
    )
    with connection(first) as one, connection(second) as two:
        transfers = [download(one, 200_000), download(two, 300_000)]
        for transfer in transfers:
            transfer.finish().acknowledged()
        for lab, conn, name, size in (
            (first, one, "bpf_minrtt", 200_001),
            (second, two, "bpf_ecf", 300_001),
        ):
            (only,) = stats(lab.server)
            assert only["scheduler"] == name
            assert only["netns"] == lab.server.name
            assert int(only["token"], 16) == info(conn.server).token
            given = sum(s["counters"]["bytes_sent"] for s in only["subflows"])
            assert given == size
            # the clients' ends use the kernel's own scheduler, which counts nothing
            assert stats(lab.client) == []
        state = ok("show")
    count = {s["name"]: s["connections"] for s in state["schedulers"]}
    assert count == {"bpf_minrtt": 1, "bpf_ecf": 1, "default": 2}
    users = {s["name"]: s["namespaces"] for s in state["schedulers"]}
    assert users["bpf_minrtt"] == [first.server.name]
    assert users["bpf_ecf"] == [second.server.name]


def test_a_new_namespace_starts_with_default():
    """Nothing is inherited, not even from a parent that selects a scheduler."""
    with namespace() as parent:
        parent.scheduler = "bpf_ecf"
        with parent.inside(), namespace() as child:
            assert child.scheduler == "default"
        assert parent.scheduler == "bpf_ecf"


@pytest.mark.parametrize("by", ["name", "path", "pid", "here"])
def test_use_finds_the_namespace(by):
    with namespace() as net, namespace() as other:
        with net.inside():
            import subprocess

            sleeper = subprocess.Popen(["sleep", "60"])
        try:
            word = {
                "name": net.name,
                "path": f"/run/netns/{net.name}",
                "pid": str(sleeper.pid),
                "here": None,
            }[by]
            if word:
                said = ok("use", "bpf_ecf", "--netns", word)
            else:
                said = ok("use", "bpf_ecf", net=net)
            assert net.scheduler == "bpf_ecf"
            assert other.scheduler == "default"
            assert (said["scheduler"], said["before"]) == ("bpf_ecf", "default")
            assert said["netns_inode"] == net.inode
            assert said["loaded"] is False
        finally:
            sleeper.kill()
            sleeper.wait()


def accepted_by(lab, listener):
    """Scheduler of a connection that the listener accepts, as the kernel tells it."""
    conn = Connection(lab, listener)
    token = info(conn.server).token
    try:
        found = [c for c in stats(lab.server) if int(c["token"], 16) == token]
        return found[0]["scheduler"] if found else "default", conn
    except BaseException:
        conn.close()
        raise


def test_use_without_a_name_takes_bpf_auto():
    with namespace() as net:
        done = ok("use", "--netns", net.name)
        assert (done["scheduler"], done["loaded"]) == ("bpf_auto", True)
        assert net.scheduler == "bpf_auto"
        ok("use", "default", "--netns", net.name)
    ok("unload", "bpf_auto")


def test_listeners_and_connections_keep_their_scheduler(labs):
    """A server takes the new scheduler when it opens its listening socket again.

    Seen to fail when the listener is made again before the second connection.
    """
    lab = labs()
    with contextlib.ExitStack() as stack:
        lab.server.scheduler = "bpf_minrtt"
        listener = stack.enter_context(contextlib.closing(listen(lab)))
        name, old = accepted_by(lab, listener)
        stack.enter_context(contextlib.closing(old))
        assert name == "bpf_minrtt"

        said = ok("use", "bpf_ecf", "--netns", lab.server.name)
        assert "listening sockets keep their scheduler" in " ".join(said["notes"])
        keeping = said["listeners_keeping_another"]
        assert [k["scheduler"] for k in keeping] == ["bpf_minrtt"]
        port = listener.getsockname()[1]
        assert keeping[0]["local"] == f"{lab.address}:{port}"
        assert keeping[0]["command"].startswith("python3")

        name, between = accepted_by(lab, listener)
        stack.enter_context(contextlib.closing(between))
        assert name == "bpf_minrtt", "an accepted socket takes its listener's"

        listener.close()
        again = stack.enter_context(contextlib.closing(listen(lab)))
        name, new = accepted_by(lab, again)
        stack.enter_context(contextlib.closing(new))
        assert name == "bpf_ecf"

        # the live ones never change, and still work
        for conn in (old, between, new):
            download(conn, 50_000).finish().acknowledged()
        names = sorted(c["scheduler"] for c in stats(lab.server))
        assert names == ["bpf_ecf", "bpf_minrtt", "bpf_minrtt"]
        said = ok("use", "bpf_ecf", "--netns", lab.server.name)
        assert said["listeners_keeping_another"] == []


def test_all_of_them_while_some_come_and_go(tmp_path):
    """Named, of a process alone, of a mount alone; that others end meanwhile is no error."""
    mounted = tmp_path / "ns"
    mounted.touch()
    run("unshare", f"--net={mounted}", "true")
    sleeper = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            Netns().close()

    thread = threading.Thread(target=churn)
    try:
        process = f"/proc/{sleeper.pid}/ns/net"
        until(
            lambda: os.stat(process).st_ino != os.stat("/proc/self/ns/net").st_ino,
            10,
            "its own",
        )
        thread.start()
        with namespace() as named:
            keep = {os.stat(p).st_ino for p in (mounted, process, "/proc/self/ns/net")}
            keep.add(named.inode)
            for name in ("bpf_ecf", "bpf_minrtt", "bpf_ecf", "default"):
                done = ok("use", name, "--all")
                assert keep <= {n["netns_inode"] for n in done["namespaces"]}
                assert named.scheduler == name
                for path in (mounted, process):
                    inside = run(
                        "nsenter",
                        f"--net={path}",
                        "sysctl",
                        "-n",
                        "net.mptcp.scheduler",
                    )
                    assert inside.stdout.strip() == name
    finally:
        stop.set()
        thread.join()
        sleeper.kill()
        sleeper.wait()
        run("umount", mounted)
