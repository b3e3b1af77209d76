# SPDX-License-Identifier: GPL-2.0
"""Container runtimes by what their commands print: those that are not here, and those that fail."""

import os
import re

import pytest
from command import ok, sched
from containers import SYSCTL, Crun, stand_in
from lab import run

pytestmark = pytest.mark.usefixtures("podmans_storage")

INSPECTED = '[{"Id": "4711", "State": {"Status": "%s", "Pid": %d}}]'
CRI = '{"status": {"id": "4711", "state": "%s"}, "info": {"pid": %d}}'
LISTED = (
    '{"containers": [{"id": "4711", "metadata": {"name": "web"}},'
    ' {"id": "4712", "metadata": {"name": "web-of"}}]}'
)


@pytest.mark.parametrize("name", ["docker", "nerdctl", "crictl"])
def test_runtimes_that_are_not_here(name, runtimes, both_loaded, tmp_path):
    """By what their commands print, in the form that they document."""
    made = runtimes(Crun("real", ("sleep", "600")))
    pid = made.state["pid"]
    if name == "crictl":
        answers = f"""case "$*" in
            "inspect -o json 4711") echo '{CRI % ("CONTAINER_RUNNING", pid)}' ;;
            "ps -o json --name web") echo '{LISTED}' ;;
            *) echo "could not find container" >&2; exit 1 ;;
            esac"""
    else:
        answers = f"""[ "$*" = "container inspect web" ] || exit 9
            echo '{INSPECTED % ("running", pid)}'"""
    stand_in(tmp_path, name, answers)
    prefix = ("env", f"PATH={tmp_path}:{os.environ['PATH']}")
    done = ok("use", "bpf_ecf", "--container", f"{name}:web", prefix=prefix)
    assert done["netns_inode"] == os.stat(f"/proc/{pid}/ns/net").st_ino
    assert run("nsenter", "--target", str(pid), "--net", "cat", SYSCTL).stdout == "bpf_ecf\n"


@pytest.mark.parametrize("listed", ['{"a": 1}', "7", '"web"', "null", "true"])
def test_a_list_that_is_none(listed, both_loaded, tmp_path):
    """Of crictl, which might print anything: an error, and not the end of the process."""
    stand_in(
        tmp_path,
        "crictl",
        f"""case "$*" in
        ps*) echo '{{"containers": {listed}}}' ;;
        *) echo "could not find container" >&2; exit 1 ;;
        esac""",
    )
    prefix = ("env", f"PATH={tmp_path}:{os.environ['PATH']}")
    result = sched("--json", "use", "bpf_ecf", "--container", "crictl:web", prefix=prefix)
    assert result.code == 1, result
    assert "no running container of this name" in result.error["reason"]


@pytest.mark.parametrize(
    "script, reason",
    [
        ("echo 'Cannot connect to the daemon' >&2; exit 1", "docker: Cannot connect"),
        ("echo nonsense", "its answer is no JSON"),
        (f"echo '{INSPECTED % ('exited', 0)}'", "not running .docker says: exited"),
        ("sleep 60", "no answer within 10 s"),
        ("exit 1", "docker: no such container"),
    ],
)
def test_a_runtime_that_fails(script, reason, both_loaded, tmp_path):
    stand_in(tmp_path, "docker", script)
    prefix = ("env", f"PATH={tmp_path}:{os.environ['PATH']}")
    result = sched("--json", "use", "bpf_ecf", "--container", "docker:web", prefix=prefix)
    assert result.code == 1
    assert re.search(reason, result.error["reason"]), result.error


def test_the_same_name_of_two_runtimes(runtimes, both_loaded, tmp_path):
    runtimes(Crun("web", ("sleep", "600")))
    other = runtimes(Crun("another", ("sleep", "600")))
    stand_in(tmp_path, "docker", f"echo '{INSPECTED % ('running', other.state['pid'])}'")
    prefix = ("env", f"PATH={tmp_path}:{os.environ['PATH']}")
    result = sched("--json", "use", "bpf_ecf", "--container", "web", prefix=prefix)
    assert result.code == 1
    assert "both docker and crun" in result.error["reason"]
    ok("use", "bpf_ecf", "--container", "crun:web", prefix=prefix)
