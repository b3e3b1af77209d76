# SPDX-License-Identifier: GPL-2.0
"""The units under systemd: at boot, over a reboot, at a reload, and with a file that is wrong.

And the timer that saves the accounts of paths.
"""

import re
import shutil
from pathlib import Path

import documented
import pytest
from booted import MASKED, Booted
from conftest import TOP
from lab import run, until
from privateroot import PrivateRoot
from reader import script
from scrape import samples
from test_errors import modules

BRIDGE = "mptcp_sched_bpf"
APPLY, EXPORTER = "mptcp-sched.service", "mptcp-sched-exporter.service"
ACCOUNT, TIMER = "mptcp-sched-account.service", "mptcp-sched-account.timer"
ACCOUNTS = "var/lib/mptcp-sched/accounts"
CONF = "[load]\nbpf_ecf = beta=%s\nbpf_minrtt =\n[root]\nscheduler = bpf_ecf\n"
METRICS = "http://127.0.0.1:9851/metrics"
SIZE = 300_000
# Over the loopback device, and looked at before it ends.
TRANSFER = f"""
import socket, time, urllib.request
server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
server.bind(("127.0.0.1", 0))
server.listen()
client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
client.connect(server.getsockname())
peer, _ = server.accept()
client.sendall(bytes({SIZE}))
left = {SIZE}
while left:
    left -= len(peer.recv(left))
# What is served was seen at most a second before, so perhaps before all that.
until = time.monotonic() + 240
text = ""
while "}} {SIZE}\\n" not in text and time.monotonic() < until:
    text = urllib.request.urlopen("{METRICS}", timeout=240).read().decode()
    time.sleep(1)
print(text, end="")
"""


def is_out():
    return BRIDGE not in modules() or not run("rmmod", BRIDGE, check=False).returncode


@pytest.fixture
def root(none_loaded, by_the_bridge):
    """A machine on which the project's units and nothing else are enabled."""
    run("rmmod", BRIDGE)
    made = PrivateRoot()
    try:
        for wants in (made.root / "etc/systemd/system").glob("*.wants"):
            shutil.rmtree(wants)
        made.run("systemctl", "mask", *MASKED)
        made.run("systemctl", "enable", APPLY, EXPORTER, TIMER)
        yield made
    finally:
        made.close()
        run("modprobe", BRIDGE)


@pytest.fixture
def boot(root):
    """boot(text): the machine is up, with that as its configuration; the one before is off."""
    up = []

    def turn_off():
        for machine in up:
            machine.close()
        up.clear()

    def start(text=None):
        turn_off()
        # what was pinned is freed behind the caller's back
        until(is_out, 20, "the bridge is not in use")
        if text:
            (root.root / "etc/mptcp-sched.conf").write_text(text)
        up.append(Booted(root))
        return up[0]

    yield start
    turn_off()


def beta(machine):
    (found,) = [t for t in machine.sched("get", "bpf_ecf")["tunables"] if t["name"] == "beta"]
    return found["value"]


def typed(document, words, machine):
    """What the document's command that has these words says on the machine."""
    return machine.run("bash", "-euc", script(documented.one(document, words))).stdout


def is_applied(machine, value):
    state = machine.unit(APPLY, "ActiveState", "Result")
    assert state == ["active", "success"], machine.journal(APPLY)
    assert BRIDGE in modules(), "modprobe@.service loads it"
    loaded = {s["name"] for s in machine.sched("show")["schedulers"]}
    assert {"bpf_ecf", "bpf_minrtt"} <= loaded
    return machine.scheduler() == "bpf_ecf" and beta(machine) == value


@pytest.mark.timeout(1200)
def test_the_choice_survives_a_reboot_and_follows_the_file(boot, root, suffix):
    first = boot(CONF % 0.5)
    assert is_applied(first, 0.5)
    again = boot()
    assert is_applied(again, 0.5)
    (root.root / "etc/mptcp-sched.conf").write_text(CONF % 0.75)
    assert is_applied(again, 0.5), "nobody has been told yet"
    again.run("systemctl", "reload-or-restart", APPLY)
    assert is_applied(again, 0.75)
    # an object of root's own
    shutil.copy(f"/usr/lib/mptcp-sched/bpf_rr{suffix}", root.root / "root/mine.bpf.o")
    text = (CONF % 0.75).replace("[root]", "/root/mine.bpf.o =\n[root]")
    (root.root / "etc/mptcp-sched.conf").write_text(text)
    again.run("systemctl", "reload-or-restart", APPLY)
    assert "bpf_rr" in {s["name"] for s in again.sched("show")["schedulers"]}
    is_set_up(again, root)


def is_set_up(machine, root):
    """As a reader of docs/use/boot.md does it: with the example as it is."""
    machine.run("systemctl", "disable", "--now", APPLY)
    (root.root / "etc/mptcp-sched.conf").unlink()
    copies, edits, looks, enables, reloads = documented.typed("docs/use/boot.md")
    for command in (copies, edits):
        machine.run("bash", "-euc", script(command))
    assert "bpf_auto" in machine.run("bash", "-euc", script(looks)).stdout
    assert machine.scheduler() == "bpf_ecf", "it only looked"
    machine.run("bash", "-euc", script(enables))
    assert machine.scheduler() == "bpf_auto"
    assert machine.run("systemctl", "is-enabled", APPLY).stdout == "enabled\n"
    machine.run("sysctl", "net.mptcp.scheduler=default")
    machine.run("bash", "-euc", script(reloads))
    assert machine.scheduler() == "bpf_auto"


@pytest.mark.timeout(1200)
def test_the_exporter_serves_what_the_machine_does_and_the_timer_saves(boot, root):
    machine = boot(CONF % 1)
    state = machine.unit(EXPORTER, "ActiveState", "MainPID")
    assert state[0] == "active", machine.journal(EXPORTER)
    status = machine.run("cat", f"/proc/{state[1]}/status").stdout
    assert re.search(r"^Uid:\s+(\d+)", status, re.MULTILINE)[1] != "0"
    assert "active (running)" in typed("README.md", "systemctl status", machine)
    text = machine.run("python3", "-c", TRANSFER).stdout
    sent = [
        s.value
        for s in samples(text)
        if s.name == "mptcp_sched_path_bytes_sent_total" and s.has(scheduler="bpf_ecf")
    ]
    assert sent == [SIZE], (text, machine.journal(EXPORTER), machine.journal(APPLY))
    accounts_are_saved(machine, root)
    serves_a_page(machine)
    serves_a_proxy(machine)
    typed("docs/use/mptcpd.md", "mptcpize enable", machine)
    assert "Environment=LD_PRELOAD=" in machine.run("systemctl", "cat", "nginx").stdout


def serves_a_page(machine):
    for words in ("MPTCP_SCHED_EXPORTER=--ui'", "systemctl restart mptcp-sched-exporter"):
        typed("docs/use/page.md", words, machine)
    ask = ("curl", "-sS", "--max-time", "60", METRICS.removesuffix("metrics"))
    until(lambda: "<html" in machine.run(*ask, check=False).stdout, 60, "the page", every=1)


def serves_a_proxy(machine):
    """As docs/use/page.md has it: who is of the group gets an answer, and nobody else."""
    text = (TOP / "docs/use/page.md").read_text()
    (block,) = [b for b in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if "[Service]" in b]
    machine.run("sh", "-ec", block.replace("sudo ", ""))
    path = re.search(r"unix:(\S+)", block)[1]

    def asked_by(user):
        curl = ("curl", "-sS", "--max-time", "200", "--unix-socket", path, "http://any/metrics")
        as_user = (f"--reuid={user}", f"--regid={user}", "--init-groups")
        return machine.run("setpriv", *as_user, *curl, check=False)

    try:
        until(lambda: "build_info" in asked_by("www-data").stdout, 60, "an answer", every=1)
    except AssertionError as error:
        raise AssertionError(machine.journal(EXPORTER)) from error
    assert asked_by("games").returncode == 7, "no permission to connect"


def saved(root):
    """There may be others', of before it was turned on."""
    file = root.root / ACCOUNTS
    return file.read_text() if file.exists() else ""


def accounts_are_saved(machine, root):
    """By the timer, on the minute."""
    machine.run("systemctl", "disable", "--now", TIMER)
    typed("docs/use/steering.md", "mptcp-sched-account.timer", machine)
    assert machine.unit(TIMER, "ActiveState") == ["active"], machine.journal(TIMER)
    machine.sched("load", "bpf_steer")
    machine.sched("steer", "path", "add", "name", "lte", "cap", "1G", "period", "day")
    try:
        until(lambda: "\npath lte day " in saved(root), 75, "a minute is over", every=1)
    except AssertionError as error:
        raise AssertionError(machine.journal(ACCOUNT)) from error
    until(lambda: machine.unit(ACCOUNT, "ActiveState") == ["inactive"], 20, "it is done", every=1)
    assert machine.unit(ACCOUNT, "Result", "ExecMainStatus") == ["success", "0"]
    assert "Bytes of MPTCP paths" not in machine.journal(ACCOUNT), "each minute it is silent"
    machine.run("test", "-s", "/run/mptcp-sched/saved")


WEB = "t-web.service"
# Which cgroup it is in: of its process, and of what runs before that.
CGROUP_OF = "stat -c %%i /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)"


@pytest.mark.timeout(1200)
def test_a_slice_stays_and_a_service_can_apply_in_time(boot, root):
    """What docs/use/containers.md builds on, with its drop-ins. Here cgroups are a container's."""
    text = (TOP / "docs/use/containers.md").read_text()
    drop_ins = re.findall(r"```ini\n# systemctl edit (\S+)\n(.*?)```", text, re.DOTALL)
    assert [unit for unit, _ in drop_ins] == ["nginx", "mptcp-sched", "nginx"]
    units = root.root / "etc/systemd/system"
    for number, (unit, drop_in) in enumerate(drop_ins):
        folder = units / f"{WEB if unit == 'nginx' else APPLY}.d"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.conf").write_text(drop_in)
    (units / WEB).write_text(
        f"[Service]\nExecStartPre=sh -c '{CGROUP_OF} >/run/before'\nExecStart=sleep infinity\n"
    )
    machine = boot(f"[rules]\nrule = cgroup /web.slice/{WEB} mode bpf_rr\nrule = mode auto\n")
    assert machine.unit(APPLY, "ActiveState", "Result") == ["active", "success"]
    assert "matches nothing yet" in machine.journal(APPLY)
    assert [r["text"] for r in machine.sched("steer", "list")["rules"]] == ["mode auto"]
    slices, services = {machine.run("stat", "-c", "%i", "/sys/fs/cgroup/web.slice").stdout}, set()
    for turn in range(3):
        machine.run("systemctl", "restart" if turn < 2 else "start", WEB)
        cgroup = f"/sys/fs/cgroup{machine.unit(WEB, 'ControlGroup')[0]}"
        assert cgroup == f"/sys/fs/cgroup/web.slice/{WEB}"
        service, above = machine.run("stat", "-c", "%i", cgroup, f"{cgroup}/..").stdout.split()
        assert machine.run("cat", "/run/before").stdout.split() == [service]
        services.add(service)
        slices.add(f"{above}\n")
        if turn:
            machine.run("systemctl", "stop", WEB)
    assert len(slices) == 1 and len(services) == 3
    assert machine.journal(WEB).count("matches nothing yet") == 3, "each start has applied"


@pytest.mark.timeout(1200)
def test_a_wrong_file_fails_the_unit_with_its_reason_and_changes_nothing(boot, root):
    machine = boot("[load]\nbpf_ecf = bta=1\n[root]\nscheduler = bpf_ecf\n")
    assert machine.unit(APPLY, "ActiveState", "Result") == ["failed", "exit-code"]
    said = machine.journal(APPLY)
    assert "/etc/mptcp-sched.conf:2" in said and "bta" in said
    assert machine.scheduler() == "default"
    assert machine.unit(EXPORTER, "ActiveState") == ["active"], "it needs no scheduler"
    # as docs/use/boot.md has it after a change of the file
    (root.root / "etc/mptcp-sched.conf").write_text(CONF % 1)
    machine.run("systemctl", "reload-or-restart", APPLY)
    assert is_applied(machine, 1)


@pytest.mark.timeout(1200)
def test_the_exporter_waits_for_its_address(boot, root):
    """As a machine has it whose network comes up later than its units."""
    options = root.root / "etc/default/mptcp-sched-exporter"
    options.write_text("MPTCP_SCHED_EXPORTER=--listen 192.0.2.9:9851\n")
    machine = boot()
    # by default systemd gives up after five
    until(lambda: int(machine.unit(EXPORTER, "NRestarts")[0]) > 5, 300, "six attempts", every=1)
    machine.run("ip", "address", "add", "192.0.2.9/32", "dev", "lo")
    ask = ("curl", "-sS", "--max-time", "60", "http://192.0.2.9:9851/metrics")

    def serves():
        return "build_info" in machine.run(*ask, check=False).stdout

    try:
        until(serves, 60, "an answer", every=1)
    except AssertionError as error:
        raise AssertionError(machine.journal(EXPORTER)) from error


def test_the_units_that_are_tested_are_the_installed_ones():
    for unit in (APPLY, EXPORTER, ACCOUNT, TIMER):
        dist = TOP / "dist" / unit
        template = (dist if unit == TIMER else dist.with_name(f"{unit}.in")).read_text()
        installed = Path("/usr/lib/systemd/system", unit).read_text()
        assert installed == template.replace("@SBINDIR@", "/usr/sbin")
