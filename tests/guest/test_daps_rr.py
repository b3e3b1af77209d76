# SPDX-License-Identifier: GPL-2.0
"""The two baselines: round robin takes turns, DAPS shares by 1 / delay."""

import pytest
from cells import bench_lab, downloads, netlab, sent
from command import stats_of
from lab import Path
from traffic import connection, download, info, upload

SIZE = 1 << 20


@pytest.fixture(autouse=True)
def _loaded(_shared):
    _shared.need("bpf_daps", "bpf_rr", "bpf_minrtt")


def given_to(conn):
    """Bytes of the client's new data, per subflow."""
    return sent(stats_of(info(conn.client).token))


@pytest.mark.virtual_time
def test_rr_alternates(labs):
    """One message after the other, each small enough for any window: one each in turn.

    bpf_minrtt, the control, gives nearly all of them to one path. Not in real time: on a host that
    stands still for longer than a retransmission timer a path misses its turn.
    """
    lab = labs(Path(20, 10), Path(20, 40)).endpoints()
    message, count = 4 << 10, 40
    shares = {}
    for name in ("bpf_rr", "bpf_minrtt"):
        lab.client.scheduler = name
        with connection(lab) as conn:
            upload(conn, 128 << 10).finish().acknowledged()
            before = given_to(conn)
            for _ in range(count):
                upload(conn, message).finish().acknowledged()
            after = given_to(conn)
            shares[name] = [b - a for a, b in zip(before, after, strict=True)]
    assert sum(shares["bpf_rr"]) == count * message
    assert abs(shares["bpf_rr"][0] - shares["bpf_rr"][1]) <= message
    assert abs(shares["bpf_minrtt"][0] - shares["bpf_minrtt"][1]) > 4 * message, shares


@pytest.mark.virtual_time
def test_rr_is_even_between_equals_and_blind_to_delay():
    """In bulk: of equal paths half each; windows, not RTTs, are all that it looks at."""
    equal = [netlab.Path(n, mbit=5, rtt_ms=40) for n in ("one", "two")]
    found = downloads("bpf_rr", equal, [SIZE] * 2)
    assert sum(sent(found)) == 2 * SIZE + 1
    one, two = sent(found)
    assert abs(one - two) <= 0.1 * (one + two), found
    assert found["waits"]["turn"] == found["waits"]["faster"] == 0


@pytest.mark.virtual_time
@pytest.mark.parametrize("rtt_ms", [(20, 60), (100, 20)])
def test_daps_shares_follow_the_delays(rtt_ms):
    """Small messages, so that neither rate nor window decides: shares as 1 / srtt.

    Their windows stay alike, as none is ever full. bpf_rr, the control, gives both the same.
    """
    paths = [netlab.Path(n, mbit=50, rtt_ms=t) for n, t in zip(("one", "two"), rtt_ms, strict=True)]
    count, message = 150, 8 << 10
    ratio = {}
    with bench_lab(*paths) as lab:
        for name in ("bpf_daps", "bpf_rr"):
            lab.server.scheduler = name
            with connection(lab) as conn:
                for _ in range(count):
                    download(conn, message).finish().acknowledged()
                found = stats_of(info(conn.server).token)
            given = sent(found)
            assert sum(given) == count * message + 1
            ratio[name] = given[0] / given[1]
            srtt = [s["srtt_us"] for s in found["subflows"]]
    want = srtt[1] / srtt[0]
    assert ratio["bpf_daps"] == pytest.approx(want, rel=0.25), (ratio, srtt)
    assert ratio["bpf_rr"] == pytest.approx(1, rel=0.1)


@pytest.mark.virtual_time
def test_daps_in_bulk(_shared):
    """Delays that say nothing of the rates, 1 to 4.

    The patient one waits for the turn of a path that is full while the other has room, and by
    default there is no such wait.
    """
    paths = [
        netlab.Path("one", mbit=2, rtt_ms=40),
        netlab.Path("two", mbit=8, rtt_ms=40),
    ]
    for patient in (0, 1):
        _shared.need("bpf_daps", values=(f"wait_turn={patient}",))
        found = downloads("bpf_daps", paths, [SIZE] * 2)
        assert sum(sent(found)) == 2 * SIZE + 1
        assert min(sent(found)) > 0.1 * sum(sent(found)), found
        assert (found["waits"]["turn"] > 0) == bool(patient), found


@pytest.mark.virtual_time  # a busy guest joins it when all has gone
@pytest.mark.parametrize("name", ["bpf_daps", "bpf_rr"])
def test_a_path_that_comes_later_gets_its_share(labs, name):
    lab = labs(Path(4, 20), Path(4, 20))
    lab.client.scheduler = name
    with connection(lab, subflows=1) as conn:
        transfer = upload(conn, 2 * SIZE).reached(0.1)
        lab.endpoint(2)
        conn.wait_subflows(1)
        before = lab.sent()
        assert transfer.received < transfer.size // 2, "it was nearly over"
        transfer.finish(60).acknowledged()
        first, later = (b - a for a, b in zip(before, lab.sent(), strict=True))
        assert later > 0.2 * (first + later)


@pytest.mark.parametrize("name", ["bpf_daps", "bpf_rr"])
def test_eight_subflows(labs, name):
    lab = labs(*[Path(mbit=2, rtt_ms=10)] * 8).endpoints()
    lab.client.scheduler = name
    with connection(lab) as conn:
        upload(conn, SIZE).finish().acknowledged()
        given = given_to(conn)
    assert len(given) == 8 and min(given) > 0
    assert sum(given) == SIZE
