# SPDX-License-Identifier: GPL-2.0
"""bash completion as it is installed: what it offers is what there is at the moment."""

import os
import shlex

import pytest
from command import ok
from lab import Netns, run

SCRIPT = "/usr/share/bash-completion/completions/mptcp-sched"


def offered(line, cwd="/"):
    """For the last word of the line, in the way that bash asks: `=` is a word of its own."""
    words = line.replace("=", " = ").split(" ")
    words = [w for i, w in enumerate(words) if w or i == len(words) - 1]
    script = (
        f"source {SCRIPT}; COMP_WORDS=({' '.join(map(shlex.quote, words))}); "
        f'COMP_CWORD={len(words) - 1}; _mptcp_sched; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = run("bash", "-euc", f"cd {cwd}; set +eu; {script}")
    assert done.stderr == "", done.stderr
    return {w for w in done.stdout.split("\n") if w}


@pytest.fixture(scope="module")
def tables():
    return ok("help")


@pytest.fixture(scope="module")
def schedulers():
    return {s["name"]: s for s in ok("list")["schedulers"] if s["builtin"]}


def test_it_is_installed_for_the_command():
    done = run("bash", "-c", f"source {SCRIPT}; complete -p mptcp-sched")
    assert "-F _mptcp_sched mptcp-sched" in done.stdout


def test_every_command_and_its_options(tables):
    everywhere = {f"--{o['name']}" for o in tables["options"] if o["every_command"]}
    assert offered("mptcp-sched ") == {c["name"] for c in tables["commands"]}
    assert offered("mptcp-sched --json -v sta") == {"stats"}
    assert offered("mptcp-sched --") == everywhere
    for command in tables["commands"]:
        own = {f"--{name}" for name in command["options"]}
        assert offered(f"mptcp-sched {command['name']} --") == own | everywhere
    assert offered("mptcp-sched help lo") == {"load"}


def test_schedulers_that_are_there(_shared, schedulers, tmp_path):
    """Registered or not is read anew each time."""
    _shared.need()
    assert offered("mptcp-sched unload ") == set()
    assert offered("mptcp-sched load ", tmp_path) == set(schedulers)
    _shared.need("bpf_minrtt")
    assert offered("mptcp-sched unload ") == {"bpf_minrtt"}
    (tmp_path / "mine.bpf.o").touch()
    assert offered("mptcp-sched load ", tmp_path) == set(schedulers) - {"bpf_minrtt"} | {
        "mine.bpf.o"
    }
    assert offered("mptcp-sched use ") == {*schedulers, "default"}
    assert offered("mptcp-sched use --set beta=1 bpf_minr") == {"bpf_minrtt"}


def test_tunables_of_the_scheduler_that_is_named(schedulers):
    for name, scheduler in schedulers.items():
        keys = {f"{t['name']}=" for t in scheduler["tunables"]}
        assert offered(f"mptcp-sched load {name} --set ") == keys
    assert "beta=" in offered("mptcp-sched use bpf_ecf -s be")
    assert "beta" in offered("mptcp-sched get bpf_ecf b")
    assert "beta=" in offered("mptcp-sched set bpf_ecf b")
    # what a value may be is not known
    assert offered("mptcp-sched use bpf_ecf --set beta=") == set()
    assert offered("mptcp-sched use bpf_ecf --set beta=1 --ne") == {"--netns"}


def test_namespaces_that_are_there(tmp_path):
    net = Netns()
    try:
        names = set(os.listdir("/run/netns"))
        assert offered("mptcp-sched use bpf_ecf --netns ") == names
        assert offered(f"mptcp-sched stats -n {net.name[:-1]}") == {net.name}
        assert offered(f"mptcp-sched stats --netns={net.name[:-1]}") == {net.name}
    finally:
        net.close()
    assert net.name not in offered("mptcp-sched use bpf_ecf --netns ")
    (tmp_path / "net").touch()
    assert offered(f"mptcp-sched use bpf_ecf --netns {tmp_path}/n") == {f"{tmp_path}/net"}


def test_what_rules_and_paths_can_name():
    """tests/host/test_completion.py has the words of `steer`; these are there at the moment."""
    assert offered("mptcp-sched steer path add device ") == set(os.listdir("/sys/class/net"))
    assert "root" in offered("mptcp-sched steer test uid ")
    net = Netns()
    made = "/sys/fs/cgroup/t-completion"
    os.mkdir(made)
    try:
        assert offered(f"mptcp-sched steer rule add netns {net.name[:-1]}") == {net.name}
        assert offered("mptcp-sched steer rule add cgroup /t-compl") == {"/t-completion"}
    finally:
        os.rmdir(made)
        net.close()


def test_nothing_where_nothing_can_be_meant():
    assert offered("mptcp-sched stats --watch ") == set()
    assert offered("mptcp-sched show ") == set()
    assert offered("mptcp-sched nosuch ") == set()


def test_names_run_nothing(tmp_path):
    """A device, a cgroup and a namespace may have been named by a container."""
    bad = f"$(>ran{os.getpid()})"
    device, cgroup = bad[:15], f"/sys/fs/cgroup/t-{bad}"
    run("ip", "link", "add", device, "type", "dummy")
    os.mkdir(cgroup)
    try:
        seen = offered("mptcp-sched steer path add device ", tmp_path)
        assert "lo" in seen and device not in seen
        assert not any("$" in w for w in offered("mptcp-sched steer option --cgroup /", tmp_path))
    finally:
        os.rmdir(cgroup)
        run("ip", "link", "delete", device)
    assert os.listdir(tmp_path) == []
