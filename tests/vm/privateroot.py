# SPDX-License-Identifier: GPL-2.0
"""A root of its own over the one that is there: what is installed in it is gone with the test.

Kernel, network namespaces and BPF file system are shared. What changed is seen at
once, since the overlay's upper directory holds nothing else.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

SHARED = ("proc", "sys", "dev", "run", "src")
# DKMS builds the same module for several tests. Debian's kernel headers ask for the first.
CCACHE = {
    "DEBIAN_KERNEL_USE_CCACHE": "1",
    "CCACHE_DIR": str(Path(__file__).resolve().parents[2] / "build/ccache"),
}
# The root's dpkg leaves out what nobody reads there.
DPKG = ("dpkg", "--path-include=/usr/share/man/*", "--path-include=/usr/share/doc/*")
# What dpkg, rpm, dkms and triggers write about whatever is installed. dkms makes a key for itself with
# the first module; dpkg forgets directories of other packages' pages that were left out.
BOOKS = re.compile(
    r"/var/lib/dpkg/((status|available|diversions|statoverride|lock|triggers)\S*|"
    r"info/(?!mptcp-sched)[^/]*\.list)$|/var/lib/dkms/mok\.(key|pub)$|"
    r"/var/log/(dpkg|alternatives)\.log$|/var/cache/(man|ldconfig)(/.*)?$|/etc/ld\.so\.cache$|"
    r"/var/lib/rpm(/.*)?$"
)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


def describe(path):
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    if path.is_dir():
        return "directory"
    if path.is_char_device():
        return "removed"
    return hashlib.sha256(path.read_bytes()).hexdigest()


class PrivateRoot:
    def __init__(self):
        self.top = Path(tempfile.mkdtemp(prefix="root."))
        self.root, self.upper = self.top / "root", self.top / "rw/upper"
        self.mounted = []
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self):
        for name in ("root", "rw"):
            (self.top / name).mkdir()
        self._mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", self.top / "rw")
        for path in (self.upper, self.top / "rw/work"):
            path.mkdir()
        layers = f"lowerdir=/,upperdir={self.upper},workdir={self.top}/rw/work"
        self._mount("-t", "overlay", "-o", layers, "overlay", self.root)
        for name in SHARED:
            self._mount("--rbind", f"/{name}", self.root / name)
            run("mount", "--make-rslave", self.root / name)
        self._mount("-t", "tmpfs", "tmpfs", self.root / "tmp")

    def _mount(self, *words):
        run("mount", *words)
        self.mounted.append(words[-1])

    def close(self):
        for where in reversed(self.mounted):
            run("umount", "--lazy", where)
        shutil.rmtree(self.top)

    def run(self, *command, timeout=240):
        env = {"PATH": os.environ["PATH"], "DEBIAN_FRONTEND": "noninteractive"} | CCACHE
        return run("chroot", self.root, *command, env=env, timeout=timeout)

    def without_the_project(self):
        """As if nobody had ever run `make install kmod-install` here."""
        script = Path(__file__).resolve().parents[2] / "packaging/install.sh"
        manifest = "/usr/lib/mptcp-sched/manifest"
        run("env", f"DESTDIR={self.root}", script, "uninstall", manifest)
        self.without_the_module()

    def without_the_module(self):
        for kernel in self.kernels():
            updates = self.modules(kernel) / "updates"
            if updates.exists():
                shutil.rmtree(updates)

    def modules(self, kernel):
        return self.root / "usr/lib/modules" / kernel

    def headers(self, kernel):
        found = (self.modules(kernel) / "build").resolve()
        assert found.is_relative_to(self.root), found
        return found

    def images(self, kernel):
        names = (
            self.root / "boot" / f"vmlinuz-{kernel}",
            self.modules(kernel) / "vmlinuz",
        )
        return [path for path in names if path.exists()]

    def without_vmlinux(self, kernel):
        """As the headers packages of many distributions."""
        (self.headers(kernel) / "vmlinux").unlink()

    def without_image(self, kernel):
        for path in self.images(kernel):
            path.unlink()

    def kernels(self):
        """Those with headers."""
        found = (self.root / "usr/lib/modules").iterdir()
        return sorted(k.name for k in found if (k / "build").is_symlink())

    def own_kernels(self):
        """Without those that fetch-kernel.sh brought since the root was made."""
        modules = self.root / "usr/lib/modules"
        return [k for k in self.kernels() if not (modules / k / ".fetched").exists()]

    def changes(self):
        """{path: what is there now} where that is not what is below, but for those books."""
        found = {}
        for where, dirs, files in os.walk(self.upper):
            for name in dirs + files:
                path = Path(where) / name
                below = Path("/") / path.relative_to(self.upper)
                now = describe(path)
                if not BOOKS.search(str(below)) and (
                    not os.path.lexists(below) or now != describe(below)
                ):
                    found[str(below)] = now
        return found


def difference(before, after):
    return {
        p: (before.get(p), after.get(p)) for p in before | after if before.get(p) != after.get(p)
    }
