# SPDX-License-Identifier: GPL-2.0
"""`mptcp-sched steer`: its tables, and what is wrong with them. See test_steer_match.py, too."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import tables
from command import PROGRAM, STRACE, ok, sched
from conftest import TOP
from lab import run
from tables import NAME, lines, steer

file, loaded = tables.file, tables.loaded

FAILED, USAGE = 1, 2


WHOLE = """\
path name dsl device eth9 id 0 rank 0 weight 60
path name lte remote 2001:db8::/32 remote-id 3 backup rank 1 weight 40 rtt 150ms loss 5% metered
rule local 192.0.2.1 local-port 443 remote 10.0.0.0/8 dscp ef mode redundant budget 20%  # 1
rule remote-port 5000-5999 mark 0x10/0xf0 priority 6 uid 1000 mode bpf_blest  # 2
rule mode priority deadline 250ms  # 3
"""


def test_what_is_printed_is_read(loaded, file):
    steer(f"replace {file(WHOLE)}")
    assert lines() == WHOLE
    steer("flush")
    assert lines() == ""
    steer(f"replace {file(WHOLE)}")
    assert lines() == WHOLE


def test_json_has_the_fields(loaded, file):
    steer(f"replace {file(WHOLE)}")
    found = steer("list")
    assert [r["rule"] for r in found["rules"]] == [1, 2, 3]
    first, second, third = ({k: v for k, v in r.items() if k != "text"} for r in found["rules"])
    assert first == {
        "rule": 1,
        "local": "192.0.2.1",
        "local_port": [443, 443],
        "remote": "10.0.0.0/8",
        "dscp": 46,
        "mode": "redundant",
        "budget": 20,
    }
    assert second["remote_port"] == [5000, 5999] and second["mark"] == [0x10, 0xF0]
    assert second["priority"] == 6 and second["uid"] == 1000
    assert third == {"rule": 3, "mode": "priority", "deadline_us": 250_000}
    account = found["paths"][1].pop("account")
    assert set(account) == {"sent", "received", "since"} and account["since"] is None
    assert found["paths"][1] == {
        "name": "lte",
        "remote": "2001:db8::/32",
        "remote_id": 3,
        "backup": True,
        "rank": 1,
        "weight": 40,
        "rtt_us": 150_000,
        "loss": 5,
        "metered": True,
        "text": WHOLE.splitlines()[1].removeprefix("path "),
    }
    added = steer("rule add mode priority deadline none")["added"]
    assert added == [
        {"rule": 4, "mode": "priority", "deadline_us": None, "text": "mode priority deadline none"}
    ]


def test_rows_come_and_go(loaded):
    steer("rule add mode auto")
    steer("rule add at 1 dscp ef mode redundant")
    steer("rule add at 2 dscp cs1 mode smallest-delay")
    assert [r["mode"] for r in steer("rule list")["rules"]] == [
        "redundant",
        "smallest-delay",
        "auto",
    ]
    steer("rule delete 2")
    assert [r["mode"] for r in steer("rule list")["rules"]] == ["redundant", "auto"]
    steer("path add name a")
    steer("path add name b rank 1")
    steer("path delete a")
    assert [p["name"] for p in steer("path list")["paths"]] == ["b"]
    steer("rule flush")
    assert steer("list")["rules"] == [] and len(steer("list")["paths"]) == 1


def test_which_rule_and_why(loaded, file):
    steer(f"replace {file(WHOLE)}")
    known = "local 192.0.2.1 local-port 443 remote 10.1.2.3 remote-port 99"
    first = steer(f"test {known} dscp ef")
    assert (first["rule"], first["mode"], first["passed"]) == (1, "redundant", [])
    assert first["sure"] is True
    other = steer(f"test {known} dscp 0")
    assert other["rule"] == 3 and other["sure"] is True
    assert other["passed"] == [
        {"rule": 1, "differs": "dscp ef"},
        {"rule": 2, "differs": "remote-port 5000-5999"},
    ]
    some = steer("test remote-port 5000 uid 1000")
    assert some["rule"] == 3 and some["sure"] is False
    assert some["passed"][1] == {"rule": 2, "depends": "mark 0x10/0xf0, priority 6"}
    steer("rule delete 3")
    none = steer("test dscp cs1 remote-port 1")
    assert none["rule"] is None and none["mode"] == "auto" and none["sure"] is True


def test_the_document_s_example(loaded):
    """Its tables, and what it says that the command prints."""
    text = (TOP / "docs/use/steering.md").read_text()
    (script,) = re.findall(r"^```sh\n(.*?use bpf_steer.*?)^```", text, re.MULTILINE | re.DOTALL)[:1]
    for line in script.splitlines():
        if " steer " in line:
            steer(line.partition(" steer ")[2])
    (shown,) = re.findall(r"^```\n(\$ sudo.*?)^```", text, re.MULTILINE | re.DOTALL)
    for block in shown.split("$ sudo mptcp-sched ")[1:]:
        command, _, printed = block.partition("\n")
        assert sched(*command.split()).out == printed, command


# words, code, what the error says
WRONG = {
    "nothing": ([""], USAGE, "no such thing to do"),
    "verb": (["rule", "move"], USAGE, "no such thing to do: move"),
    "kind": (["path", "test", "dscp", "ef"], USAGE, "no such thing to do"),
    "mode": (["rule", "add", "mode", "fast"], USAGE, "mode: none of auto, active-standby"),
    "no mode": (["rule", "add", "dscp", "ef"], USAGE, "the rule has no mode"),
    "field": (["rule", "add", "port", "1", "mode", "auto"], USAGE, "has no field port"),
    "no value": (["rule", "add", "mode"], USAGE, "mode is to have a value"),
    "twice": (["rule", "add", "mode", "auto", "mode", "auto"], USAGE, "mode is given twice"),
    "prefix": (["rule", "add", "local", "10.0.0.1/8", "mode", "auto"], USAGE, "first 8 bits"),
    "length": (["rule", "add", "local", "10.0.0.0/33", "mode", "auto"], USAGE, "0 to 32"),
    "address": (["rule", "add", "remote", "fd00::x", "mode", "auto"], USAGE, "not an address"),
    "ports": (["rule", "add", "local-port", "9-1", "mode", "auto"], USAGE, "greater"),
    "port": (["rule", "add", "local-port", "65536", "mode", "auto"], USAGE, "not a port"),
    "dscp": (["rule", "add", "dscp", "64", "mode", "auto"], USAGE, "neither a name"),
    "mark": (["rule", "add", "mark", "3/1", "mode", "auto"], USAGE, "under that mask"),
    "user": (["rule", "add", "uid", "nobody-at-all", "mode", "auto"], FAILED, "no such user"),
    "cgroup": (["rule", "add", "cgroup", "/none", "mode", "auto"], FAILED, "there is no cgroup"),
    "netns": (["rule", "add", "netns", "none", "mode", "auto"], FAILED, "no network namespace"),
    "deadline": (["rule", "add", "mode", "auto", "deadline", "1s"], USAGE, "mode auto has none"),
    "time": (["rule", "add", "mode", "priority", "deadline", "1"], USAGE, "not a time"),
    "at": (["rule", "add", "at", "7", "mode", "auto"], FAILED, "the last rule is 0"),
    "rule gone": (["rule", "delete", "1"], FAILED, "there is no rule 1"),
    "path gone": (["path", "delete", "x"], FAILED, "there is no path x"),
    "rule no number": (["rule", "delete", "x"], USAGE, "not the number of a rule: x"),
    "rule 0": (["rule", "delete", "0"], USAGE, "not the number of a rule: 0"),
    "rule missing": (["rule", "delete"], USAGE, "it takes NUMBER"),
    "at no number": (["rule", "add", "at", "x", "mode", "auto"], USAGE, "not the number of a rule"),
    "at alone": (["rule", "add", "at"], USAGE, "at is to have a value"),
    "path no name": (["path", "delete", "a/b"], USAGE, "no blanks"),
    "nothing to add": (["rule", "add"], USAGE, "it takes [at NUMBER] FIELD VALUE"),
    "nothing to test": (["test"], USAGE, "it takes FIELD VALUE"),
    "test prefix": (["test", "local", "10.0.0.0/8"], USAGE, "one address"),
    "test ports": (["test", "local-port", "1-2"], USAGE, "one port"),
    "test mask": (["test", "mark", "1/1"], USAGE, "one mark"),
    "test mode": (["test", "mode", "auto"], USAGE, "a connection has no field mode"),
    "too much": (["list", "x"], USAGE, "it takes nothing more: x"),
    "two files": (["replace", "a", "b"], USAGE, "it takes FILE"),
    "netns file": (
        ["rule", "add", "netns", "/etc/passwd", "mode", "auto"],
        FAILED,
        "not a network",
    ),
    "netns empty": (["rule", "add", "netns", "", "mode", "auto"], USAGE, "not a network namespace"),
    "netns dots": (["rule", "add", "netns", "..", "mode", "auto"], FAILED, "network namespace"),
    "value as mode": (["rule", "add", "device", "mode"], USAGE, "has no field device"),
    "no name": (["path", "add", "rank", "1"], USAGE, "the path has no name"),
    "name": (["path", "add", "name", "a/b"], USAGE, "no blanks"),
    "long name": (["path", "add", "name", "n" * 16], USAGE, "1 to 15 characters"),
    "device": (["path", "add", "name", "a", "device", "d" * 16], USAGE, "name of a device"),
    "weight": (["path", "add", "name", "a", "weight", "0"], USAGE, "1 to 100"),
    "rank": (["path", "add", "name", "a", "rank", "100"], USAGE, "0 to 99"),
    "rtt": (["path", "add", "name", "a", "rtt", "0ms"], USAGE, "more than 0"),
    "cap": (["path", "add", "name", "a", "cap", "0", "period", "day"], USAGE, "cap: not an amount"),
    "cap unit": (["path", "add", "name", "a", "cap", "1X", "period", "day"], USAGE, "500M or 10G"),
    "no period": (["path", "add", "name", "a", "cap", "1G"], USAGE, "cap: path a has no period"),
    "no cap": (["path", "add", "name", "a", "period", "day"], USAGE, "period: path a has no cap"),
    "period": (
        ["path", "add", "name", "a", "cap", "1", "period", "year"],
        USAGE,
        "day, week, month",
    ),
    "day": (
        ["path", "add", "name", "a", "cap", "1", "period", "month", "day", "32"],
        USAGE,
        "day: not a number from 1 to 31",
    ),
    "day of a week": (
        ["path", "add", "name", "a", "cap", "1", "period", "week", "day", "3"],
        USAGE,
        "no period of a month",
    ),
    "only": (
        ["path", "add", "name", "a", "cap", "1", "period", "day", "only", "ask"],
        USAGE,
        "neither allow nor block",
    ),
    "only no cap": (
        ["path", "add", "name", "a", "only", "block"],
        USAGE,
        "only: path a has no cap",
    ),
    "account": (["account", "drop"], USAGE, "no such thing to do: drop"),
    "account gone": (["account", "reset", "x"], FAILED, "there is no path x"),
    "accounts": (["account", "save", "x"], USAGE, "it takes nothing more"),
    "two accounts": (["account", "reset", "x", "y"], USAGE, "it takes [NAME]"),
    "file": (["replace", "/none"], FAILED, "No such file"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(loaded, name):
    """Each says what is wrong, and changes nothing."""
    words, code, text = WRONG[name]
    result = sched("--json", "steer", *words)
    assert result.code == code, result
    assert text in result.error["reason"], result.error
    assert result.error["hint"]
    assert result.out == ""
    assert lines() == ""


def test_words_are_looked_at_first(none_loaded):
    """Without a scheduler, and while another command holds the lock."""
    wrong = [words for words, code, _ in WRONG.values() if code == USAGE]
    assert len(wrong) > 30
    for words in wrong:
        assert sched("steer", *words).code == USAGE, words


def test_a_value_is_no_field(loaded):
    """A namespace that is called mode gives a rule none."""
    run("ip", "netns", "attach", "mode", str(os.getpid()))
    try:
        result = sched("--json", "steer", "rule", "add", "netns", "mode")
        assert result.code == USAGE and "has no mode" in result.error["reason"]
    finally:
        run("ip", "netns", "delete", "mode")


def test_nothing_is_told_that_was_not_done(loaded):
    """The kernel refuses all behind the calls that read the tables, a new map for one."""
    listed = run(*STRACE, "-e", "trace=bpf", PROGRAM, "steer", "list")
    calls = listed.stderr.count("bpf(")
    inject = f"inject=bpf:error=ENOMEM:when={calls + 1}+"
    for how in ([], ["--json"]):
        words = [PROGRAM, *how, "steer", "rule", "add", "mode", "auto"]
        done = subprocess.run(
            [*STRACE, "-o", "/dev/null", "-e", "trace=bpf", "-e", inject, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == FAILED and "no map for the tables" in done.stderr
        assert done.stdout == ""
    assert lines() == ""


def test_stats_reads_no_tables_in_vain(none_loaded):
    """Where no connection is steered it makes no difference that there are some."""

    def look_ups():
        return run(*STRACE, "-e", "trace=bpf", PROGRAM, "stats").stderr.count("MAP_LOOKUP_ELEM")

    ok("load", NAME)
    before = look_ups()
    steer("rule add mode auto")
    assert look_ups() == before
    ok("unload", NAME)


def test_a_wrong_line_leaves_all_as_it_was(loaded, file):
    steer(f"replace {file(WHOLE)}")
    for bad, place in (("rule mode auto\nrule mode no\n", ":2"), ("\n# x\ntable\n", ":3")):
        path = file(bad)
        result = sched("--json", "steer", "replace", path)
        assert result.code == FAILED
        assert result.error["object"] == f"{path}{place}"
        assert lines() == WHOLE


def test_a_long_path_keeps_the_line(loaded, tmp_path):
    deep = tmp_path / ("d" * 200) / ("e" * 200)
    deep.mkdir(parents=True)
    (deep / "tables").write_text("rule mode auto\nrule mode no\n")
    result = sched("--json", "steer", "replace", deep / "tables")
    assert result.error["object"] == f"{deep}/tables:2"


def test_too_many(loaded, file):
    rules = "".join(f"rule local-port {i} mode auto\n" for i in range(1024))
    steer(f"replace {file(rules)}")
    assert steer("test local-port 1023")["rule"] == 1024
    assert "1024 rules already" in sched("--json", "steer", "rule", "add", "mode", "auto").err
    paths = "".join(f"path name p{i} id {i}\n" for i in range(65))
    assert "64 paths already" in sched("--json", "steer", "replace", file(paths)).err
    assert len(steer("list")["rules"]) == 1024


NOTES = {
    "covered": ("rule mode auto\nrule dscp ef mode redundant", "rule 2 never matches: rule 1"),
    "covered prefix": (
        "rule remote 10.0.0.0/8 mode auto\nrule remote 10.1.0.0/16 local-port 4 mode auto",
        "rule 2 never matches",
    ),
    "path covered": ("path name a\npath name b device lo", "path b never matches: path a"),
    "weights": ("path name a id 1 weight 60\npath name b id 2 weight 60", "make 120 in all"),
    "device": ("path name a device gone0", "there is no device gone0"),
    "ranks": ("rule mode priority", "no path has one but 0"),
    "rank alone": ("path name a id 1 rank 1", "path a does not stand back yet"),
    "families": (
        "rule local 192.0.2.1 remote fd00::/8 mode auto",
        "rule 1 never matches: local and remote are of IPv4 and IPv6",
    ),
    "path families": ("path name a local fd00::1 remote 10.0.0.0/8", "path a never matches: local"),
    "weights alone": ("path name a weight 100\nrule mode priority", "weights do nothing yet"),
    "metered alone": ("path name a id 1\npath name b id 2 metered", "path b does not stand back"),
}


@pytest.mark.parametrize("name", NOTES)
def test_notes_say_what_will_happen(loaded, file, name):
    text, note = NOTES[name]
    assert any(note in n for n in steer(f"replace {file(text)}")["notes"])


def test_a_device_has_one_name(loaded):
    run("ip", "link", "property", "add", "dev", "lo", "altname", "t-other")
    try:
        notes = steer("path add name a device t-other")["notes"]
        assert any("another name of device lo" in n for n in notes), notes
    finally:
        run("ip", "link", "property", "del", "dev", "lo", "altname", "t-other")


def test_no_notes_without_reason(loaded, file):
    text = "path name a device lo weight 50\npath name b id 2 rank 1 weight 50\nrule mode priority"
    balances = "rule dscp ef mode load-balancing"
    notes = steer(f"replace {file(text)}")["notes"]
    assert len(notes) == 1 and "load-balancing" in notes[0]
    text = text.replace("rule", f"{balances}\nrule")
    assert "notes" not in steer(f"replace {file(text)}")
    text = "rule remote 10.1.0.0/16 mode auto\nrule remote 10.0.0.0/8 mode auto"
    assert "notes" not in steer(f"replace {file(text)}")


@pytest.fixture
def saved():
    """Where `account save` says that it was here; of another clock in some test."""
    made = Path("/run/mptcp-sched/saved")
    made.unlink(missing_ok=True)
    yield made
    made.unlink(missing_ok=True)


def test_a_cap_whose_period_nobody_ends(loaded, file, saved):
    """As a machine sees it that has been up for a day."""
    day = ("unshare", "--time", "--fork", "--monotonic", "86400", "--boottime", "86400")
    rows = file("path name lte cap 1G period month")

    def notes():
        found = steer(f"replace {rows}", prefix=day).get("notes", [])
        checks = {c["check"]: c for c in ok("doctor", prefix=day)["checks"]}
        return found, checks.get("accounts of paths")

    (note,), check = notes()
    assert "period of path lte does not end" in note and "cron" in note
    assert check["result"] == "warn" and "path lte" in check["found"]
    assert "systemctl enable --now mptcp-sched-account.timer" in check["todo"]
    steer("account save", prefix=day)
    found, check = notes()
    assert found == [] and check["result"] == "ok"
    saved.unlink()
    rows.write_text("path name lte\n")
    assert notes() == ([], None)


def test_who_saves_before_it_is_loaded_is_known(none_loaded, saved):
    assert sched("steer", "account", "save").code == FAILED
    assert saved.exists()


def test_not_loaded(none_loaded):
    result = sched("--json", "steer", "list")
    assert result.code == FAILED
    assert "is not loaded" in result.error["reason"] and "load" in result.error["hint"]


def test_the_tables_go_with_the_scheduler(none_loaded):
    ok("load", NAME)
    steer("rule add mode auto")
    ok("unload", NAME)
    ok("load", NAME)
    assert steer("list")["rules"] == []
    ok("unload", NAME)


def test_the_rights_of_the_timer_s_unit(loaded):
    """Enough to save accounts, and none too many."""
    unit = Path("/usr/lib/systemd/system/mptcp-sched-account.service").read_text()
    (line,) = re.findall(r"^CapabilityBoundingSet=(.*)$", unit, re.MULTILINE)
    names = [name.removeprefix("CAP_").lower() for name in line.split()]

    def with_only(some):
        few = ",".join(["-all", *(f"+{name}" for name in some)])
        prefix = ("setpriv", "--bounding-set", few, "--inh-caps=-all", "--no-new-privs")
        return sched("--json", "steer", "account", "save", prefix=prefix).code

    steer("path add name a cap 1G period day")
    assert with_only(names) == 0
    for missing in names:
        assert with_only(n for n in names if n != missing) != 0, f"{missing} is not needed"
