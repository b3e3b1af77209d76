# SPDX-License-Identifier: GPL-2.0
"""Where the exporter listens, who may connect, and what it says when it cannot."""

import grp
import os
import shutil
import signal
import socket
import stat
from pathlib import Path

import pytest
from command import sched
from lab import run
from scrape import AS_THE_UNIT, exporter

FAILED, PERMISSION = 1, 4


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "[::1]:0", ":0", "unix:/run/mptcp-sched-test"])
def test_addresses(listen):
    with exporter(listen=listen) as served:
        assert "mptcp_sched_build_info" in served.text()
        for _ in range(2):
            assert served.end(signal.SIGINT)[0] == 0 if served.process.poll() is None else True
    assert not os.path.exists("/run/mptcp-sched-test")


def refused(*args, prefix=()):
    result = sched("--json", "exporter", *args, prefix=prefix)
    return result.code, result.error["operation"], result.error


def test_addresses_that_cannot_be():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, operation, error = refused("--listen", f"127.0.0.1:{port}")
    assert (code, operation) == (FAILED, "listen at")
    assert "in use" in error["reason"] and "another" in error["hint"]
    code, _, error = refused("--listen", "192.0.2.7:9851")
    assert code == FAILED and "no interface" in error["reason"]
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    code, _, error = refused("--listen", "127.0.0.1:80", prefix=nobody)
    assert code == PERMISSION and "1024" in error["hint"]
    code, _, error = refused("--listen", "127.0.0.1:0", prefix=nobody)
    assert code == PERMISSION and "CAP_BPF" in error["reason"]
    with exporter(listen="unix:/run/mptcp-sched-test"):
        code, _, error = refused("--listen", "unix:/run/mptcp-sched-test")
        assert code == FAILED and "in use" in error["reason"]
    # killed, it leaves its file, which is in nobody's way
    with exporter(listen="unix:/run/mptcp-sched-test") as served:
        served.process.kill()
        served.process.wait()
        assert os.path.exists("/run/mptcp-sched-test")
        with exporter(listen="unix:/run/mptcp-sched-test") as again:
            assert again.request()[0] == 200
            assert again.end()[0] == 0


def asked_by(user, path):
    """Of another user's curl: its exit status and what it got."""
    curl = ("curl", "-sS", "--max-time", "200", "--unix-socket", path, "http://any/metrics")
    done = run("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *curl, check=False)
    return done.returncode, done.stdout


def is_for(path):
    """Who may connect: the mode and the group."""
    st = os.stat(path)
    return stat.S_IMODE(st.st_mode), grp.getgrgid(st.st_gid).gr_name


@pytest.fixture
def directory():
    """As RuntimeDirectory= of the unit makes it, and its user is there."""
    made = Path("/run/mptcp-sched-exporter")
    made.mkdir(mode=0o755)
    os.chown(made, 65534, 65534)
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("prefix", [(), (*AS_THE_UNIT, "--groups=www-data")])
@pytest.mark.parametrize("umask", [0, 0o77])
def test_a_socket_for_a_proxy(directory, prefix, umask):
    """Another user connects where its group was named, and nobody else ever."""
    path = str(directory / "socket")
    prefix = [word for word in prefix if word != "--clear-groups"]
    before = os.umask(umask)
    try:
        for group, mode, status in ((("--socket-group", "www-data"), 0o660, 0), ((), 0o600, 7)):
            with exporter(*group, listen=f"unix:{path}", prefix=prefix) as served:
                assert is_for(path)[0] == mode
                assert (is_for(path)[1] == "www-data") is bool(group)
                got, text = asked_by("www-data", path)
                assert (got, "mptcp_sched_build_info" in text) == (status, not status)
                assert asked_by("games", path) == (7, "")
                assert served.end()[0] == 0
            assert not os.path.exists(path)
    finally:
        os.umask(before)


def test_a_group_that_a_socket_cannot_have(directory):
    path = directory / "socket"
    words = ("--listen", f"unix:{path}", "--socket-group")
    code, operation, error = refused(*words, "www-data", prefix=AS_THE_UNIT)
    assert (code, operation) == (PERMISSION, "listen at")
    assert error["object"] == "www-data" and "member" in error["hint"]
    assert not path.exists()
    gid = grp.getgrnam("www-data").gr_gid
    with exporter("--socket-group", str(gid), listen=f"unix:{path}"):
        assert is_for(path) == (0o660, "www-data")


@pytest.mark.parametrize("path", ["/", "/metrics", "/stats.json", "/nosuch"])
def test_by_which_names_it_answers(path):
    """Not by one that another site can have, which a browser would let read what is here."""
    own = socket.gethostname()
    known = ["192.0.2.1", "[2001:db8::1]:9851", "localhost:9851", own, "a.example", "B.example:80"]
    with exporter("--ui", "--host", "a.example", "--host", "b.example") as served:
        for host in known:
            assert served.request(path, Host=host)[0] == (404 if path == "/nosuch" else 200), host
        for host in ("evil.example", f"{own}.evil.example:9851", "127.0.0.1.evil.example", ""):
            status, headers, text = served.request(path, Host=host)
            assert (status, headers["Content-Type"]) == (403, "text/plain; charset=utf-8"), host
            assert "--host NAME" in text and text.count("\n") == 1
    with exporter("--ui", listen="unix:/run/mptcp-sched-test") as served:
        assert served.request("/stats.json", Host="evil.example")[0] == 200
