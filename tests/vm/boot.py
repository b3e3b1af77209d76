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
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from image import BUILD, SRC, write_initramfs

INIT = SRC / "tests/vm/guest-init"
NO_VERDICT = 125
TIMED_OUT = 124

# Emulated CPU. Without the "fast" string instructions: QEMU emulates those byte by byte, and a
# kernel that believes in them spends most of its instructions on copying and clearing pages.
CPU = "max,-erms,-fsrm,-fzrm,-fsrs"

# Debian's name of an architecture: QEMU's, its machine with CPU, and the console. Pointers that are
# signed would be by a cipher in software.
MACHINES = {
    "amd64": ("x86_64", f"-machine q35 -cpu {CPU}", "ttyS0"),
    "arm64": ("aarch64", "-machine virt -cpu max,pauth=off,sve=off,sme=off", "ttyAMA0"),
}

# QEMU's main loop moves the clock over idle time, and may do so after the CPU has halted but before
# what it ran has been added to the clock: it then goes too far by that, some nanoseconds or hundreds,
# as often as the host's scheduler lets the two threads meet there. While it records, the CPU's thread
# holds a lock from before it runs until after that addition; the recording itself is of no use.
EXACT = "sleep=off,rr=record,rrfile=/dev/null"

KERNEL_OPTIONS = [
    "panic=-1",
    "loglevel=6",
    "net.ifnames=0",
    "no_timer_check",
    "tsc=reliable",
    "random.trust_cpu=on",
    "mitigations=off",
    "audit=0",
]

# What the kernel prints when something is wrong that a test's own verdict might not show.
COMPLAINTS = re.compile(
    r"WARNING:|\bBUG:|\bOops\b|Kernel panic|general protection fault|refcount_t:|"
    r"self-detected stall|detected stalls|hung task|blocked for more than|soft lockup|"
    r"possible recursive locking|possible circular locking|inconsistent lock state|"
    r"suspicious RCU usage|scheduling while atomic|sleeping function called|KASAN|UBSAN|"
    r"trying to register non-static key|ODEBUG:|suspected memory leaks|"
    r"unregister_netdevice: waiting"
)

# QEMU's own end by one of its assertions: at a boot on a busy host, before anything ran, Debian 13's
# has ended so (hw/pci/msix.c, msix_table_mmio_write). That says nothing of the guest.
EMULATOR_ENDED = re.compile(r"^qemu-system-\S+: .*Assertion .* failed", re.MULTILINE)
BOOTS = 3

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


def guest_files(args, environment):
    """What guest-init reads: the command, its environment and what to mount."""
    lines = [f"export {k}={shlex.quote(v)}\n" for k, v in environment.items()]
    return {
        "cmd": shlex.join(args.command) + "\n",
        "env": "".join(lines),
        "fstab": FSTAB,
    }


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
        options += ["-chardev", f"{out},id=out", "-device", "virtconsole,bus=ports.0,chardev=out"]
    files = {name: f"{work}/{name}" for name in ("verdict", "results")}
    if args.stream:
        files["stream"] = args.stream
    for name, path in files.items():
        options += [
            "-chardev",
            f"file,id={name},path={path}",
            "-device",
            f"virtserialport,bus=ports.0,chardev={name},name={name}",
        ]
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
    cmd = ["virtme-run", "--kimg", args.image or args.kernel]
    cmd += ["--mods", "auto", "--force-initramfs", "--name", "mptcp-vm"]
    cmd += ["--memory", f"{args.memory}M", "--cpus", str(args.cpus)]
    # Writable for build/out; for all else there is the overlay, which guest-init mounts.
    cmd += ["--rw", "--overlay-rwdir", "/", "--disable-microvm", "--disable-monitor"]
    options = [*KERNEL_OPTIONS, f"init={INIT}", f"VMDIR={work}"]
    # virtiofsd writes into the guest's memory behind QEMU's back, and without KVM QEMU then goes on
    # running what it has translated of the page's former content. Debian's kernels clear each page
    # before its use, which QEMU sees; another kernel has to be told.
    options += ["init_on_alloc=1", *args.kernel_option]
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
    name, machine, serial = MACHINES[args.architecture]
    options = [f"console={serial}", f"rdinit={INIT}", *KERNEL_OPTIONS]
    options += ["norandmaps", "nokaslr", *args.kernel_option]
    if args.shell:
        options += ["VMSHELL=1"]
    # One CPU, and nothing that varies: the clock, the seed of the random numbers, addresses.
    fixed = f"""
        -name mptcp-vm -nodefaults -no-user-config -display none -no-reboot -m {args.memory}
        {machine} -accel tcg,thread=single -icount shift={args.shift},{EXACT}
        -smp 1 -seed 1 -rtc base=2026-01-01T00:00:00,clock=vm
    """
    cmd = [f"qemu-system-{name}", *fixed.split()]
    cmd += ["-kernel", args.image or f"{args.root}/boot/vmlinuz-{args.kernel}"]
    cmd += ["-initrd", f"{work}/initramfs", "-append", " ".join(options)]
    return [*cmd, "-serial", f"file:{console}", *guest_ports(args, work)]


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
    print(f"vmtest: the whole console is in {console.relative_to(SRC)}", file=sys.stderr)


def commit():
    """What is being run, for the guest's results: it has no git and no .git."""
    known = subprocess.run(
        ["git", "-C", str(SRC), "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True,
        text=True,
        check=False,
    )
    return known.stdout.strip()


def parse_arguments():
    parser = argparse.ArgumentParser(description="Boots one guest and runs one command in it.")
    parser.add_argument("--kernel", required=True, help="release of the kernel (uname -r)")
    parser.add_argument("--image", help="kernel image, when not the root's own")
    parser.add_argument(
        "--architecture", choices=MACHINES, default="amd64", help="another only in virtual time"
    )
    parser.add_argument("--root", default="/", help="of the guest, when it is another's")
    parser.add_argument("--virtual-time", action="store_true")
    parser.add_argument(
        "--shift",
        type=int,
        default=1,
        help="virtual time: an instruction takes 2^N ns (1)",
    )
    parser.add_argument("--kvm", action="store_true")
    parser.add_argument("--kernel-option", action="append", default=[], help="of its command line")
    parser.add_argument("--slow", type=int, default=1, help="factor on the time limits of tests")
    parser.add_argument("--shell", action="store_true")
    parser.add_argument("--must-print", action="store_true", help="no output is a failure")
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument(
        "--cpus",
        type=int,
        default=os.cpu_count() or 1,
        help="in real time; in virtual time it is one",
    )
    parser.add_argument("--memory", type=int, default=2048, help="MB")
    parser.add_argument("--name", default="run", help="of the log files")
    parser.add_argument(
        "--stream",
        help="file for what the guest writes to its port of that name, at once",
    )
    parser.add_argument(
        "--compiled",
        action="store_true",
        help="virtual time: with what Python has compiled of the project; benchmarks start without",
    )
    parser.add_argument(
        "--selftests",
        help="the directory of build/selftests that a guest in virtual time has",
    )
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def boot(args, environment, console_log):
    """The exit status; None: the emulator failed before the guest had said anything."""
    console = Path(console_log.name)
    console_log.truncate(0)
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
        stdin, stdout = (None, None) if args.shell else (subprocess.DEVNULL, console_log)
        runner = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=console_log,
            start_new_session=not args.shell,
        )
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
            return None if not printed and EMULATOR_ENDED.search(text) else NO_VERDICT
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


def main():
    args = parse_arguments()
    mode = "virtual" if args.virtual_time else "real"
    (BUILD / "log").mkdir(parents=True, exist_ok=True)
    (BUILD / "out").mkdir(exist_ok=True)
    console_log = open_log(f"console-{args.name}-{args.kernel}-{mode}")
    environment = {
        "TERM": os.environ.get("TERM", "linux") if args.shell else "dumb",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": f"{SRC}/bench:{SRC}/tests/vm",
        "VM_VIRTUAL_TIME": "1" if args.virtual_time else "0",
        "VM_COMMIT": commit(),
        "VM_DATE": time.strftime("%Y-%m-%d", time.gmtime()),
        "VM_SLOW": str(args.slow),
    }
    if args.virtual_time:
        environment["PYTHONHASHSEED"] = "0"
    if args.shell and sys.stdin.isatty():
        size = os.get_terminal_size(sys.stdin.fileno())
        environment.update(VMCOLS=str(size.columns), VMROWS=str(size.lines))
    for _ in range(BOOTS):
        status = boot(args, environment, console_log)
        if status is not None:
            return status
        print("vmtest: QEMU ended by an assertion of its own", file=sys.stderr)
    return NO_VERDICT


if __name__ == "__main__":
    sys.exit(main())
