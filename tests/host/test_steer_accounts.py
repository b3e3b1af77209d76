# SPDX-License-Identifier: GPL-2.0
"""Steering's accounts through changes of the tables, loads, boots and clocks, and their file."""

import calendar
import ctypes
import errno
import os
import re
import shutil
import time

import pytest
from hostlib import OUT, TOP, TRAPS, make_library

NO_PERIOD, DAY, WEEK, MONTH = range(4)
FAILED = 1
FOLDER = OUT / "accounts"
FILE = FOLDER / "accounts"


class Machine:
    def __init__(self, lib):
        self.lib = lib
        self.zone("UTC")
        self.clock("2026-11-26 12:00:00")
        lib.load()

    def zone(self, name):
        (ctypes.c_char * 64).in_dll(self.lib, "zone").value = name.encode()

    def clock(self, utc):
        at = calendar.timegm(time.strptime(utc, "%Y-%m-%d %H:%M:%S"))
        ctypes.c_long.in_dll(self.lib, "now").value = at

    def tables(self, *rows):
        """Each a name, or (name, period, day, cap)."""
        self.lib.drop()
        for row in rows:
            name, *rest = (row,) if isinstance(row, str) else row
            period, day, cap = [*rest, *(0, 1, 0)[len(rest) :]]
            self.lib.add(name.encode(), period, day, ctypes.c_uint64(cap))
        return self.lib.put()

    def count(self, name, sent, received=0):
        self.lib.count(name.encode(), ctypes.c_uint64(sent), ctypes.c_uint64(received))

    def bytes(self, name):
        return tuple(self.lib.bytes(name.encode(), way) for way in range(2))

    def since(self, name):
        buf = ctypes.create_string_buffer(40)
        self.lib.since(name.encode(), buf, len(buf))
        return buf.value.decode()

    def reset(self, name=""):
        return self.lib.reset(name.encode())

    def unload(self):
        """What is said of it."""
        self.lib.save_at_unload()
        return self.lib.note().decode()

    def boot(self):
        assert self.unload() == ""
        self.lib.load()


@pytest.fixture(scope="module")
def lib():
    flags = [*TRAPS, "-D_GNU_SOURCE", "-Wno-unused-parameter", "-Wno-format-truncation"]
    flags += [f"-I{TOP / 'loader'}", f'-DSTEER_STATE_DIR="{FOLDER}"']
    made = make_library("steer_accounts.c", OUT / "steer_accounts.so", flags=flags)
    made.why.restype = made.note.restype = ctypes.c_char_p
    made.bytes.restype = ctypes.c_uint64
    return made


@pytest.fixture
def machine(lib, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    shutil.rmtree(FOLDER, ignore_errors=True)
    yield Machine(lib)
    shutil.rmtree(FOLDER, ignore_errors=True)


LTE = ("lte", MONTH, 15, 10_000)


def test_tables_come_and_go(machine):
    """A row's account is by its name, whatever else is in the tables."""
    machine.tables("dsl", LTE)
    machine.count("dsl", 100)
    machine.count("lte", 7, 20)
    machine.tables("other", LTE, "dsl")
    assert machine.bytes("lte") == (7, 20) and machine.bytes("dsl") == (100, 0)
    machine.count("lte", 3)
    machine.tables("dsl")
    machine.count("dsl", 1)
    machine.tables(LTE)
    assert machine.bytes("lte") == (10, 20)
    machine.tables(LTE, "dsl")
    assert machine.bytes("lte") == (10, 20) and machine.bytes("dsl") == (101, 0)
    assert machine.since("lte") == "2026-11-15" and machine.since("dsl") == ""


def test_no_two_rows_have_one_slot(machine):
    """Nor one that a row had until now: subflows may still count for that."""
    before = set()
    for turn in range(40):
        names = [f"p{turn % 2}-{i}" for i in range(64)]
        machine.tables(*names)
        slots = {machine.lib.slot_of(name.encode()) for name in names}
        assert len(slots) == 64 and not slots & before
        before = slots


def test_over_a_boot(machine):
    machine.tables("dsl", LTE)
    machine.count("lte", 6000, 3000)
    machine.boot()
    machine.tables(LTE)
    assert machine.bytes("lte") == (6000, 3000) and not machine.lib.is_over(b"lte")
    machine.count("lte", 1000)
    assert machine.lib.is_over(b"lte")
    machine.boot()
    machine.clock("2026-12-16 00:00:00")
    machine.tables(LTE)
    assert machine.bytes("lte") == (0, 0) and machine.since("lte") == "2026-12-15"


def test_what_was_not_saved_is_all_that_is_lost(machine):
    machine.tables(LTE)
    machine.count("lte", 5)
    assert machine.lib.save_all() == 0
    machine.count("lte", 7)
    machine.lib.load()
    machine.tables(LTE)
    assert machine.bytes("lte") == (5, 0)


def test_another_period_keeps_the_bytes(machine):
    machine.tables(LTE)
    machine.count("lte", 5)
    machine.tables(("lte", WEEK, 1, 10_000))
    assert machine.bytes("lte") == (5, 0) and machine.since("lte") == "2026-11-23"
    machine.boot()
    machine.tables(("lte", MONTH, 27, 10_000))
    assert machine.bytes("lte") == (5, 0) and machine.since("lte") == "2026-10-27"
    machine.tables("lte")
    assert machine.bytes("lte") == (5, 0) and machine.since("lte") == ""


def test_reset(machine):
    machine.tables("dsl", LTE)
    machine.count("lte", 5)
    machine.count("dsl", 5)
    assert machine.reset("lte") == 0
    assert machine.bytes("lte") == (0, 0) and machine.bytes("dsl") == (5, 0)
    assert machine.since("lte") == "2026-11-15"
    assert machine.reset() == 0
    assert machine.bytes("dsl") == (0, 0)
    assert machine.reset("none") == FAILED and b"no path none" in machine.lib.why()


# Summer time began on 2026-03-29 at 01:00 UTC in Berlin, and in some places at midnight.
@pytest.mark.parametrize(
    ("zone", "before", "after", "since"),
    [
        ("Europe/Berlin", "2026-03-28 22:59:59", "2026-03-28 23:00:00", "2026-03-29"),
        ("Europe/Berlin", "2026-03-29 21:59:59", "2026-03-29 22:00:00", "2026-03-30"),
        ("Europe/Berlin", "2026-10-25 22:59:59", "2026-10-25 23:00:00", "2026-10-26"),
        # there is no midnight in that night
        ("America/Santiago", "2026-09-06 03:59:59", "2026-09-06 04:00:00", "2026-09-06"),
        # and two in this one: the clock goes from 24:00 back to 23:00
        ("America/Santiago", "2026-04-05 03:59:59", "2026-04-05 04:00:00", "2026-04-05"),
    ],
)
def test_days_in_summer_and_winter(machine, zone, before, after, since):
    machine.zone(zone)
    machine.clock(before)
    machine.tables(("lte", DAY, 1, 100))
    machine.count("lte", 5)
    machine.clock(after)
    machine.lib.save_all()
    assert (machine.bytes("lte"), machine.since("lte")) == ((0, 0), since)
    machine.count("lte", 6)
    machine.lib.save_all()
    assert machine.bytes("lte") == (6, 0)


def test_whoever_asks(machine, monkeypatch):
    """A period begins by the machine's clock, not at midnight of the user who runs the command."""
    machine.zone("Europe/Berlin")
    machine.clock("2026-11-26 12:00:00")
    machine.tables(("lte", DAY, 1, 100))
    machine.count("lte", 5)
    monkeypatch.setenv("TZ", "Pacific/Auckland")  # where it is the next day
    time.tzset()
    assert machine.lib.save_all() == 0
    assert (machine.bytes("lte"), machine.since("lte")) == ((5, 0), "2026-11-26")


def test_a_machine_that_moves(machine):
    """Over midnight it does once, in whichever direction."""
    machine.clock("2026-11-26 23:30:00")
    machine.tables(("lte", DAY, 1, 100))
    machine.count("lte", 5)
    for zone in ("Asia/Tokyo", "UTC", "America/New_York", "Asia/Tokyo"):
        machine.zone(zone)
        machine.lib.save_all()
        assert machine.since("lte") == "2026-11-27"
        assert machine.bytes("lte") == (0, 0)


# --- the file

LINE = "path lte month 15 2026-11-15 5 7 2026-10-15 1 2 2026-11-15"
WHOLE = f"# x\naccounts 1\n{LINE}\nend\n"


def test_what_is_written_is_read(machine):
    FOLDER.mkdir()
    FILE.write_text(WHOLE)
    machine.tables(LTE, "dsl")
    assert machine.bytes("lte") == (5, 7)
    machine.lib.save_all()
    kept = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    assert kept == ["accounts 1", "path dsl - 1 - 0 0 - 0 0 -", LINE, "end"]
    assert [f.name for f in FOLDER.iterdir()] == ["accounts"]


WRONG = [
    "path lte month 15 2026-11-15 5 7 2026-10-15 1 2",
    LINE + " 3",
    LINE.replace("month", "year"),
    LINE.replace(" 15 ", " 32 "),
    LINE.replace("2026-11-15 5", "2026-11-31 5"),
    LINE.replace("2026-11-15 5", "2026-13-01 5"),
    LINE.replace("2026-11-15 5", "1960-01-01 5"),
    LINE.replace("path", "account"),
    LINE.replace(" 5 7", " -5x 7"),
    LINE.replace(" 5 7", " -5 7"),
    LINE.replace(" 5 7", " 05 7"),
    LINE.replace(" 5 7", " 18446744073709551615 7"),
    LINE.replace(" 5 7", "  5 7"),
    LINE.replace("-10-15", "-10-5"),
    LINE + "\n" + LINE,
    LINE.replace("lte", "n" * 16),
    "\0",
]


@pytest.mark.parametrize("line", WRONG)
def test_a_file_that_is_none(machine, line):
    """No account is opened as if nothing had been counted, and the file stays as it is."""
    number = 1 if "\0" in line else line.count("\n") + 3
    is_refused(machine, WHOLE.replace(LINE, line), f":{number}: the line is no account")


def is_refused(machine, text, why):
    FOLDER.mkdir()
    FILE.write_text(text)
    assert machine.tables(LTE) == FAILED
    assert machine.lib.why().decode() == f"{FILE}{why}"
    assert machine.lib.save_all() == FAILED
    FILE.unlink()
    assert machine.tables(LTE) == 0
    machine.count("lte", 3)
    FILE.write_text(text)
    assert machine.lib.save_all() == FAILED
    assert machine.reset("lte") == FAILED and machine.bytes("lte") == (3, 0)
    assert machine.tables() == 0 and b"are lost" in machine.lib.note()
    assert FILE.read_text() == text


def test_a_file_that_is_cut_off(machine):
    """Wherever that is."""
    for end in range(len(WHOLE) - len("\n")):
        FOLDER.mkdir(exist_ok=True)
        FILE.write_text(WHOLE[:end])
        assert machine.tables(LTE) == FAILED, WHOLE[:end]
        machine.tables()
    shutil.rmtree(FOLDER)
    is_refused(machine, "", ": it is cut off: it has no end")


def test_a_file_of_another_version(machine):
    is_refused(machine, f"accounts 2\nway {LINE}\n", ": its accounts are of another version")


@pytest.mark.parametrize("text", [f"{LINE}\nend\n", f"x\n{WHOLE}", f"{WHOLE}\n{LINE}\n"])
def test_a_file_with_more_or_less(machine, text):
    number = 1 if WHOLE not in text or text[0] == "x" else 6
    is_refused(machine, text, f":{number}: the line is no account")


def test_a_file_that_cannot_be_read(machine):
    FILE.mkdir(parents=True)
    assert machine.tables(LTE) == FAILED
    assert "Is a directory" in machine.lib.why().decode()


def test_a_file_that_cannot_be_written(machine):
    """Nor can an account be kept whose row goes: that is told, and done."""
    machine.tables(LTE)
    FOLDER.write_text("")
    assert machine.lib.save_all() == FAILED
    assert re.search("saved is lost: .*accounts cannot be read or written", machine.unload())
    assert machine.tables() == 0
    FOLDER.unlink()


@pytest.mark.parametrize(
    ("err", "said"),
    [
        (errno.ENOENT, ""),  # not loaded
        (errno.EPROTO, "is lost: .*`mptcp-sched steer account save` before an update"),
        (errno.EBUSY, f"is lost: {os.strerror(errno.EBUSY)}$"),
    ],
)
def test_tables_that_cannot_be_read(machine, err, said):
    machine.tables(LTE)
    looks = ctypes.c_int.in_dll(machine.lib, "look_err")
    looks.value = -err
    try:
        note = machine.unload()
    finally:
        looks.value = 0
    assert bool(note) == bool(said) and re.search(said, note), note
    assert not FILE.exists()


def test_what_has_not_changed_is_not_written(machine):
    machine.tables(LTE, "dsl")
    machine.count("dsl", 1)
    machine.lib.save_all()
    first = FILE.stat().st_ino
    os.link(FILE, FOLDER / "kept")  # or its number may be that of the next one
    machine.lib.save_all()
    assert FILE.stat().st_ino == first
    machine.count("dsl", 1)
    machine.lib.save_all()
    assert FILE.stat().st_ino != first


def test_paths_that_are_gone_stay_in_the_file(machine):
    """Up to a limit, and those without a row for longest go first."""
    for turn in range(6):
        names = [f"p{turn}-{i}" for i in range(50)]
        machine.tables(*names)
        for name in names:
            machine.count(name, 100 + turn)
    machine.tables()
    kept = [line.split()[1] for line in FILE.read_text().splitlines() if line[:4] == "path"]
    assert len(kept) == 256
    assert {f"p5-{i}" for i in range(50)} == set(kept[:50])
    assert {name.split("-")[0] for name in kept[250:]} == {"p0"}
    machine.tables("p1-7")
    assert machine.bytes("p1-7") == (101, 0)
