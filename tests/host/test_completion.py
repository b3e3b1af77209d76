# SPDX-License-Identifier: GPL-2.0
"""Completion of `steer` offers what the tables of its words have, at each place."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROGRAM = TOP / "build/mptcp-sched"
SCRIPT = TOP / "build/completion/mptcp-sched"


@pytest.fixture(scope="module")
def steer():
    subprocess.run(["make", "-s", "loader", "docs"], cwd=TOP, check=True, capture_output=True)
    done = subprocess.run([PROGRAM, "--json", "help"], check=True, capture_output=True)
    return json.loads(done.stdout)["steer"]


def offered(line, cwd=TOP):
    """For the last word behind `mptcp-sched steer`."""
    words = ["mptcp-sched", "steer", *line.split(" ")]
    script = (
        f"source {SCRIPT}; COMP_WORDS=({' '.join(map(shlex.quote, words))}); "
        f'COMP_CWORD={len(words) - 1}; _mptcp_sched; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=cwd, check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
    return {w for w in done.stdout.split("\n") if w}


def names(fields, **having):
    return {f["name"] for f in fields if all(f[k] == v for k, v in having.items())}


def test_verbs(steer):
    verbs = names(steer["verbs"])
    assert offered("") == {v for v in verbs if " " not in v} | {"rule", "path", "account"}
    assert offered("fl") == {"flush"}
    for kind in ("rule", "path", "account"):
        assert offered(f"{kind} ") == {v.split()[1] for v in verbs if v.startswith(f"{kind} ")}


def test_fields(steer):
    assert offered("rule add ") == names(steer["rule"]) | {"at"}
    assert offered("path add ") == names(steer["path"])
    assert offered("test ") == names(steer["rule"], test=True)
    assert "mode" not in offered("test ")
    assert offered("rule add mode auto remote-") == {"remote-port"}
    assert offered("rule add at 3 ds") == {"dscp"}
    # those without a value are followed by another one
    for name in names(steer["path"], value=None):
        assert offered(f"path add {name} ") == names(steer["path"])


def test_values(steer):
    assert offered("rule add mode ") == names(steer["modes"])
    assert offered("rule add dscp ef mode active") == {"active-standby"}
    assert "root" in offered("test uid ")
    for line in ("rule add at ", "rule add local ", "path add name ", "test dscp "):
        assert offered(line) == set(), line


def test_what_takes_no_more_words(steer, tmp_path):
    (tmp_path / "tables").touch()
    assert offered("replace ", tmp_path) == {"tables"}
    for line in (
        "replace tables ",
        "list ",
        "flush ",
        "rule list ",
        "rule delete ",
        "rule no ",
        "account show ",
    ):
        assert offered(line, tmp_path) == set(), line
