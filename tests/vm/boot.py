#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boots one guest, runs one command in it and exits with that command's status.

Runs inside the root that root.sh makes (vmtest.sh sees to that), with the project at /src.

Two kinds of guest:
  * the default is virtme-ng's: its runner shares the whole root through virtiofs, and the guest has
    an overlay in memory over it; only /src/build/out is the host's own;
  * virtual time (QEMU's icount: the guest's clock counts instructions and skips idle time) has
    everything in memory from the start, because any I/O through the host would let the guest's
    clock run on for as long as the host takes. Same files, same clock, to the last instruction.
    virtme-ng always shares a directory, so QEMU is started here.

In both, guest-init is the guest's init. virtme-ng's own finds the ports of its script by udev's
links, and some hundred processes, each slow without KVM, double the time of the boot.

Exit status: the command's own; 1 when that is 0 but the kernel complained; 124 time limit; 125 no
verdict from the guest.
"""

import argparse
import fcntl
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

SRC = Path("/src")
BUILD = SRC / "build"
INIT = SRC / "tests/vm/guest-init"
NO_VERDICT = 125
TIMED_OUT = 124

# Emulated CPU. Without the "fast" string instructions: QEMU emulates those byte by byte, and a
# kernel that believes in them spends most of its instructions on copying and clearing pages.
CPU = "max,-erms,-fsrm,-fzrm,-fsrs"

# QEMU's main loop moves the clock over idle time, and may do so after the CPU has halted but before
# what it ran has been added to the clock: it then goes too far by that, some nanoseconds or hundreds,
# as often as the host's scheduler lets the two threads meet there. While it records, the CPU's thread
# holds a lock from before it runs until after that addition; the recording itself is of no use.
EXACT = "sleep=off,rr=record,rrfile=/dev/null"

KERNEL_OPTIONS = ["panic=-1", "loglevel=6", "net.ifnames=0", "no_timer_check", "tsc=reliable",
                  "random.trust_cpu=on", "mitigations=off", "audit=0"]  # fmt: skip

# What the kernel prints when something is wrong that a test's own verdict might not show.
COMPLAINTS = re.compile(
    r"WARNING:|\bBUG:|\bOops\b|Kernel panic|general protection fault|refcount_t:|"
    r"self-detected stall|detected stalls|hung task|blocked for more than|soft lockup|"
    r"possible recursive locking|possible circular locking|inconsistent lock state|"
    r"suspicious RCU usage|scheduling while atomic|sleeping function called|KASAN|UBSAN|"
    r"unregister_netdevice: waiting"
)

# Not in a guest that has its root in memory: what only a build or a host needs.
SKIP_DIRS = {
    "/src", "/boot", "/proc", "/sys", "/dev", "/run", "/tmp", "/vm",
    "/usr/include", "/usr/src", "/usr/lib/gcc", "/usr/libexec/gcc", "/usr/share/doc",
    "/usr/share/man", "/usr/share/locale", "/usr/share/info", "/usr/share/qemu",
    "/usr/share/perl", "/usr/share/perl5", "/usr/share/seabios", "/usr/share/zoneinfo",
    "/usr/lib/git-core", "/usr/lib/bfd-plugins", "/usr/lib/x86_64-linux-gnu/perl",
    "/usr/lib/x86_64-linux-gnu/perl-base", "/usr/lib/x86_64-linux-gnu/perl5", "/usr/lib/x86_64-linux-gnu/gconv",
    "/usr/lib/x86_64-linux-gnu/qemu", "/usr/lib/x86_64-linux-gnu/gprofng", "/usr/lib/x86_64-linux-gnu/libcap2",
    "/usr/lib/file", "/usr/libexec", "/usr/lib/dkms", "/usr/lib/apt", "/usr/lib/systemd",
    "/usr/lib/qemu", "/usr/lib/podman", "/usr/lib/x86_64-linux-gnu/systemd", "/usr/share/mime", "/usr/share/dbus-1", "/usr/share/python3",
    "/usr/lib/modules", "/root/.cache", "/root/.config", "/var/cache", "/var/lib/apt", "/var/lib/dpkg",
}  # fmt: skip
SKIP_NAME = re.compile(
    r"/usr/lib/llvm-|/usr/lib/linux-|/usr/lib/clang|"
    r"/dist-packages/(virtme|typeguard|requests|urllib3|idna|chardet|charset|inflect|more_iter|"
    r"matplotlib|mpl_toolkits|numpy|PIL|fontTools|contourpy|kiwisolver|jinja2|lxml|sympy|mpmath|scipy|dateutil)|"
    r"/usr/share/(lintian|groff|debhelper|auto|aclocal|gettext|iso-codes|libtool|xml|"
    r"matplotlib|prometheus|fonts|javascript|unicode|tcltk|alsa|X11|icons)|"
    r"/x86_64-linux-gnu/(blas|lapack|openblas)|"
    r"/lib(LLVM|clang|z3|asan|tsan|hwasan|lsan|ubsan|perl|pfm|gprofng|isl|capstone|apt-pkg|asound|xml2|bfd|opcodes|glib|gio|gfortran|tcl|tk|X11|harfbuzz|sqlite|db-|stdc)[-.0-9a-z_+]*\.so|"
    r"\.a$|/usr/bin/(qemu-|prometheus|promtool|git|scalar|ruff|shellcheck|perl|gp-|gprofng|llvm|clang|dkms|vng|virtme|podman|conmon|crun|systemd|x86_64-linux-gnu-|ld$|ld\.|sqv)"
)
SKIP_MODULES = re.compile(
    r"/(build|source|vmlinuz|System\.map|config)$|"
    r"/kernel/(sound|drivers/(acpi|ata|block|gpu|hid|hv|infiniband|md|nvme|scsi|usb|vfio|virt))$|"
    r"/kernel/drivers/net/(?!bonding|dummy|ifb|macvlan|netdevsim|tun|veth|vxlan|wireguard)[^/]*$|"
    r"/kernel/fs/(?!overlayfs|nls)[^/]*$"
)


FSTAB = """\
proc /proc proc defaults 0 0
sysfs /sys sysfs defaults 0 0
devpts /dev/pts devpts defaults 0 0
tmpfs /dev/shm tmpfs mode=1777 0 0
tmpfs /tmp tmpfs mode=1777 0 0
cgroup2 /sys/fs/cgroup cgroup2 defaults 0 0
bpf /sys/fs/bpf bpf defaults 0 0
debugfs /sys/kernel/debug debugfs defaults 0 0
tracefs /sys/kernel/tracing tracefs defaults 0 0
"""


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
        # it has compiled keeps its time; those files are Debian's, and the project's are not compiled.
        own = str(source).endswith(".py") and not str(source).startswith(f"{SRC}/")
        self.entry(name, st.st_mode, data, int(st.st_mtime) if own else 1)

    def tree(self, top, skip):
        """All below a directory."""
        for where, dirs, files in os.walk(top):
            dirs[:] = sorted(d for d in dirs if not skip(os.path.join(where, d)))
            for name in dirs + sorted(files):
                full = os.path.join(where, name)
                if not skip(full):
                    self.path(full, full)

    def close(self):
        self.entry("TRAILER!!!", 0)
        self.out.write(b"\0" * (-self.out.tell() % 512))


def guest_files(args, environment):
    """What guest-init reads: the command, its environment and what to mount."""
    lines = [f"export {k}={shlex.quote(v)}\n" for k, v in environment.items()]
    return {
        "cmd": shlex.join(args.command) + "\n",
        "env": "".join(lines),
        "fstab": FSTAB,
    }


def write_initramfs(out, args, files):
    """The whole root, as far as a guest needs it."""

    def skip(path):
        return path in SKIP_DIRS or bool(SKIP_NAME.search(path))

    def skip_source(path):
        # Hidden files are those of tools: git, linters.
        return path.startswith(("/src/.", "/src/build")) or "__pycache__" in path

    cpio = Cpio(out)
    modules = f"/usr/lib/modules/{args.kernel}"
    cpio.tree("/", skip)
    cpio.entry("/usr/lib/modules", 0o040755)
    cpio.path(modules, modules)
    cpio.tree(modules, lambda p: bool(SKIP_MODULES.search(p)))
    for name in ("proc", "sys", "run", "tmp", "src", "dev", "var/cache", "vm"):
        cpio.entry(name, 0o041777 if name == "tmp" else 0o040755)
    cpio.tree("/src", skip_source)
    # What was built of the project, but not roots, logs or results of earlier runs.
    if BUILD.is_dir():
        cpio.entry(str(BUILD), 0o040755, mtime=1)
        names = (
            "root",
            "root.new",
            "root.new.half-made",
            "log",
            "native",
            "out",
            "vm",
            "kvm",
        )
        ours = {str(BUILD / n) for n in names}
        cpio.tree(
            str(BUILD),
            lambda p: (
                p in ours
                or p.startswith(f"{BUILD}/.")
                or p.endswith((".cmd", ".d", "/gen"))
            ),
        )
    cpio.entry("/src/build/out", 0o040755)
    cpio.entry("dev/console", 0o020600, rdev=(5, 1))
    cpio.entry("dev/kmsg", 0o020600, rdev=(1, 11))
    for name, text in files.items():
        cpio.entry(f"vm/{name}", 0o100644, text.encode())
    cpio.close()


def open_log(name):
    """Opens build/log/NAME.log for this guest alone: guests may run side by side."""
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        log = open(BUILD / f"log/{name}{suffix}.log", "ab")  # noqa: SIM115
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.close()
            continue
        log.truncate(0)
        return log
    sys.exit("boot.py: too many guests at once")


def guest_ports(args, work):
    """QEMU's options for what the guest answers through: its output, its verdict."""
    options = ["-device", "virtio-serial-pci,id=ports"]
    if args.virtual_time:
        # Without ioeventfd the guest's writes are done by the time its instruction is.
        options[-1] += ",ioeventfd=off"
    # virtme-ng gives a shell the serial line.
    if args.virtual_time or not args.shell:
        out = "stdio,signal=off" if args.shell else f"file,path={work}/out"
        options += ["-chardev", f"{out},id=out", "-device", "virtconsole,bus=ports.0,chardev=out"]  # fmt: skip
    files = {name: f"{work}/{name}" for name in ("verdict", "results")}
    if args.stream:
        files["stream"] = args.stream
    for name, path in files.items():
        options += ["-chardev", f"file,id={name},path={path}",
                    "-device", f"virtserialport,bus=ports.0,chardev={name},name={name}"]  # fmt: skip
    return options


def virtme_command(args, work):
    """virtme-ng's runner: modules, initramfs, the shared root, QEMU."""
    # It starts virtiofsd from PATH. By default the guest would read every program again from the
    # host each time it runs; nothing else writes to this root while a guest has it.
    daemon = Path(work, "virtiofsd")
    daemon.write_text(
        '#!/bin/sh\nexec /usr/libexec/virtiofsd "$@" --cache=always --inode-file-handles=never\n'
    )
    daemon.chmod(0o755)
    os.environ["PATH"] = f"{work}:{os.environ['PATH']}"
    cmd = ["virtme-run", "--kimg", args.image or args.kernel, "--mods", "auto", "--force-initramfs",
           "--name", "mptcp-vm", "--memory", f"{args.memory}M", "--cpus", str(os.cpu_count() or 1),
           # Writable for build/out; for all else there is the overlay, which guest-init mounts.
           "--rw", "--overlay-rwdir", "/", "--disable-microvm", "--disable-monitor"]  # fmt: skip
    options = [*KERNEL_OPTIONS, f"init={INIT}", f"VMDIR={work}"]
    # virtiofsd writes into the guest's memory behind QEMU's back, and without KVM QEMU then goes on
    # running what it has translated of the page's former content. Debian's kernels clear each page
    # before its use, which QEMU sees; another kernel has to be told.
    options += ["init_on_alloc=1"]
    if args.shell:
        options += ["VMSHELL=1"]
    else:
        cmd += ["--script-sh", f"bash {work}/cmd", "--show-boot-console"]
    if not args.kvm:
        cmd += ["--disable-kvm"]
    for option in options:
        cmd += ["--kopt", option]
    # KVM's guests get the host's CPU from virtme-ng, but not this machine.
    machine = ["-machine", "q35"] if args.kvm else ["-cpu", CPU]
    return [*cmd, "--qemu-opts", "-no-reboot", *machine, *guest_ports(args, work)]


def qemu_command(args, work, console):
    """QEMU itself, for virtual time."""
    options = ["console=ttyS0", f"rdinit={INIT}", *KERNEL_OPTIONS]
    options += ["norandmaps", "nokaslr"]
    if args.shell:
        options += ["VMSHELL=1"]
    # One CPU, and nothing that varies: the clock, the seed of the random numbers, addresses.
    return ["qemu-system-x86_64", "-name", "mptcp-vm", "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-m", str(args.memory),
            "-machine", "q35", "-accel", "tcg,thread=single", "-icount", f"shift={args.shift},{EXACT}",
            "-smp", "1", "-cpu", CPU, "-seed", "1", "-rtc", "base=2026-01-01T00:00:00,clock=vm",
            "-kernel", args.image or f"/boot/vmlinuz-{args.kernel}",
            "-initrd", f"{work}/initramfs", "-append", " ".join(options),
            "-serial", f"file:{console}", *guest_ports(args, work)]  # fmt: skip


def end(runner):
    """Ends a guest. QEMU is a child of virtme-ng's runner, and in its process group."""
    if runner.poll() is not None:
        return
    group = os.getpgid(runner.pid)
    if group == os.getpgrp():
        runner.kill()
    else:
        os.killpg(group, signal.SIGKILL)


def follow(runner, out, limit):
    """Passes the guest's output on until it is gone; says whether the time limit ended it."""
    deadline = time.monotonic() + limit
    printed = 0
    late = False
    while True:
        gone = runner.poll() is not None
        data = out.read()
        if data:
            printed += len(data)
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif gone:
            return printed, late
        elif time.monotonic() > deadline:
            late = True
            end(runner)
        else:
            time.sleep(0.05)


def as_of_now(member, path):
    """A guest in virtual time lives in the past; its results were made now."""
    return tarfile.data_filter(member, path).replace(mtime=time.time())


def complain(text, console, why):
    print(f"vmtest: {why}", file=sys.stderr)
    lines = text.replace("\r", "").splitlines()
    for line in lines[-40:]:
        print(f"  console: {line}", file=sys.stderr)
    print(
        f"vmtest: the whole console is in {console.relative_to(SRC)}", file=sys.stderr
    )


def commit():
    """What is being run, for the guest's results: it has no git and no .git."""
    known = subprocess.run(["git", "-C", str(SRC), "describe", "--always", "--dirty", "--abbrev=12"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    return known.stdout.strip()


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="Boots one guest and runs one command in it."
    )
    parser.add_argument(
        "--kernel", required=True, help="release of the kernel (uname -r)"
    )
    parser.add_argument("--image", help="kernel image, when not the root's own")
    parser.add_argument("--virtual-time", action="store_true")
    parser.add_argument(
        "--shift",
        type=int,
        default=1,
        help="virtual time: an instruction takes 2^N ns (1)",
    )
    parser.add_argument("--kvm", action="store_true")
    parser.add_argument("--shell", action="store_true")
    parser.add_argument(
        "--must-print", action="store_true", help="no output is a failure"
    )
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("--memory", type=int, default=2048, help="MB")
    parser.add_argument("--name", default="run", help="of the log files")
    parser.add_argument(
        "--stream",
        help="file for what the guest writes to its port of that name, at once",
    )
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def main():
    args = parse_arguments()
    mode = "virtual" if args.virtual_time else "real"
    (BUILD / "log").mkdir(parents=True, exist_ok=True)
    (BUILD / "out").mkdir(exist_ok=True)
    console_log = open_log(f"console-{args.name}-{args.kernel}-{mode}")
    console = Path(console_log.name)
    environment = {
        "TERM": os.environ.get("TERM", "linux") if args.shell else "dumb",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "VM_VIRTUAL_TIME": "1" if args.virtual_time else "0",
        "VM_COMMIT": commit(),
    }
    if args.virtual_time:
        environment["PYTHONHASHSEED"] = "0"
    if args.shell and sys.stdin.isatty():
        size = os.get_terminal_size(sys.stdin.fileno())
        environment.update(VMCOLS=str(size.columns), VMROWS=str(size.lines))
    with tempfile.TemporaryDirectory(prefix="vm-") as work:
        files = guest_files(args, environment)
        if args.virtual_time:
            with open(f"{work}/initramfs", "wb") as f:
                write_initramfs(f, args, files)
            command = qemu_command(args, work, console)
        else:
            for name, text in files.items():
                Path(work, name).write_text(text)
            command = virtme_command(args, work)
        for name in ("out", "verdict", "results"):
            Path(work, name).touch()
        begun = time.monotonic()
        # virtme-ng has the guest's console on standard error.
        stdin, stdout = (
            (None, None) if args.shell else (subprocess.DEVNULL, console_log)
        )
        runner = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=console_log,
                                  start_new_session=not args.shell)  # fmt: skip
        signal.signal(signal.SIGTERM, lambda *_: end(runner))
        try:
            with open(f"{work}/out", "rb") as out:
                limit = 86400 * 7 if args.shell else args.timeout
                printed, late = follow(runner, out, limit)
        except KeyboardInterrupt:
            end(runner)
            runner.wait()
            return 130
        text = console.read_text(errors="replace")
        verdict = re.fullmatch(r"exit (\d+)\s*", Path(work, "verdict").read_text())
        if not verdict:
            after = f"{time.monotonic() - begun:.0f} s"
            if late:
                complain(text, console, f"time limit of {args.timeout} s, guest ended")
                return TIMED_OUT
            complain(text, console, f"the guest ended after {after} without a verdict")
            return NO_VERDICT
        results = Path(work, "results")
        if results.stat().st_size:
            with tarfile.open(results) as archive:
                archive.extractall(BUILD / "out", filter=as_of_now)
        status = int(verdict.group(1))
        if args.must_print and not printed and not status:
            complain(text, console, "the guest printed nothing")
            return NO_VERDICT
        bad = [line for line in text.splitlines() if COMPLAINTS.search(line)]
        if bad and not args.shell:
            print("vmtest: the guest's kernel complained:", file=sys.stderr)
            for line in bad[:40]:
                print(f"  console: {line}", file=sys.stderr)
            print(f"vmtest: see {console.relative_to(SRC)}", file=sys.stderr)
            status = status or 1
        return status


if __name__ == "__main__":
    sys.exit(main())
