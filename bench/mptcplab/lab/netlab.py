# SPDX-License-Identifier: GPL-2.0
"""Two network namespaces, client and server, joined by shaped paths.

    with Lab([Path("wifi", mbit=0.3, rtt_ms=20), Path("lte", mbit=8.6, rtt_ms=60)]) as lab:
        lab.run("server", "ss", "-tn")
        lab.address("server", 0)       # on the first path; "10.77.1.1"

The first path is the primary: connections are made to the server's address on it. The client has an
MPTCP endpoint on every other one, and so opens the further subflows itself.

Between the two ends of a path stand a bridge and its two ports in a third namespace, "net", whose
queues hold the delay and the rate. At the ends themselves a full queue would tell the sending TCP at
once instead of losing the packet, which no network does.

`trunk`: links that all paths share behind "net", as a backbone; each has a namespace of its own, and
each path a VLAN on them.

`gso`: as hosts do, TCP hands its device large packets, and the device cuts them, so the queues see
packets of the size that a link carries. Without, TCP makes those itself, at many times the
instructions and with another pattern of bursts. `offloads`: nothing is cut at all.

Everything is in the namespaces; closing the lab ends what runs in them and removes them.
"""

import contextlib
import itertools
import json
import os
import secrets
import signal
import subprocess
import time

from mptcplab.path import FRAME, PAYLOAD, ROLES, Path
from mptcplab.process import LabError, check

# Who makes a lab makes paths for it.
__all__ = ["FRAME", "GSO", "PAYLOAD", "ROLES", "Lab", "LabError", "Path"]

BRIDGE = "type bridge forward_delay 0 mcast_snooping 0"
# What an option that asks for it says.
GSO = "TCP makes large packets, which the ends' devices cut, as hosts do"
UPLINK = "uplink"  # end of the trunk


class Lab:
    """See the module's text. `tag` ends the namespaces' names; None: a random one."""

    def __init__(self, paths, tag=None, trunk=(), sysctl=None, offloads=False, gso=False):
        self.paths = list(paths)
        self.trunk = list(trunk)
        self.offloads, self.gso = offloads, gso
        if gso and any(path.local for path in self.paths):
            raise LabError("gso: a device with a queue of its own would see packets uncut")
        self.sysctl = sysctl or {}  # of the ends, below net: {"ipv4/tcp_timestamps": 2}
        tag = f"-{secrets.token_hex(3)}" if tag is None else tag
        roles = (*ROLES, "net", *(link.name for link in self.trunk))
        self.names = {role: role + tag for role in roles}
        self.processes = []

    # --- set-up

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def _build(self):
        for name in self.names.values():
            check(["ip", "netns", "add", name])
        for where in self.names:
            self._sysctl(where)
        # One process per namespace: starting them is what takes time in an emulated guest.
        self._lay_trunk()
        self._batch("net", itertools.chain(*map(self._middle, self.paths)))
        for role in ROLES:
            self._batch(role, self._end(role))
        for path in () if self.offloads else self.paths:
            self._no_offload(path)
        for path in self.paths:
            self.shape(path)

    def _sysctl(self, where):
        values = {
            "mptcp/enabled": 1,
            # Runs do not learn from each other.
            "ipv4/tcp_no_metrics_save": 1,
            # Subflows come in by another path than the route back to the address they name.
            "ipv4/conf/all/rp_filter": 0,
            # Nothing speaks unasked, at a moment that chance decides: a queue that loses or delays
            # at random would do that to other packets than in the last run.
            "ipv6/conf/all/disable_ipv6": 1,
            "ipv6/conf/default/disable_ipv6": 1,
        }
        if where in ROLES:
            values |= self.sysctl
        with self.inside(where):
            for key, value in values.items():
                with open(f"/proc/sys/net/{key}", "w") as f:
                    f.write(str(value))

    def _middle(self, path):
        name = path.name
        yield f"link add name {name} {BRIDGE}"
        for role in ROLES:
            port = self.port(path, role)
            if role == "server" and self.trunk:
                yield self._vlan(port, path)
            else:
                yield f"link add name {port} type veth peer name {name} netns {self.names[role]}"
            yield f"link set dev {port} master {name} {self._single()} up"
        yield f"link set dev {name} addrgenmode none up"

    def _single(self):
        return "" if self.offloads else "gso_max_segs 1"

    # --- links that all paths share, each in a namespace of its own

    def _vlan(self, name, path):
        """A path's part of the trunk."""
        tag = 10 + self.paths.index(path)
        return f"link add link {UPLINK} name {name} type vlan id {tag}"

    def _lay_trunk(self):
        """From "net" through the namespace of each shared link to the server."""
        if not self.trunk:
            return
        ends = ["net", *(link.name for link in self.trunk), "server"]
        for i, link in enumerate(self.trunk):
            lines = [f"link add name both {BRIDGE}"]
            if i == 0:
                lines.append(
                    f"link add name client type veth peer name {UPLINK} netns {self.names['net']}"
                )
            peer = UPLINK if i == len(self.trunk) - 1 else "client"
            lines.append(
                f"link add name server type veth peer name {peer} netns {self.names[ends[i + 2]]}"
            )
            lines += [f"link set dev {port} master both gso_max_segs 1 up" for port in ROLES]
            self._batch(link.name, [*lines, "link set dev both addrgenmode none up"])
        for where in ("net", "server"):
            self._batch(where, [f"link set dev {UPLINK} gso_max_segs 1 up"])
            self._offload_off(where, UPLINK)
        self._batch("server", [self._vlan(p.name, p) for p in self.paths])
        for link in self.trunk:
            lines = [f"qdisc replace dev {port} root {link.queue()}\n" for port in ROLES]
            check(["tc", "-n", self.names[link.name], "-batch", "-"], input="".join(lines))
            for port in ROLES:
                self._offload_off(link.name, port)

    def _end(self, role):
        """Addresses, endpoints and, so that a subflow leaves by its own path, source routing."""
        yield "link set dev lo up"
        n = len(self.paths)
        for i, path in enumerate(self.paths):
            own, other = self.address(role, i), ROLES[1 - ROLES.index(role)]
            yield f"address add {own}/24 dev {path.name}"
            yield f"link set dev {path.name} address {self.mac(role, i)} {'' if self.gso else self._single()} up"
            # Asking for it would cost the first packet a round trip, which counts as the path's.
            yield (
                f"neighbour replace {self.address(other, i)} lladdr {self.mac(other, i)} "
                f"dev {path.name} nud permanent"
            )
            if role == "server":
                # Answers go by the path on which the client's address is.
                continue
            peer = self.address("server", i)
            yield f"rule add from {own} table {100 + i}"
            yield f"route add default via {peer} dev {path.name} table {100 + i}"
        yield f"mptcp limits set subflows {min(n, 8)} add_addr_accepted {min(n, 8)}"
        if role == "client":
            for i in range(1, n):
                yield f"mptcp endpoint add {self.address(role, i)} dev {self.paths[i].name} subflow"

    def _no_offload(self, path):
        """A queue must see packets of the size that a link carries, not TCP's large ones."""
        for role in ROLES:
            self._offload_off(role, path.name, gso=self.gso)
            self._offload_off("net", self.port(path, role))

    def _offload_off(self, where, device, gso=False):
        gso = "on" if gso else "off"
        self.run(where, "ethtool", "-K", device, "tso", "off", "gso", gso, "gro", "off")

    def _batch(self, where, lines):
        text = "".join(f"{line}\n" for line in lines)
        check(["ip", "-n", self.names[where], "-batch", "-"], input=text)

    # --- use

    @staticmethod
    def port(path, role):
        """In "net", the device that `role`'s end of the path hangs on: what goes to it queues there."""
        return f"{path.name}-{role[0]}"

    @staticmethod
    def address(role, index):
        return f"10.77.{index + 1}.{2 - ROLES.index(role)}"

    @staticmethod
    def mac(role, index):
        """A locally administered one, the same in every lab."""
        return f"02:00:00:00:{index + 1:02x}:{2 - ROLES.index(role):02x}"

    def device(self, index):
        """The name, in client and server, of a path's device."""
        return self.paths[index].name

    def shape(self, path):
        """Gives the path of that name these delays and rates, at once and for both directions."""
        self.paths = [path if p.name == path.name else p for p in self.paths]
        lines = "".join(line + "\n" for line in self.shape_lines(path))
        check(["tc", "-n", self.names["net"], "-batch", "-"], input=lines)
        if path.local:
            words = f"qdisc replace dev {path.name} root {path.local_queue()}"
            check(["tc", "-n", self.names[path.local], *words.split()])

    def shape_lines(self, path):
        """tc's lines, for "net", that make a path what it is."""
        for role in ROLES:
            for place, words in path.queues(role):
                yield f"qdisc replace dev {self.port(path, role)} {place} {words}"

    def command(self, where, *cmd):
        return ["ip", "netns", "exec", self.names[where], *cmd]

    def run(self, where, *cmd, **kw):
        """Runs a command in a namespace; its output, or LabError."""
        return check(self.command(where, *cmd), **kw)

    @contextlib.contextmanager
    def inside(self, where):
        """The calling thread in a namespace: sockets made there need no process of their own."""
        home, there = (
            os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            for path in (
                "/proc/thread-self/ns/net",
                f"/run/netns/{self.names[where]}",
            )
        )
        try:
            os.setns(there, os.CLONE_NEWNET)
            yield
        finally:
            os.setns(home, os.CLONE_NEWNET)
            os.close(home)
            os.close(there)

    def start(self, where, *cmd, **kw):
        """Starts a process in a namespace, ended at the latest with the lab."""
        proc = subprocess.Popen(self.command(where, *cmd), start_new_session=True, **kw)
        self.processes.append(proc)
        return proc

    def stop(self, proc, seconds=5):
        """Ends a process of start() and what it started."""
        for sig in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(proc.pid, sig)
            except ProcessLookupError:
                pass
            try:
                proc.wait(seconds)
                break
            except subprocess.TimeoutExpired:
                continue
        if proc in self.processes:
            self.processes.remove(proc)

    def link(self, index, state, role="client"):
        """state: up or down, of one end's device."""
        self.run(role, "ip", "link", "set", self.device(index), state)

    def counters(self, role="client"):
        """Per path the device's counters: rx and tx with bytes, packets, dropped."""
        text = self.run(role, "ip", "-s", "-j", "link", "show")
        found = {d["ifname"]: d["stats64"] for d in json.loads(text)}
        return [found[p.name] for p in self.paths]

    def queues(self):
        """Per path and end towards which it sends: the counters of the shaping queue."""
        net = self._netems("net")
        out = [{r: net[self.port(p, r)] for r in ROLES} for p in self.paths]
        for path, queues in zip(self.paths, out, strict=True):
            if path.local:
                # What leaves through its own device goes to the other end.
                there = ROLES[1 - ROLES.index(path.local)]
                queues[there] = self._netems(path.local)[path.name]
        return out

    def _netems(self, where):
        rows = json.loads(check(["tc", "-n", self.names[where], "-s", "-j", "qdisc"]))
        return {r["dev"]: r for r in rows if r["kind"] == "netem"}

    def mib(self, role):
        """The MPTCP counters of a namespace."""
        return self._counted(role, "netstat", "MPTcpExt:")

    def tcp_mib(self, role):
        """The TCP counters of a namespace."""
        return self._counted(role, "snmp", "Tcp:")

    def _counted(self, role, file, head):
        with self.inside(role), open(f"/proc/thread-self/net/{file}") as f:
            lines = [line for line in f if line.startswith(head)]
        names, values = (line.split()[1:] for line in lines)
        return dict(zip(names, map(int, values), strict=True))

    def wait_for(self, what, condition, seconds=10, step=0.05):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise LabError(f"waited {seconds} s for {what}")
            time.sleep(step)

    def close(self):
        for proc in list(self.processes):
            self.stop(proc)
        for name in self.names.values():
            # Connections that still want to say goodbye would keep the namespace's devices.
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
