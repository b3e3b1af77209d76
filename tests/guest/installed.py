# SPDX-License-Identifier: GPL-2.0
"""What is installed in a root of its own, used there: the command, and the module by DKMS."""

import json
from pathlib import Path

from traffic import connection, token_of, upload

BRIDGE = "mptcp_sched_bpf"
SIZE = 256 << 10


def sends_with_ecf(root, lab):
    """Loads the module and a scheduler and sends some data, which arrives as it was and is counted."""
    assert not Path(f"/sys/module/{BRIDGE}").exists()
    use = ["mptcp-sched", "--json", "use", "bpf_ecf", "--netns", lab.client.name]
    assert json.loads(root.run(*use).stdout)["loaded"] is True
    assert "/updates/dkms/" in root.run("modinfo", "-n", BRIDGE).stdout
    assert Path(f"/sys/module/{BRIDGE}").exists()
    with connection(lab.endpoints()) as conn:
        upload(conn, SIZE).finish()
        said = root.run("mptcp-sched", "--json", "stats", "--netns", lab.client.name)
        token = token_of(conn.client)
        (found,) = [c for c in json.loads(said.stdout)["connections"] if c["token"] == token]
    assert found["scheduler"] == "bpf_ecf"
    assert sum(s["counters"]["bytes_sent"] for s in found["subflows"]) == SIZE
