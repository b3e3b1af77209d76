# SPDX-License-Identifier: GPL-2.0
"""Commands that change something come one after the other; those that read do not wait."""

import contextlib
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from command import PIN_DIR, PROGRAM, STRACE, available, ok, sched
from lab import until

LOCK = Path("/run/mptcp-sched/lock")
NAMES = ("bpf_minrtt", "bpf_rr", "bpf_daps")


@contextlib.contextmanager
def stopped_in_mid_work(*words):
    """A command that has the lock and does not go on."""
    held = subprocess.Popen(
        [PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        until(
            lambda: LOCK.exists() and LOCK.read_text().startswith(f"pid {held.pid},"),
            30,
            "it has the lock",
        )
        held.send_signal(signal.SIGSTOP)
        yield held
    finally:
        held.send_signal(signal.SIGCONT)
        _, err = held.communicate(timeout=240)
    assert held.returncode in (0, -signal.SIGKILL), err


@pytest.mark.parametrize(
    "line",
    [["load", "bpf_rr"], ["unload", "--all"], ["use", "default"]],
    ids=lambda line: line[0],
)
def test_who_waits_too_long_is_told_for_whom(line, none_loaded, net):
    with stopped_in_mid_work("load", "bpf_minrtt") as holder:
        result = sched("--json", *line, "--timeout", "0.3", net=net)
        assert result.code == 1, result
        error = result.error
        assert error["operation"] == line[0]
        assert f"pid {holder.pid}, {PROGRAM} load bpf_minrtt" in error["reason"]
        assert "--timeout" in error["hint"]
        for reading in (["list"], ["show"], ["stats"]):
            ok(*reading)
    assert available() == {"default", "bpf_minrtt"}


def test_who_waits_long_enough_goes_on(none_loaded, net):
    with stopped_in_mid_work("load", "bpf_minrtt") as holder:
        timer = threading.Timer(1, holder.send_signal, (signal.SIGCONT,))
        timer.start()
        ok("use", "bpf_minrtt", "--timeout", "60", net=net)
        timer.join()
    assert net.scheduler == "bpf_minrtt"
    net.scheduler = "default"


def test_the_lock_goes_with_a_command_that_is_killed(none_loaded):
    with stopped_in_mid_work("load", "bpf_minrtt") as holder:
        holder.kill()
    ok("load", "bpf_minrtt", "--timeout", "0")
    ok("unload", "bpf_minrtt")


def test_a_pin_keeps_its_directory(none_loaded):
    """The last pin takes the directory with it, just when another one is to go there."""
    ok("load", "bpf_rr")
    slow = (
        *STRACE,
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-P",
        PIN_DIR,
        "-e",
        "trace=mkdir",
        "-e",
        "inject=mkdir:delay_exit=4s",
    )
    loading = subprocess.Popen(
        [*slow, PROGRAM, "load", "bpf_minrtt"], stderr=subprocess.PIPE, text=True
    )
    until(lambda: "bpf_minrtt" in available(), 60, "it is registered and not pinned")
    unloaded = sched("unload", "bpf_rr", "--timeout", "60")
    _, err = loading.communicate(timeout=240)
    assert (loading.returncode, err) == (0, "")
    assert (unloaded.code, unloaded.err) == (0, "")
    assert available() == {"default", "bpf_minrtt"}
    ok("unload", "bpf_minrtt")


def test_at_the_same_time(none_loaded):
    """Each its own scheduler, again and again; the last pin takes the directory with it."""
    failed = []

    def work(name):
        for _ in range(4):
            for verb in ("load", "unload"):
                result = sched("--json", verb, name, "--timeout", "100")
                if result.code:
                    failed.append((verb, name, result.err))

    threads = [threading.Thread(target=work, args=(name,)) for name in NAMES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert available() == {"default"}
    assert not os.path.exists(PIN_DIR)


def test_the_same_at_the_same_time(none_loaded):
    """One of them loads it, the others say that it is there."""
    done = []

    def load():
        done.append(sched("--json", "load", "bpf_minrtt", "--timeout", "100"))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(r.code for r in done) == [0, 1, 1, 1]
    for result in done:
        if result.code:
            assert "registered already" in result.error["reason"]
    ok("unload", "bpf_minrtt")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors_are_not_given_to_the_lock(closed, none_loaded):
    """What is said goes nowhere then, and above all not into a file that was opened since."""
    done = subprocess.run(
        ["sh", "-c", f"exec {PROGRAM} load bpf_minrtt {closed}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done
    assert available() == {"default", "bpf_minrtt"}
    (line,) = LOCK.read_text().splitlines()
    assert line.startswith("pid ") and line.endswith("load bpf_minrtt")
