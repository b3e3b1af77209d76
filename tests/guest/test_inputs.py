# SPDX-License-Identifier: GPL-2.0
"""What is read from elsewhere is a file, and no larger than makes sense: nothing hangs or grows."""

import json
import os
import socket
import stat
from pathlib import Path

import pytest
from command import PROGRAM, ok, sched
from containers import stand_in
from lab import run
from test_errors import state

# Whoever waits for the other end of a FIFO waits for ever.
SOON = ("timeout", "120")
# Whoever reads without an end is told so by the kernel, before the guest has nothing left.
SMALL = (*SOON, "prlimit", "--as=400000000")
# What fuzz targets found.
FOUND = Path(__file__).resolve().parents[1] / "fuzz/seeds"


def make(kind, where):
    path = str(where / "x.o")
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(path)
    elif kind == "directory":
        os.mkdir(path)
    elif kind == "character device":
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # zero
    return path


def words_for(how, path, where):
    if how == "object":
        return ["load", path]
    if how == "configuration":
        return ["apply", "--config", path]
    if how == "namespace":
        return ["use", "bpf_minrtt", "--netns", path]
    config = where / "a.conf"
    config.write_text(f"[load]\n{path} =\n")
    return ["apply", "--config", config]


@pytest.mark.parametrize("how", ["object", "configuration", "namespace", "object of it"])
@pytest.mark.parametrize("kind", ["FIFO", "socket", "directory", "character device"])
def test_what_is_no_file(kind, how, both_loaded, net, tmp_path):
    path = make(kind, tmp_path)
    before = state(net)
    done = sched("--json", *words_for(how, path, tmp_path), prefix=SMALL)
    assert done.code == 1, done
    assert state(net) == before
    wanted = "network namespace" if how == "namespace" else "regular file"
    assert done.error["reason"] == f"it is a {kind}, not a {wanted}"
    assert path in done.error["object"] + done.error["operation"]
    ok("use", "default", "--timeout", "0", net=net)


def test_a_regular_file_is_no_namespace(both_loaded, net, tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    done = sched("--json", "use", "bpf_minrtt", "--netns", path)
    assert done.error["reason"] == "it is a regular file, not a network namespace"


@pytest.mark.parametrize("how, mib", [("object", 64), ("configuration", 1), ("object of it", 64)])
def test_a_file_that_is_too_large(how, mib, both_loaded, net, tmp_path):
    path = tmp_path / "x.o"
    path.touch()
    before = state(net)
    for size, too_large in (
        (mib << 20, False),
        ((mib << 20) + 1, True),
        (1 << 40, True),
    ):
        os.truncate(path, size)
        done = sched("--json", *words_for(how, str(path), tmp_path), prefix=SMALL)
        assert done.code == 1, done
        found = f"it has more than {mib} MiB" in done.error["reason"]
        assert found == too_large, (size, done)
        assert str(path) in done.error["object"] + done.error["operation"]
    assert state(net) == before


def test_an_object_that_is_damaged(both_loaded, net):
    """Its variable's place would have libbpf read far outside of the file, and end by a signal."""
    path = str(FOUND / "object/found-place-outside")
    before = state(net)
    done = sched("--json", "load", path, prefix=SMALL)
    assert done.code == 1, done
    assert done.error["reason"].startswith("the file is damaged")
    assert done.error["object"] == path
    assert state(net) == before


def test_a_state_without_end(both_loaded):
    """The runtime's, which comes through a pipe."""
    for source in ("/dev/zero", "|cat /dev/zero"):
        shell = (
            f"cat /dev/zero | exec {PROGRAM} --json oci-hook"
            if "|" in source
            else f"exec {PROGRAM} --json oci-hook <{source}"
        )
        done = run(*SMALL, "sh", "-c", shell, check=False)
        assert done.returncode == 1, done
        error = json.loads(done.stderr.splitlines()[-1])["error"]
        assert error["reason"].startswith("it has more than 4 MiB")
        assert error["object"] == "its state on stdin"


@pytest.mark.parametrize(
    "script, reason",
    [
        ("cat /dev/zero", "docker: its answer has more than 4 MiB"),
        ("echo '[]'; cat /dev/zero >&2", "docker: no answer within 10 s"),
        (
            "(head -c 1000000 /dev/zero; echo) >&2; echo 'this it says' >&2; exit 1",
            "docker: this it says",
        ),
        ("echo 'this it says' >&2; sleep 60 & exit 1", "docker: this it says"),
    ],
)
def test_a_runtime_that_talks_without_end(script, reason, both_loaded, tmp_path):
    stand_in(tmp_path, "docker", script)
    prefix = ("env", f"PATH={tmp_path}:{os.environ['PATH']}", *SMALL)
    done = sched("--json", "use", "bpf_ecf", "--container", "docker:web", prefix=prefix)
    assert done.code == 1, done
    assert reason in done.error["reason"]
