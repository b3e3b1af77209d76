# SPDX-License-Identifier: GPL-2.0
"""Rules and paths as text: what is read, printed, matched and covered (loader/sched/steer_*.c)."""

import ipaddress
import random

import pytest
from rowlib import FAILED, PERMISSION, USAGE, Rows


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
        ("budget 20% mode redundant", "mode redundant budget 20%"),
        ("mode redundant budget none", "mode redundant"),
        ("mode auto dscp 46", "dscp ef mode auto"),
        ("mode auto dscp EF", "dscp ef mode auto"),
        ("mark 32 mode auto", "mark 0x20 mode auto"),
        ("local-port 5-5 mode auto", "local-port 5 mode auto"),
        ("local 0.0.0.0/0 mode auto", "local 0.0.0.0/0 mode auto"),
        ("local ::ffff:10.0.0.0/104 mode auto", "local 10.0.0.0/8 mode auto"),
        ("mode priority deadline 0000000000000000000010ms", "mode priority deadline 10ms"),
        ("local-port 00000000000000000000000000080 mode auto", "local-port 80 mode auto"),
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
        "name a rank 0 metered cap 10G period month day 15 only block",
        "name a rank 0 cap 1500M period month",
        "name a rank 0 loss 1%",
        "name a rank 0 rtt 60s loss 50% metered",
        "name a rank 0 cap 1 period week",
        "name a rank 0 cap 1000000T period day",
        "name a local 10.0.0.0/8 remote 2001:db8::/32 id 255 remote-id 0 backup rank 3 rtt 150ms",
    ],
)
def test_paths_are_printed_as_they_are_read(rows, line):
    assert rows.read(line, path=True) == ("", line)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("cap 1000000000 period day", "cap 1G period day"),
        ("cap 1001K period week", "cap 1001K period week"),
        ("cap 5000G period month day 1", "cap 5T period month"),
        ("only allow cap 7 period month", "cap 7 period month"),
    ],
)
def test_paths_in_other_words(rows, line, text):
    assert rows.read(f"name a {line}", path=True) == ("", f"name a rank 0 {text}")


WRONG = {
    "mode fast": (USAGE, "mode: none of auto, active-standby"),
    "mode": (USAGE, "mode is to have a value: MODE"),
    "mode auto mode auto": (USAGE, "mode is given twice"),
    "dscp ef": (USAGE, "the rule has no mode"),
    "netns mode": (USAGE, "the rule has no mode"),
    "mode auto deadline 1s": (USAGE, "deadline: mode auto has none"),
    "mode auto budget 5%": (USAGE, "budget: mode auto has none"),
    "mode bpf_redundant budget none": (USAGE, "budget: mode bpf_redundant has none"),
    "mode redundant budget 0%": (USAGE, "budget: not a percentage from 1% to 100%: 0%"),
    "mode redundant budget 101%": (USAGE, "budget: not a percentage from 1% to 100%: 101%"),
    "mode redundant budget 20": (USAGE, "budget: not a percentage from 1% to 100%: 20"),
    "port 4": (USAGE, "a rule has no field port"),
    "local 10.0.0.1/8": (USAGE, "more in the address than its first 8 bits"),
    "local 10.0.0.0/33": (USAGE, "the length of a prefix is 0 to 32"),
    "local 10.0.0.0/": (USAGE, "the length of a prefix"),
    "local fd00::/129": (USAGE, "the length of a prefix is 0 to 128"),
    "local 10.0.0.0/-1": (USAGE, "the length of a prefix"),
    "local 10.0.0": (USAGE, "not an address"),
    "local " + "1" * 200: (USAGE, "not an address"),
    "local-port 65536": (USAGE, "not a port"),
    "local-port 1-": (USAGE, "not a port"),
    "local-port -1": (USAGE, "not a port"),
    "local-port 5-4": (USAGE, "greater than the last"),
    "local-port " + "0" * 40 + "5-6": (USAGE, "not a port"),
    "dscp 64": (USAGE, "neither a name"),
    "dscp af44": (USAGE, "neither a name"),
    "mark 0x1/0": (USAGE, "no mark has these bits"),
    "mark 3/1": (USAGE, "no mark has these bits"),
    "mark 0x": (USAGE, "not a number"),
    "mark 0x1ffffffff": (USAGE, "not a number"),
    "priority 99999999999999999999999": (USAGE, "not a number from 0 to 4294967295"),
    "uid no-such-user-at-all": (FAILED, "no such user"),
    "netns no-such-namespace": (FAILED, "no network namespace"),
    "netns /etc/passwd": (FAILED, "not a network namespace: /etc/passwd"),
    "netns 1": (PERMISSION, "Permission denied"),
    "netns net:[0]": (USAGE, "not the inode of a network namespace"),
    "netns net:[x]": (USAGE, "not the inode of a network namespace"),
    "netns net:[5": (USAGE, "not the inode of a network namespace"),
    "netns net:[" + "5" * 50 + "]": (USAGE, "not the inode of a network namespace"),
    "netns " + "n" * 256: (USAGE, "not a network namespace"),
    "cgroup /": (USAGE, "every process is in the root"),
    "cgroup id:1": (USAGE, "not a number from 2"),
    "cgroup id:x": (USAGE, "not a number from 2"),
    "cgroup /../x": (USAGE, "has no . and .."),
    "cgroup /x": (FAILED, "there is no cgroup /sys/fs/cgroup/x: No such file"),
    "cgroup /a/cgroup.procs": (FAILED, "there is no cgroup /sys/fs/cgroup/a/cgroup.procs"),
    "cgroup /1/2/3/4/5/6/7/8/9": (USAGE, "no more than 8 levels"),
    "deadline 1": (USAGE, "not a time"),
    "deadline 1h": (USAGE, "not a time"),
    "deadline 3601s": (USAGE, "not a time like 200ms, up to 3600 s"),
    "deadline s": (USAGE, "not a time"),
    "deadline 1000000000000001s": (USAGE, "not a time"),
    "deadline " + "0" * 70 + "10s": (USAGE, "not a time"),
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_named(rows, line):
    """Words are usage on a command line, and not in a file; what the machine lacks is the same."""
    code, text = WRONG[line]
    why, printed = rows.read(line)
    assert text in why and printed == "" and rows.code == code
    assert rows.hint != ""
    assert rows.read(line, usage=FAILED)[0] == why
    assert rows.code == (FAILED if code == USAGE else code)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rank 1", "the path has no name"),
        ("name " + "n" * 16, "1 to 15 characters"),
        ("name a/b", "no blanks, / or #"),
        ("device " + "d" * 16, "not the name of a device"),
        ("rank 100", "not a number from 0 to 99"),
        ("weight 0", "not a number from 1 to 100"),
        ("weight 101", "not a number from 1 to 100"),
        ("id 256", "not a number from 0 to 255"),
        ("loss 0%", "not a percentage from 1% to 50%: 0%"),
        ("loss 51%", "not a percentage from 1% to 50%: 51%"),
        ("loss 2.5%", "not a percentage from 1% to 50%: 2.5%"),
        ("loss %", "not a percentage from 1% to 50%: %"),
        ("rtt 0ms", "not a time like 200ms, more than 0"),
        ("name a cap 10G", "cap: path a has no period"),
        ("name a period month", "period: path a has no cap"),
        ("name a only block", "only: path a has no cap"),
        ("name a day 3", "day: path a has no period of a month"),
        ("name a cap 1G period week day 3", "day: path a has no period of a month"),
        ("name a cap 1G period month day 32", "day: not a number from 1 to 31: 32"),
        ("name a cap 1G period month day 0", "day: not a number from 1 to 31: 0"),
        ("name a cap 1G period year", "period: none of day, week, month: year"),
        ("name a cap 1G period -", "period: none of day, week, month: -"),
        ("name a cap 1G period day only ask", "only: neither allow nor block: ask"),
        ("name a cap 0 period day", "cap: not an amount"),
        ("name a cap 0G period day", "cap: not an amount"),
        ("name a cap G period day", "cap: not an amount"),
        ("name a cap -1G period day", "cap: not an amount"),
        ("name a cap 1.5G period day", "cap: not an amount"),
        ("name a cap 1g period day", "cap: not an amount"),
        ("name a cap 1GB period day", "cap: not an amount"),
        ("name a cap 0x10 period day", "cap: not an amount"),
        ("name a cap 1000001T period day", "cap: not an amount"),
        ("name a cap 99999999999999999999999 period day", "cap: not an amount"),
    ],
)
def test_what_is_wrong_of_a_path(rows, line, why):
    assert why in rows.read(line, path=True)[0]
    assert rows.code == USAGE and rows.hint != ""


def test_what_is_not_said_of_a_connection(rows):
    """It is not 0: whether the rule matches depends on it, unless something else differs."""
    rule = "local-port 0-9 dscp cs0 uid 0 mode auto"
    assert rows.compare(rule, "dscp 0") == ("", "local-port 0-9, uid 0")
    assert rows.compare(rule, "dscp 1 uid 0") == ("dscp cs0", "local-port 0-9")
    assert rows.compare(rule, "dscp 0 uid 0 local-port 9") == ("", "")
    assert rows.compare("mode auto", "dscp 0") == ("", "")


ASKED_WRONG = {
    "local 10.0.0.0/8": "one address",
    "local-port 1-5": "one port",
    "mark 1/1": "one mark",
    "mode auto": "a connection has no field mode",
    "deadline 1s": "a connection has no field deadline",
    "dscp ef dscp ef": "given twice",
    "uid": "is to have a value",
    "device eth0": "a connection has no field device",
}


@pytest.mark.parametrize("line", ASKED_WRONG)
def test_a_connection_has_one_value_of_each(rows, line):
    assert ASKED_WRONG[line] in rows.asked(line)
    assert rows.code == USAGE and rows.hint != ""


def test_numbers_of_fields(rows):
    assert rows.read("local-port 5-7 dscp ef mark 0x10/0xf0 uid 7 mode priority")[0] == ""
    for field, numbers in {
        "local-port": [5, 7],
        "remote-port": [0, 65535],
        "mark": [0x10, 0xF0],
        "dscp": [46],
        "uid": [7],
        "deadline": [1_000_000],
        "budget": [0],
    }.items():
        assert [rows.lib.number_of(False, field.encode(), i) for i in range(len(numbers))] == (
            numbers
        ), field
    line = "name a id 255 remote-id 3 rank 9 weight 7 rtt 5ms loss 3% cap 5000G period month day 31"
    assert rows.read(line, path=True)[0] == ""
    for field, number in {
        "id": 255,
        "remote-id": 3,
        "rank": 9,
        "weight": 7,
        "rtt": 5000,
        "loss": 3,
        "cap": 5 * 10**12,
        "day": 31,
    }.items():
        assert rows.lib.number_of(True, field.encode(), 0) == number, field


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
        assert rows.compare(rule, connection) == ("", ""), (rule, connection)
        fields = [
            p for p in _pairs(rule) if p.split()[0] in ("dscp", "priority", "uid", "local-port")
        ]
        if not fields:
            continue
        name, value = rng.choice(fields).split()
        other = {"dscp": "cs7", "priority": "999", "uid": "99", "local-port": "65535"}[name]
        pairs = [p for p in _pairs(connection) if p.split()[0] != name]
        changed = " ".join([*pairs, f"{name} {other}"])
        assert rows.compare(rule, changed) == (f"{name} {value}", "")


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
            assert rows.compare(a, connection_of(rng, b))[0] == "", (a, b)
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


# ends, are they of two families?
FAMILIES = {
    "local 192.0.2.1 remote 2001:db8::/32": True,
    "local 2001:db8::1 remote 10.0.0.0/8": True,
    "local 0.0.0.0/0 remote fd00::/8": True,
    "local 192.0.2.1 remote 10.0.0.0/8": False,
    "local fd00::/8 remote 2001:db8::1": False,
    "local 192.0.2.1": False,
    "remote fd00::/8": False,
    "local 192.0.2.1 remote ::/0": False,  # IPv4 is within it
    "local ::/64 remote 192.0.2.1": False,
    "local 192.0.2.1 remote ::ffff:0:0/96": False,
}


@pytest.mark.parametrize("ends", FAMILIES)
def test_ends_of_two_families(rows, ends):
    assert rows.read(f"{ends} mode auto")[0] == ""
    assert rows.lib.ends_differ(False) is FAMILIES[ends]
    assert rows.read(f"name a {ends}", path=True)[0] == ""
    assert rows.lib.ends_differ(True) is FAMILIES[ends]
