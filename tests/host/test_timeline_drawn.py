# SPDX-License-Identifier: GPL-2.0
"""`bench timeline` draws a recording: what is read of it, what is drawn where, and what is refused."""

import re

import pytest
from hostlib import TOP
from mptcplab import recording
from mptcplab.benchmarks import timeline as command
from mptcplab.process import LabError
from mptcplab.report import timeline
from recordings import (
    ABLE,
    COPIES,
    FUNCTION,
    GLANCE,
    MSS,
    chunk,
    decision,
    end,
    function,
    glance,
    header,
    path,
    send,
    wait,
)

MS = 1_000_000
LOSS, REPAIRS = 1 << 2, 1 << 7
FASTER = recording.WAITS.index("faster")
TWO = [path(20_000, inflight=5, unsent=3000), path(60_000)]
NONE = [path(20_000, flags=ABLE & ~1), path(60_000)]


def parts():
    """100 ms of one connection, and one decision of another."""
    lost = [path(20_000, flags=ABLE | LOSS), path(60_000, flags=ABLE | REPAIRS)]
    yield header()
    yield function(0, sched=b"bpf_ecf", policy=b"ecf")
    yield function(1, COPIES, sched=b"bpf_ecf", policy=b"ecf")
    yield function(2, GLANCE, sched=b"bpf_ecf", policy=b"")
    yield decision(send(0, 9000), TWO, when_ns=0)
    yield decision(wait(FASTER), TWO, when_ns=10 * MS)
    # of copies: it ends no wait
    yield decision(0, TWO, number=1, when_ns=12 * MS)
    yield glance(2, when_ns=15 * MS)
    yield decision(send(1, 2 * MSS), lost, when_ns=40 * MS)
    yield decision(1 << 1, TWO, number=1, when_ns=50 * MS)
    yield decision(wait(FASTER), NONE, when_ns=60 * MS)
    yield decision(send(0, 1), TWO, token=9, when_ns=70 * MS)
    yield decision(send(1, 500), TWO, when_ns=100 * MS)
    yield end(9, 9)


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "a.rec"
    made.write_bytes(b"".join(parts()))
    return made


@pytest.fixture
def conn(file):
    return timeline.connection(recording.read(file))


def test_what_is_read(file):
    found = recording.read(file)
    assert (found.kernel, found.lost, len(found.decisions)) == ("7.3.4", 0, 9)
    first, _, none, seen, sent, copy, *_ = found.decisions
    assert (first.verdict, first.paths, first.bytes) == ("send", (0,), 9000)
    assert (first.scheduler, first.token) == ("bpf_ecf", 7)
    assert first.when == 1e9
    assert first.seen[0] == recording.Path(20_000, 10, 5, 3000, MSS, ABLE)
    assert (seen.verdict, seen.reason, seen.seen) == ("wait", "no_room", None)
    assert (copy.verdict, copy.paths, none.verdict) == ("copy", (1,), "none")
    assert sent.seen[1].flags & REPAIRS


def test_names_are_those_of_the_header():
    text = (TOP / "include/model/decision.h").read_text()
    reasons = text[text.index("#define MPS_WAIT_REASONS") : text.index("enum mps_wait")]
    assert recording.WAITS == tuple(re.findall(r"X\(\w+, (\w+), ", reasons))
    for name in ("ACTIVE", "LOSS", "REPAIRS"):
        shift = int(re.search(rf"MPS_PATH_{name} = 1 << (\d+)", text)[1])
        assert getattr(recording, name) == 1 << shift


def test_waits_last_until_the_next_decision_on_new_data(conn):
    found = timeline.waits(conn)
    rounded = {r: [(round(t, 3), round(s, 3)) for t, s in rows] for r, rows in found.items()}
    assert rounded == {"no_room": [(0.015, 0.025)], "faster": [(0.01, 0.005), (0.06, 0.04)]}


def test_windows_are_those_of_decisions_on_new_data(conn):
    """What asks for copies sees the window as TCP has it, and no data that the writer still has."""
    drawn = [round(t, 3) for t, _ in timeline.series(conn, 0, timeline.is_new)]
    assert drawn == [0, 0.01, 0.04, 0.06, 0.1, 0.1]
    axis = timeline.plt.figure().add_subplot()
    timeline.draw_path(axis, conn, 0)
    timeline.draw_connection(axis, conn)
    points = {line.get_label(): len(line.get_xdata()) for line in axis.get_lines()}
    assert points["window"] == points["to be assigned"] == len(drawn)
    assert points["not acknowledged"] == len(drawn) + 2


def test_what_a_path_is_in(conn):
    """Given up, after a timeout, in repair: from one decision to the next."""
    by_name = {name: holds for name, holds, *_ in timeline.STATES}

    def spans(number, name):
        found = timeline.spans(timeline.series(conn, number), by_name[name])
        return [tuple(round(t, 3) for t in span) for span in found]

    assert spans(0, "after a timeout") == [(0.04, 0.05)]
    assert spans(1, "repairs a loss") == [(0.04, 0.05)]
    assert spans(0, "given up, or closing") == [(0.06, 0.1)]
    assert spans(1, "after a timeout") == []


def labels(axis):
    return {label.split(" (")[0] for label in axis.get_legend_handles_labels()[1]}


def test_the_picture(conn):
    fig = timeline.figure(conn)
    first, second, waits, connection = fig.axes
    assert first.get_ylabel().startswith("path 0") and second.get_ylabel().startswith("path 1")
    assert [t.get_text() for t in waits.get_yticklabels()] == ["no_room (1)", "faster (2)"]
    assert {"window", "in flight", "queue of TCP", "sends new data"} <= labels(first)
    (copies,) = [line for line in second.lines if line.get_label() == "sends a copy"]
    assert [round(x, 3) for x in copies.get_xdata()] == [0.05]
    (none,) = [line for line in first.lines if line.get_label() == "sends a copy"]
    assert len(none.get_xdata()) == 0
    title = fig.get_suptitle()
    assert "bpf_ecf, connection 0x00000007" in title and "8 of 8 decisions" in title
    assert connection.get_xlim() == pytest.approx((0, 0.1), abs=0.001)
    ticks = [t.get_text() for t in second.get_yticklabels()]
    assert {"sends (2)", "copies (1)"} <= set(ticks)


def test_a_part_of_it(file):
    """What holds at its beginning was decided before."""
    conn = timeline.connection(recording.read(file), begin=0.045, end=0.058)
    assert [d.verdict for _, d in conn.inside] == ["copy"]
    before, *_ = timeline.series(conn, 1)
    assert before[0] == 0.045 and before[1].flags & REPAIRS
    assert timeline.waits(conn) == {}
    assert timeline.figure(conn).axes[0].get_xlim() == pytest.approx((0.045, 0.058), abs=0.001)


def test_which_connection(file):
    found = recording.read(file)
    assert len(timeline.connection(found).decisions) == 8
    assert len(timeline.connection(found, token=9).decisions) == 1
    with pytest.raises(
        LabError, match="no connection 0x00000001, there are: 0x00000007 0x00000009"
    ):
        timeline.connection(found, token=1)
    with pytest.raises(LabError, match="no decision from 3 to 4 s"):
        timeline.connection(found, begin=3, end=4)


def test_files_for_people(file, tmp_path):
    """Titles inside, nothing from elsewhere, and names of their own for parts."""
    png, page = timeline.write(file, tmp_path / "out")
    zoomed, _ = timeline.write(file, tmp_path / "out", begin=0.01, end=0.05)
    assert png.name == "a.png" and zoomed.name == "a-0.01-0.05.png"
    assert png.read_bytes()[:4] == b"\x89PNG" and png.stat().st_size > 20_000
    text = page.read_text()
    assert "data:image/png;base64,iVBOR" in text and 'src="http' not in text
    assert "connection 0x00000007" in text
    assert re.search(r"<tr><td>1<td>2<td>2500<td>1</tr>", text)
    assert re.search(r"<tr><td>faster<td>2<td>0\.045</tr>", text)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a recording"),
        (header(magic=b"mpstrac."), "not a recording"),
        (header(version=2), "another"),
        (header(head=96), "another"),
        (header() + chunk(9, bytes(8)), "damaged"),
        (header() + decision(send(0, 1), TWO), "damaged"),
        (header() + function(0) + decision(send(0, 1), [path(1)] * 9), "damaged"),
        (header() + chunk(FUNCTION, bytes(8)), "damaged"),
        (header() + function(0), "no decision"),
    ],
)
def test_a_file_that_is_damaged(tmp_path, data, why):
    file = tmp_path / "bad.rec"
    file.write_bytes(data)
    with pytest.raises(LabError, match=rf"bad\.rec: .*{why}"):
        timeline.connection(recording.read(file))
    with pytest.raises(LabError, match="nosuch: No such file"):
        recording.read(tmp_path / "nosuch")


def test_a_file_that_was_not_finished(file):
    whole = recording.read(file)
    file.write_bytes(file.read_bytes()[:-150])
    assert 0 < len(recording.read(file).decisions) < len(whole.decisions)


def test_a_part_of_a_recording_is_one(file):
    """What the lab keeps: functions, the decisions between two times, and the end."""
    data = file.read_bytes()
    part = recording.parse(recording.cut(data, 1e9 + 0.03, 1e9 + 0.065), "part")
    assert [d.verdict for d in part.decisions] == ["send", "copy", "wait"]
    whole = recording.parse(recording.cut(data, 0, 2e9), "whole")
    assert whole.decisions == recording.read(file).decisions


def test_a_file_that_is_not_there(tmp_path):
    """Told before anything is imported that a guest has not."""
    with pytest.raises(LabError, match="nosuch: there is no such file"):
        command.run([str(tmp_path / "nosuch")])


@pytest.mark.parametrize(
    "words", [["--from", "1"], ["--connection", "7"], ["x.rec", "--from", "2", "--to", "1"]]
)
def test_words_that_are_wrong(words, capsys):
    with pytest.raises(SystemExit):
        command.parse(words)
    assert "error: --" in capsys.readouterr().err
