# SPDX-License-Identifier: GPL-2.0
"""A line of `trace` (loader/trace/print.c): as JSON it holds all that the decision was made on."""

import ctypes
import json
import random
import re

import pytest
from hostlib import MAX_PATHS, OUT, TOP, TRAPS, make_library

DECIDE, COPIES, GLANCE = range(3)
FIRST = (1 << 64) - 1
UNKNOWN = 0xFFFFFFFF
# Of the low bit first, in get_send and in get_retrans.
FLAGS = {
    DECIDE: "active backup loss sndbuf sends idle began repairs dropped no_timestamps delay due",
    COPIES: "active backup loss sndbuf sends idle carried repairs dropped no_timestamps delay due",
}
REASONS = ["no_subflow", "no_room", "peer_window", "faster", "window", "turn", "copies"]

u64, u32, u16, u8 = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint16, ctypes.c_uint8


class Address(ctypes.Structure):
    _fields_ = [("ip", u8 * 16), ("port", u16), ("family", u16), ("reserved", u32)]


class Head(ctypes.Structure):
    _fields_ = [
        *[(name, u64) for name in ("when_ns", "since_ns", "answer")],
        *[(name, u32) for name in ("target", "token", "netns", "has_state")],
        *[(name, Address) for name in ("local", "remote")],
    ]


class OnePath(ctypes.Structure):
    _fields_ = [
        *[
            (name, u32)
            for name in [
                "srtt_us",
                "mdev_us",
                "cwnd",
                "ssthresh",
                "inflight",
                "unsent",
                "rate",
                "metric",
                "min_rtt_us",
            ]
        ],
        ("mss", u16),
        ("flags", u16, 12),
        ("stale", u16, 4),
    ]


class Conn(ctypes.Structure):
    _fields_ = [
        *[(name, u64) for name in ("pending", "wnd_left", "unacked")],
        *[(name, u32) for name in ("now_us", "token", "unit", "age_us")],
        ("nr_paths", u16),
        ("fit", u16),
        ("blocked", u32),
        ("path", OnePath * MAX_PATHS),
    ]


class Record(ctypes.Structure):
    _fields_ = [("head", Head), ("conn", Conn), ("priv", u8 * 48)]


@pytest.fixture(scope="module")
def lib():
    flags = [*TRAPS, f"-I{TOP / 'loader'}", "-Wno-unused-parameter"]
    flags += [str(TOP / "loader/cli" / name) for name in ("util.c", "wrap.c")]
    libraries = ["-Wl,--no-as-needed", "-ljson-c", "-lbpf"]
    made = make_library("trace.c", OUT / "trace.so", flags=[*flags, *libraries])
    made.show.argtypes = [ctypes.c_void_p, u32, *[ctypes.c_bool] * 3, u32]
    return made


@pytest.fixture
def show(lib, capfd):
    def lines(record, what, json=False, several=False, paths=False, cols=0):
        lib.show(ctypes.byref(record), what, json, several, paths, cols)
        return capfd.readouterr().out.splitlines()

    return lines


@pytest.fixture
def as_json(show):
    def document(record, what):
        (line,) = show(record, what, json=True)
        return json.loads(line)

    return document


def answer(path, low):
    """mps_pack() of bpf/frame/send.h."""
    return (path & UNKNOWN) << 32 | low


def drawn(rng, nr_paths):
    """A record of random bytes; what lies behind its paths is zero, as nothing reads it."""
    record = Record.from_buffer_copy(rng.randbytes(ctypes.sizeof(Record)))
    record.head.token = record.conn.token
    record.conn.nr_paths = nr_paths
    for i in range(MAX_PATHS):
        if i >= nr_paths:
            record.conn.path[i] = OnePath()
        elif rng.random() < 0.3:
            path = record.conn.path[i]
            path.srtt_us = path.rate = 0
            path.ssthresh = path.min_rtt_us = UNKNOWN
    if rng.random() < 0.3:
        record.conn.age_us = UNKNOWN
    return record


def made_again(said, what):
    """The snapshot and the state, by docs/reference/json.md: what is null, and the names of flags."""
    conn = Conn(token=int(said["token"], 16), nr_paths=len(said["inputs"]["paths"]))
    for key, value in said["inputs"].items():
        if key != "paths":
            setattr(conn, key, UNKNOWN if value is None else value)
    for path, fields in zip(conn.path, said["inputs"]["paths"], strict=False):
        for key, value in fields.items():
            if key == "flags":
                path.flags = sum(1 << FLAGS[what].split().index(name) for name in value)
            elif value is None:
                setattr(path, key, 0 if key in ("srtt_us", "rate") else UNKNOWN)
            else:
                setattr(path, "min_rtt_us" if key == "behind" else key, value)
    return bytes(conn), bytes.fromhex(said["state"])


@pytest.mark.parametrize("what", [DECIDE, COPIES])
def test_nothing_of_the_inputs_is_lost(as_json, what):
    """From the line the very bytes can be made again."""
    rng = random.Random(what)
    for nr_paths in [*range(MAX_PATHS + 1)] * 20:
        record = drawn(rng, nr_paths)
        record.head.has_state = 1
        said = as_json(record, what)
        assert made_again(said, what) == (bytes(record.conn), bytes(record.priv))
        assert "behind" not in json.dumps(said) or what == COPIES


def record_of(**head):
    record = Record()
    record.head = Head(
        **{"when_ns": 1, "since_ns": 217_400, "token": 0x1A2B, "netns": 7, "has_state": 1} | head
    )
    record.head.local.port, record.head.remote.port = 443, 5001
    record.conn.nr_paths = 2
    record.conn.pending, record.conn.wnd_left = 262144, 65536
    record.conn.path[0].flags = 0b1001
    record.conn.path[0].srtt_us = 20100
    record.conn.path[0].rate = 1_250_000
    return record


def test_a_decision_to_send(as_json, show):
    record = record_of(answer=answer(1, 14480))
    said = as_json(record, DECIDE)
    assert said["event"] == "decision" and said["time"] == 1700000000.25
    assert (said["verdict"], said["path"], said["bytes"]) == ("send", 1, 14480)
    assert (said["since_us"], said["token"]) == (217, "0x00001a2b")
    assert (said["scheduler"], said["policy"]) == ("bpf_steer", "steer_thin")
    assert (said["netns"], said["netns_inode"]) == ("web", 7)
    assert (said["local"], said["remote"]) == ("0.0.0.0:443", "0.0.0.0:5001")
    (line,) = show(record, DECIDE)
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d\.250000   \+0\.000217  0x00001a2b  bpf_steer  send 14480 B to path 1 +"
        r"pending 262144  window 65536  unacked 0  unit 0",
        line,
    )
    assert "bpf_steer steer_thin  send" in show(record, DECIDE, several=True)[0]


@pytest.mark.parametrize("reason", range(len(REASONS)))
def test_a_decision_to_wait(as_json, show, reason):
    record = record_of(answer=answer(-1, reason))
    said = as_json(record, DECIDE)
    assert (said["verdict"], said["reason"]) == ("wait", REASONS[reason])
    assert said["glance"] is False and "path" not in said and "bytes" not in said
    assert f"  wait {REASONS[reason]}  " in show(record, DECIDE)[0]


def test_a_glance(as_json, show):
    record = record_of(answer=1, since_ns=FIRST)
    said = as_json(record, GLANCE)
    assert said["event"] == "decision" and said["glance"] is True
    assert (said["verdict"], said["reason"]) == ("wait", "no_room")
    assert said["inputs"] is said["state"] is said["policy"] is said["since_us"] is None
    whose, line = show(record, GLANCE)
    assert whose == "0x00001a2b is 0.0.0.0:443 > 0.0.0.0:5001 in web"
    assert re.search(r" - +0x00001a2b  bpf_steer  wait no_room \(glance\) *$", line)


@pytest.mark.parametrize(
    ("mask", "paths", "text"), [(0, [], "no copy"), (0b101, [0, 2], "copy to path 0,2")]
)
def test_copies(as_json, show, mask, paths, text):
    record = record_of(answer=mask)
    said = as_json(record, COPIES)
    assert (said["event"], said["paths"]) == ("copies", paths)
    assert said["verdict"] == ("copy" if paths else "none")
    assert f"  {text}  " in show(record, COPIES)[0]


def test_paths_below_their_decision(show):
    record = record_of(answer=answer(0, 100))
    record.conn.path[1].flags = 0xFFF
    first, second = show(record, DECIDE, paths=True)[1:]
    assert first == (
        "    path 0  srtt 20100 us  cwnd 0  in flight 0  unsent 0 B  rate 1.2 MB/s  active,sndbuf"
    )
    assert second.endswith("rate unknown  " + FLAGS[DECIDE].replace(" ", ","))


@pytest.mark.parametrize("cols", [2, 20, 60, 100])
def test_a_narrow_terminal(show, cols):
    """What is too long goes on behind an indent; from a width on that has room no word is cut."""
    record = record_of(answer=answer(0, 100))
    whole = show(record, DECIDE, paths=True)
    lines = show(record, DECIDE, paths=True, cols=cols)
    assert max(map(len, lines)) <= cols
    assert show(record, DECIDE, paths=True, cols=300) == whole
    if cols >= 60:
        assert " ".join(lines).split() == " ".join(whole).split()
        assert lines[0].startswith(whole[0][:30]) and lines[1].startswith("    ")


def test_what_is_not_known(as_json, show):
    """Neither its socket nor what the state was before."""
    record = record_of(answer=answer(-1, 1), netns=0, has_state=0, since_ns=FIRST)
    said = as_json(record, DECIDE)
    assert said["state"] is None and said["inputs"]["pending"] == 262144
    assert [said[k] for k in ("netns", "netns_inode", "local", "remote")] == [None] * 4
    assert len(show(record, DECIDE)) == 1
