# SPDX-License-Identifier: GPL-2.0
"""A scheduler per container: chosen by hand, by annotation, by sysctl; of real runtimes."""

import contextlib
import json
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest
from command import PROGRAM, ok, sched, stats
from containers import HOOK, SENDER, SYSCTL, Crun, Podman
from hygiene import KernelLog
from lab import Netns, run, until
from test_errors import state
from traffic import listen

pytestmark = pytest.mark.usefixtures("podmans_storage")
NAME = "mptcp.sched/name"
SIZES = {"bpf_minrtt": 100_000, "bpf_ecf": 200_000}


@pytest.fixture
def two(labs):
    """Two labs; containers are at the clients' ends."""
    return labs().endpoints(), labs().endpoints()


CONFIG = Path("/etc/mptcp-sched.conf")


@pytest.fixture
def configured():
    """configured(text): the host's configuration, which goes with the test."""
    yield CONFIG.write_text
    CONFIG.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def podman(podmans_storage):
    made = Podman()
    yield made
    made.close()


@contextlib.contextmanager
def receiving(lab, size):
    """The server's end of what the container at the client's sends: read to the last byte."""
    listener = listen(lab)
    took = []

    def receive():
        conn, _ = listener.accept()
        took.append(conn)
        conn.settimeout(60)
        conn.sendall(b"!")
        got = 0
        while got < size:
            got += len(conn.recv(65536))

    thread = threading.Thread(target=receive)
    thread.start()
    try:
        yield (lab.address, str(listener.getsockname()[1]), str(size)), thread
    finally:
        thread.join(60)
        for sock in (*took, listener):
            sock.close()


def sender(words):
    return ("python3", "-c", SENDER, *words)


def check_counted(lab, name, words=None):
    """All that this end sent was counted, under this scheduler, and no more."""
    args = words or ("--netns", lab.client.name)
    (only,) = ok("stats", *args)["connections"]
    assert only["scheduler"] == name
    sent = sum(s["counters"]["bytes_sent"] for s in only["subflows"])
    assert sent == SIZES[name]


def is_answered_for(container):
    """podman's answer, for which the command waits ten seconds."""
    done = sched("--json", "stats", "--container", container)
    return done.code == 0 or "no answer within" not in done.error["reason"]


def test_two_containers_by_annotation(two, runtimes, none_loaded, configured):
    configured("[containers]\nload = bpf_minrtt bpf_ecf\n")
    with contextlib.ExitStack() as stack:
        for lab, (name, size) in zip(two, SIZES.items(), strict=True):
            words, thread = stack.enter_context(receiving(lab, size))
            runtimes(Crun(f"c-{name}", sender(words), lab.client.name, {NAME: name}))
            thread.join(60)
            assert not thread.is_alive(), "all of it arrived"
        for lab, name in zip(two, SIZES, strict=True):
            assert lab.client.scheduler == name
            assert lab.server.scheduler == "default"
            check_counted(lab, name)
            check_counted(lab, name, ("--container", f"c-{name}"))
        assert len(ok("stats", "--all")["connections"]) == 2


def test_two_containers_of_podman(two, podman, both_loaded):
    """Podman reads the installed hook's file by itself."""
    with contextlib.ExitStack() as stack:
        for lab, (name, size) in zip(two, SIZES.items(), strict=True):
            words, thread = stack.enter_context(receiving(lab, size))
            podman.run(
                f"p-{name}",
                sender(words),
                "--annotation",
                f"{NAME}={name}",
                "--network",
                f"ns:/run/netns/{lab.client.name}",
            )
            stack.callback(run, "podman", "rm", "--force", "--time", "0", f"p-{name}")
            thread.join(60)
            assert not thread.is_alive(), "all of it arrived"
        for lab, name in zip(two, SIZES, strict=True):
            assert lab.client.scheduler == name
            check_counted(lab, name)
            until(lambda name=name: is_answered_for(f"p-{name}"), 30, "an answer of podman")
            check_counted(lab, name, ("--container", f"p-{name}"))


def test_by_sysctl(two, runtimes, podman, both_loaded):
    """Without hook or command: what runtimes set by themselves, of what is loaded."""
    first, second = two
    with contextlib.ExitStack() as stack:
        words, one = stack.enter_context(receiving(first, SIZES["bpf_minrtt"]))
        runtimes(
            Crun(
                "s-crun",
                sender(words),
                first.client.name,
                hook=False,
                sysctl={"net.mptcp.scheduler": "bpf_minrtt"},
            )
        )
        words, other = stack.enter_context(receiving(second, SIZES["bpf_ecf"]))
        podman.run(
            "s-podman",
            sender(words),
            "--sysctl",
            "net.mptcp.scheduler=bpf_ecf",
            "--network",
            f"ns:/run/netns/{second.client.name}",
        )
        stack.callback(run, "podman", "rm", "--force", "--time", "0", "s-podman")
        for thread in (one, other):
            thread.join(60)
            assert not thread.is_alive(), "all of it arrived"
        check_counted(first, "bpf_minrtt")
        check_counted(second, "bpf_ecf")


def test_the_hook_sets_a_namespace_that_the_runtime_makes(runtimes, both_loaded):
    made = runtimes(Crun("own", ("sleep", "600"), annotations={NAME: "bpf_ecf"}))
    pid = made.state["pid"]
    with open(f"/proc/{pid}/root{SYSCTL}") as f:  # the container's own view
        assert run("nsenter", "--target", str(pid), "--net", "cat", SYSCTL).stdout == "bpf_ecf\n"
    with open(SYSCTL) as f:
        assert f.read() == "default\n"


def test_early_copies_by_annotation(runtimes, none_loaded, configured):
    configured("[containers]\nload = --reinject\n")
    made = runtimes(Crun("early", ("sleep", "600"), annotations={"mptcp.sched/reinject": "true"}))
    inode = os.stat(f"/proc/{made.state['pid']}/ns/net").st_ino
    (row,) = (n for n in ok("show")["namespaces"] if n["inode"] == inode)
    assert row["scheduler"] == "default"
    assert row["reinject"]
    ok("use", "default", "--container", "early")


NOT_ALLOWED = {
    "no configuration": (None, {NAME: "bpf_ecf"}, "bpf_ecf: it is not loaded, and"),
    "loaded at boot, but not now": ("[load]\nbpf_ecf =\n", {NAME: "bpf_ecf"}, "bpf_ecf: it is not loaded, and"),
    "another is allowed": ("[containers]\nload = bpf_rr --reinject\n", {NAME: "bpf_ecf"}, "bpf_ecf: it is not loaded"),
    "early copies": ("[containers]\nload = bpf_rr\n", {"mptcp.sched/reinject": "true"}, "reinject: it is not loaded"),
    "a configuration with a slip": ("[containers]\nlaod = bpf_ecf\n", {NAME: "bpf_ecf"}, "no such key is known: laod"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_ALLOWED)
def test_what_is_not_loaded_is_for_the_host_to_allow(
    case, runtimes, none_loaded, configured, tmp_path
):
    """The container does not start, its hook says why, and nothing was loaded."""
    text, annotations, reason = NOT_ALLOWED[case]
    if text:
        configured(text)
    said = tmp_path / "said"
    net = Netns()
    before = state(net)
    try:
        made = runtimes(
            Crun(
                "not", ("sleep", "600"), net.name, annotations | {"run.oci.hooks.stderr": str(said)}
            ),
            check=False,
        )
        assert made.started.returncode != 0
        assert reason in said.read_text()
        assert str(CONFIG) in said.read_text()
        assert state(net) == before
    finally:
        net.close()


def test_what_is_allowed_has_the_tunables_of_the_host(runtimes, none_loaded, configured):
    configured("[load]\nbpf_ecf = beta=0.5\n[containers]\nload = bpf_ecf\n")
    runtimes(Crun("allowed", ("sleep", "600"), annotations={NAME: "bpf_ecf"}))
    (beta,) = [t for t in ok("get", "bpf_ecf")["tunables"] if t["name"] == "beta"]
    assert beta["value"] == 0.5


def test_what_is_loaded_needs_no_configuration(runtimes, both_loaded):
    made = runtimes(Crun("plain", ("sleep", "600"), annotations={NAME: "bpf_ecf"}))
    assert made.started.returncode == 0


REINJECT = "mptcp.sched/reinject"
# of what is loaded
NOT_LISTED = {
    "another": ("allow = bpf_minrtt --reinject", {NAME: "bpf_ecf"}, "bpf_ecf: /etc/"),
    "none": ("allow =", {NAME: "bpf_ecf"}, "does not let a container ask for it"),
    "none, though it may be loaded": ("allow =\nload = bpf_ecf", {NAME: "bpf_ecf"}, "ask for it"),
    "the kernel's own": ("allow = bpf_ecf", {NAME: "default"}, "default: /etc/"),
    "early copies": ("allow = default", {REINJECT: "true"}, "mptcp.sched/reinject: /etc/"),
    "nobody knows": ("allow = bpf_ecf\n[nets]", {NAME: "bpf_ecf"}, "no such section is known"),
}


@pytest.fixture
def asked():
    """A network namespace, and ask(annotations): the hook by hand, for a process there."""
    net = Netns()
    process = subprocess.Popen(["ip", "netns", "exec", net.name, "sleep", "600"])

    def ask(annotations, *prefix):
        told = json.dumps({"id": "c", "pid": process.pid, "annotations": annotations})
        return run(*prefix, PROGRAM, "oci-hook", stdin=told, check=False)

    try:
        until(lambda: os.stat(f"/proc/{process.pid}/ns/net").st_ino == net.inode, 10, "it is there")
        yield net, ask
    finally:
        process.kill()
        process.wait()
        net.close()


@pytest.mark.parametrize("case", NOT_LISTED)
def test_what_is_not_listed_is_refused(case, both_loaded, configured, asked):
    """By one line of the hook; no namespace is looked for, and nothing changes."""
    lines, annotations, reason = NOT_LISTED[case]
    net, ask = asked
    configured(f"[containers]\n{lines}\n")
    before = state(net)
    refused = ask(annotations)
    assert refused.returncode == 1 and not refused.stdout
    assert reason in refused.stderr and refused.stderr.count("error") <= 1, refused.stderr
    assert state(net) == before
    # what is listed is granted, as all is where there is no list
    for granted in ("allow = bpf_ecf --reinject default", "load ="):
        configured(f"[containers]\n{granted}\n")
        assert ask({k: v.replace("true", "false") for k, v in annotations.items()}).returncode == 0


UNREACHABLE = {
    "a link to what is not mounted": "nowhere",
    "a link to itself": CONFIG,
    "in a folder of others": "shut/file",
}


@pytest.mark.parametrize("case", UNREACHABLE)
def test_a_list_that_cannot_be_read(case, both_loaded, configured, asked, tmp_path):
    """Nothing is granted: nobody knows what it lets a container ask for."""
    net, ask = asked
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut/file").write_text("[containers]\nallow =\n")
    (tmp_path / "shut").chmod(0)
    os.chown(tmp_path / "shut", 65534, 65534)
    CONFIG.symlink_to(tmp_path / UNREACHABLE[case])
    before = state(net)
    refused = ask({NAME: "bpf_ecf"}, "setpriv", "--bounding-set=-dac_override,-dac_read_search")
    assert refused.returncode != 0 and str(CONFIG) in refused.stderr, refused
    assert state(net) == before
    CONFIG.unlink()
    assert ask({NAME: "bpf_ecf"}).returncode == 0, "no file has no list"


BAD = {
    "no such scheduler": ({NAME: "bpf_nosuch"}, "bpf_nosuch: no such scheduler is registered"),
    "a file": ({NAME: "/etc/passwd"}, "/etc/passwd: no such scheduler is registered"),
    "a key with a slip": ({"mptcp.sched/nmae": "bpf_ecf"}, "nmae: no such annotation"),
    "neither true nor false": (
        {"mptcp.sched/reinject": "maybe"}, "reinject: the annotation is neither true nor false"),
    "early copies with another": (
        {NAME: "bpf_ecf", "mptcp.sched/reinject": "true"}, "--reinject is for the kernel's default"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_container_with_a_bad_annotation_does_not_start(case, runtimes, both_loaded, tmp_path):
    annotations, reason = BAD[case]
    said = tmp_path / "said"
    annotations = annotations | {"run.oci.hooks.stderr": str(said)}
    log = KernelLog()
    net = Netns()
    try:
        made = runtimes(Crun("bad", ("sleep", "600"), net.name, annotations), check=False)
        assert made.started.returncode != 0
        assert PROGRAM in made.started.stdout, "the runtime says who refused"
        assert f"{PROGRAM}: cannot start a container with" in said.read_text()
        assert reason in said.read_text()
        assert any(reason in line for line in log.lines()), "in the system's log as well"
        assert net.scheduler == "default"
    finally:
        net.close()
        log.close()


def test_podman_says_what_does_not_start(podman, both_loaded):
    log = KernelLog()
    done = podman.run(
        "bad",
        ("true",),
        "--network",
        "none",
        "--annotation",
        f"{NAME}=bpf_nosuch",
        detach=False,
        check=False,
    )
    assert done.returncode != 0
    assert PROGRAM in done.stderr
    assert any("bpf_nosuch: no such scheduler is registered" in line for line in log.lines())
    log.close()


def test_a_container_cannot_choose_for_the_host(runtimes, both_loaded):
    log = KernelLog()
    made = runtimes(Crun("host", ("sleep", "600"), "host", {NAME: "bpf_ecf"}), check=False)
    assert made.started.returncode != 0
    assert any("shares the host's network namespace" in line for line in log.lines())
    log.close()
    with open(SYSCTL) as f:
        assert f.read() == "default\n"


def test_containers_that_cannot_be_meant(runtimes, both_loaded):
    runtimes(Crun("host", ("sleep", "600"), "host"))
    runtimes(Crun("over", ("true",)))
    for name, reason, code in (
        ("nosuch", "no running container of this name .*crun: ", 1),
        ("host", "shares the host's network namespace", 1),
        ("over", "not running .crun says: stopped", 1),
        ("docker:host", "no container runtime that is known is here", 1),
        ("frob:host", "no such container runtime", 2),
    ):
        for words in (["use", "bpf_ecf"], ["stats"]):
            result = sched("--json", *words, "--container", name)
            assert result.code == code, result
            assert result.error["object"] == name
            assert re.search(reason, result.error["reason"]), result.error
            assert result.error["hint"]
    for name in ("", "-rf", "a b", "podman:", "../x"):
        result = sched("--json", "use", "bpf_ecf", "--container", name)
        assert result.code == 2, result
        assert "not the name or id of a container" in result.error["reason"]


def test_the_hooks_state(both_loaded, tmp_path):
    """What a runtime would not send."""
    for text, reason in (
        ("", "no JSON object"),
        ("[]", "no JSON object"),
        ('{"id": "x", "annotations": {"mptcp.sched/name": 1}}', "is no string"),
        ('{"id": "x", "annotations": {"mptcp.sched/name": "bpf_ecf"}}', "no process id"),
        (
            '{"id": "x", "pid": 4194300, "annotations": {"mptcp.sched/name": "bpf_ecf"}}',
            "no such network namespace",
        ),
    ):
        done = run(PROGRAM, "--json", "oci-hook", stdin=text, check=False)
        assert done.returncode == 1, done
        assert reason in json.loads(done.stderr)["error"]["reason"]
    for text in ('{"id": "x"}', '{"id": "x", "pid": 1, "annotations": {"a": "b"}}'):
        assert run(PROGRAM, "oci-hook", stdin=text).stdout == ""


def test_the_hooks_file():
    known = json.loads(HOOK.read_text())
    assert os.access(known["hook"]["path"], os.X_OK)
    assert known["stages"] == ["createRuntime"]
    assert stats() == []
