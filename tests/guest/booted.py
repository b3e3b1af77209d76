# SPDX-License-Identifier: GPL-2.0
"""A machine booted by systemd, as far as user space goes: with namespaces and a root of its own.

The kernel, its modules and its BPF programs are the guest's. All else is new at each boot,
/sys/fs/bpf among it, so what is pinned there is gone after it.
"""

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

from lab import run, until

# Of its own for the first process of all, and seen as such from inside.
OWN = tuple(f"--{kind}" for kind in ("mount", "pid", "net", "cgroup", "uts", "ipc"))
# Not the kernel's settings, which are the guest's and which other tests count on, and no logins.
# Nor what a boot would do for others and takes half of it: caches, file systems, modules.
MASKED = (
    "systemd-sysctl.service",
    "systemd-logind.service",
    "getty.target",
    "ldconfig.service",
    "systemd-journal-catalog-update.service",
    "systemd-modules-load.service",
    "kmod-static-nodes.service",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "sys-fs-fuse-connections.mount",
)
CGROUP = Path("/sys/fs/cgroup/booted")
# In a cgroup of its own, with what a container's manager would have mounted for it, and a bpffs,
# which systemd mounts before all else on a machine, and in no container.
FIRST_STEPS = """
echo 0 >"$CGROUP/cgroup.procs"
exec unshare $OWN --fork --kill-child --propagation private sh -ec '
	cd "$ROOT"
	for name in proc sys run dev; do umount --lazy $name; done
	mount -t proc proc proc
	mount -t sysfs sysfs sys
	mount -t cgroup2 cgroup2 sys/fs/cgroup
	mount -t bpf -o mode=0700 bpf sys/fs/bpf
	mount -t tmpfs -o mode=0755 tmpfs run
	mount -t tmpfs -o mode=0755 tmpfs dev
	for name in null zero full random urandom tty; do
		: >dev/$name
		mount --bind /dev/$name dev/$name
	done
	mkdir dev/shm dev/pts
	mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
	ln -s pts/ptmx dev/ptmx
	pivot_root . mnt
	umount --lazy /mnt
	exec env -i container=test PATH=/usr/sbin:/usr/bin /usr/lib/systemd/systemd
'
"""


class Booted:
    def __init__(self, root):
        CGROUP.mkdir()
        self.log = root.top / "boot.log"
        env = {"CGROUP": CGROUP, "OWN": " ".join(OWN), "ROOT": root.root}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                ["sh", "-ec", FIRST_STEPS],
                env=os.environ | env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            # Each look starts two programs, where the guest has one CPU.
            until(self.is_up, 300, "systemd is up", every=1)
        except BaseException:
            self.close()
            raise

    def is_up(self):
        assert self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(IndexError, FileNotFoundError):
            said = self.run("systemctl", "is-system-running", check=False).stdout
            return said.strip() in ("running", "degraded")
        return False

    @property
    def first(self):
        """The pid of its first process, as the guest has it."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return int(children.split()[0])

    def enter(self, *command):
        """The command as one of its processes."""
        return [
            "nsenter",
            "--target",
            str(self.first),
            "--root",
            "--wd",
            *OWN,
            "--",
            *command,
        ]

    def run(self, *command, **options):
        return run(*self.enter(*map(str, command)), **options)

    def sched(self, *command):
        return json.loads(self.run("mptcp-sched", "--json", *command).stdout)

    def unit(self, name, *fields):
        said = self.run("systemctl", "show", name, "--property", ",".join(fields)).stdout
        values = dict(line.split("=", 1) for line in said.splitlines())
        return [values[f] for f in fields]

    def journal(self, unit):
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", unit).stdout

    def scheduler(self):
        """That its sockets get."""
        return self.run("cat", "/proc/sys/net/mptcp/scheduler").stdout.strip()

    def close(self):
        """As if the power went: its first process takes all others with it."""
        with contextlib.suppress(IndexError, FileNotFoundError):
            os.kill(self.first, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        until(self.is_gone, 20, "its processes are gone")

    @staticmethod
    def is_gone():
        for where, _, _ in os.walk(CGROUP, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(where)
        return not CGROUP.exists()
