# SPDX-License-Identifier: GPL-2.0
"""Containers of real runtimes, in network namespaces of the lab, made of the guest's own root."""

import contextlib
import json
import os
import stat
import subprocess
import tempfile
from pathlib import Path

from lab import run

HOOKS = Path("/usr/share/containers/oci/hooks.d")
HOOK = HOOKS / "mptcp-sched.json"
SYSCTL = "/proc/sys/net/mptcp/scheduler"

# Connects, says that it is there and sends; then it stays until it is killed.
SENDER = """
import socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
sock.connect((sys.argv[1], int(sys.argv[2])))
assert sock.recv(1) == b"!"
sock.sendall(bytes(int(sys.argv[3])))
time.sleep(600)
"""


def stand_in(where, name, script):
    """A runtime's command that is a script."""
    path = where / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def make_root(where):
    """Nothing but places for mounts: /usr is the guest's."""
    for name in ("proc", "sys", "dev", "tmp", "usr", "etc", "run"):
        (where / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (where / name).symlink_to(f"usr/{name}")
    return where


class Crun:
    """One container; what a manager such as CRI-O does with the hook's file is done here."""

    def __init__(self, name, command, netns=None, annotations=None, sysctl=None, hook=True):
        self.name = name
        self.dir = tempfile.TemporaryDirectory()
        make_root(Path(self.dir.name) / "rootfs")
        network = {"type": "network"}
        if netns:
            network["path"] = f"/run/netns/{netns}"
        kinds = ["pid", "mount", "ipc", "uts"]
        config = {
            "ociVersion": "1.0.2",
            "process": {
                "args": list(command),
                "cwd": "/",
                "env": ["PATH=/usr/bin:/usr/sbin", "LANG=C.UTF-8"],
                "user": {"uid": 0, "gid": 0},
            },
            "root": {"path": "rootfs"},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {
                    "destination": "/usr",
                    "type": "bind",
                    "source": "/usr",
                    "options": ["rbind", "ro"],
                },
            ],
            "annotations": annotations or {},
            "linux": {
                # or it would restrict the devices of the cgroup that all of the guest is in
                "cgroupsPath": f"/{name}",
                "namespaces": [{"type": k} for k in kinds] + [network] * (netns != "host"),
                "sysctl": sysctl or {},
            },
        }
        if hook:
            known = json.loads(HOOK.read_text())
            config["hooks"] = {stage: [known["hook"]] for stage in known["stages"]}
        (Path(self.dir.name) / "config.json").write_text(json.dumps(config))

    def run(self, *words, check=True):
        """Into a file: a container keeps its standard output, and a pipe would have no end."""
        with tempfile.TemporaryFile("w+") as out:
            done = subprocess.run(
                ["crun", "--cgroup-manager=cgroupfs", *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                timeout=240,
                check=False,
            )
            out.seek(0)
            done.stdout = out.read()
        assert not check or done.returncode == 0, f"crun {words}: {done.stdout}"
        return done

    def start(self, check=True):
        return self.run("run", "--detach", "--bundle", self.dir.name, self.name, check=check)

    @property
    def state(self):
        return json.loads(self.run("state", self.name).stdout)

    def delete(self):
        self.run("delete", "--force", self.name, check=False)
        self.dir.cleanup()


class Podman:
    """Containers of a directory, without images: nothing is downloaded."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory()
        self.root = make_root(Path(self.dir.name) / "rootfs")

    def run(self, name, command, *options, detach=True, check=True):
        words = ["--detach"] if detach else ["--rm"]
        # containers of containers: the guest has no cgroup manager
        return run(
            "podman",
            "run",
            *words,
            "--name",
            name,
            "--cgroups=disabled",
            *options,
            "--volume",
            "/usr:/usr:ro",
            "--rootfs",
            self.root,
            *command,
            check=check,
        )

    def close(self):
        run("podman", "rm", "--all", "--force", "--time", "0", check=False)
        self.dir.cleanup()


# What podman keeps, and what it remembers of the file system below.
STORAGE = ("/var/lib/containers", "/run/containers")


@contextlib.contextmanager
def storage():
    """podman's own file system is an overlay, which the guest's, another one, cannot carry."""
    with contextlib.ExitStack() as stack:
        for where in STORAGE:
            os.makedirs(where, exist_ok=True)
            run("mount", "-t", "tmpfs", "tmpfs", where)
            stack.callback(run, "umount", "--lazy", where)
        yield
