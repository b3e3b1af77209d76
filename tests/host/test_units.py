# SPDX-License-Identifier: GPL-2.0
"""What the units say of themselves; under systemd they are tested in a guest (test_systemd.py)."""

import configparser
import os
import re
import subprocess

import pytest
from hostlib import TOP


def unit(name):
    """Its sections; of a key that stands more than once the last."""
    parser = configparser.ConfigParser(
        strict=False, interpolation=None, delimiters="=", comment_prefixes="#"
    )
    parser.optionxform = str
    parser.read(TOP / "dist" / name)
    return parser


def test_the_exporter_waits_for_its_address():
    """At boot the address of --listen may not be there yet; no option becomes right by waiting."""
    exporter = unit("mptcp-sched-exporter.service.in")
    assert exporter["Unit"]["StartLimitIntervalSec"] == "0"
    assert exporter["Service"]["Restart"] == "on-failure"
    assert int(exporter["Service"]["RestartSec"]) >= 1
    assert exporter["Service"]["RestartPreventExitStatus"] == "2"


def test_the_service_sees_what_apply_by_hand_does():
    """An object in root's home; that /tmp is another one there, the page says."""
    service = unit("mptcp-sched.service.in")["Service"]
    assert service["ProtectHome"] == "read-only"
    assert service["PrivateTmp"] == "yes" and "`/tmp`" in (TOP / "docs/use/boot.md").read_text()


PAGE = (TOP / "docs/use/boot.md").read_text()
# units beside the project's own, all wanted at boot
WEB = """[Socket]
ListenStream=127.0.0.1:8080
SocketProtocol=mptcp
"""
AFTER_THE_NETWORK = """[Unit]
Wants=network.target
After=network.target
[Service]
Type=oneshot
ExecStart=/bin/true
"""


def cycles(tmp_path, units):
    """What systemd says of a boot with the service and these {name: text}."""
    template = (TOP / "dist/mptcp-sched.service.in").read_text()
    units = {
        "mptcp-sched.service": template.replace("@SBINDIR@/mptcp-sched", "/bin/true"),
        "web.service": "[Service]\nExecStart=/bin/true\n",
        **units,
    }
    for name, text in units.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        if "/" not in name:
            kind = "sockets" if name.endswith("socket") else "multi-user"
            wants = tmp_path / f"{kind}.target.wants"
            wants.mkdir(exist_ok=True)
            (wants / name).symlink_to(f"../{name}")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "default.target"],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    return [x for x in done.stderr.splitlines() if "ordering cycle" in x]


def drop_in_of_page():
    (text,) = [b for b in re.findall(r"```ini\n(.*?)```", PAGE, re.DOTALL) if "sysinit" in b]
    return text


@pytest.mark.parametrize("told", [True, False])
def test_a_socket_of_mptcp_opens_behind_the_service(tmp_path, told):
    """As the page has it; by After= alone, systemd leaves one of them out."""
    text = drop_in_of_page() if told else "[Unit]\nAfter=mptcp-sched.service\n"
    found = cycles(tmp_path, {"web.socket": WEB, "web.socket.d/behind.conf": text})
    assert bool(found) is not told, found


@pytest.mark.parametrize("told", [True, False])
def test_a_unit_that_waits_for_the_network_applies_again(tmp_path, told):
    (line,) = re.findall(r"ExecStartPost=-mptcp-sched apply", PAGE)
    units = {"spaces.service": AFTER_THE_NETWORK + (f"{line}\n" if told else "")}
    if not told:
        units["mptcp-sched.service.d/after.conf"] = "[Unit]\nAfter=spaces.service\n"
    found = cycles(tmp_path, units)
    assert bool(found) is not told, found
