# SPDX-License-Identifier: GPL-2.0
"""make install and uninstall, into a directory: what is there before is there behind, no more."""

import os
import platform
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
HEADERS = f"/usr/include/{platform.machine()}-linux-gnu"
# Where an installation that forgets DESTDIR would write.
OUTSIDE = [
    "/usr/local",
    "/usr/sbin",
    "/usr/lib/mptcp-sched",
    "/usr/include",
    "/usr/share",
    "/etc",
]


def make(target, dest, **variables):
    words = [f"{name}={value}" for name, value in variables.items()]
    done = subprocess.run(
        ["make", "-s", target, f"DESTDIR={dest}", *words],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def tree(*tops):
    """Every path, with what would tell that it was written again."""
    found = {}
    for top in tops:
        for where, dirs, files in os.walk(top):
            for name in dirs:
                found[os.path.join(where, name)] = "directory"
            for name in files:
                at = os.lstat(os.path.join(where, name))
                found[os.path.join(where, name)] = (
                    at.st_mtime_ns,
                    at.st_size,
                    at.st_mode,
                )
    return found


@pytest.fixture
def dest(tmp_path):
    """A machine that has something already, an empty directory of ours and a file in another."""
    (tmp_path / "usr/local/share/man/man8").mkdir(parents=True)
    (tmp_path / "usr/local/lib/mptcp-sched").mkdir(parents=True)
    (tmp_path / "usr/local/lib/mptcp-sched/mine.bpf.o").write_text("somebody's own")
    return tmp_path


@pytest.mark.parametrize("prefix", ["/usr/local", "/usr", "/opt/mptcp"])
def test_uninstall_removes_what_install_made(dest, prefix):
    before, outside = tree(dest), tree(*OUTSIDE)
    make("install", dest, PREFIX=prefix)
    made = set(tree(dest)) - set(before)
    names = {os.path.relpath(path, f"{dest}{prefix}") for path in made}
    assert {"sbin/mptcp-sched", "lib/mptcp-sched/bpf_ecf.bpf.o"} <= names
    assert {
        "lib/mptcp-sched/bpf_ecf.pre615.bpf.o",
        "include/mptcp-sched/frame/scheduler.h",
    } <= names
    make("uninstall", dest, PREFIX=prefix)
    assert tree(dest) == before
    assert tree(*OUTSIDE) == outside


def test_a_directory_that_is_not_there_yet(tmp_path):
    make("install", tmp_path / "new/root")
    assert (tmp_path / "new/root/usr/local/sbin/mptcp-sched").exists()


def test_twice_is_as_once(dest):
    before = tree(dest)
    make("install", dest)
    once = set(tree(dest))
    make("install", dest)
    assert set(tree(dest)) == once
    make("uninstall", dest)
    assert tree(dest) == before
    # and with nothing there it says so and is content
    assert "nothing to uninstall" in make("uninstall", dest).stderr


def test_installing_anew_removes_what_is_no_longer_part_of_it(dest):
    make("install", dest)
    old = dest / "usr/local/lib/mptcp-sched/bpf_former.bpf.o"
    old.write_text("of the version before")
    with (dest / "usr/local/lib/mptcp-sched/manifest").open("a") as manifest:
        manifest.write("/usr/local/lib/mptcp-sched/bpf_former.bpf.o\n")
    make("install", dest)
    assert not old.exists()
    assert (dest / "usr/local/lib/mptcp-sched/mine.bpf.o").exists()


def test_a_scheduler_builds_with_what_is_installed(dest, tmp_path):
    make("install", dest)
    source = tmp_path / "own.bpf.c"
    source.write_text((TOP / "bpf/schedulers/rr.bpf.c").read_text())
    for form in ((), ("-DMPS_PRE615",)):
        subprocess.run(
            [
                "clang",
                "--target=bpf",
                "-mcpu=v3",
                "-O2",
                "-g",
                "-Wall",
                "-Werror",
                *form,
                f"-I{dest}/usr/local/include/mptcp-sched",
                "-idirafter",
                HEADERS,
                "-c",
                source,
                "-o",
                tmp_path / "own.bpf.o",
            ],
            check=True,
        )
