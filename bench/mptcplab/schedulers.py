# SPDX-License-Identifier: GPL-2.0
"""The command mptcp-sched, as benchmarks and the demo use it."""

import dataclasses
import json
import os
import shutil
import tempfile

from mptcplab.places import BUILD
from mptcplab.process import LabError, check

BUILT = BUILD / "mptcp-sched"
TCP = "plain TCP"
STEER = "bpf_steer"
SPELLING = """a name, "tcp" for plain TCP, NAME+FLAG for `mptcp-sched use NAME --FLAG`, NAME:KEY=VALUE,KEY=VALUE
for --set KEY=VALUE, or bpf_steer@TABLES for the steering tables of that name, which a scenario of the lab and
`outage` have; may be given several times"""


def command():
    """The installed command, or the one that was built here."""
    found = os.environ.get("MPTCP_SCHED") or shutil.which("mptcp-sched")
    if not found and BUILT.exists():
        found = str(BUILT)
    if not found:
        raise LabError("no mptcp-sched: `make install` or MPTCP_SCHED=PATH")
    return found


def mptcp_sched(*args):
    """Runs it with --json and returns what it said."""
    text = check([command(), *args, "--json"])
    return json.loads(text) if text.strip() else {}


@dataclasses.dataclass(frozen=True)
class Choice:
    """A scheduler and how it is used, as the command lines spell it: see SPELLING."""

    word: str

    def __str__(self):
        return self.word

    @property
    def name(self):
        return self._spelt.partition("+")[0]

    @property
    def flags(self):
        return [f"--{f}" for f in self._spelt.split("+")[1:]]

    @property
    def _spelt(self):
        """Name and flags."""
        return self.word.partition(":")[0].partition("@")[0]

    @property
    def tables(self):
        """Which of a scenario's [steering]; "" for none."""
        return self.word.partition(":")[0].partition("@")[2]

    @property
    def values(self):
        return [v for v in self.word.partition(":")[2].split(",") if v]

    @property
    def is_tcp(self):
        return self.name == TCP

    @property
    def is_ours(self):
        """Does it keep statistics?"""
        return self.name not in (TCP, "default")


def choices(words):
    """What was asked for; by default all that the command knows, the kernel's own and plain TCP."""
    if not words:
        found = [s["name"] for s in mptcp_sched("list")["schedulers"]]
        words = [TCP, "default", *(n for n in found if n != "default")]
    words = [TCP if w == "tcp" else w for w in words]
    return [Choice(w) for w in dict.fromkeys(words)]


_values = {}  # of each scheduler that was loaded here


def steer(text):
    """These are steering's tables, of rows as `steer list` prints them; their paths begin at 0 bytes."""
    with tempfile.NamedTemporaryFile("w", prefix="tables-") as file:
        file.write(text)
        file.flush()
        mptcp_sched("steer", "replace", file.name)
    # Accounts outlive tables, and go on with the next path of that name.
    mptcp_sched("steer", "account", "reset")


def use(lab, choice, role="server", tables=""):
    """Selects a scheduler in a namespace of the lab, loading it where needed.

    Whatever else is loaded goes: a scheduler may bring programs that see every connection. `tables`:
    what bpf_steer gets; they are the machine's, and not the namespace's.
    """
    if choice.tables and not tables:
        raise LabError(f"{choice}: only scenarios of the lab and outage have steering tables")
    found = mptcp_sched("list")["schedulers"]
    loaded = {s["name"] for s in found if s["pin"]}
    for name in sorted(loaded):
        # Tunables are set when a scheduler is loaded, only then.
        if name != choice.name or _values.get(name) != choice.values:
            mptcp_sched("unload", name)
            loaded.remove(name)
    words = list(choice.flags)
    if choice.name not in loaded:
        words += [w for v in choice.values for w in ("--set", v)]
    mptcp_sched("use", choice.name, "--netns", lab.names[role], *words)
    _values[choice.name] = choice.values
    if choice.name == STEER:
        steer(tables)


def connections(lab, role="server"):
    """Statistics of the connections there whose scheduler keeps some."""
    found = mptcp_sched("stats", "--netns", lab.names[role])["connections"]
    # A connection that ends may still be there for a moment.
    return [c for c in found if c["state"] == "established"]


def connection(lab, role="server"):
    """Statistics of the one connection there; None where its scheduler keeps none."""
    live = connections(lab, role)
    if len(live) > 1:
        raise LabError(f"{len(live)} connections where there should be one")
    return live[0] if live else None


def problems(lab, choice, role):
    """As check_in_use(), with any number of connections."""
    if not choice.is_ours:
        shown = mptcp_sched("show")["schedulers"]
        others = [s["name"] for s in shown if s["connections"] and s["name"] != choice.name]
        return [f"connections use {', '.join(others)}"] if others else []
    live = connections(lab, role)
    if not live:
        return [f"the {role} has no connection that uses {choice.name}"]
    wrong = {c["scheduler"] for c in live} - {choice.name}
    out = [f"a connection of the {role} uses {name}" for name in sorted(wrong)]
    return out + [f"a connection of the {role} fell back to TCP" for c in live if c["fallback"]]


def check_in_use(lab, choice, role="server"):
    """Problems, as text, with the scheduler that the one connection there really has."""
    if choice.is_ours:
        conn = connection(lab, role)
        if not conn:
            yield f"the {role} has no connection that uses {choice.name}"
            return
        if conn["scheduler"] != choice.name:
            yield f"the {role}'s connection uses {conn['scheduler']}"
        if conn["fallback"]:
            yield "the connection fell back to TCP"
        return
    shown = mptcp_sched("show")
    own = next(n for n in shown["namespaces"] if n["netns"] == lab.names[role])
    if own["connections"] != 1:
        yield f"the {role} has {own['connections']} MPTCP connections, not 1"
    if any(s["connections"] for s in shown["schedulers"] if s["name"] != "default"):
        yield f"a connection uses another scheduler than {choice.name}"


def tunables(chosen):
    """Of each choice the tunables with their defaults, as `list` tells them, and what was set."""
    listed = mptcp_sched("list", "--verbose")["schedulers"]
    known = {s["name"]: s.get("tunables", []) for s in listed}
    return {
        c.word: {"tunables": known.get(c.name, []), "set": c.values, "flags": c.flags}
        for c in chosen
        if not c.is_tcp
    }
