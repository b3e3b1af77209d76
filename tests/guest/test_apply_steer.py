# SPDX-License-Identifier: GPL-2.0
"""apply: steering's tables as [paths] and [rules] of the file say."""

import re

import pytest
from command import ok, sched
from conftest import TOP
from tables import ACCOUNTS, NAME, lines, steer
from test_apply import apply, conf, own, told, values
from test_registration import INSTALLED
from test_steer_option import Cgroup

__all__ = ["conf"]

TEXT = """[rules]
rule = dscp ef mode redundant
rule = mark 0x7 mode bpf_rr   ; all others
[paths]
dsl = device eth0
lte = device wwan0 rank 1 metered cap 10G period month
[root]
scheduler = bpf_steer
"""
LINES = """path name dsl device eth0 rank 0
path name lte device wwan0 rank 1 metered cap 10G period month
rule dscp ef mode redundant
rule mark 0x7 mode bpf_rr
"""


def rows():
    """Without comments."""
    return "".join(line.split("  #")[0].rstrip() + "\n" for line in lines().splitlines())


def test_the_tables_become_what_the_file_says(conf):
    path = conf(TEXT)
    wanted = [
        ("load", NAME),
        ("add", "path dsl"),
        ("add", "path lte"),
        ("add", "rule 1"),
        ("add", "rule 2"),
        ("use in", "the root namespace"),
    ]
    dry = apply(path, "--dry-run")
    assert told(dry) == wanted and dry["done"] == 0
    assert own() == "default"
    done = apply(path)
    assert told(done) == wanted and done["done"] == len(wanted)
    assert [c["line"] for c in done["changes"]] == [5, 5, 6, 2, 3, 8]
    assert done["changes"][2]["detail"] == "device wwan0 rank 1 metered cap 10G period month"
    assert rows() == LINES
    assert own() == NAME
    before = steer("list")["generation"]
    assert told(apply(path)) == []
    assert steer("list")["generation"] == before, "and nothing was written"


def test_only_the_difference_is_told(conf):
    apply(conf(TEXT))
    steer("rule add at 1 remote-port 873 mode active-standby")
    steer("path delete lte")
    steer("path add name lte device wwan1")
    done = apply(conf(TEXT))
    assert [(c["change"], c["object"], c["detail"]) for c in done["changes"]] == [
        ("delete", "path lte", "device wwan1 rank 0"),
        ("add", "path lte", "device wwan0 rank 1 metered cap 10G period month"),
        ("delete", "rule 1", "remote-port 873 mode active-standby"),
    ]
    assert all(c["done"] for c in done["changes"])
    assert rows() == LINES


def test_what_the_file_does_not_mention_stays(conf):
    apply(conf(TEXT))
    assert told(apply(conf("[root]\nscheduler = bpf_steer\n"))) == []
    assert rows() == LINES
    # one line of either speaks of both
    assert told(apply(conf("[rules]\nrule = dscp ef mode redundant\n"))) == [
        ("delete", "path dsl"),
        ("delete", "path lte"),
        ("delete", "rule 2"),
    ]
    assert rows() == "rule dscp ef mode redundant\n"


@pytest.mark.parametrize(
    "rule, why",
    [
        ("cgroup /nowhere mode bpf_rr", "there is no cgroup"),
        ("netns nowhere mode bpf_rr", "nowhere"),
        ("uid nobody-of-that-name mode bpf_rr", "no such user"),
    ],
)
def test_what_is_not_there_yet_matches_nothing(conf, rule, why):
    """The rule is left out, and all else is done; each line is still told by its own number."""
    apply(conf(TEXT))
    path = conf(
        f"[rules]\nrule = mode auto\nrule = {rule}\nrule = mark 0x7 mode bpf_rr\n"
        "[root]\nscheduler = bpf_minrtt\n"
    )
    done = apply(path)
    (note,) = [n for n in done["notes"] if "matches nothing yet" in n]
    assert note.startswith(f"{path}:3: ") and why in note
    assert rows() == "rule mode auto\nrule mark 0x7 mode bpf_rr\n"
    assert own() == "bpf_minrtt"
    assert all(c["done"] for c in done["changes"])
    assert ("add", "rule 1", 2) in [(c["change"], c["object"], c["line"]) for c in done["changes"]]
    again = apply(path)
    assert told(again) == [] and note in again["notes"]


def test_a_first_apply_where_one_is_not_there(conf):
    """What it is to match comes with the next one."""
    path = conf("[rules]\nrule = cgroup /nowhere mode bpf_rr\n[root]\nscheduler = bpf_minrtt\n")
    done = apply(path)
    assert told(done) == [
        ("load", NAME),
        ("load", "bpf_minrtt"),
        ("use in", "the root namespace"),
    ]
    assert rows() == ""


def test_a_rule_comes_with_its_cgroup(conf):
    """Whenever that is made, and made anew."""
    made = Cgroup()
    path = conf(f"[rules]\nrule = cgroup {made.name} mode bpf_rr\nrule = mode auto\n")
    whole = f"rule cgroup {made.name} mode bpf_rr\nrule mode auto\n"
    made.close()
    apply(path)
    assert rows() == "rule mode auto\n"
    for _ in range(2):
        made.path.mkdir()
        try:
            done = apply(path)
            assert ("add", "rule 1") in told(done) and "notes" not in done
            assert rows() == whole
            assert steer(f"test cgroup {made.name}")["rule"] == 1
            assert told(apply(path)) == []
        finally:
            made.close()


def test_the_last_words_of_a_path_that_is_deleted(conf):
    """A row of a name alone has nothing more to say."""
    apply(conf("[paths]\nonly = id 1\n"))
    (change,) = apply(conf("[rules]\nrule = mode auto\n"))["changes"][:1]
    assert (change["change"], change["object"]) == ("delete", "path only")


def test_by_hand_it_is_the_same(conf):
    """What apply writes `steer` would have written."""
    apply(conf(TEXT))
    ok("steer", "flush")
    for line in LINES.splitlines():
        kind, rest = line.split(" ", 1)
        steer(f"{kind} add {rest}")
    assert told(apply(conf(TEXT))) == []


@pytest.fixture
def cgroup():
    made = Cgroup()
    yield made
    made.close()


def test_what_was_set_at_run_time_outlives_a_reload(conf, cgroup):
    """Tables and options that the file does not mention, and what the accounts have."""
    ok("load", NAME, "--set", "copy=0")
    for line in LINES.splitlines():
        kind, rest = line.split(" ", 1)
        steer(f"{kind} add {rest}")
    steer(f"option --cgroup {cgroup.name}")
    before = steer("path list")["paths"]
    done = apply(conf(f"[load]\n{NAME} =\n"))
    assert told(done) == [("unload and load", NAME)]
    assert values(NAME)["copy"] == 1
    assert rows() == LINES
    assert steer("path list")["paths"] == before
    assert steer("option")["cgroups"] == [cgroup.name]
    ACCOUNTS.unlink()


def test_the_old_one_goes_when_the_new_one_is_taken(conf, tmp_path, suffix):
    """An object that the kernel refuses costs nobody his scheduler."""
    other = tmp_path / "other.bpf.o"
    built = (INSTALLED / f"bpf_rr{suffix}").read_bytes()
    kfunc = b"mptcp_subflow_set_scheduled\0"
    assert kfunc in built
    other.write_bytes(built.replace(kfunc, b"mptcp_subflow_set_sometimes\0"))
    ok("load", "bpf_rr", "--set", "copy=0")
    path = conf(f"[load]\n{other} =\n[root]\nscheduler = bpf_rr\n")
    result = sched("--json", "apply", "--config", path)
    assert result.code == 1 and "mptcp_subflow_set_sometimes" in result.error["reason"]
    assert [(c["change"], c["done"]) for c in result.data["changes"]] == [
        ("unload and load", False),
        ("use in", True),
    ]
    assert values("bpf_rr")["copy"] == 0


def test_what_another_version_has_loaded_is_not_lost_in_silence(
    none_loaded, conf, tmp_path, suffix
):
    """Its tables cannot be read, which is not as if it were not loaded."""
    other = tmp_path / "other.bpf.o"
    built = (INSTALLED / f"{NAME}{suffix}").read_bytes()
    (name,) = re.findall(rb'MPS_STEER_MAP "(\w+)"', (TOP / "include/state/steer.h").read_bytes())
    assert name in built
    other.write_bytes(built.replace(name, name[:-1] + b"0"))
    ok("load", other, "--set", "copy=0")
    why = "what is loaded is of another version"
    result = sched("--json", "apply", "--config", conf(f"[load]\n{NAME} =\n"))
    assert result.code == 1 and f"would be lost: {why}" in result.error["reason"]
    assert values(NAME)["copy"] == 0, "it stays"
    (note,) = [n for n in ok("unload", NAME)["notes"] if "is lost" in n]
    assert why in note and "account save" in note
