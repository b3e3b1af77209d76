# SPDX-License-Identifier: GPL-2.0
"""Schedulers whose objects have programs besides the hooks, as an ACK clock is.

They are attached with the scheduler, pinned beside it, and go with it. The hooks of
this one send nothing again, so what is received may stay unacknowledged at data level:
the last data-level acknowledgement can be overtaken, which the timer's pass repairs.
"""

import json
import os
import time

import pytest
from command import HIDE_KFUNC, PIN_DIR, available, ok, sched
from hygiene import pins
from lab import run, until
from libbpf import links
from traffic import connection, upload

BRIDGE = "mptcp_sched_bpf"
NAME = "t_copies"
PROGRAMS = {"t_copies_ticks", "t_copies_entry", "t_copies_raw"}
PINS = {f"{NAME}@{program}" for program in PROGRAMS} | {NAME}
TICKS, ENTRIES, RAW, STEP = range(4)
MISSING = ("unshare", "-m", "sh", "-c", HIDE_KFUNC, "sh")

pytestmark = pytest.mark.usefixtures("none_loaded")


def counts():
    """How often each of the programs ran."""
    text = run("bpftool", "-j", "map", "dump", "name", "t_counts").stdout
    return [entry["formatted"]["value"] for entry in json.loads(text)]


def settled():
    """The counts, when no segment arrives any more."""
    last, now = None, counts()
    while last is None or now[TICKS] != last[TICKS]:
        last, now = now, counts()
    return now


def shown(name=NAME):
    (found,) = (s for s in ok("show")["schedulers"] if s["name"] == name)
    return found


def test_attached_and_pinned_and_gone(labs, compiled):
    said = ok("load", compiled("copies"))
    assert said["loaded"] == NAME and said["copies"] == "on"
    assert "notes" not in said
    assert set(os.listdir(PIN_DIR)) == PINS
    assert links() == len(PINS)
    assert available() == {"default", NAME}
    found = shown()
    assert (found["copies"], found["copies_off_because"]) == ("on", None)
    assert shown("default")["copies"] == "none"
    assert "on" in sched("show").out

    lab = labs().endpoints()
    ok("use", NAME, "--netns", lab.client.name)
    with connection(lab) as conn:
        upload(conn, 1 << 18).finish()
    count = settled()
    assert min(count[: RAW + 1]) > 0, count
    # every one of the tunables reached the tracing program
    assert count[STEP] == sum(range(1, 21)) * count[TICKS]

    lab.client.scheduler = "default"
    ok("unload", NAME)
    assert (pins(), links(), available()) == ([], 0, {"default"})
    assert not os.path.exists(PIN_DIR)


def test_rmmod_works_right_behind(compiled):
    ok("load", compiled("copies"))
    ok("unload", NAME)
    try:
        assert run("rmmod", BRIDGE, check=False).stderr == ""
    finally:
        run("modprobe", BRIDGE)


def test_unload_all_knows_whose_pins_they_are(compiled):
    ok("load", compiled("copies"))
    ok("load", "bpf_minrtt")
    said = ok("unload", "--all")["unloaded"]
    assert sorted(u["name"] for u in said) == ["bpf_minrtt", NAME]
    assert (pins(), links(), available()) == ([], 0, {"default"})


def test_a_live_connection_keeps_the_hooks_only(labs, compiled):
    """What asks for copies is gone at once; the connection goes on."""
    lab = labs().endpoints()
    ok("load", compiled("copies"))
    ok("use", NAME, "--netns", lab.client.name)
    with connection(lab) as conn:
        lab.client.scheduler = "default"
        said = ok("unload", NAME)
        assert said["unloaded"][0]["connections"] == 1
        assert (pins(), links()) == ([], 0)
        found = shown()
        assert found["state"] == "unregistered, in use"
        assert found["copies"] == "off"
        upload(conn, 1 << 18).finish()


def test_tunables_of_a_tracing_program(labs, compiled):
    """Set like any other, and more than sixteen of them."""
    settings = [f"step_{i}=0" for i in range(1, 20)] + ["step_20=77"]
    ok("load", compiled("copies"), *(f"--set={s}" for s in settings))
    lab = labs()
    with connection(lab, subflows=1) as conn:
        upload(conn, 10_000).finish()
    count = settled()
    assert count[TICKS] > 0 and count[STEP] == 77 * count[TICKS]
    ok("unload", NAME)
    unknown = sched("--json", "load", compiled("copies"), "--set", "step_21=1")
    assert unknown.code == 1 and "no tunable step_21" in unknown.error["reason"]


def test_a_scheduler_that_does_not_ask():
    """Its object has no such program: nothing to attach, nothing missing."""
    from test_registration import NAMES

    for name in NAMES:
        said = ok("load", name)
        assert said["copies"] == shown(name)["copies"]
        assert ("notes" in said) is (said["copies"] == "off")
        ok("unload", name)


def besides():
    """Names of the programs in the kernel that trace, or are a clock."""
    found = json.loads(run("bpftool", "-j", "prog", "show").stdout)
    return {
        prog["name"]
        for prog in found
        if prog["type"] == "tracing" or prog["name"].endswith("_segment")
    }


# Of an idle path that measures its delay: by copies, whether data is copied or not.
PROBES = ("bpf_auto", "bpf_steer", "bpf_thin")


def test_no_clock_where_nobody_copies():
    """Each segment of the machine would pay for it. What measures is attached all the same."""
    from test_registration import NAMES

    measures = {
        "bpf_auto": {"bpf_auto_segment"},
        "bpf_thin": {"bpf_thin_segment"},
        "bpf_queueaware": {"bpf_queueaware_segment", "bpf_queueaware_leaves"},
        "bpf_steer": {"bpf_steer_segment", "bpf_steer_ends"},
    }
    before = besides()
    for name in NAMES:
        said = ok("load", name, "--set", "copy=0")
        assert besides() - before == measures.get(name, set()), name
        found = shown(name)
        copies = "on" if name in PROBES else "off"
        assert (said["copies"], found["copies"]) == (copies, copies), name
        assert "notes" not in said
        why = "it was loaded with copy=0" if copies == "off" else None
        assert found["copies_off_because"] == why
        ok("unload", name)
        assert (pins(), links()) == ([], 0)
    ok("load", "bpf_ecf")
    assert besides() - before == {"bpf_ecf_segment"}
    ok("unload", "bpf_ecf")


def test_without_the_kfunc(labs, compiled):
    """It loads and carries data; what would only cost time is not there."""
    result = sched("--json", "load", compiled("copies"), prefix=MISSING)
    assert result.code == 0, result
    said = result.data
    assert said["copies"] == "off"
    (note,) = said["notes"]
    assert "no copies" in note and "DKMS" in note
    assert os.listdir(PIN_DIR) == [NAME]
    assert links() == 1
    lab = labs().endpoints()
    ok("use", NAME, "--netns", lab.client.name)
    with connection(lab) as conn:
        upload(conn, 1 << 18).finish()
    found = sched("--json", "show", prefix=MISSING).data["schedulers"]
    (mine,) = (s for s in found if s["name"] == NAME)
    assert mine["copies"] == "off"
    assert "no bpf_mptcp_request_retrans" in mine["copies_off_because"]
    # the bridge has come: it takes another load
    assert "not attached" in shown()["copies_off_because"]
    lab.client.scheduler = "default"
    ok("unload", NAME)


def test_registered_by_bpftool_alone(compiled, tmp_path):
    """bpftool loads the program that asks, but attaches nothing."""
    directory = f"/sys/fs/bpf/{tmp_path.name}"
    os.mkdir(directory)
    try:
        run(
            "bpftool",
            "struct_ops",
            "register",
            compiled("copies"),
            directory,
            check=False,
        )
        assert available() == {"default", NAME}
        found = shown()
        assert found["copies"] == "off" and "not attached" in found["copies_off_because"]
        text = sched("show").out
        assert f"{NAME} makes no copies: its program for that is not attached" in text
    finally:
        for pin in os.listdir(directory):
            os.unlink(f"{directory}/{pin}")
        os.rmdir(directory)
    until(lambda: available() == {"default"}, 10, "unregistered with its pin")


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_a_pin_in_the_way(program, compiled):
    """Left by a scheduler whose own pin somebody removed: the next load or unload clears it."""
    for clear in (["load", compiled("copies")], ["unload", NAME]):
        ok("load", compiled("copies"))
        for pin in PINS - {f"{NAME}@{program}"}:
            os.unlink(f"{PIN_DIR}/{pin}")
        until(lambda: available() == {"default"}, 10, "unregistered with its pin")
        until(lambda: links() == 1, 10, "one link left")
        ok(*clear)
        if clear[0] == "load":
            assert {os.path.basename(p) for p in pins()} == PINS
            ok("unload", NAME)
        until(lambda: (pins(), links()) == ([], 0), 10, "nothing left")


def test_what_is_no_program_is_not_removed(compiled):
    """Somebody's map where a program's pin would go: an error, and the map stays."""
    program = min(PROGRAMS)
    path = f"{PIN_DIR}/{NAME}@{program}"
    os.mkdir(PIN_DIR, 0o700)
    run(
        "bpftool",
        "map",
        "create",
        path,
        "type",
        "array",
        "key",
        "4",
        "value",
        "4",
        "entries",
        "1",
        "name",
        "theirs",
    )
    try:
        result = sched("--json", "load", compiled("copies"))
        assert result.code == 1
        assert f"{NAME}@{program} exists already" in result.error["reason"]
        assert os.path.exists(path) and available() == {"default"}
    finally:
        os.unlink(path)
        os.rmdir(PIN_DIR)


def test_another_holder_is_told(compiled):
    """Somebody's second pin keeps a program attached: not silently."""
    ok("load", compiled("copies"))
    other = "/sys/fs/bpf/t_other"
    run("bpftool", "link", "pin", "pinned", f"{PIN_DIR}/{NAME}@t_copies_entry", other)
    try:
        begun = time.monotonic()
        said = ok("unload", NAME)
        assert time.monotonic() - begun < 60
        assert any("still attached" in note for note in said["notes"])
    finally:
        os.unlink(other)
    until(lambda: links() == 0, 10, "the last link gone")
