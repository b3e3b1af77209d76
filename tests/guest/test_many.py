# SPDX-License-Identifier: GPL-2.0
"""Many namespaces and connections: memory, and that costs grow with their number only.

A kernel has room for four tokens per MB of memory at most, and draws them: the fuller the table
is, the more often a connection has bad luck five times and is TCP's. With two in each namespace,
half of the room in the guest of the tests, that was one run in about twenty; with one it is far
rarer. `bench many` has 10,000, and how long that takes, in virtual time; here that is no verdict.
"""

import json

import pytest
from mptcplab.lab.crowd import COMMANDS, best, crowd

# Of 100 MB for 10,000: what the command takes by itself is in it.
MAX_KB = 40_000
EACH = 1
# The command's own time. The kernel's grows faster in part: every walk of the socket storage goes
# along what it has passed already for each buffer that is read.
# Ten times as many of everything, and part of the cost is the same for any number: a square of
# the number soon makes more than ten times of it.
MAX_RATIO = 10


@pytest.mark.timeout(900)
def test_thousands(both_loaded, tmp_path):
    costs = {}
    for namespaces in (100, 1000):
        # both ends of a connection are listed
        with crowd(namespaces, EACH, "bpf_minrtt"):
            for command in COMMANDS:
                costs[namespaces, command] = best(tmp_path / "out", *command)
            shown = json.loads(best(tmp_path / "out", "show", "--json", times=1).out.read_text())
            stats = json.loads(best(tmp_path / "out", "stats", "--json", times=1).out.read_text())
            words = ("stats", "--json", "--top", "5")
            top = json.loads(best(tmp_path / "out", *words, times=1).out.read_text())
        ours = [n for n in shown["namespaces"] if n["netns"].startswith("many")]
        assert len(ours) == namespaces
        assert {(n["connections"], n["listeners"], n["scheduler"]) for n in ours} == {
            (2 * EACH, 1, "bpf_minrtt")
        }
        tokens = {c["token"] for c in stats["connections"]}
        assert len(tokens) == len(stats["connections"]) == 2 * EACH * namespaces
        assert {c["netns"] for c in stats["connections"]} == {n["netns"] for n in ours}
        assert all(len(c["subflows"]) == 1 for c in stats["connections"])
        number = 2 * EACH * namespaces
        assert top["notes"] == [f"less busy and not shown: {number - 5} of {number} connections"]
        assert len(top["connections"]) == 5
    for (namespaces, command), cost in costs.items():
        print(
            f"{namespaces:5} {' '.join(command):13} {cost.seconds:6.2f} s {cost.user:6.2f} s user {cost.system:6.2f} s system {cost.peak_kb:7} kB"
        )
    for command in COMMANDS:
        few, many = costs[100, command], costs[1000, command]
        assert many.peak_kb < MAX_KB, (command, many)
        assert many.user / few.user < MAX_RATIO, (command, few, many)
