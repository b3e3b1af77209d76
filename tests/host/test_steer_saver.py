# SPDX-License-Identifier: GPL-2.0
"""A cap whose period nobody ends: it is told, and never where it cannot be known yet."""

import ctypes
import shutil

import pytest
from hostlib import OUT, TOP, TRAPS, make_library

FOLDER = OUT / "saver"
STAMP = FOLDER / "saved"
SYSTEMD, ENABLED = FOLDER / "systemd", FOLDER / "enabled"
TIMER = ENABLED / "timers.target.wants/mptcp-sched-account.timer"
DAY = 86400


class Machine:
    def __init__(self, lib):
        self.lib = lib

    def up(self, seconds, asleep=0):
        ctypes.c_longlong.in_dll(self.lib, "monotonic").value = seconds
        ctypes.c_longlong.in_dll(self.lib, "boottime").value = seconds + asleep

    def saves(self):
        self.lib.steer_saver_was_here()

    def enable(self):
        SYSTEMD.mkdir()
        TIMER.parent.mkdir(parents=True)
        TIMER.symlink_to("/nowhere")

    def misses(self, loaded=0, cap=10_000):
        return self.lib.misses(ctypes.c_ulonglong(cap), ctypes.c_longlong(loaded))


@pytest.fixture(scope="module")
def lib():
    paths = {"STAMP": f'"{STAMP}"', "SYSTEMD": f'"{SYSTEMD}"', "WANTED_IN": f'"/none", "{ENABLED}"'}
    flags = [*TRAPS, "-D_GNU_SOURCE", f"-I{TOP / 'loader'}", "-Wno-format-truncation"]
    flags += [f"-D{name}={value}" for name, value in paths.items()]
    made = make_library("steer_saver.c", OUT / "steer_saver.so", flags=flags)
    made.misses.restype = ctypes.c_bool
    return made


@pytest.fixture
def machine(lib):
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    made = Machine(lib)
    made.up(DAY)
    yield made
    shutil.rmtree(FOLDER)


def test_nobody_does(machine):
    assert machine.misses()
    assert machine.misses(loaded=DAY - 1), "nor will anybody"


def test_without_a_cap_nobody_has_to(machine):
    assert not machine.misses(cap=0)


def test_each_minute(machine):
    for minute in range(5):
        machine.up(DAY + 60 * minute)
        machine.saves()
        machine.up(DAY + 60 * minute + 100)
        assert not machine.misses()
    machine.up(DAY + 240 + 180)
    assert machine.misses(), "it has stopped"
    assert [f.name for f in FOLDER.iterdir()] == ["saved"]


def test_after_a_boot_it_is_not_known_yet(machine):
    """A line of cron has its first minute before it."""
    machine.up(100)
    assert not machine.misses(loaded=10)
    machine.up(200)
    assert machine.misses(loaded=10)


def test_after_a_load_the_timer_has_its_first_minute_before_it(machine):
    machine.enable()
    assert not machine.misses(loaded=DAY - 100)
    assert machine.misses(loaded=DAY - 200), "it is enabled, and does not work"
    shutil.rmtree(SYSTEMD)
    assert machine.misses(loaded=DAY - 100), "no systemd runs here"


def test_while_the_machine_slept_nobody_was_missed(machine):
    machine.saves()
    machine.up(DAY + 10, asleep=30_000)
    assert not machine.misses()


def test_what_may_not_be_looked_at_is_not_missed(machine):
    STAMP.symlink_to("other")
    assert not machine.misses()
    machine.saves()
    assert not (FOLDER / "other").exists()
