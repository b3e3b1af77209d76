# SPDX-License-Identifier: GPL-2.0
"""What the units say of themselves; under systemd they are tested in a guest (test_systemd.py)."""

import configparser

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
