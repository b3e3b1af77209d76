# SPDX-License-Identifier: GPL-2.0
"""`trace --record` and `replay`: what the kernel decided, decided again in user space."""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile

import pytest
from command import PROGRAM, ok, sched
from lab import Path, until
from terminal import terminal
from test_privilege import kept
from test_registration import NAMES
from tracer import FAR, trace
from traffic import connection, download

FAILED, USAGE = 1, 2
# With 64 KB at once, as a busy guest decides, enough for a dozen decisions.
SIZE = 1 << 20
# Of all one of each kind on every kernel: conftest.py
KINDS = ("bpf_ecf", "bpf_redundant", "bpf_cfs")
OTHERS = tuple(name for name in NAMES if name not in KINDS)


@pytest.fixture(scope="module")
def two_paths(shared_lab):
    return shared_lab(Path(20, 20), Path(10, 60))


def record(two_paths, file, name, *options, end=signal.SIGINT):
    """A download with that scheduler; what `trace` said in the end."""
    with (
        two_paths.lent(name) as lab,
        trace("--record", file, "--netns", lab.server.name, *options) as t,
        connection(lab.endpoints()) as conn,
    ):
        lab.server.scheduler = name
        download(conn, SIZE).finish().acknowledged()
        ended = t.end(end)
    assert not t.decisions()
    assert ended["recorded"] == ended["seen"] > 10
    assert ended["lost"] == 0
    return ended


def replayed(file, *options):
    told = ok("replay", file, *options)
    recorded, *others = told["schedulers"]
    assert recorded["as_recorded"] and not any(o["as_recorded"] for o in others)
    assert told["complete"]
    return told, recorded, others


def exactly(two_paths, shared, tmp_path, name):
    shared.need(name)
    ended = record(two_paths, tmp_path / "one", name)
    told, recorded, _ = replayed(tmp_path / "one")
    assert told["decisions"] == ended["recorded"]
    assert recorded["scheduler"] == f"{name} (as recorded)"
    assert recorded["decisions"] == told["decisions"] - told["glances"] - told["without_state"]
    assert recorded["same"] == recorded["decisions"] > 5, told["instead"]
    assert told["without_state"] <= 2


@pytest.mark.each_kernel
@pytest.mark.parametrize("name", KINDS)
def test_every_decision_is_the_same(two_paths, _shared, tmp_path, name):
    exactly(two_paths, _shared, tmp_path, name)


@pytest.mark.parametrize("name", OTHERS)
def test_so_are_those_of_all_others(two_paths, _shared, tmp_path, name):
    exactly(two_paths, _shared, tmp_path, name)


@pytest.mark.usefixtures("none_loaded")
def test_two_of_one_name(two_paths, tmp_path):
    """Which connections keep, and which is new: each is recorded with its own tunables."""
    with two_paths.lent("default") as lab:
        ok("load", "bpf_ecf", "--set", "beta=10", "--set", "more_data=0")
        lab.server.scheduler = "bpf_ecf"
        with connection(lab.endpoints()) as kept:
            download(kept, SIZE).finish().acknowledged()
            lab.server.scheduler = "default"
            ok("unload", "bpf_ecf")
            ok("load", "bpf_ecf")
            lab.server.scheduler = "bpf_ecf"
            with (
                trace("--record", tmp_path / "two", "--netns", lab.server.name) as t,
                connection(lab) as new,
            ):
                download(kept, 2 * SIZE).finish().acknowledged()
                download(new, 2 * SIZE).finish().acknowledged()
                t.end()
        lab.server.scheduler = "default"
        ok("unload", "bpf_ecf")
    told = ok("replay", tmp_path / "two")["schedulers"]
    names = ["bpf_ecf (as recorded)", "bpf_ecf (as recorded, 2)"]
    assert sorted(s["scheduler"] for s in told) == names
    for one in told:
        assert one["as_recorded"] and one["same"] == one["decisions"] > 5, told


def counted(file):
    """What its end says: decisions seen, kept and lost."""
    return struct.unpack("<3Q", file.read_bytes()[-24:])


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT])
def test_other_signals_end_it_as_well(two_paths, _shared, tmp_path, number):
    _shared.need("bpf_ecf")
    ended = record(two_paths, tmp_path / "one", "bpf_ecf", end=number)
    assert counted(tmp_path / "one") == (ended["seen"], ended["recorded"], 0)
    assert replayed(tmp_path / "one")[0]["decisions"] == ended["recorded"]


def test_a_terminal_that_goes_takes_nothing_with_it(two_paths, _shared, tmp_path):
    """Not even what it had no time to read yet."""
    _shared.need("bpf_ecf")
    file = tmp_path / "one"
    words = ("trace", "--record", file)
    with two_paths.lent("bpf_ecf") as lab, terminal(*words, controlling=True) as t:
        until(file.exists, FAR, "it records")
        t.process.send_signal(signal.SIGSTOP)
        with connection(lab.endpoints()) as conn:
            lab.server.scheduler = "bpf_ecf"
            download(conn, 30 << 20).finish().acknowledged()
        t.hang_up()
        t.process.send_signal(signal.SIGCONT)
        assert t.process.wait(FAR) == 0
    seen, kept, lost = counted(file)
    assert seen == kept > 512 and not lost
    assert replayed(file)[0]["decisions"] == kept


def test_under_nohup_it_goes_on(two_paths, _shared, tmp_path):
    _shared.need("bpf_ecf")
    with (
        two_paths.lent("bpf_ecf") as lab,
        trace("--record", tmp_path / "one", prefix=("nohup",)) as t,
        connection(lab.endpoints()) as conn,
    ):
        lab.server.scheduler = "bpf_ecf"
        t.process.send_signal(signal.SIGHUP)
        download(conn, SIZE).finish().acknowledged()
        assert t.process.poll() is None
        ended = t.end()
    assert counted(tmp_path / "one") == (ended["seen"], ended["recorded"], 0)


@pytest.fixture(scope="module")
def recording(two_paths, _shared, tmp_path_factory):
    """Of bpf_ecf, with numbers for addresses."""
    _shared.need("bpf_ecf")
    file = tmp_path_factory.mktemp("replay") / "recording"
    record(two_paths, file, "bpf_ecf", "--anonymise")
    return file


@pytest.mark.virtual_time  # whether ECF waits at all depends on RTTs, which a busy host makes alike
def test_another_scheduler_and_other_tunables(recording):
    words = ("bpf_minrtt", "bpf_ecf", "bpf_ecf:beta=10:more_data=0")
    options = [w for word in words for w in ("--scheduler", word)]
    told, recorded, (minrtt, same, other) = replayed(recording, *options, "--differences", 3)
    assert [c["scheduler"] for c in (minrtt, same, other)] == list(words)
    assert same["same"] == same["decisions"] == minrtt["decisions"] == recorded["decisions"]
    # the first waits of ECF are what it is for
    assert minrtt["same"] < minrtt["decisions"]
    for candidate in (minrtt, other):
        instead = [i for i in told["instead"] if i["scheduler"] == candidate["scheduler"]]
        assert sum(i["count"] for i in instead) == candidate["decisions"] - candidate["same"]
    assert any(i["recorded"] == "wait faster" for i in told["instead"])
    assert len(told["differences"]) == min(3, sum(i["count"] for i in told["instead"]))
    assert all(d["recorded"] != d["instead"] for d in told["differences"])
    text = sched("replay", recording, *options).out
    assert "bpf_ecf (as recorded)" in text and "wait faster" in text


def test_it_takes_nothing_of_this_machine(recording):
    """No rights, and no kernel that has ever had a scheduler: nobody, without /sys and modules."""
    hide = 'mount -t tmpfs none /sys && exec setpriv --reuid 65534 --clear-groups "$@"'
    with tempfile.TemporaryDirectory() as folder:
        file = shutil.copy(recording, folder)
        os.chmod(folder, 0o755)
        os.chmod(file, 0o644)
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", hide, "sh", PROGRAM, "--json", "replay", file],
            capture_output=True,
            text=True,
            timeout=FAR,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    (recorded,) = json.loads(done.stdout)["schedulers"]
    assert recorded["same"] == recorded["decisions"] > 5


def test_root_reads_it_without_rights(recording):
    assert kept("replay", recording) == set()


def test_no_address_is_in_it(recording, two_paths):
    data = recording.read_bytes()
    for address in (b"\x0a\x63\x00\x01", b"\x0a\x00\x01\x01"):
        assert address not in data
    assert b"\xc6\x12\x00\x00" in data


def test_a_part_of_one_is_replayed(recording, tmp_path):
    """As where the recorder was killed; what is whole counts."""
    whole, *_ = replayed(recording)
    part = tmp_path / "part"
    part.write_bytes(recording.read_bytes()[:-1000])
    told = ok("replay", part)
    assert not told["complete"]
    assert 0 < told["decisions"] < whole["decisions"]


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda data: b"x" + data[1:], "not a recording"),
        (lambda data: data[:8] + b"\x63" + data[9:], "another layout"),
        (lambda data: data[:144] + b"\x09" + data[145:], "damaged"),
        (lambda data: b"", "not a recording"),
    ],
    ids=["magic", "version", "chunk", "empty"],
)
def test_a_file_that_is_none(recording, tmp_path, change, why):
    bad = tmp_path / "bad"
    bad.write_bytes(change(recording.read_bytes()))
    result = sched("replay", bad)
    assert result.code == FAILED and result.out == ""
    assert why in result.err and str(bad) in result.err


def test_what_is_there_is_not_written_over(two_paths, _shared, tmp_path):
    _shared.need("bpf_ecf")
    file = tmp_path / "mine"
    file.write_text("precious")
    result = sched("trace", "--record", file)
    assert result.code == FAILED and "remove it" in result.err
    assert file.read_text() == "precious"


def ended(t, conn):
    """After some more decisions."""
    download(conn, SIZE).finish().acknowledged()
    return t.process.poll() is not None


def test_a_full_device_is_told(two_paths, _shared, tmp_path):
    _shared.need("bpf_ecf")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", small], check=True)
    try:
        with two_paths.lent("bpf_ecf") as lab, contextlib.ExitStack() as stack:
            t = stack.enter_context(trace("--record", small / "file"))
            conn = stack.enter_context(connection(lab.endpoints()))
            lab.server.scheduler = "bpf_ecf"
            until(lambda: ended(t, conn), FAR, "there is more than it holds")
            assert t.process.returncode == FAILED
            assert "could be written" in t.process.stderr.read()
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize(
    "words",
    [
        ("trace", "--anonymise"),
        ("replay", "file", "--scheduler", "bpf_nobody"),
        ("replay", "file", "--scheduler", "bpf_ecf:beta"),
        ("replay", "file", "--scheduler", "bpf_ecf:beta=99"),
    ],
)
def test_words_that_are_wrong(words):
    result = sched(*words)
    assert result.code == USAGE and result.out == ""
