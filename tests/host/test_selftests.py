# SPDX-License-Identifier: GPL-2.0
"""The kernel's own selftests: what their output is taken for, and the table in the documentation."""

import json
import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SELFTESTS = TOP / "tests/selftests"

import compare
import ktap
import run

KTAP = """\
01 a line for people                     [ OK ]
ok 9 - mptcp_x: printed before the plan

TAP version 13
1..6
ok 1 - mptcp_x: with a time # time=12ms
not ok 2 - mptcp_x: it failed # time=3ms
ok 3 - mptcp_x: absent # SKIP time=0ms
ok 4 - mptcp_x: same # time=1ms
not ok 5 - mptcp_x: same # time=1ms
ok 6 - mptcp_x: without a time
"""


# As bash says it: the script goes on without.
LACKING = "./mptcp_lib.sh: line 5: ./../net_helper.sh"


def test_subtests_are_those_of_the_plan():
    found, planned = ktap.subtests(KTAP)
    assert planned == 6
    assert found == {
        "with a time": "pass",
        "it failed": "fail",
        "absent": "skip",
        "same": "pass",
        "same (2)": "fail",
        "without a time": "pass",
    }


def test_output_without_ktap_has_no_subtests():
    assert ktap.subtests("01 it works [ OK ]\nok 1 - mptcp_x: it works\n") == ({}, None)


def output(text=KTAP, asked=7, status=0):
    told = {"status": status, "seconds": 1.5, "asked": {"get_send": asked}}
    return f"{text}{run.in_guest.MARK}{json.dumps(told)}\n"


def problem(text, status=0, scheduler="bpf_ecf", script="diag"):
    return run.verdict(text, status, scheduler, script)["problem"]


def test_a_run_that_says_something():
    told = run.verdict(output(), 0, "bpf_ecf", "diag")
    assert told["problem"] == "" and told["asked"] == 7 and len(told["subtests"]) == 6


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (output(), 124, "exit status was 124"),
        (KTAP, 0, "did not say how it ended"),
        (output("no KTAP\n", status=4), 0, "0 of None subtests told, exit status 4"),
        (output(KTAP.replace("1..6", "1..7")), 0, "6 of 7 subtests"),
        (output(asked=0), 0, "never asked"),
        (output(f"{LACKING}: No such file or directory\n{KTAP}"), 0, f"lacks something: {LACKING}"),
        (output(f"{LACKING}: command not found\n{KTAP}"), 0, f"lacks something: {LACKING}"),
    ],
)
def test_a_run_that_says_nothing(text, status, words):
    assert words in problem(text, status)


def test_where_nothing_asks_a_scheduler():
    assert problem(output(asked=0), scheduler="default") == ""
    assert problem(output(asked=0), script="pm_netlink") == ""


def unit(script="diag", group="", trouble="", **subtests):
    return {
        "script": script,
        "group": group,
        "problem": trouble,
        "subtests": subtests,
        "source": "7.3",
        "date": "2026-11-25",
        "commit": "c",
    }


@pytest.mark.parametrize(
    ("found", "source", "commit", "words"),
    [
        (unit(), "7.3", "c", True),
        (unit(), "7.3", None, True),
        (unit(), "7.4", None, False),
        (unit(), "7.3", "d", False),
        (unit(trouble="124"), "7.3", "c", False),
        (unit() | {"commit": "c-dirty"}, "7.3", "c-dirty", False),
    ],
)
def test_what_need_not_run_again(found, source, commit, words):
    assert run.valid(found, source, commit) == words


def digest(ours, base, scripts=None):
    found = {"default": base, "bpf_x": ours}
    return compare.digest(found, "7.3.4", scripts or {"diag": ["diag"]})


def cells(told, name="bpf_x"):
    return [compare.told(c) for c in told["cells"][name].values()]


def status_of(told):
    return bool(compare.bad(told, ["default", "bpf_x"], {"diag"}))


def test_a_subtest_that_only_the_default_passes_is_an_error():
    base = unit(one="pass", two="pass", three="skip", four="fail")
    told = digest(
        {"diag": unit(one="pass", two="fail", three="pass", four="pass")},
        {"diag": base},
    )
    assert cells(told) == ["1/2"] and status_of(told)
    assert [(d["subtest"], d["result"]) for d in told["differences"]] == [("two", "fail")]


@pytest.mark.parametrize("ours", [unit(one="pass"), unit(one="pass", two="skip")])
def test_so_is_one_that_is_skipped_or_missing(ours):
    told = digest({"diag": ours}, {"diag": unit(one="pass", two="pass")})
    assert cells(told) == ["1/2"] and status_of(told)


def test_what_the_default_does_not_pass_is_none():
    told = digest({"diag": unit(one="pass", two="fail")}, {"diag": unit(one="pass", two="fail")})
    assert cells(told) == ["1"] and not status_of(told)
    assert told["default"] == [{"unit": "diag", "subtest": "two", "result": "fail"}]


def test_a_unit_without_a_result_is_an_error():
    told = digest({"diag": unit(trouble="124")}, {"diag": unit(one="pass")})
    assert cells(told) == ["not run"] and status_of(told)


def test_what_was_not_run_says_so():
    scripts = {"diag": ["diag"], "mptcp_join": ["mptcp_join-f", "mptcp_join-s"]}
    join = {"mptcp_join-f": unit("mptcp_join", "f", one="pass")}
    told = digest(join, join | {"diag": unit(one="pass")}, scripts)
    assert cells(told) == ["not run", "1 (1 of 2 groups)"]
    assert cells(told, "default") == ["1", "1 (1 of 2 groups)"]
    assert not status_of(told)


def test_a_known_failure_is_said_and_no_error(monkeypatch, tmp_path):
    known = tmp_path / "known.toml"
    known.write_text(
        '[[known]]\nscript="diag"\nsubtest="t?o"\nschedulers=["bpf_*"]\nmeaning="why"\n'
    )
    monkeypatch.setattr(compare, "KNOWN", known)
    told = digest({"diag": unit(two="fail")}, {"diag": unit(two="pass")})
    assert cells(told) == ["0/1"] and not status_of(told)
    assert told["differences"][0]["meaning"] == "why"
    assert not compare.meaning("diag", "three", "bpf_x")
    assert not compare.meaning("pm_netlink", "two", "bpf_x")


def test_groups_are_those_of_the_script(tmp_path):
    (tmp_path / "mptcp").mkdir()
    for name in ("diag", "mptcp_join"):
        (tmp_path / f"mptcp/{name}.sh").write_text(
            "all=(\n\tf@one_tests\n\te@two_tests\n\t6@three\n)\n"
        )
    assert [str(u) for u in run.units(tmp_path, ["mptcp_join:6f", "diag"])] == [
        "mptcp_join-f",
        "mptcp_join-6",
        "diag",
    ]
    assert [u.arguments for u in run.units(tmp_path, ["mptcp_join:e", "diag"])] == [
        ["-e"],
        [],
    ]
    with pytest.raises(SystemExit, match="no groups {'x'}"):
        list(run.units(tmp_path, ["mptcp_join:x"]))
    with pytest.raises(SystemExit, match="no script 'dig'; there are: diag mptcp_join"):
        list(run.units(tmp_path, ["dig"]))


def wrapped(tmp_path, *words, status=0):
    """What the wrapper makes of a call of ip; (exit status, the calls of the real one)."""
    real, calls = tmp_path / "ip", tmp_path / "calls"
    real.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>{calls}\nexit {status}\n')
    real.chmod(0o755)
    text = (SELFTESTS / "bin/ip").read_text()
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(text.replace("/usr/sbin/ip", str(real)))
    done = subprocess.run(
        ["sh", wrapper, *words], env={**os.environ, "SELFTESTS_SCHEDULER": "bpf_x"}, check=False
    )
    return done.returncode, calls.read_text().splitlines()


def test_each_new_namespace_selects_the_scheduler(tmp_path):
    assert wrapped(tmp_path, "netns", "add", "ns1") == (
        0,
        ["netns add ns1", "netns exec ns1 sysctl -qw net.mptcp.scheduler=bpf_x"],
    )


def test_other_calls_are_ips_own(tmp_path):
    assert wrapped(tmp_path, "-n", "a b", "link", status=3) == (3, ["-n a b link"])


def test_a_namespace_that_cannot_be_made_selects_nothing(tmp_path):
    assert wrapped(tmp_path, "netns", "add", "ns1", status=1) == (1, ["netns add ns1"])
