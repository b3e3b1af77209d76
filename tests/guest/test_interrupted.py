# SPDX-License-Identifier: GPL-2.0
"""A command that is ended between two of its steps: all of it is done, or none, or it is told."""

import json
import os
import re

import pytest
from command import PIN_DIR, PROGRAM, STRACE, available, ok, sched
from hygiene import pins
from lab import run, until
from libbpf import links

pytestmark = pytest.mark.usefixtures("none_loaded")
NAME = "bpf_minrtt"
ALL = (*STRACE, "-f", "-qq")


def calls(*line):
    """How many times it calls bpf()."""
    result = sched(*line, prefix=(*ALL, "-e", "trace=bpf"))
    assert result.code == 0, result
    return len(re.findall(r"^bpf\(", result.err, re.MULTILINE))


def opted_in_by(line):
    """The number of the call in which a namespace enters the program's map."""
    result = sched(*line, prefix=(*ALL, "-e", "trace=bpf"))
    assert result.code == 0, result
    commands = re.findall(r"^bpf\((\w+)", result.err, re.MULTILINE)
    return len(commands) - commands[::-1].index("BPF_MAP_UPDATE_ELEM")


def ended_at(call, number, signal, *line):
    """By the signal, as it enters its system call of that number."""
    words = (
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:signal={signal}:when={number}",
    )
    run(*ALL, "-o", "/dev/null", *words, PROGRAM, *line, check=False)


def settled():
    """What is left when the kernel has freed what nobody holds."""
    until(lambda: links() == len(pins()), 10, "every link is pinned")
    return available() - {"default"}, {os.path.basename(p) for p in pins()}


@pytest.fixture(scope="module")
def last(_shared):
    """The number of `load`'s last call, which pins the scheduler; and all that it pins."""
    _shared.need()
    number = calls("load", NAME)
    pinned = {os.path.basename(p) for p in pins()}
    ok("unload", NAME)
    assert len(pinned) >= 2, "the scheduler, and a program besides"
    return number, pinned


def killed_between_two_pins(last):
    number, pinned = last
    ended_at("bpf", number, "KILL", "load", NAME)
    assert settled() == (set(), pinned - {NAME})


def noted(command):
    notes = ok(command).get("notes", [])
    return [n for n in notes if f"a program of {NAME} is attached" in n and "unload" in n]


def test_what_is_left_is_told(last):
    killed_between_two_pins(last)
    assert noted("show") and noted("list")
    doctor = ok("doctor")
    (row,) = (c for c in doctor["checks"] if c["check"] == "an interrupted load")
    assert row["result"] == "warn" and f"unload {NAME}" in row["todo"]
    ok("unload", NAME)
    assert settled() == (set(), set())
    assert not noted("show") and not noted("list")


def test_the_next_load_removes_it(last):
    """Also at boot, where nobody reads what `load` would have to say."""
    killed_between_two_pins(last)
    said = ok("load", NAME)
    assert any("it is removed" in note for note in said["notes"])
    assert settled() == ({NAME}, last[1])


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("signal", ["INT", "TERM"])
def test_a_signal_leaves_all_or_nothing(last, signal, before):
    number, pinned = last
    ended_at("bpf", number - before, signal, "load", NAME)
    assert settled() in ((set(), set()), ({NAME}, pinned))


@pytest.mark.parametrize("number", [1, 2])
def test_unload_does_all_or_nothing(number):
    """It removes two pins or more."""
    ok("load", NAME)
    whole = settled()
    assert len(whole[1]) >= 2
    ended_at("unlink", number, "INT", "unload", NAME)
    left = settled()
    assert left in ((set(), set()), whole)
    assert os.path.isdir(PIN_DIR) == (left == whole)


@pytest.mark.usefixtures("by_the_bridge")
@pytest.mark.parametrize("before", range(3))
def test_early_copies_are_on_or_nothing_is_attached(before, net):
    line = ("use", "default", "--reinject", "--netns", net.name)
    number = opted_in_by(line)
    ok("use", "default", "--netns", net.name)
    ended_at("bpf", number - before, "INT", *line)
    _, left = settled()
    (row,) = (n for n in ok("show")["namespaces"] if n["inode"] == net.inode)
    assert left == ({"@reinject"} if row["reinject"] else set())
    ok("use", "default", "--netns", net.name)


def test_what_cannot_be_selected_is_not_loaded(net):
    """The setting is read-only: then nothing has changed, and no scheduler stays that nobody has."""
    shell = (
        "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && "
        f"exec mptcp-sched --json use bpf_rr --netns {net.name}"
    )
    done = run("unshare", "--mount", "sh", "-c", shell, check=False)
    assert done.returncode > 0 and "Read-only" in json.loads(done.stderr)["error"]["reason"]
    assert available() == {"default"} and net.scheduler == "default"
