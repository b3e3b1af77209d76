# SPDX-License-Identifier: GPL-2.0
"""A scheduler per container: chosen by hand, by annotation, by sysctl; of real runtimes."""

import contextlib
import json
import os
import re
import stat
import threading

import pytest
from command import PROGRAM, ok, sched, stats
from containers import HOOK, SENDER, SYSCTL, Crun, Podman, storage
from hygiene import KernelLog
from lab import Netns, run
from traffic import listen

NAME = "mptcp.sched/name"
SIZES = {"bpf_minrtt": 100_000, "bpf_ecf": 200_000}


@pytest.fixture
def two(labs):
    """Two labs; containers are at the clients' ends."""
    return labs().endpoints(), labs().endpoints()


@pytest.fixture
def runtimes():
    """start(Crun(...)): containers that go with the test."""
    with contextlib.ExitStack() as stack:

        def start(container, check=True):
            stack.callback(container.delete)
            container.started = container.start(check)
            return container

        yield start


@pytest.fixture(scope="module", autouse=True)
def podmans_storage():
    """For all tests: the command asks podman as well, whose container ever it is."""
    with storage():
        yield


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


def test_two_containers_by_annotation(two, runtimes, none_loaded):
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


@pytest.mark.timeout(400)
def test_two_containers_of_podman(two, podman, none_loaded):
    """Podman reads the installed hook's file by itself."""
    with contextlib.ExitStack() as stack:
        for lab, (name, size) in zip(two, SIZES.items(), strict=True):
            words, thread = stack.enter_context(receiving(lab, size))
            podman.run(f"p-{name}", sender(words), "--annotation", f"{NAME}={name}",
                       "--network", f"ns:/run/netns/{lab.client.name}")  # fmt: skip
            stack.callback(run, "podman", "rm", "--force", "--time", "0", f"p-{name}")
            thread.join(60)
            assert not thread.is_alive(), "all of it arrived"
        for lab, name in zip(two, SIZES, strict=True):
            assert lab.client.scheduler == name
            check_counted(lab, name)
            check_counted(lab, name, ("--container", f"p-{name}"))


@pytest.mark.timeout(400)
def test_by_sysctl(two, runtimes, podman, both_loaded):
    """Without hook or command: what runtimes set by themselves, of what is loaded."""
    first, second = two
    with contextlib.ExitStack() as stack:
        words, one = stack.enter_context(receiving(first, SIZES["bpf_minrtt"]))
        runtimes(Crun("s-crun", sender(words), first.client.name, hook=False,
                      sysctl={"net.mptcp.scheduler": "bpf_minrtt"}))  # fmt: skip
        words, other = stack.enter_context(receiving(second, SIZES["bpf_ecf"]))
        podman.run("s-podman", sender(words), "--sysctl", "net.mptcp.scheduler=bpf_ecf",
                   "--network", f"ns:/run/netns/{second.client.name}")  # fmt: skip
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
        assert (
            run("nsenter", "--target", str(pid), "--net", "cat", SYSCTL).stdout
            == "bpf_ecf\n"
        )
    with open(SYSCTL) as f:
        assert f.read() == "default\n"


def test_early_copies_by_annotation(runtimes, none_loaded):
    made = runtimes(Crun("early", ("sleep", "600"),
                         annotations={"mptcp.sched/reinject": "true"}))  # fmt: skip
    inode = os.stat(f"/proc/{made.state['pid']}/ns/net").st_ino
    (row,) = (n for n in ok("show")["namespaces"] if n["inode"] == inode)
    assert row["scheduler"] == "default"
    assert row["reinject"]
    ok("use", "default", "--container", "early")


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
def test_a_container_with_a_bad_annotation_does_not_start(
    case, runtimes, both_loaded, tmp_path
):
    annotations, reason = BAD[case]
    said = tmp_path / "said"
    annotations = annotations | {"run.oci.hooks.stderr": str(said)}
    log = KernelLog()
    net = Netns()
    try:
        made = runtimes(
            Crun("bad", ("sleep", "600"), net.name, annotations), check=False
        )
        assert made.started.returncode != 0
        assert PROGRAM in made.started.stdout, "the runtime says who refused"
        assert f"{PROGRAM}: cannot start a container with" in said.read_text()
        assert reason in said.read_text()
        assert any(reason in line for line in log.lines()), (
            "in the system's log as well"
        )
        assert net.scheduler == "default"
    finally:
        net.close()
        log.close()


@pytest.mark.timeout(400)
def test_podman_says_what_does_not_start(podman, both_loaded):
    log = KernelLog()
    done = podman.run(
        "bad", ("true",), "--network", "none", "--annotation", f"{NAME}=bpf_nosuch",
        detach=False, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert PROGRAM in done.stderr
    assert any(
        "bpf_nosuch: no such scheduler is registered" in line for line in log.lines()
    )
    log.close()


def test_a_container_cannot_choose_for_the_host(runtimes, both_loaded):
    log = KernelLog()
    made = runtimes(
        Crun("host", ("sleep", "600"), "host", {NAME: "bpf_ecf"}), check=False
    )
    assert made.started.returncode != 0
    assert any("shares the host's network namespace" in line for line in log.lines())
    log.close()
    with open(SYSCTL) as f:
        assert f.read() == "default\n"


def test_containers_that_cannot_be_meant(runtimes, both_loaded):
    runtimes(Crun("host", ("sleep", "600"), "host"))
    runtimes(Crun("over", ("true",)))
    for name, reason in (
        ("nosuch", "no running container of this name .*crun: "),
        ("host", "shares the host's network namespace"),
        ("over", "not running .crun says: stopped"),
        ("docker:host", "no container runtime that is known is here"),
        ("frob:host", "no such container runtime"),
    ):
        for words in (["use", "bpf_ecf"], ["stats"]):
            result = sched("--json", *words, "--container", name)
            assert result.code == 1, result
            assert result.error["object"] == name
            assert re.search(reason, result.error["reason"]), result.error
            assert result.error["hint"]
    for name in ("", "-rf", "a b", "podman:", "../x"):
        result = sched("--json", "use", "bpf_ecf", "--container", name)
        assert result.code == 2, result
        assert "not the name or id of a container" in result.error["reason"]


INSPECTED = '[{"Id": "4711", "State": {"Status": "%s", "Pid": %d}}]'
CRI = '{"status": {"id": "4711", "state": "%s"}, "info": {"pid": %d}}'
LISTED = '{"containers": [{"id": "4711", "metadata": {"name": "web"}},' \
         ' {"id": "4712", "metadata": {"name": "web-of"}}]}'  # fmt: skip


def stand_in(where, name, script):
    path = where / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("name", ["docker", "nerdctl", "crictl"])
def test_runtimes_that_are_not_here(name, runtimes, both_loaded, tmp_path):
    """By what their commands print, in the form that they document."""
    made = runtimes(Crun("real", ("sleep", "600")))
    pid = made.state["pid"]
    if name == "crictl":
        answers = f"""case "$*" in
            "inspect -o json 4711") echo '{CRI % ("CONTAINER_RUNNING", pid)}' ;;
            "ps -o json --name web") echo '{LISTED}' ;;
            *) echo "could not find container" >&2; exit 1 ;;
            esac"""
    else:
        answers = f"""[ "$*" = "container inspect web" ] || exit 9
            echo '{INSPECTED % ("running", pid)}'"""
    stand_in(tmp_path, name, answers)
    prefix = ("env", f"PATH={tmp_path}:{os.environ['PATH']}")
    done = ok("use", "bpf_ecf", "--container", f"{name}:web", prefix=prefix)
    assert done["netns_inode"] == os.stat(f"/proc/{pid}/ns/net").st_ino
    assert (
        run("nsenter", "--target", str(pid), "--net", "cat", SYSCTL).stdout
        == "bpf_ecf\n"
    )


@pytest.mark.parametrize(
    "script, reason",
    [
        ("echo 'Cannot connect to the daemon' >&2; exit 1", "docker: Cannot connect"),
        ("echo nonsense", "its answer is no JSON"),
        (f"echo '{INSPECTED % ('exited', 0)}'", "not running .docker says: exited"),
        ("sleep 60", "no answer within 10 s"),
        ("exit 1", "docker: no such container"),
    ],
)
def test_a_runtime_that_fails(script, reason, both_loaded, tmp_path):
    stand_in(tmp_path, "docker", script)
    prefix = ("env", f"PATH={tmp_path}:{os.environ['PATH']}")
    result = sched(
        "--json", "use", "bpf_ecf", "--container", "docker:web", prefix=prefix
    )
    assert result.code == 1
    assert re.search(reason, result.error["reason"]), result.error


def test_the_same_name_of_two_runtimes(runtimes, both_loaded, tmp_path):
    runtimes(Crun("web", ("sleep", "600")))
    other = runtimes(Crun("another", ("sleep", "600")))
    stand_in(
        tmp_path, "docker", f"echo '{INSPECTED % ('running', other.state['pid'])}'"
    )
    prefix = ("env", f"PATH={tmp_path}:{os.environ['PATH']}")
    result = sched("--json", "use", "bpf_ecf", "--container", "web", prefix=prefix)
    assert result.code == 1
    assert "both docker and crun" in result.error["reason"]
    ok("use", "bpf_ecf", "--container", "crun:web", prefix=prefix)


def test_the_hooks_state(both_loaded, tmp_path):
    """What a runtime would not send."""
    for text, reason in (
        ("", "no JSON object"),
        ("[]", "no JSON object"),
        ('{"id": "x", "annotations": {"mptcp.sched/name": 1}}', "is no string"),
        ('{"id": "x", "annotations": {"mptcp.sched/name": "bpf_ecf"}}', "no process id"),
        ('{"id": "x", "pid": 4194300, "annotations": {"mptcp.sched/name": "bpf_ecf"}}',
         "no such network namespace"),
    ):  # fmt: skip
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
