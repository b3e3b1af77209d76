# SPDX-License-Identifier: GPL-2.0
"""A guest whose emulator fails by itself is booted again; one that ends in any other way is not."""

import sys

import boot
import pytest

ASSERTION = "qemu-system-x86_64: hw/pci/msix.c:228: msix_table_mmio_write: Assertion 'n' failed."
FAILS = f'echo "{ASSERTION}"; exit 134'
SAYS_3 = 'echo exit 3 >"$0/verdict"'


@pytest.fixture
def boots(tmp_path, monkeypatch):
    """boots(script, ...): boot.py's exit status, and how many of the emulators it started."""
    monkeypatch.setattr(boot, "SRC", tmp_path)
    monkeypatch.setattr(boot, "BUILD", tmp_path)
    monkeypatch.setattr(sys, "argv", ["boot.py", "--kernel", "6.1", "--", "true"])

    def run(*scripts):
        left = list(scripts)
        monkeypatch.setattr(
            boot, "virtme_command", lambda args, work: ["sh", "-c", left.pop(0), work]
        )
        return boot.main(), len(scripts) - len(left)

    return run


def test_its_own_end_says_nothing_of_the_guest(boots, capsys):
    assert boots(FAILS, FAILS, SAYS_3, SAYS_3) == (3, 3)
    assert ASSERTION in capsys.readouterr().err


def test_not_for_ever(boots):
    assert boots(*[FAILS] * 5) == (boot.NO_VERDICT, boot.BOOTS)


@pytest.mark.parametrize(
    "script",
    [
        "echo 'Kernel panic - not syncing: Assertion failed'",
        "echo 'qemu-system-x86_64: terminating on signal 15'",
        f'echo .. >"$0/out"; {FAILS}',
    ],
    ids=["the guest's end", "another end", "amid tests"],
)
def test_all_else_is_a_failure(boots, script):
    assert boots(script, SAYS_3) == (boot.NO_VERDICT, 1)
