# SPDX-License-Identifier: GPL-2.0
"""What `trace` tells between decisions (loader/trace/change.c), from one look to the next."""

import ctypes
import json
import re

import pytest
import test_trace
from hostlib import ACTIVE, BACKUP, IDLE, LOSS, MAX_PATHS, SENDS, SNDBUF, TOP
from test_trace import COPIES, DECIDE, GLANCE, Record, answer

lib = test_trace.lib

PENALTY = 3
TOKEN = 0x1A2B
ABLE = ACTIVE | SNDBUF | SENDS
STALE = SNDBUF | SENDS
# MPS_NOTES of state/stats.h; what bpf_steer keeps in a metric: state/steer.h
NOTES = ["no_timestamps", "no_sample", "clocks", "standby", "overflow"]
NOTES += ["over_rtt", "over_cap", "over_loss"]
OVER_RTT, OVER_CAP, BLOCKED, OVER_LOSS = (1 << bit for bit in (16, 17, 18, 19))


def look(*flags, notes=(), metrics=(), token=TOKEN, state=True):
    """A decision on paths with these flags."""
    record = Record()
    record.head.token = record.conn.token = token
    record.head.answer = answer(0, 100)
    record.head.has_state = state
    record.conn.nr_paths = len(flags)
    for i, of in enumerate(flags):
        record.conn.path[i].flags = of
        record.conn.path[i].metric = metrics[i] if metrics else 0
    # struct mps_priv: 40 bytes of words, 4 more, then the notes
    mask = sum(1 << NOTES.index(note) for note in notes)
    record.priv[44], record.priv[45] = mask & 0xFF, mask >> 8
    return record


@pytest.fixture
def tell(lib, capfd):
    """tell(look, ...): what is told before each decision, as (event, its own fields)."""

    def told(*looks, what=DECIDE):
        out = []
        for one in looks:
            lib.show(ctypes.byref(one), what, True, False, False, 0)
            *before, last = [json.loads(x) for x in capfd.readouterr().out.splitlines()]
            assert last["event"] in ("decision", "copies")
            for event in before:
                assert event.pop("time") == last["time"]
                assert event.pop("token") == last["token"]
                assert event.pop("scheduler") == "bpf_steer"
            out.append([tuple(event.values()) for event in before])
        return out

    lib.meet(TOKEN)
    yield told
    lib.meet(0)


def changes(*rows):
    return [("path", path, change) for path, change in rows]


def test_nothing_happens(tell):
    """Neither what a path sends nor what it holds is of interest here."""
    looks = look(ABLE, ABLE), look(ABLE | IDLE, ABLE & ~SNDBUF), look(ABLE, ABLE, state=False)
    assert tell(*looks) == [[], [], []]


def test_a_path_is_given_up_and_comes_back(tell):
    looks = look(ABLE, ABLE), look(ABLE, STALE), look(ABLE, STALE), look(ABLE, ABLE)
    assert tell(*looks) == [[], changes((1, "given-up")), [], changes((1, "back"))]


def test_a_timeout_amid_copies(tell):
    """Whichever look sees it first."""
    first = tell(look(ABLE, ABLE))
    assert first == [[]]
    assert tell(look(ABLE | LOSS, STALE), what=COPIES) == [changes((0, "quiet"), (1, "given-up"))]
    assert tell(look(ABLE, STALE)) == [changes((0, "heard"))]


def test_the_first_look_tells_what_is_so(tell):
    assert tell(look(STALE | LOSS, ABLE)) == [changes((0, "given-up"), (0, "quiet"))]


def test_paths_that_come_and_go(tell):
    """Behind one that is gone the others have other numbers, so all that is so is told anew."""
    looks = (
        look(ABLE),
        look(ABLE, ABLE, STALE),
        look(ABLE, STALE),
        look(ABLE, STALE, ABLE),
        look(),
        look(ABLE),
    )
    assert tell(*looks) == [
        [],
        [("paths", 3, 1), *changes((2, "given-up"))],
        [("paths", 2, 3), *changes((1, "given-up"))],
        [("paths", 3, 2), *changes((1, "given-up"))],
        [("paths", 0, 3)],
        [("paths", 1, 0)],
    ]


def test_who_stands_by_is_said_of_new_data(tell):
    """For copies bpf_steer has another order (policy/steer_key.h)."""
    assert tell(look(ABLE, ABLE | BACKUP)) == [changes((1, "stands-by"))]
    assert tell(look(ABLE | BACKUP, ABLE), look(ABLE, ABLE), what=COPIES) == [[], []]
    assert tell(look(ABLE | BACKUP, ABLE)) == [changes((0, "stands-by"), (1, "may-carry"))]


@pytest.mark.parametrize(
    ("note", "bit", "begins", "ends"),
    [
        ("over_rtt", OVER_RTT, "over-rtt", "within-rtt"),
        ("over_loss", OVER_LOSS, "over-loss", "within-loss"),
        ("over_cap", OVER_CAP, "over-cap", "within-cap"),
    ],
)
def test_thresholds_and_caps(tell, note, bit, begins, ends):
    """The note is the connection's, the metric says which path; both are needed."""
    over = look(ABLE, ABLE, notes=[note], metrics=[7, bit])
    looks = look(ABLE, ABLE), over, over, look(ABLE, ABLE, notes=[note], metrics=[bit, 0])
    assert tell(*looks) == [
        [],
        changes((1, begins)),
        [],
        changes((0, begins), (1, ends)),
    ]
    # without the note the metric is another scheduler's, a delay for example
    assert tell(look(ABLE, ABLE, metrics=[bit, bit])) == [changes((0, ends))]


def test_who_is_blocked_is_not_given_up(tell):
    blocked = look(ABLE, STALE, notes=["over_cap"], metrics=[0, OVER_CAP | BLOCKED])
    assert tell(look(ABLE, ABLE), blocked) == [[], changes((1, "over-cap"))]
    # nor where the state was missed
    blocked.head.has_state = 0
    blocked.priv[44] = 0
    assert tell(blocked) == [[]]


@pytest.mark.parametrize("note", [n for n in NOTES if not n.startswith("over_")])
def test_notes_of_the_connection(tell, note):
    looks = look(ABLE), look(ABLE, notes=[note]), look(ABLE, state=False), look(ABLE)
    assert tell(*looks) == [[], [("note", note, True)], [], [("note", note, False)]]


def test_another_connection_is_not_compared(tell):
    assert tell(look(ABLE, ABLE), look(STALE, STALE, token=7)) == [[], []]
    assert tell(look(ABLE, ABLE)) == [[]]


def test_a_glance_tells_nothing(tell):
    assert tell(look(ABLE, ABLE), look(ABLE, STALE)) == [[], changes((1, "given-up"))]
    assert tell(look(), what=GLANCE) == [[]]
    assert tell(look(ABLE, STALE)) == [[]]


def test_eight_paths(tell):
    every = [STALE | LOSS | BACKUP] * MAX_PATHS
    over = OVER_RTT | OVER_CAP | OVER_LOSS
    full = look(*every, notes=NOTES, metrics=[over] * MAX_PATHS)
    (told,) = tell(full)
    assert len(told) == MAX_PATHS * len(PAIRS) + 5
    (ended,) = tell(look(*[ABLE] * MAX_PATHS))
    paths, notes = told[:-5], told[-5:]
    assert ended[:-5] == [("path", i, PAIRS[begun]) for _, i, begun in paths]
    assert ended[-5:] == [("note", note, False) for _, note, _ in notes]


def table():
    """[(name, text)] of TRACE_CHANGES."""
    text = (TOP / "loader/trace/change.h").read_text()
    rows = text[text.index("#define TRACE_CHANGES") : text.index("enum trace_change_id")]
    return re.findall(r'X\(\w+, "([\w-]+)",\s+"([^"]+)"\)', rows)


NAMES = [name for name, _ in table()]
PAIRS = dict(zip(NAMES[:-1:2], NAMES[1::2], strict=True))


def test_a_penalty(lib, capfd):
    """No decision: nothing but the event, with a byte of the answer for each path."""
    record = look(ABLE, ABLE)
    record.head.answer = 128 << 8 | 192 << 24
    lib.meet(TOKEN)
    lib.show(ctypes.byref(record), PENALTY, True, False, False, 0)
    lib.show(ctypes.byref(record), PENALTY, False, False, False, 0)
    lib.meet(0)
    one, two, *lines = capfd.readouterr().out.splitlines()
    found = [
        (e["event"], e["path"], e["change"], e["withheld"]) for e in map(json.loads, (one, two))
    ]
    assert found == [("path", 1, "penalty", 0.5), ("path", 3, "penalty", 0.75)]
    assert [re.sub(r".*  path", "path", x) for x in lines] == [
        f"path {path} {dict(table())['penalty']} ({part} %)" for path, part in ((1, 50), (3, 75))
    ]


def test_lines_for_people(lib, capfd):
    """Before the decision, whose columns they keep; whose the token is comes first."""
    lib.meet(TOKEN)
    one = look(ABLE, STALE, notes=["standby"])
    one.head.since_ns, one.head.netns = test_trace.FIRST, 7
    lib.show(ctypes.byref(one), DECIDE, False, False, False, 0)
    lib.show(ctypes.byref(look(ABLE)), DECIDE, False, False, False, 0)
    lib.meet(0)
    whose, given_up, note, decision, number, over, _ = capfd.readouterr().out.splitlines()
    assert whose.startswith("0x00001a2b is ")
    clock = r"\d\d:\d\d:\d\d\.250000 {14}0x00001a2b  "
    text = dict(table())["given-up"]
    assert re.fullmatch(f"{clock}path 1 {text}", given_up)
    assert re.fullmatch(f"{clock}note standby: a path of a higher rank stands by", note)
    assert decision.index("0x00001a2b") == note.index("0x00001a2b")
    assert re.fullmatch(f"{clock}paths: 2 -> 1, which are numbered anew", number)
    assert re.fullmatch(f"{clock}note standby is over", over)


def test_each_change_is_documented():
    """Names for programs, and lines for people."""
    names, lines = (
        (TOP / "docs" / page).read_text() for page in ("reference/json.md", "use/trace.md")
    )
    assert len(NAMES) == 13
    assert not [name for name, _ in table() if f"`{name}`" not in names]
    assert not [text for _, text in table() if f"`{text}`" not in lines]
