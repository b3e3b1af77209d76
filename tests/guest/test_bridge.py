# SPDX-License-Identifier: GPL-2.0
"""The bridge does not load where it would read or write what is not there, and says why."""

import os
import re
import subprocess
from pathlib import Path

import hygiene
import pytest
from command import BRIDGE
from lab import run

TOP = Path(__file__).resolve().parents[2]
REFUSED = {
    "newer": r"Linux [\d.]+ is newer than 6\.1, .*: not loaded; the parameter untested=1",
    "moved": r"struct mptcp_sock: (\w+) expected at byte (\d+) with (\d+) bytes, "
    r"found at byte (\d+) with \3: build the module again",
    "no BTF": r"this module has no BTF that the kernel takes",
}


@pytest.fixture
def not_loaded(_shared, by_the_bridge):
    """The bridge is out for the test."""
    _shared.need()
    run("rmmod", BRIDGE)
    yield
    run("modprobe", BRIDGE)


def insert(module, *parameters):
    """insmod's status and what the bridge has to say in the kernel log."""
    log = hygiene.KernelLog()
    done = subprocess.run(["insmod", module, *parameters], capture_output=True, check=False)
    lines = [line for line in log.lines() if f"{BRIDGE}: " in line and "taint" not in line]
    log.close()
    return done.returncode, lines


def variant(what, release, tmp_path):
    if what != "no BTF":
        return TOP / f"build/tests/{what}-{release}.ko"
    out = tmp_path / f"{BRIDGE}.ko"
    built = TOP / f"build/kmod/{release}/{BRIDGE}.ko"
    run("objcopy", "--remove-section", ".BTF", built, out)
    return out


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_one_line(not_loaded, kernel_release, tmp_path, what):
    status, lines = insert(variant(what, kernel_release, tmp_path))
    assert status != 0
    assert not os.path.exists(f"/sys/module/{BRIDGE}")
    (line,) = lines
    assert re.search(REFUSED[what], line), line


def test_a_layout_is_told_as_it_is(not_loaded, kernel_release, tmp_path):
    """Expected and found are eight bytes apart, as the variant has a member of eight more."""
    _, (line,) = insert(variant("moved", kernel_release, tmp_path))
    expected, found = re.search(r"at byte (\d+) .* at byte (\d+) ", line).groups()
    assert int(expected) - int(found) == 8


def test_the_parameter_overrides(not_loaded, kernel_release, tmp_path):
    status, (line,) = insert(variant("newer", kernel_release, tmp_path), "untested=1")
    assert status == 0
    assert "loaded all the same" in line
    run("rmmod", BRIDGE)


def test_the_flags_were_found_by_trying(_shared, by_the_bridge):
    """As the kernel's own header has them: net/mptcp/protocol.h, 6.12 to 7.3."""
    _shared.need()
    found = Path(f"/sys/module/{BRIDGE}/parameters")
    assert (found / "rtx_bit").read_text().split() == ["1"]
    assert (found / "fallback_bit").read_text().split() == ["2"]


def test_nothing_to_try_flags_on(not_loaded, net):
    """With MPTCP switched off there is no socket to ask, and the bridge says what it takes."""
    path = Path("/proc/sys/net/mptcp/enabled")
    module = TOP / f"build/kmod/{os.uname().release}/{BRIDGE}.ko"
    path.write_text("0")
    try:
        status, (line,) = insert(module)
    finally:
        path.write_text("1")
    assert status == 0
    assert "no MPTCP socket to try its flags on" in line
    run("rmmod", BRIDGE)
