# SPDX-License-Identifier: GPL-2.0
"""The lab's emulation, player, fetcher and probe over plain TCP, where the answer is known; steering's tables."""

import contextlib
import dataclasses
import threading
import time

import pytest
import steered
import traced
from mptcplab import fluid, measures, player, scenario
from mptcplab.guest import emulation, measure
from mptcplab.lab import cwnd, fetch, netlab, transfer, web
from mptcplab.path import CODEL

pytestmark = pytest.mark.virtual_time
LINK = netlab.Path("one", mbit=4, rtt_ms=20, limit=40, seed=7)
SCENARIO = {
    "title": "one plain link",
    "path": [{"name": "one", "mbit": 4, "rtt_ms": 20, "queue_ms": 300}],
}


def problems(path, tmp_path, trunk=()):
    links = [dataclasses.asdict(t) for t in trunk]
    return emulation.check_path(dataclasses.asdict(path), links, tmp_path)[0]["problems"]


# --- the check of the emulation


def test_a_path_that_is_as_it_should_be_passes(tmp_path):
    path = dataclasses.replace(LINK, jitter_ms=4, loss=3, skew_ms=6)
    assert problems(path, tmp_path) == []


def test_a_bottleneck_at_an_ends_own_device_behind_shared_links_passes(tmp_path):
    path = dataclasses.replace(LINK, local="client")
    trunk = [netlab.Path(n, mbit=m) for n, m in (("backbone", 30), ("core", 50))]
    assert problems(path, tmp_path, trunk) == []


@pytest.mark.parametrize(
    ("lie", "truth", "told"),
    [
        ("rate 4000000bit", "rate 3800000bit", "TCP reaches 95"),
        ("delay 10000us", "delay 10800us", "RTT 21."),
        ("delay 10000us 4000us", "delay 10000us 9000us", "RTTs from"),
        ("delay 10000us 4000us", "delay 10000us", "hardly any jitter"),
        ("loss 3%", "loss 6%", "lost "),
    ],
)
def test_a_path_that_is_not_is_told(tmp_path, monkeypatch, lie, truth, told):
    class Liar(netlab.Path):
        def queue(self, towards=""):
            return super().queue(towards).replace(lie, truth)

    monkeypatch.setattr(emulation, "NetPath", Liar)
    random = {"loss": {"loss": 3}, "dela": {"jitter_ms": 4 * ("4000us" in lie)}}
    path = dataclasses.replace(LINK, **random.get(lie[:4], {}))
    found = problems(path, tmp_path)
    assert len(found) == 1
    assert told in found[0]


def test_a_shared_link_that_is_narrower_than_the_path_is_told(tmp_path):
    assert "TCP reaches 50" in problems(LINK, tmp_path, [netlab.Path("core", mbit=2, limit=50)])[0]


def test_the_same_seed_loses_the_same_packets_and_another_seed_others():
    def seen(seed):
        path = dataclasses.replace(LINK, loss=5, seed=seed)
        with netlab.Lab([path]) as lab:
            return emulation.received(lab, path, 400)

    first = seen(1)
    assert 340 < len(first) < 400
    assert seen(1) == first
    assert seen(2) != first


def test_a_managed_queue_passes(tmp_path):
    path = dataclasses.replace(LINK, loss=3, skew_ms=6, limit=1000, aqm=CODEL)
    assert problems(path, tmp_path) == []


def test_a_managed_queue_that_is_not_is_told(tmp_path, monkeypatch):
    class Liar(netlab.Path):
        def queues(self, towards):
            for place, words in super().queues(towards):
                yield place, words.replace("rate 4000000bit", "rate 3800000bit")

    monkeypatch.setattr(emulation, "NetPath", Liar)
    path = dataclasses.replace(LINK, limit=1000, aqm=CODEL)
    assert "TCP reaches 95" in problems(path, tmp_path)[0]


def beside_bulk(path):
    """(RTTs in ms, packets dropped) while TCP fills the queue, as far as it may."""
    with netlab.Lab([path]) as lab, transfer.connection(lab, mptcp=False) as ends:
        whole = (ends, bytes(2_000_000))
        bulk = threading.Thread(target=transfer.transfer, args=(lab, "server", [whole]))
        bulk.start()
        time.sleep(2)
        found = emulation.rtts_ms(lab, 10)
        assert bulk.is_alive()
        bulk.join()
        return found, lab.queues()[0]["client"]["drops"]


def test_who_sends_little_does_not_wait_in_a_managed_queue():
    path = dataclasses.replace(LINK, limit=1000)
    rtts, drops = beside_bulk(path)
    assert min(rtts) > 100 and not drops, (rtts, drops)
    rtts, drops = beside_bulk(dataclasses.replace(path, aqm=CODEL))
    assert max(rtts) < 30 and drops, (rtts, drops)


def large_packets(path, gso):
    """How many packets of TCP's were larger than the link's before their device had them."""
    with traced.event("net", "net_dev_queue", f'name == "{path.name}" && len > {netlab.FRAME}'):
        with netlab.Lab([path], gso=gso) as lab, transfer.connection(lab, mptcp=False) as ends:
            assert transfer.transfer(lab, "server", [(ends, bytes(500_000))])["verified"]
            got = lab.counters()[0]["rx"]
        assert got["bytes"] / got["packets"] < netlab.FRAME
        return traced.lines()


def test_with_gso_tcp_makes_large_packets_and_the_link_sees_none():
    path = netlab.Path("one", mbit=100, rtt_ms=20)
    assert not large_packets(path, gso=False)
    assert len(large_packets(path, gso=True)) > 20


# --- player and fetcher


def cell(workload, **changes):
    data = SCENARIO | {"workload": workload} | changes
    return scenario.parse("test", data, "full").cells(["plain TCP"])[0]


def result_of(one, tmp_path):
    found, _ = measure.measure(one, dict, tmp_path)
    assert found["problems"] == []
    return found


class Ideal:
    """A link that delivers at its goodput, a round trip after the request."""

    def __init__(self, sizes):
        self.now, self.sizes = 0.0, sizes

    def fetch(self, rate):
        self.now += LINK.rtt_ms / 1000 + self.sizes[rate] / LINK.goodput

    def sleep(self, seconds):
        self.now += seconds


@pytest.mark.parametrize(
    "rates",
    [
        [0.5, 1, 2],  # all fit: the buffer fills and is waited for
        [1, 6],  # the higher one does not: it comes and goes
        [5],  # more than the link has: playback stands still
    ],
)
def test_the_player_on_a_plain_link_does_what_the_model_does(tmp_path, rates):
    one = cell({"kind": "dash", "seconds": 60, "rates": rates})
    found = result_of(one, tmp_path)
    sizes = [round(r * 1e6 / 8 * 5) for r in rates]
    ideal = Ideal(sizes)
    abr = player.Abr(tuple(rates))
    chunks = player.play(ideal.fetch, abr, 12, 5, 30, 5, lambda: ideal.now, ideal.sleep)
    assert [o["rate"] for o in found["objects"]] == [c.rate for c in chunks]
    for got, want in zip(found["objects"], chunks, strict=True):
        assert got["bytes"] == sizes[want.rate]
        # Behind a pause TCP begins anew, and a loss holds up what is behind it.
        assert want.seconds * 0.9 < got["seconds"] < want.seconds * 1.1 + 0.05
    both = (sum(o["seconds"] for o in found["objects"]), sum(c.seconds for c in chunks))
    assert both[0] == pytest.approx(both[1], rel=0.03)
    # playback stands still for as long as the downloads take longer than it, so it errs with them
    assert found["values"]["stalled_s"] == pytest.approx(
        sum(c.stalled for c in chunks), abs=0.03 * both[1]
    )
    top = min(4, max(rates))
    mean = sum(rates[c.rate] for c in chunks) / len(chunks)
    assert found["values"]["bitrate_ratio"] == pytest.approx(mean / top)


@contextlib.contextmanager
def fetching(files, path=LINK):
    with (
        netlab.Lab([path]) as lab,
        web.Server(lab, files, mptcp=False),
        fetch.fetcher(lab, lab.address("server", 0), mptcp=False) as conn,
    ):
        yield lab, conn


def test_the_fetcher_takes_as_long_as_the_link_and_tells_what_is_wrong():
    with fetching({"big": 200_000, "small": 100}) as (_, conn):
        for name, size in (("big", 200_000), ("small", 100), ("big", 200_000)):
            got = conn.get(name)
            assert got.right
            assert got.bytes == size
            # The window that a connection begins with fills this link.
            bound = fluid.fluid_bound(size, [LINK])
            assert bound * 0.99 < got.seconds < bound * 1.03 + 0.002, name
            assert 0.02 < got.first <= got.seconds
        with pytest.raises(netlab.LabError, match="none: the server says .*404"):
            conn.get("none")


def test_a_page_and_its_objects_take_as_long_as_the_link(tmp_path):
    one = cell({"kind": "page", "objects": 30, "connections": 3})
    found = result_of(one, tmp_path)
    assert len(found["objects"]) == 30
    size = sum(o["bytes"] for o in found["objects"])
    # Handshake, request and answers; requests of three connections overlap.
    at_least = size / LINK.goodput + 0.04
    assert at_least < found["values"]["page_s"] < at_least * 1.1 + 0.1


def test_an_idle_time_resets_the_window_once():
    with fetching({"file": 500_000}) as (lab, conn), cwnd.probe() as read:
        conn.get("file")
        pair = (lab.address("server", 0), lab.address("client", 0))
        before = read().get(pair, dict.fromkeys(cwnd.KINDS, 0))
        conn.get("file")
        assert read().get(pair, before)["idle"] == before["idle"]
        time.sleep(5)
        conn.get("file")
        assert read()[pair]["idle"] == before["idle"] + 1


# --- what changes during a run


def test_a_path_changes_when_its_time_comes(tmp_path):
    path = SCENARIO["path"][0] | {"change": [{"at": 3, "mbit": 1}, {"at": 6, "mbit": 4}]}
    one = cell(
        {"kind": "requests", "seconds": 9, "interval_ms": 0, "response_bytes": 20_000},
        path=[path],
    )
    found = result_of(one, tmp_path)
    fast, slow = (0.02 + 20_000 / (LINK.goodput * part) for part in (1, 0.25))
    for begun, ms in found["series"]["rtt_ms"]:
        # Not those in which the change happens.
        if begun < 2.9 or begun > 6.2:
            assert ms / 1000 == pytest.approx(fast, rel=0.05)
        elif 3.1 < begun < 5.7:
            assert ms / 1000 == pytest.approx(slow, rel=0.05)


def test_a_dead_path_comes_back(tmp_path):
    path = SCENARIO["path"][0] | {"change": [{"at": 2, "loss": 100}, {"at": 3, "loss": 0}]}
    one = cell({"kind": "requests", "seconds": 6, "interval_ms": 50}, path=[path])
    found = result_of(one, tmp_path)
    slow = [(b, ms) for b, ms in found["series"]["rtt_ms"] if ms > 30]
    assert len(slow) == 1
    assert 1.95 < slow[0][0] < 2.05
    # Until TCP's timer, which doubles, comes after the outage.
    assert 950 < slow[0][1] < 2500


def test_a_flow_is_timed_from_its_connection_to_its_last_byte(tmp_path):
    found = result_of(cell({"kind": "flows", "sizes": ["64K", "256K"]}), tmp_path)
    for one in found["objects"]:
        # SYN and its answer, then one way for the data.
        want = 0.02 + 0.01 + one["bytes"] / LINK.goodput
        assert want * 0.99 < one["seconds"] < want * 1.05 + 0.02


def test_iperf3_reaches_the_rate(tmp_path):
    found = result_of(cell({"kind": "bulk", "seconds": 5, "direction": "up"}), tmp_path)
    assert 0.95 < found["values"]["goodput_ratio"] < 1.01
    assert found["counted"]["received"][0] > 0.95 * 5 * 4e6 / 8


def test_bulk_beside_requests_slows_them_by_the_queue(tmp_path):
    work = {"kind": "requests", "seconds": 5, "interval_ms": 100, "beside": "bulk"}
    found = result_of(cell(work), tmp_path)
    assert found["values"]["beside_mbit"] == pytest.approx(
        4 * netlab.PAYLOAD / netlab.FRAME, rel=0.1
    )
    assert 30 < found["values"]["rtt_ms"] < 20 + 300 + 25


# --- what a scenario's tables do

tables = steered.tables


def test_a_cell_has_the_tables_and_the_dscp_that_its_scenario_says(tables, tmp_path):
    """Calls go over the longer path, since the tables say so; without DSCP they would take the other."""
    rows = ["path name two device two rank 0", "path name one device one rank 1"]
    paths = [{"name": "one", "mbit": 4, "rtt_ms": 20}, {"name": "two", "mbit": 4, "rtt_ms": 60}]
    rules = ["rule dscp ef mode active-standby", "rule mode bpf_minrtt"]
    data = SCENARIO | {"path": paths, "costly": "two", "steering": {"calls": [*rows, *rules]}}
    shares = []
    for dscp in (0, 46):
        work = {"kind": "requests", "seconds": 2, "response_bytes": 1000, "dscp": dscp}
        made = scenario.parse("test", data | {"workload": work}, "full")
        (one,) = made.cells(["bpf_steer@calls"])
        share = measures.MEASURES["costly_share"].of(one, result_of(one, tmp_path))
        shares.append(share)
    # active-standby has the path that was there first for a second
    assert shares[0] < 0.1 and shares[1] > 0.3, shares
