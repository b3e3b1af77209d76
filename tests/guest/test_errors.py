# SPDX-License-Identifier: GPL-2.0
"""Every error of the command: its exit code, what it says, and that nothing changes."""

import json
import os
import re

import pytest
from command import PIN_DIR, available, ok, sched
from hygiene import pins
from lab import run

FAILED, USAGE, KERNEL, PERMISSION = 1, 2, 3, 4
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
WITHOUT = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
NOT_BPF = "/etc/passwd"

# words, exit code, operation, object, what the reason says, what the remedy says
# LOADED, EMPTY and OTHER stand for an object of this kernel's form and two others.
CASES = {
    "unknown scheduler to load": (
        ["load", "bpf_nosuch"], FAILED, "load", "bpf_nosuch", "no such scheduler or file", "list"),
    "unknown scheduler to use": (
        ["use", "bpf_nosuch"], FAILED, "use", "bpf_nosuch", "no such scheduler", "list"),
    "unknown scheduler to unload": (
        ["unload", "bpf_nosuch"], FAILED, "unload", "bpf_nosuch", "no such scheduler", "list"),
    "name that is a path": (
        ["unload", "../x"], FAILED, "unload", "../x", "no such scheduler", "list"),
    "name of a scheduler too long": (
        ["use", "x" * 300], FAILED, "use", "x" * 300, "no such scheduler", "list"),
    "no such file": (
        ["load", "/nowhere/x.bpf.o"], FAILED, "load", "/nowhere/x.bpf.o", "no such", "list"),
    "a directory": (
        ["load", "/etc"], FAILED, "load", "/etc", "irectory|not a BPF object", ""),
    "not a BPF object": (
        ["load", NOT_BPF], FAILED, "load", NOT_BPF, "not a BPF object", "clang"),
    "an ELF file, but not BPF": (
        ["load", "/bin/true"], FAILED, "load", "/bin/true", "not a BPF object", "clang"),
    "no mptcp_sched_ops in it": (
        ["load", "NONE"], FAILED, "load", "NONE", "no struct mptcp_sched_ops", "struct_ops.link"),
    "several in it": (
        ["load", "MANY"], FAILED, "load", "MANY", "variables of struct mptcp_sched_ops", "one object"),
    "a program of a kind that cannot be attached": (
        ["load", "XDP"], FAILED, "load", "XDP", r"t_copies_xdp \(section xdp\)", "?..."),
    "one that the kernel does not register": (
        ["load", "NO_SEND"], FAILED, "load", "NO_SEND", "refused|Invalid argument", "-v"),
    "a tunable without its range": (
        ["load", "UNTAGGED"], FAILED, "load", "UNTAGGED", "tunable untagged .*MIN:MAX", "MPS_TUNABLE"),
    "registered already": (
        ["load", "bpf_minrtt"], FAILED, "load", "bpf_minrtt", "registered already", "unload"),
    "registered already, as a file": (
        ["load", "LOADED"], FAILED, "load", "LOADED", "registered already", "unload"),
    "form of other kernels": (
        ["load", "OTHER"], FAILED, "load", "OTHER", "it has the hook", "take the"),
    "part of the kernel": (
        ["unload", "default"], FAILED, "unload", "default", "part of the kernel", ""),
    "namespace that does not exist": (
        ["use", "bpf_minrtt", "--netns", "nosuch"], FAILED, "use", "nosuch", "no such network namespace", "ip netns"),
    "process that does not exist": (
        ["use", "bpf_minrtt", "--netns", "4194300"], FAILED, "use", "4194300", "no such network namespace", "ip netns"),
    "namespace of another kind": (
        ["use", "bpf_minrtt", "--netns", "/proc/self/ns/mnt"], FAILED, "use", "/proc/self/ns/mnt", "not a network namespace", "ip netns"),
    "file that is no namespace": (
        ["use", "bpf_minrtt", "--netns", NOT_BPF], FAILED, "use", NOT_BPF, "not a network namespace", "ip netns"),
    "statistics of no namespace": (
        ["stats", "--netns", "nosuch"], FAILED, "read statistics of", "nosuch", "no such network namespace", "ip netns"),
    "early copies for another scheduler": (
        ["use", "bpf_minrtt", "--reinject"], USAGE, "use", "bpf_minrtt", "for the kernel's default", "show"),
    "empty namespace": (
        ["use", "bpf_minrtt", "--netns", ""], USAGE, "use", "--netns", "not a namespace", "ip netns"),
    "no such tunable": (
        ["load", "bpf_ecf", "--set", "gamma=1"], FAILED, "load", "bpf_ecf", "no tunable gamma", "beta"),
    "tunable of one without any": (
        ["use", "bpf_ecf", "--set", "betamax=1"], FAILED, "use", "bpf_ecf", "no tunable betamax", "beta"),
    "tunable too large": (
        ["load", "bpf_ecf", "--set", "beta=1000"], FAILED, "load", "bpf_ecf", "out of range", "beta"),
    "tunable far too large": (
        ["load", "bpf_ecf", "--set", f"beta={'9' * 40}"], FAILED, "load", "bpf_ecf", "out of range", "beta"),
    "tunable negative": (
        ["load", "bpf_ecf", "--set", "beta=-1"], USAGE, "load", "bpf_ecf", "beta=-1: its value is not a decimal number", "list --verbose"),
    "tunable no number": (
        ["load", "bpf_ecf", "--set", "beta=0x1"], USAGE, "load", "bpf_ecf", "beta=0x1: its value is not a decimal number", "list --verbose"),
    "tunable too fine": (
        ["load", "bpf_ecf", "--set", "beta=0.00001"], FAILED, "load", "bpf_ecf", "finer", "beta"),
    "tunable malformed": (
        ["load", "bpf_ecf", "--set", "beta"], USAGE, "load", "bpf_ecf", "not NAME=VALUE", "list --verbose"),
    "tunable without a name": (
        ["load", "bpf_ecf", "--set", "=1"], USAGE, "load", "bpf_ecf", "not NAME=VALUE", "list --verbose"),
    "tunable given twice": (
        ["load", "bpf_ecf", "--set", "beta=1", "--set", "slow_start=1", "--set", "beta=2"], USAGE, "load", "bpf_ecf", "beta is given twice: beta=1 and beta=2", "leave one"),
    "tunable given twice, to use": (
        ["use", "bpf_ecf", "-s", "beta=1", "-s", "beta=1"], USAGE, "use", "bpf_ecf", "beta is given twice", "leave one"),
    "tunable changed twice": (
        ["set", "bpf_minrtt", "penalise=0", "penalise=1"], USAGE, "set", "bpf_minrtt", "penalise is given twice", "leave one"),
    "change without a number": (
        ["set", "bpf_minrtt", "penalise=off"], USAGE, "set", "bpf_minrtt", "not a decimal number", "list --verbose"),
    "two namespaces": (
        ["use", "bpf_minrtt", "--netns", "a", "--netns", "b"], USAGE, "run", "--netns", "given twice", "help"),
    "two containers": (
        ["stats", "-c", "a", "--container", "b"], USAGE, "run", "--container", "given twice", "help"),
    "a runtime that is none": (
        ["use", "bpf_minrtt", "--container", "nosuch:x"], USAGE, "use", "nosuch:x", "no such container runtime", "--netns"),
    "tunable of none that is loaded": (
        ["set", "bpf_ecf", "beta=1"], FAILED, "set", "bpf_ecf", "no such scheduler is loaded", "load"),
    "tunables of none that is loaded": (
        ["get", "bpf_ecf"], FAILED, "get", "bpf_ecf", "no such scheduler is loaded", "load"),
    "tunables of the kernel's own": (
        ["get", "default"], FAILED, "get", "default", "part of the kernel", "list"),
    "tunable that it has not": (
        ["get", "bpf_minrtt", "beta"], FAILED, "get", "bpf_minrtt", "no tunable beta", "copy"),
    "change of what is fixed": (
        ["set", "bpf_minrtt", "copy=0"], FAILED, "set", "bpf_minrtt", "fixed at load", "unload"),
    "change of nothing": (["set", "bpf_minrtt"], USAGE, "run", "set", "it takes", "help"),
    "configuration that is not there": (
        ["apply", "--config", "/nowhere"], FAILED, "read", "/nowhere", "No such file", "--config"),
    "container that nobody knows": (
        ["use", "bpf_minrtt", "--container", "nosuch"], FAILED, "use", "nosuch", "no running container", "--netns"),
    "container without a name": (
        ["stats", "--container", ""], USAGE, "read statistics of", "--container", "not the name", "--netns"),
    "two namespaces at once": (
        ["use", "bpf_minrtt", "--netns", "x", "--all"], USAGE, "run", "use", "only one of", "help"),
    "time to wait that is none": (
        ["load", "bpf_ecf", "--timeout", "-1"], USAGE, "run", "--timeout", "seconds from 0", "help"),
    "no command": ([], USAGE, "run", None, "no command", "help"),
    "no such command": (["frobnicate"], USAGE, "run", "frobnicate", "no such command", "help"),
    "no such option": (["list", "--nosuch"], USAGE, "run", "--nosuch", "no such option", "help"),
    "option of another command": (
        ["list", "--watch", "1"], USAGE, "run", "--watch", "no such option", "help"),
    "option without its value": (
        ["load", "bpf_ecf", "--set"], USAGE, "run", "--set", "needs a value", "help"),
    "one word too many": (["load", "a", "b"], USAGE, "run", "load", "too many", "help"),
    "one word too few": (["load"], USAGE, "run", "load", "it takes", "help"),
    "help on no command": (
        ["help", "frobnicate"], USAGE, "run", "frobnicate", "no such command", "help"),
    "interval that is none": (
        ["stats", "--watch", "never"], USAGE, "run", "--watch", "seconds", "help"),
    "events of no namespace": (
        ["monitor", "--netns", "nosuch"], FAILED, "monitor", "nosuch", "no such network namespace", "ip netns"),
    "decisions of no namespace": (
        ["trace", "--netns", "nosuch"], FAILED, "trace", "nosuch", "no such network namespace", "ip netns"),
    "decisions of no token": (
        ["trace", "--connection", "web"], USAGE, "run", "--connection", "not a token", "help"),
    "decisions of token 0": (
        ["trace", "--connection", "0x0"], USAGE, "run", "--connection", "not a token", "help"),
    "decisions of a token too long": (
        ["trace", "--connection", "123456789"], USAGE, "run", "--connection", "not a token", "help"),
    "decisions of a connection that is not there": (
        ["trace", "--connection", "0x1"], FAILED, "trace", "0x00000001", "no connection", "stats"),
    "decisions of no port": (
        ["trace", "--port", "http"], USAGE, "run", "--port", "not a number from 1 to 65535", "help"),
    "port 0": (["trace", "--port", "0"], USAGE, "run", "--port", "from 1 to 65535", "help"),
    "port too large": (
        ["trace", "--port", "65536"], USAGE, "run", "--port", "from 1 to 65535", "help"),
    "no decision at all": (
        ["trace", "--limit", "0"], USAGE, "run", "--limit", "not a number from 1", "help"),
    "one decision of none": (
        ["trace", "--sample", "-1"], USAGE, "run", "--sample", "not a number from 1", "help"),
    "decisions of no connection": (
        ["trace", "--top", "0"], USAGE, "run", "--top", "not a number from 1 to 1024", "help"),
    "statistics of too many at the top": (
        ["stats", "--top", "1025"], USAGE, "run", "--top", "not a number from 1 to 1024", "help"),
    "a top without a page": (
        ["exporter", "--top", "5"], USAGE, "run", "--top", "it is for --ui", "help exporter"),
    "decisions by a word": (["trace", "all"], USAGE, "run", "trace", "too many", "help"),
    "exporter without an address": (
        ["exporter", "--listen", ""], USAGE, "listen at", "--listen", "no address", "ADDR:PORT"),
    "exporter without a port": (
        ["exporter", "--listen", "127.0.0.1"], USAGE, "listen at", "127.0.0.1", "no port", "ADDR:PORT"),
    "port out of range": (
        ["exporter", "--listen", "127.0.0.1:65536"], USAGE, "listen at", "127.0.0.1:65536", "no port", "ADDR:PORT"),
    "address that is a name": (
        ["exporter", "--listen", "localhost:0"], USAGE, "listen at", "localhost:0", "not an IP address", "ADDR:PORT"),
    "IPv6 without brackets": (
        ["exporter", "--listen", "::1:9851"], USAGE, "listen at", "::1:9851", "brackets", "ADDR:PORT"),
    "socket without a path": (
        ["exporter", "--listen", "unix:x"], USAGE, "listen at", "unix:x", "begin with /", "ADDR:PORT"),
    "socket where there is no directory": (
        ["exporter", "--listen", "unix:/nowhere/x"], FAILED, "listen at", "unix:/nowhere/x", "No such file", ""),
    "group of an address": (
        ["exporter", "--socket-group", "root"], USAGE, "listen at", "--socket-group", "for unix:PATH", "unix:PATH"),
    "group that is none": (
        ["exporter", "--listen", "unix:/run/x", "--socket-group", "nosuch"], FAILED, "listen at", "nosuch", "no such group", "getent"),
    "name of a host with a port": (
        ["exporter", "--host", "a.example", "--host", "a:80"], USAGE, "run", "--host", "not the name of a host: a:80", "help exporter"),
    "name of a host that is none": (["exporter", "--host", ""], USAGE, "run", "--host", "not the name", "help exporter"),
    "names of too many hosts": (["exporter", *["--host", "a"] * 17], USAGE, "run", "--host", "too many", "help"),
    "name for a socket": (
        ["exporter", "--listen", "unix:/run/x", "--host", "a"], USAGE, "run", "--host", "an address and a port", "help exporter"),
    "number of labels that is none": (
        ["exporter", "--paths", "-1"], USAGE, "run", "--paths", "not a number", "help"),
    "number of labels too large": (
        ["exporter", "--namespaces", "123456"], USAGE, "run", "--namespaces", "not a number", "help"),
    "interval of looks that is none": (
        ["exporter", "--interval", "1h"], USAGE, "run", "--interval", "seconds", "help"),
    "interval out of range": (
        ["stats", "--watch", "0"], USAGE, "run", "--watch", "0.1", "help"),
}  # fmt: skip


@pytest.fixture
def words(_shared, suffix, compiled):
    """bpf_minrtt is loaded; names of the table stand for files of this kernel."""
    _shared.need("bpf_minrtt")
    other = ".pre615.bpf.o" if suffix == ".bpf.o" else ".bpf.o"
    files = {
        "LOADED": f"/usr/lib/mptcp-sched/bpf_minrtt{suffix}",
        "OTHER": f"/usr/lib/mptcp-sched/bpf_ecf{other}",
        "NONE": str(compiled("asks")),
        "MANY": str(compiled("refused")),
        "XDP": str(compiled("copies", "-DXDP")),
        "NO_SEND": str(compiled("copies", "-DNO_SEND")),
        "UNTAGGED": str(compiled("copies", "-DUNTAGGED")),
    }
    return lambda text: files.get(text, text)


def modules():
    with open("/proc/modules") as f:
        return sorted(line.split()[0] for line in f)


def state(net):
    """Everything that a command could have changed."""
    with open("/proc/sys/net/mptcp/scheduler") as f:
        own = f.read()
    return available(), pins(), modules(), own, net.scheduler


@pytest.mark.parametrize("case", CASES)
def test_error(case, words, net):
    line, code, operation, subject, reason, remedy = CASES[case]
    before = state(net)
    result = sched("--json", *map(words, line), net=net)
    assert result.code == code, result
    assert state(net) == before
    if result.out:
        json.loads(result.out)
    error = result.error
    assert error["exit_code"] == code
    assert error["operation"] == operation
    assert error.get("object") == (words(subject) if subject else None)
    assert re.search(reason, error["reason"]), error
    assert remedy in error.get("hint", ""), error


def test_a_range_is_that_of_the_tunable(words):
    """Not of all that the scheduler has."""
    result = sched("--json", "load", "bpf_ecf", "--set", "beta=1000")
    assert result.error["reason"] == "beta=1000: out of range"
    assert result.error["hint"] == "it has beta (0 to 10)"
    result = sched("--json", "load", "bpf_ecf", "--set", "gamma=1")
    assert "beta (0 to 10)" in result.error["hint"] and "slow_start" in result.error["hint"]


@pytest.mark.parametrize("case", ["registered already", "no such tunable", "no command"])
def test_error_as_text(case, words, net):
    """The same for people: one line on stderr, nothing on stdout."""
    line, code, operation, subject, reason, remedy = CASES[case]
    result = sched(*map(words, line), net=net)
    assert result.code == code
    assert result.out == ""
    (text,) = result.err.splitlines()
    start = f"mptcp-sched: cannot {operation}" + (f" {subject}: " if subject else ": ")
    assert text.startswith(start)
    assert re.search(rf"{reason}.*; .*{remedy}", text)


@pytest.mark.parametrize("who", [NOBODY, WITHOUT], ids=["nobody", "no capabilities"])
@pytest.mark.parametrize(
    "line",
    [
        ["load", "bpf_ecf"],
        ["unload", "bpf_minrtt"],
        ["use", "bpf_minrtt"],
        ["stats"],
        ["trace"],
        ["set", "bpf_minrtt", "penalise=0"],
        ["get", "bpf_minrtt"],
        ["apply"],
        ["oci-hook"],
    ],
)
def test_no_privilege(line, who, words, net):
    before = state(net)
    result = sched("--json", *line, net=net, prefix=who)
    assert result.code == PERMISSION, result
    assert state(net) == before
    assert "CAP_" in result.error["reason"], "which capability"
    assert "root" in result.error["hint"]
    assert result.out == ""


def test_list_needs_no_privilege(words):
    """Without it, the names of what is registered are known, no more."""
    result = sched("--json", "list", prefix=NOBODY)
    assert result.code == 0, result
    found = {s["name"]: s["registered"] for s in result.data["schedulers"]}
    assert found["bpf_minrtt"] is True and found["bpf_ecf"] is False


@pytest.mark.usefixtures("by_the_bridge")
def test_a_kernel_without_the_bridge(_shared, net):
    """Exit code 3, and what to install; doctor says it as well."""
    _shared.need()
    run("rmmod", "mptcp_sched_bpf")
    try:
        before = state(net)
        hide = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /lib/modules && exec "$@"', "sh")
        for line in (
            ["load", "bpf_minrtt"],
            ["use", "bpf_minrtt"],
            ["use", "default", "--reinject"],
        ):
            result = sched("--json", *line, net=net, prefix=hide)
            assert result.code == KERNEL, result
            assert "mptcp_sched_bpf" in result.error["reason"]
            assert "DKMS" in result.error["hint"]
            assert state(net) == before
        doctor = sched("--json", "doctor", prefix=hide)
        assert doctor.code == KERNEL, doctor
        assert "DKMS" in doctor.out + doctor.err
    finally:
        run("modprobe", "mptcp_sched_bpf")


def test_a_pin_in_the_way(none_loaded, net):
    """Somebody's pin of that name is not overwritten."""
    ok("load", "bpf_minrtt")
    for pin in os.listdir(PIN_DIR):
        if "@" in pin:
            os.unlink(f"{PIN_DIR}/{pin}")
    os.rename(f"{PIN_DIR}/bpf_minrtt", f"{PIN_DIR}/bpf_ecf")
    try:
        before = state(net)
        result = sched("--json", "load", "bpf_ecf", net=net)
        assert result.code == FAILED
        assert f"{PIN_DIR}/bpf_ecf exists already" in result.error["reason"]
        assert "unload" in result.error["hint"]
        assert state(net) == before
    finally:
        os.unlink(f"{PIN_DIR}/bpf_ecf")
        os.rmdir(PIN_DIR)


def test_a_pin_that_is_no_schedulers(none_loaded, net):
    """Somebody's map, where a scheduler's pin would be."""
    os.mkdir(PIN_DIR, 0o700)
    run(
        "bpftool",
        "map",
        "create",
        f"{PIN_DIR}/theirs",
        "type",
        "array",
        "key",
        "4",
        "value",
        "4",
        "entries",
        "1",
        "name",
        "theirs",
    )
    try:
        before = state(net)
        for words in (["theirs"], ["--all"]):
            result = sched("--json", "unload", *words)
            assert result.code == FAILED
            assert f"{PIN_DIR}/theirs is no pin of a scheduler" in result.error["reason"]
            assert f"rm {PIN_DIR}/theirs" in result.error["hint"]
        assert state(net) == before
    finally:
        os.unlink(f"{PIN_DIR}/theirs")
        os.rmdir(PIN_DIR)


@pytest.mark.parametrize(
    "line", [["--help"], ["--version"], ["help"], ["help", "load"], ["load", "--help"]]
)
def test_help_and_version_are_no_errors(line):
    result = sched(*line)
    assert (result.code, result.err) == (0, "")
    assert result.out


def test_help_as_tables_and_as_text_say_the_same():
    text, tables = sched("help").out, ok("help")
    assert [c["name"] for c in tables["commands"]] == re.findall(
        r"^  ([a-z-]+) ", text.split("Options")[0], re.MULTILINE
    )
    assert [c["name"] for c in ok("help", "load")["commands"]] == ["load"]
    for command in tables["commands"]:
        body = sched("help", command["name"]).out
        names = {c["name"] for c in command["capabilities"]}
        assert set(re.findall(r"^  (CAP_\w+)", body, re.MULTILINE)) == names


def test_the_exit_codes_are_documented():
    codes = re.findall(r"^  (\d)  (\S.*)$", sched("help").out, re.MULTILINE)
    assert [int(c) for c, _ in codes] == [0, FAILED, USAGE, KERNEL, PERMISSION]
