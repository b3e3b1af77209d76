# SPDX-License-Identifier: GPL-2.0
"""The initramfs of a guest in virtual time: the root, as far as a guest needs it."""

import contextlib
import fcntl
import os
import re
import stat
import struct
from pathlib import Path

SRC = Path("/src")
BUILD = SRC / "build"

# The directories of an architecture's own, by a name that is the same for all.
MULTIARCH = re.compile(r"/(x86_64|aarch64)-linux-gnu(?=/|-|$)")

# Not in a guest that has its root in memory: what only a build or a host needs.
SKIP_DIRS = {
    "/src", "/boot", "/proc", "/sys", "/dev", "/run", "/tmp", "/vm",
    "/usr/include", "/usr/src", "/usr/lib32", "/usr/lib/gcc", "/usr/libexec/gcc", "/usr/share/doc",
    "/usr/share/man", "/usr/share/locale", "/usr/share/info", "/usr/share/qemu",
    "/usr/share/perl", "/usr/share/perl5", "/usr/share/seabios", "/usr/share/zoneinfo",
    "/usr/lib/git-core", "/usr/lib/bfd-plugins", "/usr/lib/ARCH/perl",
    "/usr/lib/ARCH/perl-base", "/usr/lib/ARCH/perl5", "/usr/lib/ARCH/gconv",
    "/usr/lib/ARCH/qemu", "/usr/lib/ARCH/gprofng", "/usr/lib/ARCH/libcap2",
    "/usr/lib/file", "/usr/libexec", "/usr/lib/dkms", "/usr/lib/apt", "/usr/lib/systemd",
    "/usr/lib/qemu", "/usr/lib/podman", "/usr/lib/ARCH/systemd", "/usr/share/mime", "/usr/share/dbus-1", "/usr/share/python3",
    "/usr/lib/chromium", "/usr/lib/ARCH/dri",
    "/usr/lib/modules", "/root/.cache", "/root/.config", "/var/cache", "/var/lib/apt", "/var/lib/dpkg",
}  # fmt: skip
SKIP_NAME = re.compile(
    r"/usr/lib/llvm-|/usr/lib/linux-|/usr/lib/clang|"
    r"/dist-packages/(virtme|typeguard|requests|urllib3|idna|chardet|charset|inflect|more_iter|"
    r"matplotlib|mpl_toolkits|numpy|PIL|fontTools|contourpy|kiwisolver|jinja2|elftools|lxml|sympy|mpmath|scipy|dateutil)|"
    r"/usr/share/(lintian|groff|debhelper|auto|aclocal|gettext|iso-codes|libtool|xml|"
    r"matplotlib|prometheus|fonts|javascript|unicode|tcltk|alsa|X11|icons)|"
    r"/ARCH/(blas|lapack|openblas)|"
    r"/lib(LLVM|clang|z3|asan|tsan|hwasan|lsan|ubsan|perl|pfm|gprofng|isl|capstone|apt-pkg|asound|gallium|vulkan|openh264|xml2|bfd|opcodes|glib|gio|gfortran|tcl|tk|X11|harfbuzz|sqlite|db-|stdc)[-.0-9a-z_+]*\.so|"
    r"\.a$|/usr/bin/(qemu-|prometheus|promtool|git|scalar|ruff|shellcheck|perl|gp-|gprofng|llvm|clang|dkms|vng|virtme|podman|conmon|crun|systemd|ARCH-|ld$|ld\.|sqv)"
)
SKIP_MODULES = re.compile(
    r"/(build|source|vmlinuz|System\.map|config)$|"
    r"/kernel/(sound|drivers/(acpi|ata|block|gpu|hid|hv|infiniband|md|nvme|scsi|usb|vfio|virt))$|"
    r"/kernel/drivers/net/(?!bonding|dummy|ifb|macvlan|netdevsim|tun|veth|vxlan|wireguard)[^/]*$|"
    r"/kernel/fs/(?!overlayfs|nls)[^/]*$"
)


# In build/: roots, kernels, logs and results of earlier runs. What is left is what was built of the project.
NOT_FOR_GUESTS = (
    *("root", "root.new", "root.new.half-made", "vm", "kvm", "arm64", "log", "out", "queue"),
    *("native", "debug", "debug-stock", "patched", "ccache", "selftests"),
    *("control", "fuzz", "coverage", "compile_commands.json"),
)

# Of a compiled module: a magic number, flags, and time and size of its source (PEP 552).
HEADER = 16


def of_source(st):
    return struct.pack("<III", 0, int(st.st_mtime) & 0xFFFFFFFF, st.st_size & 0xFFFFFFFF)


class Cpio:
    """Writes an initramfs archive ("newc")."""

    def __init__(self, out):
        self.out = out
        self.inode = 0

    def entry(self, name, mode, data=b"", mtime=0, rdev=(0, 0)):
        self.inode += 1
        raw = name.lstrip("/").encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, mtime, len(data), 0, 0, *rdev, len(raw), 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + raw
        self.out.write(head + b"\0" * (-len(head) % 4))
        if data:
            self.out.write(data + b"\0" * (-len(data) % 4))

    def path(self, name, source):
        """Adds a file as it is, but for its time."""
        st = os.lstat(source)
        kind = stat.S_IFMT(st.st_mode)
        if kind == stat.S_IFLNK:
            data = os.readlink(source).encode()
        elif kind == stat.S_IFREG:
            data = Path(source).read_bytes()
        elif kind == stat.S_IFDIR:
            data = b""
        else:
            return
        # Guests with the same files are the same to the last instruction, whenever those were
        # written: the project is installed again at each build. Only what Python compares with what
        # it has compiled keeps its time; those files are Debian's. The project's are compiled for
        # tests only, and told of this time.
        own = name.endswith(".py") and not name.startswith(f"{SRC}/")
        self.entry(name, st.st_mode, data, int(st.st_mtime) if own else 1)

    def tree(self, top, skip, base=""):
        """All below a directory, of the root that is at `base`."""
        for where, dirs, files in os.walk(f"{base}{top}"):
            inside = where[len(base) :]
            dirs[:] = sorted(d for d in dirs if not skip(os.path.join(inside, d)))
            for name in dirs + sorted(files):
                full = os.path.join(inside, name)
                # A file that goes meanwhile was a compiler's or a test's own.
                with contextlib.suppress(FileNotFoundError):
                    if not skip(full):
                        self.path(full, base + full)

    def compiled(self, top):
        """What Python, or pytest, has compiled of modules that have not changed since."""
        for pyc in sorted(Path(top).rglob("__pycache__/*.pyc")):
            source = pyc.parent.parent / f"{pyc.name.partition('.')[0]}.py"
            data = pyc.read_bytes()
            if not source.exists() or data[4:HEADER] != of_source(source.stat()):
                continue
            folder = str(pyc.parent)
            self.entry(folder, 0o040755, mtime=1)
            self.entry(str(pyc), 0o100644, data[:8] + struct.pack("<I", 1) + data[12:], mtime=1)

    def close(self):
        self.entry("TRAILER!!!", 0)
        self.out.write(b"\0" * (-self.out.tell() % 512))


@contextlib.contextmanager
def root_at_rest():
    """While nobody installs in the root or builds for it: vmtest.sh has this lock alone for that."""
    with open(BUILD / ".lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


@root_at_rest()
def write_initramfs(out, args, files):
    """The whole root, as far as a guest needs it."""
    base = args.root.rstrip("/")

    def skip(path):
        path = MULTIARCH.sub("/ARCH", path)
        return path in SKIP_DIRS or bool(SKIP_NAME.search(path))

    def skip_source(path):
        # Hidden files are those of tools: git, linters.
        return path.startswith(("/src/.", "/src/build")) or "__pycache__" in path

    cpio = Cpio(out)
    modules = f"/usr/lib/modules/{args.kernel}"
    cpio.tree("/", skip, base)
    cpio.entry("/usr/lib/modules", 0o040755)
    cpio.path(modules, base + modules)
    cpio.tree(modules, lambda p: bool(SKIP_MODULES.search(p)), base)
    for name in ("proc", "sys", "run", "tmp", "src", "dev", "var/cache", "vm"):
        cpio.entry(name, 0o041777 if name == "tmp" else 0o040755)
    cpio.tree("/src", skip_source)
    if args.compiled:
        cpio.compiled("/src")
    if BUILD.is_dir():
        cpio.entry(str(BUILD), 0o040755, mtime=1)
        ours = {str(BUILD / n) for n in NOT_FOR_GUESTS}
        cpio.tree(
            str(BUILD),
            lambda p: p in ours or p.startswith(f"{BUILD}/.") or p.endswith((".cmd", ".d", "/gen")),
        )
    cpio.entry("/src/build/out", 0o040755)
    if args.selftests:
        cpio.entry("/src/build/selftests", 0o040755)
        cpio.path(args.selftests, args.selftests)
        cpio.tree(args.selftests, lambda p: False)
    cpio.entry("dev/console", 0o020600, rdev=(5, 1))
    cpio.entry("dev/kmsg", 0o020600, rdev=(1, 11))
    for name, text in files.items():
        cpio.entry(f"vm/{name}", 0o100644, text.encode())
    cpio.close()
