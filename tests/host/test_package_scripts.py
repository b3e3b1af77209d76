# SPDX-License-Identifier: GPL-2.0
"""What packages run before an update, each by the shell and with the words of its kind."""

import re
import subprocess

import pytest
from hostlib import TOP


def deb():
    return (TOP / "debian/mptcp-sched.preinst").read_text()


def rpm():
    spec = (TOP / "packaging/rpm/mptcp-sched.spec.in").read_text()
    return re.search(r"^%pre\n(.*?)\n\n", spec, re.MULTILINE | re.DOTALL)[1]


def arch():
    return (TOP / "packaging/arch/mptcp-sched.install").read_text() + '\n"$@"\n'


UPDATES = {"deb": (deb, ["upgrade", "0.1.0"]), "rpm": (rpm, ["2"]), "arch": (arch, ["pre_upgrade"])}
FIRST = {"deb": (deb, ["install"]), "rpm": (rpm, ["1"])}


@pytest.fixture
def runs(tmp_path):
    """runs(script, words, code): what it had the command do, which ends with that code."""

    def run(script, words, code=0):
        said = tmp_path / "said"
        command = tmp_path / "mptcp-sched"
        command.unlink(missing_ok=True)
        if code is not None:
            command.write_text(f'#!/bin/sh\necho "$@" >>{said}\necho noise\nexit {code}\n')
            command.chmod(0o755)
        whole = ["/bin/sh", "-c", script, "sh", *words]
        done = subprocess.run(
            whole, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return said.read_text() if said.exists() else ""

    return run


@pytest.mark.parametrize("kind", UPDATES)
@pytest.mark.parametrize("code", [0, 1, None], ids=["saved", "fails", "no command"])
def test_accounts_are_saved_before_an_update(kind, code, runs):
    """By the command that can read them, and an update does not depend on it."""
    script, words = UPDATES[kind]
    assert runs(script(), words, code) == ("" if code is None else "steer account save\n")


@pytest.mark.parametrize("kind", FIRST)
def test_a_first_installation_has_nothing_to_save(kind, runs):
    script, words = FIRST[kind]
    assert runs(script(), words) == ""
