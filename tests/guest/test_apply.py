# SPDX-License-Identifier: GPL-2.0
"""apply: the system as the file says, once and again; what the file may not say."""

import os
import re
from pathlib import Path

import pytest
from command import STRACE, available, ok, sched
from lab import run
from test_errors import modules, state

UNIT = Path("/usr/lib/systemd/system/mptcp-sched.service")
ACCOUNT = Path("/usr/lib/systemd/system/mptcp-sched-account.service")
CGROUP_DIR = Path("/sys/fs/cgroup/t-apply")
SCORE = 2.6  # of systemd-analyze security: 10 is all rights, 0 none
EXAMPLE = Path("/usr/share/doc/mptcp-sched/examples/mptcp-sched.conf")


@pytest.fixture
def conf(tmp_path, none_loaded):
    """conf(text): a file with that text; the guest's own namespace is as it was afterwards."""
    path = tmp_path / "a.conf"

    def write(text):
        path.write_text(text)
        return path

    yield write
    run("sysctl", "-q", "net.mptcp.scheduler=default")


def apply(path, *words, prefix=()):
    return ok("apply", "--config", path, *words, prefix=prefix)


def told(done):
    return [(c["change"], c["object"]) for c in done["changes"]]


def values(name):
    return {t["name"]: t["value"] for t in ok("get", name)["tunables"]}


def own():
    return Path("/proc/sys/net/mptcp/scheduler").read_text().strip()


def test_the_system_becomes_what_the_file_says(conf, net):
    path = conf(f"""# what a comment says does not count
[netns]
{net.name} = bpf_minrtt   ; nor does this
[load]
    bpf_ecf = beta=0.5 copy=0
bpf_minrtt =
[root]
scheduler = bpf_ecf
""")
    wanted = [
        ("load", "bpf_ecf"),
        ("load", "bpf_minrtt"),
        ("use in", "the root namespace"),
        ("use in", f"namespace {net.name}"),
    ]
    before = state(net)
    dry = apply(path, "--dry-run")
    assert told(dry) == wanted
    assert dry["done"] == 0 and not any(c["done"] for c in dry["changes"])
    assert state(net) == before, "a dry run changes nothing"
    done = apply(path)
    assert told(done) == wanted
    assert done["done"] == len(wanted) and all(c["done"] for c in done["changes"])
    assert (own(), net.scheduler) == ("bpf_ecf", "bpf_minrtt")
    assert values("bpf_ecf")["beta"] == 0.5 and values("bpf_ecf")["copy"] == 0
    after = state(net)
    for words in ((), ("--dry-run",)):
        assert told(apply(path, *words)) == [], "the second time there is nothing to do"
    assert state(net) == after
    assert "nothing to do" in sched("apply", "--config", path).out
    net.scheduler = "default"


def test_what_has_drifted_is_put_right_and_nothing_else(conf, net):
    path = conf(f"[load]\nbpf_ecf = beta=0.5\n[netns]\n{net.name} = bpf_ecf\n")
    apply(path)
    ok("set", "bpf_ecf", "beta=1", "slow_start=0")
    ok("load", "bpf_minrtt")
    assert told(apply(path)) == [("set", "bpf_ecf")] * 2
    assert values("bpf_ecf")["beta"] == 0.5 and values("bpf_ecf")["slow_start"] == 1
    assert "bpf_minrtt" in available(), "the file does not mention it"
    net.scheduler = "bpf_minrtt"
    assert told(apply(path)) == [("use in", f"namespace {net.name}")]
    assert (own(), net.scheduler) == ("default", "bpf_ecf")
    net.scheduler = "default"


def test_what_is_fixed_at_load_is_loaded_anew(conf, net):
    text = f"[load]\nbpf_ecf = %s\n[netns]\n{net.name} = bpf_ecf\n"
    apply(conf(text % ""))
    done = apply(conf(text % "copy=0"))
    assert told(done) == [("unload and load", "bpf_ecf")]
    assert "copy=0, now 1, is fixed at load" in done["changes"][0]["detail"]
    assert values("bpf_ecf")["copy"] == 0
    assert net.scheduler == "bpf_ecf", "selected by its name, before and after"
    net.scheduler = "default"


def test_what_comes_with_the_command_need_not_be_listed(conf, net):
    """It is loaded as `use` does it, with its defaults; what is loaded stays as it is."""
    path = conf(f"[netns]\n{net.name} = bpf_ecf\n")
    wanted = [("load", "bpf_ecf"), ("use in", f"namespace {net.name}")]
    assert told(apply(path, "--dry-run")) == wanted
    assert available() == {"default"}
    assert told(apply(path)) == wanted
    assert net.scheduler == "bpf_ecf"
    ok("set", "bpf_ecf", "beta=1")
    assert told(apply(path)) == []
    assert values("bpf_ecf")["beta"] == 1
    net.scheduler = "default"


@pytest.mark.usefixtures("by_the_bridge")
def test_early_copies(conf, net):
    text = f"[netns]\n{net.name} = default"
    assert told(apply(conf(text + " --reinject\n"))) == [("use in", f"namespace {net.name}")]
    assert told(apply(conf(text + " --reinject\n"))) == []
    (row,) = (n for n in ok("show")["namespaces"] if n["inode"] == net.inode)
    assert row["reinject"]
    assert told(apply(conf(text + "\n"))) == [("use in", f"namespace {net.name}")]
    (row,) = (n for n in ok("show")["namespaces"] if n["inode"] == net.inode)
    assert not row["reinject"]


def test_a_file_of_a_users_own(conf, compiled, net):
    path = conf(f"[load]\n{compiled('asking')} = unused=2\n[netns]\n{net.name} = t_asking\n")
    assert told(apply(path)) == [
        ("load", str(compiled("asking"))),
        ("use in", f"namespace {net.name}"),
    ]
    assert values("t_asking")["unused"] == 2
    assert told(apply(path)) == []
    net.scheduler = "default"


def test_a_failure_in_the_middle(conf, net):
    """What was done is told, what was not, and why; the rest is done."""
    path = conf(f"[load]\nbpf_ecf =\n[netns]\nnosuch = bpf_ecf\n{net.name} = bpf_ecf\n")
    result = sched("--json", "apply", "--config", path)
    assert result.code == 1
    assert result.error["operation"] == f"apply {path}:4,"
    assert result.error["object"] == "nosuch"
    assert "no such network namespace" in result.error["reason"]
    assert told(result.data) == [
        ("load", "bpf_ecf"),
        ("use in", f"namespace {net.name}"),
    ]
    assert all(c["done"] for c in result.data["changes"])
    assert net.scheduler == "bpf_ecf"
    net.scheduler = "default"


def test_a_scheduler_that_cannot_be_loaded(conf, compiled, net):
    path = conf(
        f"[load]\n{compiled('copies', '-DNO_SEND')} =\nbpf_ecf =\n"
        f"[root]\nscheduler = bpf_ecf\n[netns]\n{net.name} = t_copies\n"
    )
    result = sched("--json", "apply", "--config", path)
    assert result.code == 1
    done = {c["object"]: c["done"] for c in result.data["changes"]}
    assert done == {
        str(compiled("copies", "-DNO_SEND")): False,
        "bpf_ecf": True,
        "the root namespace": True,
        f"namespace {net.name}": False,
    }
    assert own() == "bpf_ecf" and net.scheduler == "default"
    text = sched("apply", "--config", path)
    assert re.search(r"^FAILED: use in", text.out, re.MULTILINE)
    assert f"{path}:2," in text.err


def test_somebody_elses_scheduler_is_left_alone(conf, suffix):
    ok("load", "bpf_ecf")
    os.rename("/sys/fs/bpf/mptcp-sched/bpf_ecf", "/sys/fs/bpf/theirs")
    try:
        result = sched("--json", "apply", "--config", conf("[load]\nbpf_ecf =\n"))
        assert result.code == 1
        assert "registered by somebody else" in result.error["reason"]
    finally:
        os.rename("/sys/fs/bpf/theirs", "/sys/fs/bpf/mptcp-sched/bpf_ecf")


# text, line, what the reason says, what the remedy says
WRONG = {
    "unknown key": ("[load]\nbpf_ecf =\n[root]\nsched = bpf_ecf\n", 4, "no such key is known: sched", "scheduler"),
    "unknown section": ("[load]\nbpf_ecf =\n\n[nets]\n", 4, r"no such section is known: \[nets\]", "netns"),
    "section without end": ("[load\n", 1, "a section without its ]", "netns"),
    "more behind a section": ("[load] bpf_ecf =\n", 1, "more behind", "netns"),
    "unknown key for containers": ("[containers]\nbpf_ecf =\n", 2, "no such key is known: bpf_ecf", "load"),
    "a file for containers": ("[containers]\nload = bpf_ecf /x.o\n", 2, "no such scheduler comes", "list"),
    "no such scheduler for containers": (
        "[containers]\nallow = default --reinject bpf_nosuch\n", 2, "no such scheduler is in .load.", "add it"),
    "no section": ("bpf_ecf =\n", 1, "in no section: bpf_ecf", "load"),
    "no statement": ("[load]\n\nbpf_ecf\n", 3, "neither .SECTION. nor KEY = VALUE", "KEY"),
    "no name": ("[load]\n= beta=1\n", 2, "no name", "KEY"),
    "given twice": ("[load]\nbpf_ecf =\nbpf_ecf = beta=1\n", 3, "given twice: bpf_ecf", "line 2"),
    "root twice": ("[root]\nscheduler = default\nscheduler = default\n", 3, "given twice", "line 2"),
    "namespace twice": ("[netns]\na = default\na = default\n", 3, "given twice: a", "line 2"),
    "no such scheduler": ("[load]\nbpf_nosuch =\n", 2, "no such scheduler or file", "list"),
    "not in load": ("[root]\nscheduler = bpf_nosuch\n", 2, "is in .load., .* or is part", "add it"),
    "no scheduler": ("[root]\nscheduler =\n", 2, "one scheduler .* none", "SCHEDULER"),
    "a comment alone": ("[root]\nscheduler =; bpf_ecf\n", 2, "one scheduler .* none", "SCHEDULER"),
    "two schedulers": ("[netns]\na = default bpf_ecf\n", 2, "one scheduler .* bpf_ecf", "SCHEDULER"),
    "copies of another": ("[netns]\na = bpf_ecf --reinject\n", 2, "not for bpf_ecf", "themselves"),
    "unknown tunable": ("[load]\nbpf_ecf = gamma=1\n", 2, "no tunable gamma", "beta"),
    "tunable out of range": ("[load]\nbpf_minrtt =\nbpf_ecf = beta=99\n", 3, "beta=99: out of range", "beta"),
    "tunable malformed": ("[load]\nbpf_ecf = beta\n", 2, "beta is not NAME=VALUE", "list --verbose"),
    "tunable twice": ("[load]\nbpf_ecf = beta=1 beta=2\n", 2, "beta is given twice: beta=1 and beta=2", "leave one"),
    "a comment that is none": ("[load]\nbpf_ecf = beta=1 # one\n", 2, "# is not NAME=VALUE", "list --verbose"),
    "a line too long": (f"[load]\nbpf_ecf = {'beta=1 ' * 60}\n", 2, "too long", ""),
    "a NUL": ("[load]\nbpf\0ecf =\n", 2, "NUL", ""),
    "not a BPF object": ("[load]\n/etc/passwd =\n", 2, "not a BPF object", "clang"),
    "no field of a path": ("[load]\nbpf_ecf =\n[paths]\ndsl = devise eth0\n", 4, "no field devise", "device"),
    "a path of no name": ("[paths]\na#b = device eth0\n", 2, "name: ", "name"),
    "a path twice": ("[paths]\na = device b\na = device c\n", 3, "given twice: a", "line 2"),
    "a path of two names": ("[paths]\na = name b\n", 2, "name is given twice", "leave one"),
    "a rule with a name": ("[rules]\nfirst = mode auto\n", 2, "no such key is known: first", "rule"),
    "a rule without a mode": ("[rules]\nrule = mode auto\nrule = dscp ef\n", 3, "mode", ""),
    "no such mode": ("[rules]\nrule = mode fast\n", 2, "mode: ", "mode"),
    "a deadline of no rank": ("[rules]\nrule = mode auto deadline 1s\n", 2, "deadline", ""),
    "two of one name": ("[load]\nbpf_ecf =\nCOPY =\n", 3, "second scheduler that registers as bpf_ecf", "line 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_is_wrong_changes_nothing(case, conf, net, suffix):
    text, line, reason, remedy = WRONG[case]
    path = conf(text.replace("COPY", f"/usr/lib/mptcp-sched/bpf_ecf{suffix}"))
    for words in (["--dry-run"], []):
        before = state(net)
        result = sched("--json", "apply", "--config", path, *words)
        assert result.code == 1, result
        assert state(net) == before
        error = result.error
        assert f"{path}:{line}" in error["operation"] + error["object"], error
        assert re.search(reason, error["reason"]), error
        assert remedy in error.get("hint", ""), error
        assert result.out == ""


def test_what_containers_may_have_is_not_applied(conf, net):
    before = state(net)
    assert (
        told(apply(conf("[containers]\nload = bpf_ecf --reinject\nallow = bpf_ecf default\n")))
        == []
    )
    assert state(net) == before


def test_a_file_that_is_not_there():
    for path, reason in (
        ("/nowhere/x", "No such file"),
        ("/etc", "it is a directory, not a regular file"),
    ):
        result = sched("--json", "apply", "--config", path)
        assert result.code == 1
        assert (result.error["operation"], result.error["object"]) == ("read", path)
        assert reason in result.error["reason"]
    assert sched("--json", "apply").error["object"] == "/etc/mptcp-sched.conf"


def test_the_example_is_valid(none_loaded):
    assert told(ok("apply", "--dry-run", "--config", EXAMPLE)) == [
        ("load", "bpf_auto"),
        ("use in", "the root namespace"),
    ]


def test_systemd_accepts_the_units():
    for unit in (UNIT, ACCOUNT, ACCOUNT.with_suffix(".timer")):
        done = run("systemd-analyze", "verify", "--man=no", unit)
        assert done.stdout + done.stderr == ""
    security = run("systemd-analyze", "security", "--offline=yes", UNIT, check=False).stdout
    (score,) = re.findall(r"exposure level for mptcp-sched.service: ([0-9.]+)", security)
    assert float(score) <= SCORE, security


def test_the_units_capabilities_are_enough(conf, net):
    """As the unit runs it: root, with its bounding set, and the bridge there already."""
    (line,) = re.findall(r"^CapabilityBoundingSet=(.*)$", UNIT.read_text(), re.MULTILINE)
    names = [name.removeprefix("CAP_").lower() for name in line.split()]
    few = ",".join(f"+{name}" for name in names)
    prefix = (
        "setpriv",
        "--bounding-set",
        f"-all,{few}",
        "--inh-caps=-all",
        "--no-new-privs",
    )
    text = f"[load]\nbpf_ecf =\n[root]\nscheduler = bpf_ecf\n[netns]\n{net.name} = bpf_ecf\n"
    assert apply(conf(text), prefix=prefix)["done"] == 3
    assert told(apply(conf("[load]\nbpf_ecf = beta=1 copy=0\n"), prefix=prefix)) == [
        ("unload and load", "bpf_ecf")
    ]
    assert "mptcp_sched_bpf" in modules()
    for missing in names:
        rest = ",".join(f"+{name}" for name in names if name != missing)
        less = ("setpriv", "--bounding-set", f"-all,{rest}", "--inh-caps=-all")
        ok("unload", "--all", "--force")
        result = sched("--json", "apply", "--config", conf(text), prefix=less)
        assert result.code != 0, f"{missing} is not needed"
    net.scheduler = "default"


def allowed_calls():
    """The names that the unit's SystemCallFilter lets through, its sets spelled out."""
    (line,) = re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text(), re.MULTILINE)
    todo, names, own = line.split(), set(), set()
    own |= {word for word in todo if not word.startswith("@")}
    while todo:
        word = todo.pop()
        if not word.startswith("@"):
            names.add(word)
            continue
        listed = run("systemd-analyze", "syscall-filter", word).stdout.splitlines()[1:]
        todo += [text.strip() for text in listed if not text.strip().startswith("#")]
    return names, own


@pytest.fixture
def cgroup():
    CGROUP_DIR.mkdir()
    yield f"/{CGROUP_DIR.name}"
    CGROUP_DIR.rmdir()


def test_the_units_system_calls_are_enough(conf, net, tmp_path, cgroup):
    """What apply calls: to load, to load anew, to set, to steer."""
    text = f"[load]\nbpf_minrtt = %s\n[netns]\n{net.name} = bpf_minrtt\n"
    steering = (
        f"[rules]\nrule = cgroup {cgroup} mode auto\nrule = netns {net.name} uid root mode auto\n"
        "[paths]\nlte = device wwan0 cap 1G period day\n"
    )
    names, own = allowed_calls()
    called = set()
    for tunables, rest, what in (
        ("", "", "load"),
        ("copy=0 penalise=0", "", "unload and load"),
        ("copy=0", "", "set"),
        ("copy=0", steering, "load"),
        ("copy=0", steering.replace("lte", "dsl"), "delete"),
    ):
        counts = tmp_path / "counts"
        path = conf(text % tunables + rest)
        done = apply(path, prefix=(*STRACE, "-c", "-f", "-o", counts))
        assert done["changes"][0]["change"] == what
        rows = [line.split() for line in counts.read_text().splitlines()]
        called |= {row[-1] for row in rows if row and row[0][0].isdigit()} - {"total"}
    assert "bpf" in called
    assert called - names == set()
    assert own <= called, "named in the filter, but not called"
    net.scheduler = "default"
