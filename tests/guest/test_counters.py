# SPDX-License-Identifier: GPL-2.0
"""The program's counters against ss, the socket's own and the devices'."""

import pathlib
import re

import pytest
from command import ok, sched, stats_of, total
from lab import Path, until
from traffic import connection, info, ss, upload

SIZE = 1 << 20
# Ethernet, IPv4, TCP with timestamps and the longest DSS option
HEADERS = 14 + 20 + 20 + 12 + 28


@pytest.fixture(autouse=True)
def _loaded(both_loaded):
    pass


# queues that hold all of it, so that nothing is lost
ROOMY = [Path(10, rtt, limit=2000) for rtt in (20, 40)]
UNEQUAL = [Path(mbit, 20, limit=2000) for mbit in (20, 10, 5, 5, 2, 2, 1, 1)]
RESENT = ("bytes_retrans", "bytes_copied")


def by_address(conn_stats):
    return {s["local"].rsplit(":", 1)[0]: s for s in conn_stats["subflows"]}


# a guest that stood still takes the other path for a dead one, and its data is sent again
@pytest.mark.virtual_time
@pytest.mark.parametrize("name", ["bpf_minrtt", "bpf_ecf"])
def test_against_ss_and_the_devices(labs, name):
    """Every byte is counted once, on the subflow and the device that carried it."""
    lab = labs(*ROOMY).endpoints()
    lab.client.scheduler = name
    with connection(lab) as conn:
        before = lab.sent()
        upload(conn, SIZE).finish().acknowledged()
        tcp = ss(lab.client)
        conn_stats = stats_of(info(conn.client).token)
        moved = [b - a for a, b in zip(before, lab.sent(), strict=True)]
        socket_info = info(conn.client)
    subflows = by_address(conn_stats)
    assert set(subflows) <= set(tcp)
    new = sum(s["counters"]["bytes_sent"] for s in subflows.values())
    again = sum(s["counters"]["bytes_retrans"] for s in subflows.values())
    assert new == SIZE == socket_info.bytes_sent
    assert again == socket_info.bytes_retrans
    for i, (address, subflow) in enumerate(sorted(subflows.items())):
        own = tcp[address]
        counted = subflow["counters"]["bytes_sent"] + subflow["counters"]["bytes_retrans"]
        repaired = own.get("bytes_retrans", 0)
        assert counted == own["bytes_sent"] - repaired
        assert subflow["tcp"]["bytes_sent"] == own["bytes_sent"]
        assert subflow["cwnd"] == own["cwnd"]
        assert subflow["srtt_us"] == pytest.approx(own["rtt"] * 1000, abs=1)
        packets = own["bytes_sent"] / 1000 + 50
        assert own["bytes_sent"] <= moved[i] <= own["bytes_sent"] + packets * HEADERS
    counters = conn_stats["counters"]
    assert counters["decisions"] == counters["picks"] + sum(conn_stats["waits"].values())
    picks = sum(s["counters"]["picks"] for s in subflows.values())
    assert counters["picks"] == picks


@pytest.mark.parametrize("name", ["bpf_minrtt", "bpf_redundant"])
def test_copies_are_counted_apart(labs, none_loaded, name):
    """With copies on, every byte is counted once, as new or as sent again."""
    ok("load", name)
    lab = labs(*UNEQUAL).endpoints()
    lab.client.scheduler = name
    with connection(lab) as conn:
        for _ in range(12):
            upload(conn, SIZE // 16).finish().acknowledged()
        upload(conn, SIZE).finish().acknowledged()
        found = {}

        def settled():
            """All that a subflow was given has been sent: the end of a copy may wait for an ACK."""
            found["stats"] = stats_of(info(conn.client).token)
            found["tcp"] = ss(lab.client)
            own = [found["tcp"][a] for a in by_address(found["stats"])]
            given = total(found["stats"], "bytes_sent", *RESENT)
            return given == sum(t["bytes_sent"] - t.get("bytes_retrans", 0) for t in own)

        until(settled, 20, "as much sent as given")
        socket_info = info(conn.client)
    new = total(found["stats"], "bytes_sent")
    assert new == socket_info.bytes_sent == SIZE + 12 * SIZE // 16
    assert total(found["stats"], *RESENT) > 0


def test_stats_of_one_namespace_and_text(labs):
    """The table for people has the same numbers; --netns leaves out the rest."""
    lab, other = labs(), labs()
    lab.client.scheduler = other.client.scheduler = "bpf_minrtt"
    with connection(lab, subflows=1) as conn, connection(other, subflows=1) as conn2:
        upload(conn, 100_000).finish().acknowledged()
        upload(conn2, 50_000).finish().acknowledged()
        here = ok("stats", "--netns", lab.client.name)["connections"]
        everywhere = ok("stats")["connections"]
        text = sched("stats", "--netns", lab.client.name)
    assert [c["netns"] for c in here] == [lab.client.name]
    assert {c["netns"] for c in everywhere} == {lab.client.name, other.client.name}
    assert text.code == 0
    assert here[0]["token"][2:] in text.out
    assert re.search(r"\b100000\b", text.out)
    assert not re.search(r"\b50000\b", text.out)


def test_show_says_what_is_there(labs, has_get_send, native, kernel_release):
    lab = labs()
    lab.client.scheduler = "bpf_ecf"
    with connection(lab, subflows=1) as conn:
        upload(conn, 1000).finish()
        state = ok("show")
    hook = "get_send" if has_get_send else "get_subflow"
    assert state["kernel"] == {
        "release": kernel_release,
        "support": "native" if native else "bridge",
        "hook": hook,
        "bridge": "loaded",
    }
    schedulers = {s["name"]: s for s in state["schedulers"]}
    assert set(schedulers) == {"default", "bpf_minrtt", "bpf_ecf"}
    assert schedulers["bpf_ecf"]["namespaces"] == [lab.client.name]
    assert schedulers["bpf_ecf"]["connections"] == 1
    assert schedulers["bpf_ecf"]["state"] == "registered"
    assert schedulers["bpf_minrtt"]["connections"] == 0
    spaces = {n["netns"]: n for n in state["namespaces"]}
    assert spaces[lab.client.name]["scheduler"] == "bpf_ecf"
    assert spaces[lab.client.name]["inode"] == lab.client.inode
    assert spaces[lab.server.name]["scheduler"] == "default"
    assert [(li["netns"], li["scheduler"]) for li in state["listeners"]] == [
        (lab.server.name, "default")
    ]


def test_list_says_what_is_there(labs):
    lab = labs()
    lab.server.scheduler = "bpf_minrtt"
    found = {s["name"]: s for s in ok("list")["schedulers"]}
    sources = pathlib.Path(__file__).parents[2].glob("bpf/schedulers/*.bpf.c")
    assert set(found) == {f"bpf_{s.name.split('.')[0]}" for s in sources} | {"default"}
    assert found["bpf_minrtt"]["namespaces"] == [lab.server.name]
    assert found["bpf_ecf"]["registered"] and found["bpf_ecf"]["builtin"]
    assert found["bpf_ecf"]["pin"] == "/sys/fs/bpf/mptcp-sched/bpf_ecf"
    assert found["default"]["origin"] == "kernel"
    (beta,) = (t for t in found["bpf_ecf"]["tunables"] if t["name"] == "beta")
    assert beta["min"] <= beta["default"] <= beta["max"]


def test_doctor_finds_this_machine_fit():
    result = sched("--json", "doctor")
    assert result.code == 0, result.out + result.err
    assert result.data
