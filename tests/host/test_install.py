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


def install(dest, *lines):
    """By the script itself, with a table of (mode, target) that all have one source."""
    manifest = "/usr/lib/mptcp-sched/manifest"
    script, source = TOP / "packaging/install.sh", TOP / "LICENSE"
    done = subprocess.run(
        [script, "install" if lines else "uninstall", manifest],
        input="".join(f"{mode} {source} {target}\n" for mode, target in lines),
        env={**os.environ, "DESTDIR": str(dest)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, dest / manifest[1:]


def test_what_failed_can_be_uninstalled(tmp_path):
    """With what was there before it."""
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr/share").write_text("no directory")
    before = tree(tmp_path)
    fails = ("0644", "/usr/share/hook")
    status, manifest = install(tmp_path, ("0755", "/usr/sbin/new"), fails)
    assert status != 0
    listed = {"/usr/lib/", "/usr/lib/mptcp-sched/", "/usr/lib/mptcp-sched/manifest"}
    listed |= {"/usr/sbin/", "/usr/sbin/new"}
    assert set(manifest.read_text().split()) == listed
    assert install(tmp_path, ("0755", "/usr/sbin/old"))[0] == 0
    assert not (tmp_path / "usr/sbin/new").exists(), "it is not of the next one"
    assert install(tmp_path, ("0755", "/usr/sbin/new"), fails)[0] != 0
    assert (tmp_path / "usr/sbin/old").exists() and "/usr/sbin/old\n" in manifest.read_text()
    assert install(tmp_path)[0] == 0
    assert tree(tmp_path) == before


def test_what_made_nothing_leaves_nothing(tmp_path):
    (tmp_path / "usr").write_text("no directory")
    before = tree(tmp_path)
    assert install(tmp_path, ("0755", "/usr/sbin/new"))[0] != 0
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("user", "dest", "top"),
    [
        (0, "", "/usr/share"),
        (65534, "/tmp/dest", "/usr/share"),
        (65534, "", "/home/me/.local/share"),
    ],
)
def test_where_the_hook_goes(user, dest, top):
    """Where runtimes look, or who is not root could install nothing."""
    words = ["--eval=hookdir: ; @echo $(HOOKDIR)", "hookdir"]
    command = ["setpriv", f"--reuid={user}", "--clear-groups", "make", "-s", *words]
    done = subprocess.run(
        [*command, f"DESTDIR={dest}", "PREFIX=/home/me/.local"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{top}/containers/oci/hooks.d\n"
