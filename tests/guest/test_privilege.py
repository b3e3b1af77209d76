# SPDX-License-Identifier: GPL-2.0
"""Capabilities in place of root: the table that `help --json` shows is exactly what it takes."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from command import PIN_DIR, STRACE, available, ok, sched
from hygiene import BPFFS, pins
from lab import run
from test_monitor import Monitor
from tracer import trace
from traffic import connection, info, upload

PERMISSION = 4
LOCK_DIR = "/run/mptcp-sched"
TABLE = {
    command["name"]: {
        cap["name"]: any(c["when"] is None for c in command["capabilities"] if c["name"] == cap["name"])
        for cap in command["capabilities"]
    }
    for command in ok("help")["commands"]
    if command["capabilities"]
}  # fmt: skip
CONFIG = "/tmp/privilege.conf"
LINES = {
    "list": ["list"],
    "load": ["load", "bpf_minrtt"],
    "unload": ["unload", "bpf_minrtt"],
    "use": ["use", "bpf_minrtt"],
    "show": ["show"],
    "stats": ["stats"],
    "set": ["set", "bpf_minrtt", "penalise=0"],
    "get": ["get", "bpf_minrtt"],
    "steer": ["steer", "rule", "add", "mode", "auto"],
    "apply": ["apply", "--config", CONFIG],
}
# What they are about must be there.
OF_LOADED = {name: "bpf_minrtt" for name in ("unload", "set", "get")} | {"steer": "bpf_steer"}
# These run until they are ended, or answer a runtime: see test_monitor, test_trace, test_exporter
# and test_containers, too.
APART = {"monitor", "trace", "exporter", "oci-hook"}


def user(caps):
    """Somebody who is not root and has these capabilities."""
    words = ",".join(["-all", *(f"+{c.removeprefix('CAP_').lower()}" for c in sorted(caps))])
    return (
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        f"--inh-caps={words}",
        f"--ambient-caps={words}",
        "--",
    )


def exactly(command, without=None):
    return user(set(TABLE[command]) - {without})


@pytest.fixture(autouse=True)
def file_system_of_root():
    """As systemd mounts it, not as the guest has it."""
    mode = stat.S_IMODE(os.stat(BPFFS).st_mode)
    os.chmod(BPFFS, 0o700)
    Path(CONFIG).write_text("[load]\nbpf_minrtt =\n")
    yield
    shutil.rmtree(LOCK_DIR, ignore_errors=True)
    os.chown(BPFFS, 0, 0)
    os.chmod(BPFFS, mode)


@pytest.fixture
def other_process(net):
    """Of root, in a namespace that it alone has."""
    words = ["unshare", "-n", "sleep", "600"]
    with subprocess.Popen(words) as process:
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{process.pid}/ns/net") == own:
            pass
        yield process.pid
        process.kill()


def names_it(result, cap):
    """As an error of its own, or as a remark where there is something to show all the same."""
    if result.code:
        assert result.code == PERMISSION, result
        return cap in result.error["reason"] + result.error.get("hint", "")
    return any(cap in note for note in result.data.get("notes", []))


def test_every_command_with_capabilities_is_tried():
    assert set(LINES) | APART == set(TABLE)


@pytest.mark.parametrize("command", LINES)
def test_exactly_these_are_enough(command, none_loaded, net):
    """Also where pins and the BPF file system are root's, as they are here."""
    if command in OF_LOADED:
        ok("load", OF_LOADED[command])
    words = [*LINES[command], *(["--netns", net.name] if command == "use" else [])]
    data = ok(*words, prefix=exactly(command))
    assert "notes" not in data or not any("CAP_" in note for note in data["notes"])
    if command == "use":
        assert net.scheduler == "bpf_minrtt"
        net.scheduler = "default"
    if command in ("load", "use", "apply"):
        assert "bpf_minrtt" in available()
        owners = {os.stat(p).st_uid for p in pins()}
        assert owners == {65534}
    if command == "unload":
        assert "bpf_minrtt" not in available() and pins() == []


@pytest.mark.parametrize(
    "command, cap",
    [(command, cap) for command, caps in TABLE.items() for cap, always in caps.items() if always],
)
def test_without_one_that_it_always_needs(command, cap, net, _shared):
    """It says so before it does anything."""
    _shared.need("bpf_minrtt")
    line = ["load", "bpf_rr"] if command == "load" else LINES.get(command, [command])
    before = available(), pins(), net.scheduler
    result = sched("--json", *line, net=net, prefix=exactly(command, cap))
    assert result.code == PERMISSION
    assert cap in result.error["reason"]
    assert (available(), pins(), net.scheduler) == before


@pytest.mark.parametrize("command", ["list", "show", "stats"])
def test_without_one_that_shows_more(command, _shared):
    """What it sees it shows, and says what it could not see."""
    _shared.need("bpf_minrtt")
    optional = [cap for cap, always in TABLE[command].items() if not always]
    assert optional
    for cap in optional:
        assert names_it(sched("--json", *LINES[command], prefix=exactly(command, cap)), cap), cap


@pytest.mark.parametrize("command", ["load", "use", "unload"])
def test_pins_of_another_user(command, none_loaded, net):
    """CAP_DAC_OVERRIDE, only where the BPF file system is somebody else's."""
    cap = "CAP_DAC_OVERRIDE"
    assert TABLE[command][cap] is False
    if command == "unload":
        ok("load", "bpf_minrtt")
    before = available(), pins()
    result = sched("--json", *LINES[command], net=net, prefix=exactly(command, cap))
    assert names_it(result, cap), result
    if command == "unload":
        assert names_it(sched("--json", "unload", "--all", prefix=exactly(command, cap)), cap)
    assert (available(), pins()) == before


def test_whose_the_file_system_is_needs_no_right_to_it(none_loaded):
    os.chown(BPFFS, 65534, 65534)
    # as RuntimeDirectory= of a systemd unit has it
    shutil.rmtree(LOCK_DIR, ignore_errors=True)
    os.mkdir(LOCK_DIR, 0o700)
    os.chown(LOCK_DIR, 65534, 65534)
    ok("load", "bpf_minrtt", prefix=exactly("load", "CAP_DAC_OVERRIDE"))
    ok("unload", "bpf_minrtt", prefix=exactly("unload", "CAP_DAC_OVERRIDE"))


def test_other_users_processes(other_process, none_loaded):
    ok("load", "bpf_minrtt")
    line = ["use", "bpf_minrtt", "--netns", other_process]
    cap = "CAP_SYS_PTRACE"
    for always_needed in (TABLE["use"], TABLE["unload"]):
        assert always_needed[cap] is False
    assert names_it(sched("--json", *line, prefix=exactly("use", cap)), cap)
    assert ok(*line, prefix=exactly("use"))["scheduler"] == "bpf_minrtt"
    # who cannot see that namespace cannot know either that it is in use
    result = sched("--json", "unload", "bpf_minrtt", prefix=exactly("unload"))
    assert "in use" in result.error["reason"]
    assert names_it(sched("--json", "unload", "bpf_minrtt", prefix=exactly("unload", cap)), cap)


def test_other_users_processes_in_rules(other_process, none_loaded):
    """Without a look at them it cannot be told that the namespace is gone."""
    ok("load", "bpf_steer")
    cap = "CAP_SYS_PTRACE"
    line = ["steer", "rule", "add", "netns", other_process, "mode", "auto"]
    assert TABLE["steer"][cap] is False
    assert names_it(sched("--json", *line, prefix=exactly("steer", cap)), cap)
    inode = os.stat(f"/proc/{other_process}/ns/net").st_ino
    (added,) = ok(*line, prefix=exactly("steer"))["added"]
    assert added["netns"] == f"net:[{inode}]"
    for without in (None, cap):
        listed = ok("steer", "list", prefix=exactly("steer", without))
        assert not [n for n in listed.get("notes", []) if "gone" in n]
    ok("unload", "bpf_steer")


@pytest.mark.usefixtures("by_the_bridge")
@pytest.mark.parametrize("command", ["load", "use"])
def test_the_bridge_module(command, none_loaded, net):
    """CAP_SYS_MODULE, only where the module is not there yet."""
    cap = "CAP_SYS_MODULE"
    assert TABLE[command][cap] is False
    ok(*LINES[command], net=net, prefix=exactly(command, cap))
    net.scheduler = "default"
    ok("unload", "--all")
    run("rmmod", "mptcp_sched_bpf")
    try:
        result = sched("--json", *LINES[command], net=net, prefix=exactly(command, cap))
        assert names_it(result, cap), result
        assert not os.path.exists("/sys/module/mptcp_sched_bpf")
        ok(*LINES[command], net=net, prefix=exactly(command))
        net.scheduler = "default"
    finally:
        run("modprobe", "mptcp_sched_bpf")


def kept(*line, net=None, prefix=()):
    """Capabilities that it gives itself at first, by strace."""
    words = (*prefix, *STRACE, "-qq", "-e", "trace=capset", "-e", "signal=none")
    result = sched("--json", *line, net=net, prefix=words)
    sets = re.findall(r"capset\(.*effective=(\S+), permitted=(\S+), inheritable=(\w+)", result.err)
    assert sets, result
    assert sets[0][0] == sets[0][1] and sets[0][2] == "0"
    return set(re.findall(r"CAP_\w+", sets[0][0]))


@pytest.mark.parametrize("command", LINES)
def test_root_keeps_no_others(command, none_loaded, net):
    if command in OF_LOADED:
        ok("load", OF_LOADED[command])
    assert kept(*LINES[command], net=net) == set(TABLE[command])
    net.scheduler = "default"


def test_monitor_with_exactly_these(none_loaded):
    monitor = Monitor("--json", prefix=exactly("monitor"))
    monitor.event("started")
    ok("load", "bpf_minrtt")
    monitor.event("scheduler-loaded", scheduler="bpf_minrtt")
    assert monitor.end()[0] == 0


def test_trace_with_exactly_these(none_loaded):
    ok("load", "bpf_minrtt")
    with trace(prefix=exactly("trace")) as traced:
        assert traced.events("scheduler-traced", scheduler="bpf_minrtt")
        assert "notes" not in traced.events("started")[0]
        assert traced.end()["lost"] == 0


def status(pid):
    with open(f"/proc/{pid}/status") as f:
        return dict(line.rstrip().split(":\t", 1) for line in f if line.startswith("Cap"))


def test_reading_statistics_has_no_right_to_change_anything(_shared, net):
    """While it runs, as root: nothing to write files, networks or modules with."""
    _shared.need("bpf_minrtt")
    numbers = {"DAC_OVERRIDE": 1, "NET_ADMIN": 12, "SYS_MODULE": 16}
    words = ["mptcp-sched", "--json", "stats", "--watch", "0.2"]
    before = available(), pins(), net.scheduler
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().startswith("{")
            found = status(process.pid)
        finally:
            process.terminate()
    assert found["CapEff"] == found["CapPrm"]
    assert int(found["CapInh"], 16) == int(found["CapAmb"], 16) == 0
    for name, bit in numbers.items():
        assert not int(found["CapEff"], 16) >> bit & 1, name
    assert (available(), pins(), net.scheduler) == before


def test_pins_are_their_owner_s_alone(none_loaded, net):
    """Whatever the user's mask for new files."""
    anything = ("sh", "-c", 'umask 0; exec "$@"', "sh")
    ok("load", "bpf_ecf", prefix=anything)
    ok("use", "default", "--reinject", net=net, prefix=anything)
    try:
        found = [PIN_DIR, *pins()]
        assert len(found) >= 4, "a scheduler, its other program, early copies"
        modes = {path: oct(stat.S_IMODE(os.stat(path).st_mode)) for path in found}
        assert modes == {path: "0o700" if path == PIN_DIR else "0o600" for path in found}
        look = "import os, sys; os.listdir(sys.argv[1])"
        done = run(*user(()), sys.executable, "-c", look, PIN_DIR, check=False)
        assert "PermissionError" in done.stderr
    finally:
        ok("use", "default", net=net)


def test_a_directory_that_others_could_use(none_loaded):
    """Somebody made it before, where the BPF file system is open to all."""
    os.mkdir(PIN_DIR)
    os.chmod(PIN_DIR, 0o755)
    try:
        result = sched("--json", "load", "bpf_minrtt")
        assert result.code == 1
        assert "open to other users (mode 755)" in result.error["reason"]
        assert "chmod 700" in result.error["hint"]
        assert available() == {"default"}
    finally:
        os.rmdir(PIN_DIR)


def test_all_of_it_without_root(none_loaded, labs):
    """Load, select, transfer, look, unload by somebody who has the capabilities of the table."""
    lab = labs()
    ok("load", "bpf_ecf", prefix=exactly("load"))
    ok("use", "bpf_ecf", "--netns", lab.client.name, prefix=exactly("use"))
    with connection(lab.endpoints()) as conn:
        upload(conn, 256 << 10).finish().acknowledged()
        found = ok("stats", "--netns", lab.client.name, prefix=exactly("stats"))["connections"]
        (mine,) = [c for c in found if int(c["token"], 16) == info(conn.client).token]
        assert sum(s["counters"]["bytes_sent"] for s in mine["subflows"]) == 256 << 10
    ok("use", "default", "--netns", lab.client.name, prefix=exactly("use"))
    ok("unload", "bpf_ecf", prefix=exactly("unload"))
    assert pins() == []
