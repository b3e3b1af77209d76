# SPDX-License-Identifier: GPL-2.0
"""The commands of the pages for users, typed line by line, and what each is said to do.

tests/documented.toml names the page of each test, and what runs the commands that are left out here.
"""

import contextlib
import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
import test_steer_push
from command import available, ok
from containers import SYSCTL, Crun, Podman, stand_in
from hygiene import pins
from lab import SERVICE, run, until
from reader import Reader
from scrape import exporter
from tables import ACCOUNTS, NAME, lines, steer
from tracer import trace
from traffic import connection, download, token_of, upload

ssh = test_steer_push.ssh
PORT = 9851


@pytest.fixture
def reads(tmp_path):
    """reads(page, net, names) is its reader, in a directory of the test's."""

    def read(document, net, names=None):
        return Reader(document, tmp_path, net, names)

    return read


@pytest.fixture
def lab(labs):
    """That no scheduler is selected in when its test is over."""
    made = labs().endpoints()
    yield made
    for net in (made.client, made.server):
        net.scheduler = "default"


def tunable(scheduler, name):
    (found,) = [t for t in ok("get", scheduler)["tunables"] if t["name"] == name]
    return found["value"]


def scheduler_of(container):
    pid = str(container.state["pid"])
    return run("nsenter", "--target", pid, "--net", "cat", SYSCTL).stdout.strip()


def sends(conn, size=256 << 10):
    """meanwhile=sends(conn): an upload each time it is asked."""
    return lambda: upload(conn, size).finish()


def brings(conn, size=1 << 20):
    return lambda: download(conn, size).finish()


@pytest.mark.usefixtures("podmans_storage")
def test_readme(none_loaded, lab, runtimes, reads, tmp_path):
    page = reads("README.md", lab.client, names={"mycontainer": lab.server.name})
    assert "ready" in page.types("doctor")
    page.types("use")
    assert lab.client.scheduler == "bpf_auto"
    page.types("use bpf_ecf --set beta=0.5")
    assert lab.client.scheduler == "bpf_ecf" and tunable("bpf_ecf", "beta") == 0.5
    page.types("use bpf_ecf --netns")
    assert lab.server.scheduler == "bpf_ecf"
    web = runtimes(Crun("web", ("sleep", "600"), hook=False))
    page.types("use bpf_ecf --container web")
    assert scheduler_of(web) == "bpf_ecf"
    page.types("use bpf_steer")
    assert lab.client.scheduler == "bpf_steer"
    page.types("set bpf_ecf beta=1")
    assert tunable("bpf_ecf", "beta") == 1
    said = page.types("show")
    assert lab.server.name in said and "bpf_steer" in said
    with connection(lab) as conn:
        with page.runs("stats --watch 1") as watch:
            watch.has_said("bpf_steer", sends(conn))
        with page.runs("monitor") as monitor:
            monitor.has_said("bpf_steer")
            with connection(lab) as other:
                monitor.has_said(token_of(other.client))
        with page.runs("trace") as traced:
            traced.has_said(r"bpf_steer.* send \d+ B to path", sends(conn))
        with trace("--record", tmp_path / "FILE") as recorded:
            recorded.wait("started")
            sends(conn)()
            recorded.end()
    assert "bpf_minrtt" in page.types("replay FILE")
    page.types("unload")
    assert "bpf_ecf" not in available()
    page.done()


@pytest.fixture
def registered(none_loaded):
    """Where the page's command pins a scheduler, which goes with the test."""
    pin = Path("/sys/fs/bpf/ecf")
    yield pin
    for found in pin.iterdir() if pin.is_dir() else [pin]:
        found.unlink(missing_ok=True)
    if pin.is_dir():
        pin.rmdir()
    until(lambda: available() == {"default"}, 20, "unregistered with its pin")


def test_using(registered, by_the_bridge, net, reads):
    page = reads("docs/use/using.md", net)
    page.types("modprobe")
    page.types("lib=")
    page.types("form=")
    page.types("bpftool", succeeds=False)  # as the page says of its crash
    assert registered.exists()
    assert "default bpf_ecf" in page.types("sysctl")
    page.done()
    assert any(Path(pin).is_relative_to(registered) for pin in pins())


@pytest.fixture
def user_slice():
    """As systemd makes it, and the guest has none."""
    made = Path("/sys/fs/cgroup/user.slice")
    made.mkdir()
    yield f"/{made.name}"
    made.rmdir()


@pytest.fixture
def no_accounts():
    ACCOUNTS.unlink(missing_ok=True)
    yield
    ACCOUNTS.unlink(missing_ok=True)


def rows():
    return [line.partition("  #")[0] for line in lines().splitlines()]


def test_steering(none_loaded, no_accounts, user_slice, ssh, reads, tmp_path):
    lab = ssh.endpoints()
    names = {
        "eth0": lab.device(1),
        "wwan0": lab.device(2),
        "vps.example.net": SERVICE[4],
        "podman exec -i web": f"ip netns exec {lab.server.name}",
    }
    page = reads("docs/use/steering.md", lab.client, names=names)
    dsl, lte = "path name dsl device p1 rank 0", "path name lte device p2 rank 1 metered"
    page.types("use bpf_steer")
    assert lab.client.scheduler == NAME
    for kind in ("path", "path", "rule", "rule", "rule"):
        page.types(f"steer {kind} add")
    assert rows() == [
        dsl,
        lte,
        "rule dscp ef mode redundant",
        "rule remote-port 873 mode active-standby",
        "rule mode priority deadline 500ms",
    ]
    steer("flush")  # the next block begins anew
    page.types("use bpf_steer")
    page.types("steer path add name dsl")
    page.types("steer path add name lte")
    page.types("steer rule add mode active-standby")
    with connection(lab) as conn:
        sends(conn)()
        assert "standby" in page.types("stats")
    page.types("steer path delete lte")
    assert rows() == [dsl, "rule mode active-standby"]
    page.types("steer path add name lte")
    assert rows()[1] == f"{lte} cap 10G period month day 15"
    assert "lte" in page.types("steer account show")
    page.types("steer account reset lte")
    kept = rows()
    page.types("steer list > tables")
    steer("flush")
    page.types("steer replace tables")
    assert rows() == kept
    page.types(f"steer option --cgroup {user_slice}")
    assert user_slice in page.types("steer option")
    page.types(f"steer option off --cgroup {user_slice}")
    assert steer("option")["cgroups"] == []
    for way in ("push root@", "push --command"):
        steer(f"replace {tmp_path / 'tables'}")
        page.types(way)
        assert rows()[0] == f"path name dsl remote {lab.local(1)} rank 0"
    page.done()
    lab.client.scheduler = "default"


def test_trace(both_loaded, lab, reads, tmp_path):
    lab.server.scheduler = "bpf_ecf"
    with connection(lab) as conn:
        names = {
            "0x1a2b3c4d": token_of(conn.server),
            "--port 443": f"--port {conn.server.getsockname()[1]}",
            "--netns web": f"--netns {lab.server.name}",
        }
        page = reads("docs/use/trace.md", lab.server, names=names)
        for filtered in ("--connection", "--port", "--netns", "--sample", "--no-glances"):
            with page.runs(f"trace {filtered}") as traced:
                traced.has_said("bpf_ecf +(send|wait|copy) ", brings(conn))
        with page.runs("trace --limit 1000") as traced:
            traced.ends(brings(conn))
        told = [json.loads(line) for line in (tmp_path / "trace.json").read_text().splitlines()]
        assert told[-1]["event"] == "ended" and told[-1]["shown"] == 1000
        with page.runs("trace --top 1") as traced:
            traced.has_said("bpf_ecf +(send|wait|copy) ", brings(conn))
        with page.runs("trace --record") as traced:
            traced.has_said("bpf_ecf is traced")
            brings(conn)()
        assert re.search("[1-9][0-9]* recorded", traced.said), traced.said
    said = page.types("replay")
    assert "bpf_ecf (as recorded)" in said and "bpf_ecf:beta=0.5" in said
    page.done()


@pytest.fixture
def podman(podmans_storage):
    made = Podman()
    yield made
    made.close()


@pytest.mark.usefixtures("podmans_storage")
def test_containers(none_loaded, podman, lab, runtimes, reads):
    """podman's own; docker's words are podman's, as in the package podman-docker."""
    options = "--rm --network none --cgroups=disabled --volume /usr:/usr:ro"
    names = {
        "podman run": f"podman run {options}",
        "docker run": f"docker run {options}",
        "IMAGE": f"--rootfs {podman.root} cat {SYSCTL}",
    }
    page = reads("docs/use/containers.md", lab.client, names=names)
    page.types("load bpf_ecf")
    assert "bpf_ecf" in available()
    stand_in(page.programs, "docker", 'exec podman "$@"')
    for way in ("podman run --sysctl", "docker run --sysctl", "podman run --annotation"):
        assert page.types(way) == "bpf_ecf\n"
    ok("use", "default", "--reinject", net=lab.client)  # what the next one asks for is there
    assert page.types("reinject=true") == "default\n"
    web = runtimes(Crun("web", ("sleep", "600"), hook=False))
    (page.programs / "docker").unlink()
    page.types("use bpf_ecf --container web")
    assert scheduler_of(web) == "bpf_ecf"
    state = json.dumps([{"Id": "4711", "State": {"Status": "running", "Pid": web.state["pid"]}}])
    stand_in(page.programs, "docker", f"echo '{state}'")
    assert "no connection" in page.types("stats --container docker:web")
    page.types("use bpf_ecf --all")
    assert lab.client.scheduler == lab.server.scheduler == "bpf_ecf"
    page.done()
    ok("use", "default", "--all")


@contextlib.contextmanager
def serves_files(lab, place):
    """By MPTCP: who asks with it is told so by its own counters."""
    words = ["mptcpize", "run", "python3", "-m", "http.server", "--directory", place, "80"]
    with lab.server.inside():
        server = subprocess.Popen(list(map(str, words)), stderr=subprocess.DEVNULL)
    try:
        until(lambda: lab.server.run("ss", "-HlntM").stdout, 20, "it listens")
        yield
    finally:
        server.terminate()
        server.wait()


def endpoints(net):
    return {e.split()[0]: e for e in net.run("ip", "mptcp", "endpoint").stdout.splitlines()}


def test_mptcpd(none_loaded, lab, reads, tmp_path):
    here = lab.client.name
    names = {
        "--netns web": f"--netns {here}",
        "netns exec web": f"netns exec {here}",
        "-n web": f"-n {here}",
        "https://example.org/": f"http://{SERVICE[4]}/",
        "192.0.2.7": lab.local(2),
        "eth1": lab.device(2),
    }
    page = reads("docs/use/mptcpd.md", lab.client, names=names)
    page.types("use bpf_ecf")
    assert lab.client.scheduler == "bpf_ecf"
    lab.client.ip("mptcp endpoint flush")
    with page.runs("mptcpd --path-manager"):
        until(lambda: lab.local(2) in endpoints(lab.client), 20, "its endpoint")
    served = tmp_path / "served"
    served.mkdir()
    (served / "file").write_text("from the server\n")
    with serves_files(lab, served):
        page.types("mptcpize run curl -O")
    assert (tmp_path / "file").read_text() == "from the server\n"
    assert lab.client.mib("MPCapableSYNACKRX") == 1
    lab.client.ip("mptcp endpoint flush")
    lab.endpoint(2)
    page.types("endpoint delete id 2")
    assert endpoints(lab.client) == {}
    page.types("endpoint add")
    assert "id 2 subflow dev p2" in endpoints(lab.client)[lab.local(2)]
    page.done()


def test_page(both_loaded, ssh, reads):
    lab = ssh.endpoints()
    lab.client.scheduler = "bpf_ecf"
    page = reads("docs/use/page.md", lab.client, names={" server": f" root@{SERVICE[4]}"})
    # the tunnel is the reader's, and what serves the page is at its other end
    with (
        exporter("--ui", listen=f"127.0.0.1:{PORT}", net=lab.server),
        page.runs("ssh -L", status=255),
    ):
        until(lambda: lab.client.run("ss", "-Hlnt").stdout, 20, "its end here")
        assert "<html" in asked(lab.client, f"http://127.0.0.1:{PORT}/")
    page.names = {}
    with page.runs("exporter --ui --listen") as served:
        served.has_said("the page is")
        for host, status in (("server.example.org", 200), ("server.local", 200), ("other", 403)):
            words = ("-o", "/dev/null", "-w", "%{http_code}", "-H", f"Host: {host}")
            assert asked(lab.client, f"http://127.0.0.1:{PORT}/", *words) == str(status), host
    with connection(lab) as conn, exporter("--ui", listen=f"127.0.0.1:{PORT}", net=lab.client):
        sends(conn)()
        url = f"http://127.0.0.1:{PORT}/stats.json"
        until(lambda: token_of(conn.client) in asked(lab.client, url), 20, "it is served")
        told = [json.loads(line) for line in page.types("stats.json").splitlines()]
        assert conn.client.getpeername()[0] in told[0][0] and len(told[0]) == 2
    page.done()
    lab.client.scheduler = "default"


def asked(net, *words):
    return net.run("curl", "-sS", *words).stdout


def test_json(both_loaded, lab, reads):
    lab.client.scheduler = "bpf_ecf"
    # on a terminal it does not wait for more than a line
    names = {"jq -c": "jq --unbuffered -c"}
    page = reads("docs/reference/json.md", lab.client, names=names)
    with connection(lab) as conn:
        sends(conn)()
        # jq, the last one, ends by the signal
        with page.runs("stats --watch 1 --json", status=128 + signal.SIGINT) as watch:
            watch.has_said(rf'^\["{token_of(conn.client)}",[0-9.]+\]$', sends(conn))
    page.done()


def test_metrics(both_loaded, lab, reads):
    page = reads("docs/reference/metrics.md", lab.client)
    with page.runs("exporter --listen") as served:
        served.has_said("listening at")
        assert "mptcp_sched_build_info" in page.types("curl")
    page.done()
