# SPDX-License-Identifier: GPL-2.0
"""bpf_steer's caps and accounts: bytes by path against what TCP says, and what is done at a cap.

The server sends, and its rows know the paths by its own devices; virtual time.
"""

import contextlib
import re
import time

import pytest
import steered
from cells import bench_lab, netlab
from command import ok, sched
from lab import until
from steered import FREE, KB, MB, PAID, counted, flags, given, served
from tables import ACCOUNTS, NAME, steer
from test_reconnect import Reused
from traffic import connection, download, listen, upload

pytestmark = pytest.mark.virtual_time
ROW = "path name paid device paid"


@pytest.fixture(autouse=True)
def fresh():
    """No accounts of another test."""
    ACCOUNTS.unlink(missing_ok=True)
    yield
    ACCOUNTS.unlink(missing_ok=True)


tables = steered.tables


def accounts():
    return {a["name"]: a for a in steer("account show")["accounts"]}


def used(name):
    return accounts()[name]["sent"] + accounts()[name]["received"]


def tcp_says(net):
    """Of each subflow: the number of the client's address, bytes sent, received and of the window."""
    for line in net.run("ss", "-tinHO", "state", "established").stdout.splitlines():
        (path,) = re.findall(r"\b10\.77\.(\d+)\.2\S*:\d+\s", line)
        of = {k: int(v) for k, v in re.findall(r"\b(bytes_\w+|cwnd|mss):(\d+)", line)}
        window = of["cwnd"] * of["mss"]
        yield int(path), of.get("bytes_sent", 0), of.get("bytes_received", 0), window


def totals(net):
    """The same of one connection, by that number."""
    return {path: tuple(rest) for path, *rest in tcp_says(net)}


def settles(found, wanted):
    """Subflows close behind the caller's back."""
    with contextlib.suppress(AssertionError):
        until(lambda: found() == wanted, 5, "closed")
    assert found() == wanted


# The capped path is the one that the mode would take.
MODES = {
    "bpf_minrtt": "",
    "priority": "rank 0",
    "active-standby": "rank 0",
    "redundant": "",
}


@pytest.mark.parametrize("mode", MODES)
def test_a_cap_is_kept_to_within_a_window(tables, mode):
    """And all data goes on over the other path, which is slower."""
    tables(
        f"{ROW} {MODES[mode]} cap 1M period month",
        f"path name free device free {'rank 1' if MODES[mode] else ''}",
        f"rule mode {mode}",
    )
    with served(FREE, PAID) as (lab, conn):
        download(conn, 4 * MB).finish().acknowledged()
        window = totals(lab.server)[2][2]
        account = accounts()["paid"]
        assert 1_000_000 <= used("paid") <= 1_000_000 + window, (account, window)
        assert account["over_cap"] is True
        assert "over_cap" in counted(conn)["notes"]
        assert "over_cap" in flags(conn)[1] and "over_cap" not in flags(conn)[0]
        assert (1, used("paid"), 1_000_000) in capped(conn)
        line = sched("steer", "list").out.splitlines()[0]
        assert re.search(r"# 1\.\d\dM of 1M since 20\d\d-\d\d-01, over cap$", line), line
        before = given(conn)
        download(conn, MB).finish().acknowledged()
        assert given(conn)[1] == before[1] and given(conn)[0] - before[0] >= MB
        # a new period begins
        steer("account reset paid")
        download(conn, MB).finish().acknowledged()
        assert given(conn)[1] > before[1]


@pytest.mark.parametrize("mode", ["bpf_minrtt", "priority"])
def test_each_connection_adds_a_window_at_most(tables, mode):
    tables(
        f"{ROW} {MODES[mode]} cap 1M period month",
        f"path name free device free {'rank 1' if MODES[mode] else ''}",
        f"rule mode {mode}",
    )
    with bench_lab(FREE, PAID) as lab, contextlib.ExitStack() as stack:
        lab.server.scheduler = NAME
        conns = [stack.enter_context(connection(lab)) for _ in range(4)]
        for transfer in [download(conn, MB) for conn in conns]:
            transfer.finish().acknowledged()
        windows = sum(window for path, *_, window in tcp_says(lab.server) if path == 2)
        print(used("paid"), windows)
        assert 1_000_000 <= used("paid") <= 1_000_000 + windows
        assert all(flags(conn)[1] >= {"over_cap"} for conn in conns)


def capped(conn):
    """What stats says: of each path its number, the bytes of its period and its cap."""
    found = sorted(counted(conn)["subflows"], key=lambda s: s["id"])
    return [(i, s["period_bytes"], s["cap"]) for i, s in enumerate(found)]


def test_without_a_cap_it_carries(tables):
    """What the tests above would be without one."""
    tables(ROW, "path name free device free", "rule mode bpf_minrtt")
    with served(FREE, PAID) as (_, conn):
        download(conn, 4 * MB).finish().acknowledged()
        assert used("paid") > 2 * MB


def test_the_only_path_goes_on_where_that_is_allowed(tables):
    tables(f"{ROW} cap 300K period day", "rule mode priority")
    with served(PAID) as (_, conn):
        download(conn, MB).finish().acknowledged()
        assert used("paid") > MB
        assert "over_cap" in counted(conn)["notes"]


def test_the_only_path_is_blocked_where_that_is_said(tables):
    """Until its account begins anew, and the connection is asked about again."""
    tables(f"{ROW} cap 300K period day only block", "rule mode priority")
    with served(PAID) as (lab, conn):
        transfer = download(conn, MB)
        until(lambda: used("paid") >= 300_000, 20, "all of the cap is used")
        with pytest.raises(AssertionError):
            transfer.reached(1, seconds=5)
        assert transfer.received < MB, "blocked"
        window = totals(lab.server)[1][2]
        assert used("paid") <= 300_000 + window, (used("paid"), window)
        for _ in range(4):
            steer("account reset")
            upload(conn, 1000).finish()
            with contextlib.suppress(AssertionError):
                transfer.reached(1, seconds=3)
        transfer.finish().acknowledged()


def at_rest(lab):
    """Totals of both ends, once no copy of what is acknowledged already comes any more."""
    before, now = None, (totals(lab.server), totals(lab.client))
    while now != before:
        time.sleep(1)
        before, now = now, (totals(lab.server), totals(lab.client))
    return now


def test_accounts_agree_with_tcp(tables, by_the_bridge):
    """Each byte once, both ways and with losses; after the subflows have closed, too."""
    lossy = netlab.Path("paid", mbit=20, rtt_ms=20, loss=1, seed=3).roomy()
    tables(ROW, "path name free device free", "rule mode bpf_rr")
    with served(FREE, lossy) as (lab, conn):
        for _ in range(2):
            download(conn, MB).finish().acknowledged()
            upload(conn, MB).finish().acknowledged()
        tcp, peer = at_rest(lab)
        assert min(t[0] for t in tcp.values()) > MB / 4
        assert min(t[1] for t in tcp.values()) > MB / 4
        # a segment is counted when the next one comes
        for number, name in ((1, "free"), (2, "paid")):
            assert accounts()[name]["sent"] == tcp[number][0]
            assert 0 <= tcp[number][1] - accounts()[name]["received"] <= 64 * KB
    assert sum(t[0] for t in tcp.values()) > sum(t[1] for t in peer.values()), "nothing was lost"

    def found():
        return {n: (accounts()[n]["sent"], accounts()[n]["received"]) for n in ("free", "paid")}

    wanted = {"free": tcp[1][:2], "paid": tcp[2][:2]}
    settles(found, wanted)


def test_who_only_receives(tables, by_the_bridge):
    """No decision is asked for where nothing is sent: each segment is a look."""
    tables(ROW)
    with bench_lab(PAID) as lab:
        lab.client.scheduler = NAME
        with connection(lab) as conn:
            download(conn, MB).finish()
            account = accounts()["paid"]
            assert account["sent"] == 0 and account["received"] > MB - 64 * KB
    settles(lambda: accounts()["paid"]["received"], MB + 1)


def test_what_was_before_the_tables_is_nobody_s(tables, by_the_bridge):
    """Of a subflow that only receives, too; and of a new one all counts."""
    with bench_lab(PAID) as lab:
        lab.client.scheduler = NAME
        with connection(lab) as conn:
            download(conn, 2 * MB).finish()
            tables(ROW)
            assert accounts()["paid"]["received"] == 0
            download(conn, MB).finish()
            assert MB - 64 * KB < accounts()["paid"]["received"] <= MB + 64 * KB
        with connection(lab) as conn:
            had = accounts()["paid"]["received"]
            download(conn, MB).finish()
        settles(lambda: accounts()["paid"]["received"] - had >= MB, True)


def test_a_socket_that_is_used_again(tables, by_the_bridge):
    """TCP's totals begin anew with each of its connections; the client's tables count both."""
    tables(ROW, "path name free device free", "rule mode bpf_rr")
    wanted = {1: [0, 0], 2: [0, 0]}
    with bench_lab(FREE, PAID) as lab:
        lab.client.scheduler = NAME
        lab.local = lambda n: netlab.Lab.address("client", n - 1)
        with contextlib.closing(listen(lab)) as listener:
            ends = Reused(lab, listener)
            for _ in range(3):
                ends.connect()
                upload(ends, 400_000).finish().acknowledged()
                for path, (out, back, _) in totals(lab.client).items():
                    wanted[path][0] += out
                    wanted[path][1] += back
                ends.disconnect()
                ends.server.close()
            ends.client.close()

    def found():
        return {i: [accounts()[n]["sent"], accounts()[n]["received"]] for i, n in names}

    names = ((1, "free"), (2, "paid"))
    settles(found, wanted)


def test_accounts_survive(none_loaded, tmp_path):
    """Other tables, a load anew, and a boot, as far as the file has them."""
    file = tmp_path / "tables"
    file.write_text(f"{ROW} cap 5M period month\nrule mode bpf_minrtt\n")
    ACCOUNTS.unlink(missing_ok=True)  # unloading has saved them
    ok("load", NAME)
    steer(f"replace {file}")
    with bench_lab(PAID) as lab:
        lab.server.scheduler = NAME
        with connection(lab) as conn:
            download(conn, MB).finish().acknowledged()
            steer("account save")
            saved, had = ACCOUNTS.read_text(), accounts()["paid"]
            assert had["sent"] > MB
            steer("flush")
            steer(f"replace {file}")
            assert accounts()["paid"] == had
            download(conn, MB).finish().acknowledged()
        # while there is a path: without one the ends do not hear that it is over
        until(lambda: not conn_of(NAME), 20, "no connection")
    last = accounts()["paid"]
    assert last["sent"] > 2 * MB
    ok("unload", NAME, "--force")
    ok("load", NAME)
    steer(f"replace {file}")
    assert accounts()["paid"] == last
    ok("unload", NAME, "--force")
    ACCOUNTS.write_text(saved)
    ok("load", NAME)
    steer(f"replace {file}")
    assert accounts()["paid"] == had, "a crash loses what was not saved"
    steer("account reset")
    assert used("paid") == 0
    ok("unload", NAME)
    ok("load", NAME)
    steer(f"replace {file}")
    assert used("paid") == 0
    ACCOUNTS.write_text("accounts 1\npath paid\n")
    steer("flush")
    result = sched("--json", "steer", "replace", file)
    assert result.code == 1 and result.error["object"] == f"{ACCOUNTS}:2"
    assert "no account" in result.error["reason"] and result.error["hint"]
    assert steer("list")["paths"] == []


def conn_of(name):
    return [c for c in ok("stats")["connections"] if c["scheduler"] == name]
