# SPDX-License-Identifier: GPL-2.0
"""Rules and paths as text: what is read, printed, matched and covered (loader/sched/steer_*.c)."""

import ctypes
import ipaddress
import random

import pytest
from hostlib import OUT, TOP, TRAPS, make_library


class Rows:
    def __init__(self):
        flags = [*TRAPS, "-D_GNU_SOURCE", "-Wno-unused-parameter", f"-I{TOP / 'loader'}"]
        self.lib = make_library("steer_rows.c", OUT / "steer_rows.so", flags=flags)
        self.lib.row.restype = self.lib.differs.restype = ctypes.c_char_p
        self.lib.row.argtypes = [
            *(ctypes.c_uint, ctypes.c_bool, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
        ]
        self.lib.covers.restype = ctypes.c_bool

    def read(self, line, at=0, path=False):
        """(what is wrong or "", the row as it is printed)"""
        buf = ctypes.create_string_buffer(2000)
        why = self.lib.row(at, path, line.encode(), buf, len(buf)).decode()
        return why, buf.value.decode()

    def differs(self, rule, connection):
        for at, line in enumerate((rule, connection)):
            assert self.read(line, at)[0] == ""
        return self.lib.differs().decode()

    def covers(self, a, b, path=False):
        for at, line in enumerate((a, b)):
            assert self.read(line, at, path)[0] == ""
        return self.lib.covers(path)


@pytest.fixture(scope="module")
def rows():
    return Rows()


def any_prefix(rng):
    if rng.random() < 0.5:
        net = ipaddress.ip_network((rng.getrandbits(32), rng.randint(1, 32)), strict=False)
    else:
        net = ipaddress.ip_network((rng.getrandbits(128), rng.randint(1, 128)), strict=False)
    return str(net).removesuffix("/32" if net.version == 4 else "/128")


def any_rule(rng):
    """The words of one, as they are printed; MODE at the end."""
    low, high = sorted(rng.sample(range(65536), 2))
    words = [
        f"local {any_prefix(rng)}",
        f"local-port {rng.randint(1, 65534)}",
        f"remote {any_prefix(rng)}",
        f"remote-port {low}-{high}",
        f"dscp {rng.choice(['ef', 'cs0', 'af41', 'le', '63'])}",
        f"mark 0x{rng.getrandbits(32) & 0xFF:x}/0xff",
        f"priority {rng.getrandbits(8)}",
        f"uid {100000 + rng.getrandbits(8)}",
    ]
    words = [w for w in words if rng.random() < 0.4 and w != "remote-port 0-65535"]
    return " ".join([*words, f"mode {rng.choice(['auto', 'redundant', 'bpf_rr'])}"])


def test_rules_are_printed_as_they_are_read(rows):
    rng = random.Random(1)
    for _ in range(5000):
        line = any_rule(rng)
        assert rows.read(line) == ("", line)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("mode priority", "mode priority deadline 1s"),
        ("deadline none mode priority", "mode priority deadline none"),
        ("mode priority deadline 1500000us", "mode priority deadline 1500ms"),
        ("mode priority deadline 0ms", "mode priority deadline 0s"),
        ("mode auto dscp 46", "dscp ef mode auto"),
        ("mode auto dscp EF", "dscp ef mode auto"),
        ("mark 32 mode auto", "mark 0x20 mode auto"),
        ("local-port 5-5 mode auto", "local-port 5 mode auto"),
        ("local 0.0.0.0/0 mode auto", "local 0.0.0.0/0 mode auto"),
        ("local ::ffff:10.0.0.0/104 mode auto", "local 10.0.0.0/8 mode auto"),
    ],
)
def test_rules_in_other_words(rows, line, text):
    assert rows.read(line) == ("", text)
    assert rows.read(text) == ("", text)


@pytest.mark.parametrize(
    "line",
    [
        "name a rank 0",
        "name abcdefghijklmno device eth0 rank 99 weight 100 rtt 60s metered",
        "name a local 10.0.0.0/8 remote 2001:db8::/32 id 255 remote-id 0 backup rank 3 rtt 150ms",
    ],
)
def test_paths_are_printed_as_they_are_read(rows, line):
    assert rows.read(line, path=True) == ("", line)


WRONG = {
    "mode fast": "mode: none of auto, active-standby",
    "mode": "mode is to have a value: MODE",
    "mode auto mode auto": "mode is given twice",
    "port 4": "a rule has no field port",
    "local 10.0.0.1/8": "more in the address than its first 8 bits",
    "local 10.0.0.0/33": "the length of a prefix is 0 to 32",
    "local 10.0.0.0/": "the length of a prefix",
    "local fd00::/129": "the length of a prefix is 0 to 128",
    "local 10.0.0.0/-1": "the length of a prefix",
    "local 10.0.0": "not an address",
    "local " + "1" * 200: "not an address",
    "local-port 65536": "not a port",
    "local-port 1-": "not a port",
    "local-port -1": "not a port",
    "local-port 5-4": "greater than the last",
    "dscp 64": "neither a name",
    "dscp af44": "neither a name",
    "mark 0x1/0": "no mark has these bits",
    "mark 3/1": "no mark has these bits",
    "mark 0x": "not a number",
    "mark 0x1ffffffff": "not a number",
    "priority 99999999999999999999999": "not a number",
    "uid no-such-user-at-all": "no such user",
    "netns no-such-namespace": "no network namespace",
    "cgroup /": "every process is in the root",
    "cgroup /../x": "there is no cgroup",
    "deadline 1": "not a time",
    "deadline 1h": "not a time",
    "deadline 3601s": "not a time like 200ms, up to 3600 s",
    "deadline s": "not a time",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_named(rows, line):
    why, text = rows.read(line)
    assert WRONG[line] in why and text == ""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("name " + "n" * 16, "1 to 15 characters"),
        ("name a/b", "no blanks, / or #"),
        ("device " + "d" * 16, "not the name of a device"),
        ("rank 100", "from 0 to 99"),
        ("weight 0", "from 1 to 100"),
        ("weight 101", "from 0 to 100"),
        ("id 256", "from 0 to 255"),
        ("rtt 0ms", "no path has an RTT of 0"),
    ],
)
def test_what_is_wrong_of_a_path(rows, line, why):
    assert why in rows.read(line, path=True)[0]


def connection_of(rng, rule):
    """One that the rule matches, with other fields at random."""
    words = dict(w.split(" ") for w in _pairs(rule))
    for name in ("local", "remote"):
        if name in words:
            net = ipaddress.ip_network(words[name])
            words[name] = str(net[rng.randrange(net.num_addresses)])
        else:
            words[name] = str(ipaddress.ip_address(rng.getrandbits(32)))
    for name in ("local-port", "remote-port"):
        low, _, high = words.get(name, "0-65535").partition("-")
        words[name] = str(rng.randint(int(low), int(high or low)))
    if "mark" in words:
        words["mark"] = hex(int(words["mark"].partition("/")[0], 16) | rng.getrandbits(24) << 8)
    words.pop("mode", None)
    return " ".join(f"{name} {value}" for name, value in words.items())


def _pairs(line):
    words = line.split()
    return [" ".join(words[i : i + 2]) for i in range(0, len(words), 2)]


def test_a_rule_matches_what_it_says(rows):
    """And, with one field of the connection changed, says that this one differs."""
    rng = random.Random(2)
    for _ in range(3000):
        rule = any_rule(rng)
        connection = connection_of(rng, rule)
        assert rows.differs(rule, connection) == "", (rule, connection)
        fields = [
            p for p in _pairs(rule) if p.split()[0] in ("dscp", "priority", "uid", "local-port")
        ]
        if not fields:
            continue
        name, value = rng.choice(fields).split()
        other = {"dscp": "cs7", "priority": "999", "uid": "99", "local-port": "65535"}[name]
        pairs = [p for p in _pairs(connection) if p.split()[0] != name]
        changed = " ".join([*pairs, f"{name} {other}"])
        assert rows.differs(rule, changed) == f"{name} {value}"


def test_what_is_covered_matches_nothing_else(rows):
    """Whatever the second would match, the first does."""
    rng = random.Random(3)
    covered = 0
    for _ in range(5000):
        b = any_rule(rng)
        # the same with less asked for, or another one
        left = [p for p in _pairs(b) if p.startswith("mode") or rng.random() < 0.6]
        a = " ".join(left) if rng.random() < 0.7 else any_rule(rng)
        if rows.covers(a, b):
            covered += 1
            assert rows.differs(a, connection_of(rng, b)) == "", (a, b)
    assert covered > 1000
    assert rows.covers("local 10.0.0.0/8 mode auto", "local 10.1.0.0/16 mode auto")
    assert not rows.covers("local 10.1.0.0/16 mode auto", "local 10.0.0.0/8 mode auto")
    assert not rows.covers("local-port 1-5 mode auto", "local-port 4-6 mode auto")
    assert not rows.covers("mark 1/1 mode auto", "mode auto")


def test_paths_that_are_covered(rows):
    assert rows.covers("name a", "name b device eth0", path=True)
    assert rows.covers("name a remote 10.0.0.0/8", "name b remote 10.2.0.0/16 id 1", path=True)
    assert not rows.covers("name a backup", "name b", path=True)
    assert not rows.covers("name a device eth0", "name b device eth1", path=True)
    assert not rows.covers("name a id 1", "name b", path=True)
