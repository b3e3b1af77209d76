# SPDX-License-Identifier: GPL-2.0
"""`mptcp-sched steer push`: a client's paths, to the server that sends to it.

The channel is `ip netns exec`, into the server's namespace. Both ends are on one machine, so what is
pushed takes the place of what was there: one table is the client's before, and the server's behind.
"""

import os
import subprocess

import pytest
import tables
from command import ok, sched, stats_of
from lab import SERVICE, run, until
from lab import Path as Link
from tables import NAME, lines, steer
from traffic import connection, download, info

file, loaded, steer_loaded = tables.file, tables.loaded, tables.steer_loaded
CLIENT = """\
path name dsl device p1 rank 0
path name lte local 10.0.2.0/24 remote 10.99.0.0/16 rank 1 weight 40 rtt 150ms loss 5% metered
path name spare id 3 remote-id 7 backup rank 2 cap 10G period month day 15
rule remote-port 443 mode redundant  # 1
"""
SERVER = """\
path name dsl remote 10.0.1.1 rank 0
path name lte local 10.99.0.0/16 remote 10.0.2.0/24 rank 1 weight 40 rtt 150ms loss 5% metered
path name spare id 7 remote-id 3 backup rank 2 cap 10G period month day 15
rule remote-port 443 mode redundant  # 1
"""


def rows():
    """Without what accounts say behind them."""
    return "".join(
        line if line.startswith("rule") else line.split("  #")[0] + "\n"
        for line in lines().splitlines(keepends=True)
    ).replace("\n\n", "\n")


def channel(net):
    return f"ip netns exec {net.name}"


def push(lab, *words):
    return sched("--json", "steer", "push", *words, net=lab.client)


def test_the_paths_as_the_peer_sees_them(labs, loaded, file):
    """Local there is remote here; devices become addresses, caps and thresholds stay; so do rules."""
    lab = labs()
    steer(f"replace {file(CLIENT)}")
    pushed = push(lab, "--command", channel(lab.server)).data["pushed"]
    assert rows() == SERVER
    assert ["path " + row["text"] for row in pushed] == SERVER.splitlines()[:3]


def test_each_address_of_a_device(labs, loaded):
    lab = labs()
    lab.client.ip("addr add 10.0.1.77/24 dev p1")
    lab.client.ip("addr add fd00:1::1/64 dev p1 nodad", family=6)
    steer("path add name a-long-long-nam device p1 cap 1G period day")
    told = push(lab, "--command", channel(lab.server)).data
    assert rows().replace(" rank 0 cap 1G period day", "").splitlines() == [
        "path name a-long-long-nam remote 10.0.1.1",
        "path name a-long-long-n-2 remote 10.0.1.77",
        "path name a-long-long-n-3 remote fd00:1::1",
    ]
    assert ["3 addresses, and each of them the whole cap" in note for note in told["notes"]] == [
        True
    ]


SSHD = """\
HostKey {0}/host
AuthorizedKeysFile {0}/user.pub
PidFile none
StrictModes no
UsePAM no
"""
SSH = """\
IdentityFile {0}/user
UserKnownHostsFile {0}/known
BatchMode yes
"""


@pytest.fixture
def ssh(labs, tmp_path, monkeypatch):
    """A lab whose server has OpenSSH's, and whose client is known to it; only its files are not root's own."""
    lab = labs()
    for name in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name)
    (tmp_path / "known").write_text(f"{SERVICE[4]} {(tmp_path / 'host.pub').read_text()}")
    for name, text in (("sshd.conf", SSHD), ("ssh.conf", SSH)):
        (tmp_path / name).write_text(text.format(tmp_path))
    client = tmp_path / "ssh"
    client.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {tmp_path}/ssh.conf "$@"\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    os.makedirs("/run/sshd", exist_ok=True)
    with lab.server.inside():
        server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", tmp_path / "sshd.conf"])
    until(lambda: lab.server.run("ss", "-ltnH").stdout, 20, "sshd listens")
    yield lab
    server.terminate()
    server.wait()


def test_a_host_is_for_ssh(ssh, loaded, file, tmp_path):
    steer(f"replace {file(CLIENT)}")
    done = push(ssh, f"root@{SERVICE[4]}")
    assert done.code == 0, done
    assert rows() == SERVER
    # a peer that is another than it was
    (tmp_path / "known").write_text(f"{SERVICE[4]} {(tmp_path / 'user.pub').read_text()}")
    refused = push(ssh, f"root@{SERVICE[4]}")
    assert refused.code == 1 and "the peer has not taken them" in refused.error["reason"], refused
    assert rows() == SERVER


# options, and what the error says
WRONG = {
    "no host": ((), 2, "HOST or --command"),
    "both": (("x", "--command", "y"), 2, "HOST or --command"),
    "more than a host": (("x; reboot",), 2, "not a host"),
    "a channel that ends": (("--command", "false"), 1, "exit status not 0"),
    "a channel that is not there": (("--command", "/no/such"), 1, "/no/such"),
    "a channel that breaks": (("--command", "head -c 60 | env"), 1, "ended before its last line"),
    "one that breaks at a line": (("--command", "head -n 1 | env"), 1, "ended before its last line"),
    "a peer that refuses": (("--command", "sed s/rank/rnak/ | env"), 1, "no field rnak"),
    "one that sends rules": (("--command", "sed 's/^path name lte.*/rule mode auto/' | env"), 1, "rules among"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_nothing_changes_on_an_error(case, labs, loaded, file):
    words, code, reason = WRONG[case]
    lab = labs()
    steer(f"replace {file(CLIENT)}")
    before = rows(), steer("list")["generation"]
    result = push(lab, *words)
    assert result.code == code, result
    assert reason in result.error["reason"] and result.out == "", result.error
    assert result.error["hint"]
    assert (rows(), steer("list")["generation"]) == before


def test_a_device_without_an_address(labs, loaded):
    lab = labs()
    lab.client.ip("addr flush dev p2")
    steer("path add name one device p1")
    steer("path add name two device p2")
    result = push(lab, "--command", f"{channel(lab.server)} false")
    assert result.code == 1
    assert "path two: device p2 has no address" in result.error["reason"]
    # by its number the peer knows it anyhow
    steer("path delete two")
    steer("path add name two device p2 id 2")
    assert push(lab, "--command", channel(lab.server)).code == 0
    assert "path name two remote-id 2 rank 0" in rows()


@pytest.mark.virtual_time
def test_the_server_does_as_its_client_says(labs, none_loaded, steer_loaded):
    """By the client's own rows it knows no path, and uses both."""
    lab = labs(Link(20, 20), Link(20, 10)).endpoints()
    lab.server.scheduler = NAME
    steer("path add name dsl local 10.0.1.0/24")
    steer("path add name lte local 10.0.2.0/24 rank 1 metered")
    steer("rule add mode active-standby")
    with connection(lab) as conn:

        def spared():
            before = [
                s["counters"]["bytes_sent"] for s in stats_of(info(conn.server).token)["subflows"]
            ]
            download(conn, 1 << 20).finish().acknowledged()
            found = stats_of(info(conn.server).token)["subflows"]
            return found[1]["counters"]["bytes_sent"] == (before[1:] or [0])[0]

        assert not spared()
        assert push(lab, "--command", channel(lab.server)).code == 0
        assert spared()
        assert (
            ok("stats", "--netns", lab.server.name)["connections"][0]["subflows"][1]["path"]
            == "lte"
        )
