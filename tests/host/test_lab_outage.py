# SPDX-License-Identifier: GPL-2.0
"""What `bench outage` makes of a receiver's notes, and its tables."""

import pytest
from mptcplab import gaps
from mptcplab.benchmarks import outage
from mptcplab.lab.outage import Pattern
from mptcplab.scenario import steering
from mptcplab.schema import Table

EVERY = 0.1


def log(**changes):
    """10 bytes each 100 ms from 0 to 10 s, an event from 4 to 6; every message takes 20 ms."""
    times = [round(EVERY * i, 3) for i in range(1, 100)]
    return {
        "begun": 0,
        "out": 4,
        "back": 6,
        "ended": 10,
        "arrivals": [(t, 10) for t in times],
        "messages": [(t - 0.02, 0.02) for t in times],
        "samples": [],
        "stale": [],
    } | changes


def without(arrivals, begin, end):
    return [(t, n) for t, n in arrivals if not begin < t < end]


def test_the_longest_gap_is_that_of_the_event():
    arrivals = without(log()["arrivals"], 4.05, 4.95)
    found = gaps.figures(log(arrivals=arrivals), 100)
    assert found["gap"] == pytest.approx(1.0)
    assert [found["gap_before"], found["gap_after"]] == pytest.approx([EVERY, EVERY])


def test_a_gap_that_began_just_before_the_event_is_the_events():
    arrivals = without(log()["arrivals"], 3.85, 4.65)
    found = gaps.figures(log(arrivals=arrivals), 100)
    assert found["gap"] == pytest.approx(0.9)


def test_a_message_on_its_way_at_the_event_is_the_events():
    messages = [(t, 0.5 if 3.9 < t < 4 else 0.02) for t, _ in log()["messages"]]
    found = gaps.figures(log(messages=messages), 100)
    assert found["delay"] == 0.5
    assert found["delay_before"] == found["delay_after"] == 0.02


def test_what_is_repaired_after_the_return_belongs_to_the_event():
    messages = [(t, 2 if 5.9 < t < 6 else 0.02) for t, _ in log()["messages"]]
    found = gaps.figures(log(messages=messages), 100)
    assert (found["delay"], found["delay_after"]) == (2, 0.02)


def test_nothing_to_say_is_none():
    found = gaps.figures(log(arrivals=[], messages=[]), 100)
    assert {found[k] for k in ("gap", "delay", "delay_before", "carries")} == {None}


def test_bulk_has_rates():
    """Half of the rate while it is out, from a second after it on; all of it 1 s after its return."""
    arrivals = [(t, n) for i, (t, n) in enumerate(log()["arrivals"]) if not 4 < t < 7 or i % 2 == 0]
    found = gaps.figures(log(messages=None, arrivals=arrivals), living=50)
    assert found["rate_before"] == pytest.approx(97.5)
    assert found["share_out"] == pytest.approx(1, abs=0.01)
    assert found["full"] == pytest.approx(0.8, abs=0.15)
    assert "delay" not in found


def test_never_full_again():
    arrivals = [(t, n) for t, n in log()["arrivals"] if t < 4]
    assert gaps.figures(log(messages=None, arrivals=arrivals), 50)["full"] is None


def test_the_victim_carries_again():
    samples = [(5.9, 100), (6.1, 100), (6.3, 100), (6.5, 300), (6.7, 400)]
    assert gaps.carries_after(samples, 6) == pytest.approx(0.5)
    assert gaps.carries_after(samples[:3], 6) is None


def test_a_subflow_is_given_up():
    stale = [(3.9, 1), (4.1, 1), (4.2, 2), (4.3, 3)]
    assert gaps.given_up_after(stale, 4) == pytest.approx(0.2)
    assert gaps.given_up_after(stale[:2], 4) is None


def test_acknowledgements_are_no_data():
    assert gaps.payload(received=66 * 40, packets=40) == 0
    assert gaps.payload(received=94 * 2, packets=2) == 0
    assert gaps.payload(received=286, packets=1) > 0


def test_data_shows_where_it_belongs():
    pattern = Pattern()
    for offset in (0, 250, 251, 1 << 20):
        assert len(pattern.at(offset, 64 << 10)) == 64 << 10
        assert pattern.at(offset, 10) != pattern.at(offset + 1, 10)


def row(scheduler, **figures):
    base = {
        "load": "bulk", "event": "blackhole", "victim": 0, "seed": 0, "bound": 0.06,
        "gap_before": 0.01, "gap_after": 0.02, "rate_before": 4e6, "share_out": 0.98,
        "wire_per_byte": 1.05,
    }  # fmt: skip
    return base | {"scheduler": scheduler} | figures


def test_a_row_is_the_worst_of_the_seeds():
    args = outage.parse([])
    rows = [
        row("bpf_x", gap=0.2, carries=0.5, full=1.0, given_up=0.12),
        row("bpf_x", gap=0.3, carries=0.4, full=None, share_out=0.9, seed=1),
        row("plain TCP", gap=0.01, carries=None, full=0.0),
    ]
    title, _, ours, tcp, *_ = outage.lines_of(rows, args)
    assert title == "bulk, blackhole: path one (20 Mbit/s, 20 ms); bound 60 ms"
    assert ours.split() == [
        "bpf_x",
        "10",
        "300",
        "20",
        "32.0",
        "0.900",
        "0.12",
        "0.50",
        "never",
        "1.050",
    ]
    assert tcp.split()[-3:] == ["-", "0.0", "1.050"]


def test_options():
    args = outage.parse(["--mbit", "1/2/3", "--rtt", "10/20/30", "--victim", "3"])
    assert (args.victim, args.rtt, args.seed) == ([2], (10, 20, 30), [0])
    for wrong in (["--rtt", "10"], ["--victim", "3"], ["--times", "1/2"], ["--load", "none"]):
        with pytest.raises(SystemExit):
            outage.parse(wrong)


def test_a_seed_moves_rtts_and_not_rates():
    one, other = (outage.paths_of((20, 20), (20, 60), seed) for seed in (0, 1))
    assert [p.rtt_ms for p in one] == [20, 60]
    assert all(a.rtt_ms != b.rtt_ms and a.mbit == b.mbit for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("word", ["bpf_steer@luck", "bpf_rr@standby"])
def test_tables_are_those_of_this_benchmark(word, capsys):
    with pytest.raises(SystemExit):
        outage.parse(["--scheduler", word])
    assert f"--scheduler {word}: there are bpf_steer@{{standby," in capsys.readouterr().err


def test_its_tables_are_rows_of_its_paths():
    table = Table("", {name: list(rows) for name, rows in outage.STEERING.items()})
    assert set(steering(table, outage.NAMES[:2])) == set(outage.STEERING)
    assert outage.parse(["--scheduler", "bpf_steer@standby"])
