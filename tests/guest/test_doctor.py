# SPDX-License-Identifier: GPL-2.0
"""doctor: every condition that breaks it is found, with the kernel's own words and what to do.

Each is mended then, and doctor says "ready": it tells by trying, so it may say so only where it
works. `load` stumbles over the same and says the same.
"""

import contextlib
import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import PIN_DIR, available, ok, sched
from hygiene import BPFFS, pins
from lab import run, until
from test_unload import bridge_loaded, bridge_returns, rmmod

FAILED, KERNEL, PERMISSION = 1, 3, 4
RELEASE = platform.release()
BUILT = Path(__file__).resolve().parent.parent.parent / "build/tests"
MODPROBE_D = Path("/etc/modprobe.d/mptcp-sched-test.conf")
LOCKDOWN = Path("/sys/kernel/security/lockdown")
SIG_ENFORCE = Path("/sys/module/module/parameters/sig_enforce")

pytestmark = pytest.mark.usefixtures("none_loaded")


# --- the module


def module():
    """Its file, as modprobe finds it."""
    return Path(run("modinfo", "-n", "mptcp_sched_bpf").stdout.strip())


@contextlib.contextmanager
def other_module(change):
    """change(path) makes something else of it."""
    path = module()
    kept = path.with_suffix(".kept")
    shutil.copy2(path, kept)
    try:
        change(path)
        yield ()
    finally:
        kept.replace(path)


@contextlib.contextmanager
def not_installed():
    yield ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /lib/modules && exec "$@"', "sh")


def of_another_kernel(path):
    """6.12's in 7.3's directory, or the reverse."""
    found = Path("/lib/modules").glob("*/updates/**/mptcp_sched_bpf.ko")
    others = [p for p in found if RELEASE not in p.parts]
    assert others, "the root has a second kernel"
    shutil.copy2(others[0], path)


def of_another_build(path):
    """Of a kernel without SMP; with MODVERSIONS the release alone would not be looked at."""
    old = f"vermagic={RELEASE} SMP ".encode()
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, old.replace(b" SMP ", b" UP_ ")))


def truncated(path):
    os.truncate(path, path.stat().st_size // 2)


def empty(path):
    os.truncate(path, 0)


def without_btf(path):
    run("objcopy", "--remove-section", ".BTF", "--remove-section", ".BTF.base", path)


def built(name):
    """One of tests/guest/guest.mk."""
    return lambda path: shutil.copy2(BUILT / f"{name}-{RELEASE}.ko", path)


@contextlib.contextmanager
def line_of_modprobe(line):
    MODPROBE_D.write_text(line + "\n")
    try:
        yield ()
    finally:
        MODPROBE_D.unlink()


@contextlib.contextmanager
def of_no_use():
    """It loads, as a bridge did that was built without BTF, and the kernel learns nothing of it."""
    with (
        other_module(built("standin")),
        line_of_modprobe("options mptcp_sched_bpf says=0"),
    ):
        yield ()


@contextlib.contextmanager
def without(*caps):
    words = ",".join(f"-{c}" for c in caps)
    yield ("setpriv", f"--bounding-set={words}", f"--inh-caps={words}", "--")


@dataclass
class Broken:
    how: object  # a context manager; it gives what to run the command under
    found: str  # what doctor says, a regular expression
    todo: str
    load: int = KERNEL  # exit status of `load`
    check: str = "BPF schedulers"
    at_load: str = ""  # what load says, where that is not what doctor does


BUILD = r"`dkms unbuild (\S+) -k \$\(uname -r\) && dkms install \1`.*make kmod"
MODULE = {
    "not installed": Broken(
        not_installed(), "Module mptcp_sched_bpf not found", "DKMS.*dkms autoinstall"),
    "of another kernel": Broken(
        other_module(of_another_kernel), "the kernel: mptcp_sched_bpf: version magic '.* should be '", BUILD),
    "of another build": Broken(
        other_module(of_another_build), "the kernel: mptcp_sched_bpf: version magic '.* UP_ .* should be '.* SMP ", BUILD),
    "truncated": Broken(
        other_module(truncated), r"could not be loaded \(insmod /lib/modules/.*(Exec format error|Invalid argument)", BUILD),
    "empty": Broken(
        other_module(empty), r"could not be loaded \(insmod /lib/modules/.*(Exec format error|Invalid argument)", BUILD),
    "forbidden": Broken(
        line_of_modprobe("install mptcp_sched_bpf /bin/false"), r"could not be loaded \(install /bin/false", "take the line .* out of"),
    "pretended": Broken(
        line_of_modprobe("install mptcp_sched_bpf /bin/true"), r"not there \(install /bin/true", "take the line .* out of"),
    "its BTF was taken out": Broken(
        other_module(without_btf), "the kernel: mptcp_sched_bpf: this module has no BTF", BUILD),
    "loads without BTF": Broken(
        of_no_use(), "is loaded, but it has no BTF", f"^build and install it.*{BUILD}"),
    "refuses a field's place": Broken(
        other_module(built("moved")), r"the kernel: mptcp_sched_bpf: .*struct mptcp_sock: \w+ expected at byte", BUILD),
    "refuses the kernel's series": Broken(
        other_module(built("newer")), "the kernel: mptcp_sched_bpf: .* is newer than .* untested=1", "do what the kernel's line says"),
    "refuses with EEXIST": Broken(
        other_module(built("standin")), "the kernel: mptcp_sched_bpf: ", BUILD),
    "no CAP_SYS_MODULE": Broken(
        without("sys_module"), "missing CAP_SYS_MODULE", "run it as root", PERMISSION),
}  # fmt: skip


@pytest.fixture
def out_of_the_kernel(none_loaded):
    """The bridge, for the test; the fixtures of a test come before those of its module."""
    with bridge_returns():
        if bridge_loaded():
            until(lambda: rmmod().returncode == 0, 10, "rmmod")
        yield


def examined(prefix=()):
    result = sched("--json", "doctor", prefix=prefix)
    return result, {c["check"]: c for c in result.data["checks"]}


def found_broken(case, prefix):
    result, rows = examined(prefix)
    row = rows[case.check]
    assert row["result"] == "fail", row
    assert re.search(case.found, row["found"]), row
    assert re.search(case.todo, row["todo"]), row
    assert result.code == KERNEL and result.data["ready"] is False


def load_stumbles(case, prefix):
    result = sched("--json", "load", "bpf_minrtt", prefix=prefix)
    assert result.code == case.load, result
    assert re.search(case.at_load or case.found, result.error["reason"]), result
    assert re.search(case.todo, result.error["hint"]), result
    assert (available(), pins()) == ({"default"}, [])


def found_ready():
    result, rows = examined()
    assert result.code == 0 and result.data["ready"], result
    assert not [r for r in rows.values() if r["result"] == "fail"]
    return rows


@pytest.mark.usefixtures("by_the_bridge", "out_of_the_kernel")
@pytest.mark.parametrize("name", MODULE)
def test_the_module(name):
    case = MODULE[name]
    with case.how as prefix:
        found_broken(case, prefix)
        load_stumbles(case, prefix)
        assert not bridge_loaded(), "what is of no use is taken out again"
    rows = found_ready()
    assert "tried" in rows["BPF schedulers"]["found"]
    assert "tried" in rows["a scheduler's programs"]["found"]
    assert not bridge_loaded(), "it was not loaded before"


@pytest.mark.usefixtures("by_the_bridge", "out_of_the_kernel")
def test_the_kernels_words_take_a_capability():
    case = Broken(None, "CAP_SYSLOG", "dkms")
    Path("/proc/sys/kernel/dmesg_restrict").write_text("1")
    with other_module(of_another_build), without("syslog") as prefix:
        found_broken(case, prefix)
    found_ready()


@pytest.mark.usefixtures("by_the_bridge", "out_of_the_kernel")
def test_a_module_of_no_use_that_is_there():
    """Inserted by somebody, so that it is theirs to remove."""
    with of_no_use():
        run("modprobe", "mptcp_sched_bpf")
        assert ok("show")["kernel"]["support"] == "none"
        case = Broken(None, "is loaded, but it has no BTF", "^`rmmod mptcp_sched_bpf`")
        found_broken(case, ())
        load_stumbles(case, ())
        assert bridge_loaded()
        run("rmmod", "mptcp_sched_bpf")
    found_ready()


def test_a_bridge_that_is_in_use_stays(by_the_bridge):
    assert bridge_loaded()
    ok("load", "bpf_minrtt")
    assert "loaded" in found_ready()["BPF schedulers"]["found"]
    assert bridge_loaded() and "bpf_minrtt" in available()


# --- where pins go


@contextlib.contextmanager
def read_only():
    run("mount", "-o", "remount,ro", BPFFS)
    try:
        yield ()
    finally:
        run("mount", "-o", "remount,rw", BPFFS)


@contextlib.contextmanager
def pin_dir(mode=0o700, uid=0):
    os.mkdir(PIN_DIR)
    os.chmod(PIN_DIR, mode)
    os.chown(PIN_DIR, uid, 0)
    try:
        yield ()
    finally:
        os.rmdir(PIN_DIR)


@contextlib.contextmanager
def under_netns_exec(*mount):
    name = "t-doctor"
    run("ip", "netns", "add", name)
    try:
        shell = ("sh", "-ec", "; ".join([*mount, 'exec "$@"']), "sh")
        yield ("ip", "netns", "exec", name, *shell)
    finally:
        run("ip", "netns", "del", name)


PINS = {
    "read-only": Broken(read_only(), "is read-only", "remount,rw", FAILED, BPFFS),
    "open to others": Broken(
        pin_dir(0o755), r"open to other users \(mode 755\)", "chmod 700", FAILED, BPFFS),
    "somebody else's": Broken(
        pin_dir(uid=65534), r"belongs to another user \(uid 65534\)", "chown 0", FAILED, BPFFS),
    "in ip netns exec": Broken(
        under_netns_exec(), "not a bpffs in this mount namespace", "outside .* --netns NAME", FAILED, BPFFS),
    "one that goes with ip netns exec": Broken(
        under_netns_exec(f"mount -t bpf bpf {BPFFS}"), "of this mount namespace alone", "outside .* --netns NAME", FAILED, BPFFS),
}  # fmt: skip


@pytest.mark.parametrize("name", PINS)
def test_where_pins_go(name):
    case = PINS[name]
    with case.how as prefix:
        found_broken(case, prefix)
        load_stumbles(case, prefix)
    assert "tried" in found_ready()[BPFFS]["found"]


# --- what somebody left


def test_a_namespace_without_its_scheduler(net):
    ok("use", "bpf_minrtt", "--netns", net.name)
    ok("unload", "--force", "bpf_minrtt")
    text = f"namespace {net.name} selects bpf_minrtt, which is not registered"
    found_broken(Broken(None, text, "load bpf_minrtt", check="selected scheduler"), ())
    ok("load", "bpf_minrtt")
    found_ready()
    net.scheduler = "default"


# --- what can only be switched on, so nothing comes behind it in this guest


def lock_down():
    if not LOCKDOWN.exists():
        run("mount", "-t", "securityfs", "securityfs", "/sys/kernel/security")
    LOCKDOWN.write_text("integrity")


def enforce_signatures():
    SIG_ENFORCE.write_text("1")


def close_the_kernel():
    Path("/proc/sys/kernel/modules_disabled").write_text("1")


# In the order in which the kernel asks, from the last question to the first.
FOR_GOOD = {
    lock_down: ("the kernel: Lockdown: .*unsigned module", "mokutil --import"),
    enforce_signatures: ("the kernel: Loading of .* is rejected", "mokutil --import"),
    close_the_kernel: ("kernel.modules_disabled is 1", "modules-load.d"),
}


@pytest.mark.last
@pytest.mark.usefixtures("by_the_bridge")
def test_what_a_boot_alone_can_mend():
    """Modules of no known signature, twice; then none at all. Debian's kernels have all three."""
    if bridge_loaded():
        run("rmmod", "mptcp_sched_bpf")
    for switch, (found, todo) in FOR_GOOD.items():
        switch()
        case = Broken(None, found, todo)
        found_broken(case, ())
        load_stumbles(case, ())
