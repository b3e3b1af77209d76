# SPDX-License-Identifier: GPL-2.0
"""vmtest.sh asks for what it needs: root, by sudo where there is one, and says it where there is none."""

import contextlib
import fcntl
import os
import subprocess
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
NOBODY = 65534


def vmtest(*words, path=None, user=NOBODY, cwd=None):
    """Runs it as somebody who has not made build/ and cannot write there."""
    env = {
        **os.environ,
        "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"],
    }
    env.pop("VMTEST_IN_USERNS", None)
    command = [
        "setpriv",
        f"--reuid={user}",
        "--clear-groups",
        TOP / "vmtest.sh",
        *words,
    ]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=cwd)


@pytest.fixture
def sudo(tmp_path):
    """Prints what it is given, as nothing here may become root."""
    tmp_path.chmod(0o755)
    for parent in (tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o755)
    program = tmp_path / "sudo"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    return tmp_path


def test_it_goes_on_with_sudo(sudo):
    done = vmtest("run", "--kernel", "lts", "--", "echo", "a b", path=sudo)
    words = done.stdout.splitlines()
    assert words[-7:] == [
        str(TOP / "vmtest.sh"),
        "run",
        "--kernel",
        "lts",
        "--",
        "echo",
        "a b",
    ]
    assert "this needs root: going on with sudo" in done.stderr
    # a mirror that the user named is still named
    assert any("MIRROR" in word and "preserve-env" in word for word in words)


def test_it_formats(sudo):
    done = vmtest("format", path=sudo)
    assert done.stdout.splitlines()[-2:] == [str(TOP / "vmtest.sh"), "format"]


def test_without_sudo_it_says_what_to_do():
    done = vmtest("demo")
    assert done.returncode == 1 and done.stdout == ""
    assert "this needs root, and there is no sudo" in done.stderr
    assert "become root and run" in done.stderr and "uidmap" in done.stderr


@pytest.mark.parametrize("word", ["every", "ci"])
def test_many_kernels_are_for_smoke(word):
    done = vmtest("test", "--kernel", word)
    assert done.returncode == 2
    assert f"--kernel {word} is for smoke" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bench", "--kernel", "arm64-latest"], "bench is not for arm64"),
        (["test", "--kernel", "arm64-lts"], "on arm64 name the tests"),
        (["demo", "--kernel", "arm64-9.9"], "no kernel 'arm64-9.9'"),
    ],
)
def test_what_another_architecture_has_not(words, told):
    done = vmtest(*words)
    assert done.returncode == 2
    assert told in done.stderr


def test_brief_is_for_all_tests():
    for words in (["demo", "--brief"], ["test", "rr", "--brief"]):
        done = vmtest(*words)
        assert done.returncode == 2
        assert "--brief is for all tests" in done.stderr


@pytest.mark.parametrize("turn", ["0", "5", "", "two"])
def test_brief_has_a_turn(turn):
    done = vmtest("test", f"--brief={turn}")
    assert done.returncode == 2
    assert "--brief= takes a turn, 1 to 4" in done.stderr


@pytest.mark.parametrize("words", [["demo", "--patches"], ["native", "--patches", "--debug"]])
def test_patches_are_for_native_alone(words):
    done = vmtest(*words)
    assert done.returncode == 2
    assert "--patches is for native, alone" in done.stderr


@pytest.mark.parametrize("words", [[], ["amd64"], ["arm64", "arm64"]])
def test_packages_are_of_one_other_architecture(words):
    done = vmtest("packages", *words)
    assert done.returncode == 2
    assert "packages is for one of: arm64 (build makes" in done.stderr


def test_a_test_that_is_not_there():
    """Told before anything is built."""
    done = vmtest("test", "vmtest", "nobody.py::test_x")
    assert done.returncode == 2 and done.stdout == ""
    said = "no test 'nobody.py::test_x': neither tests/host nor tests/guest has test_nobody.py"
    assert said in done.stderr and "`ls tests/host tests/guest`" in done.stderr


# names, and what of test_steer.py and test_blest.py of host and guest they mean
NAMED = {
    "steer": ("tests/host/test_steer.py", "tests/guest/test_steer.py"),
    "steer::test_lowest_rank_alive": ("tests/host/test_steer.py::test_lowest_rank_alive",),
    "steer::test_what_is_printed_is_read": (
        "tests/guest/test_steer.py::test_what_is_printed_is_read",
    ),
    "trace::test_a_download[bpf_ecf]": ("tests/guest/test_trace.py::test_a_download[bpf_ecf]",),
    "tests/guest/test_blest.py::TestWaits": ("tests/guest/test_blest.py::TestWaits",),
}


@pytest.mark.parametrize("name", NAMED)
def test_where_a_named_test_is(name):
    """Host and guest have files of one name, and not the same tests in them."""
    words = (
        f'. tests/vm/named.sh; names=({name!r}); find_tests; echo "${{host[@]}}" "${{guests[@]}}"'
    )
    done = subprocess.run(
        ["bash", "-c", words], cwd=TOP, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == list(NAMED[name]), done.stderr


def test_a_test_that_no_file_of_its_name_has():
    done = vmtest("test", "steer::test_nosuch")
    assert done.returncode == 2 and done.stdout == ""
    assert "has test_steer.py with test_nosuch" in done.stderr


def in_part(part, build, words):
    """With the functions of tests/vm/PART.sh."""
    given = f'build=$0; say() {{ echo "$*" >&2; }}; . tests/vm/{part}.sh; {words}'
    return ["bash", "-euc", given, build]


def with_part(part, build, words, check=True):
    return subprocess.run(
        in_part(part, build, words),
        cwd=TOP,
        capture_output=True,
        text=True,
        check=check,
        timeout=60,
    )


def of_guests(build, words, check=True):
    return with_part("guests", build, words, check)


def test_a_queue_is_emptied_line_by_line(tmp_path):
    (tmp_path / "queue").write_text("one\ntwo\n")
    words = 'guest_tests() { echo "$1" >>"$build/done"; }; log=$build; lane'
    of_guests(tmp_path, words)
    assert (tmp_path / "done").read_text() == "one\ntwo\n"


def test_a_line_that_cannot_be_taken_out_is_not_done(tmp_path):
    """It would be done again and again, until the disk has room."""
    (tmp_path / "queue").write_text("one\n")
    words = 'sed() { [ "$1" != -i ] && command sed "$@"; }; guest_tests() { exit 3; }; lane'
    done = of_guests(tmp_path, words, check=False)
    assert done.returncode == 1
    assert "nothing can be taken out" in done.stderr


def test_a_second_run_of_all_tests_waits(tmp_path):
    """Else it takes what the first has in its queue."""
    with open(tmp_path / ".testing", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        # whose wait for it fails here, as the test would wait for ever
        words = 'flock() { command flock --nonblock "$@"; }; alone; echo begun'
        done = of_guests(tmp_path, words, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert "waiting for another test run" in done.stderr
    assert of_guests(tmp_path, words).stdout == "begun\n"


def gets_lock(file, seconds=20):
    for _ in range(seconds * 10):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return True
        time.sleep(0.1)
    return False


def test_a_new_root_waits_for_guests_that_have_yet_to_read_the_old_one(tmp_path):
    """They wait until nobody builds."""
    words = 'exec 9>"$build/.lock"; flock 9; wait_for_guests; echo alone'
    with open(tmp_path / ".in-use", "w") as used, open(tmp_path / ".lock", "w") as building:
        fcntl.flock(used, fcntl.LOCK_SH)
        waits = subprocess.Popen(
            in_part("root-and-build", tmp_path, words),
            cwd=TOP,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert "waiting for guests" in waits.stderr.readline()
            assert gets_lock(building)
            fcntl.flock(used, fcntl.LOCK_UN)
            fcntl.flock(building, fcntl.LOCK_UN)
            assert waits.communicate(timeout=30)[0] == "alone\n"
        finally:
            waits.kill()


def test_all_tests_begin_with_that():
    script = (TOP / "tests/vm/guests.sh").read_text()
    assert "do_test() {\n\tlocal k status=0 beside=()\n\talone\n" in script


def test_the_hosts_own_root_is_of_its_own_architecture(tmp_path):
    """It has what emulates the other one."""
    words = (
        'make_root() { echo "<$architecture>"; }; in_root() { :; }; '
        "log=$build/log top=$build want_build=0 architecture=arm64; build_native"
    )
    assert with_part("foreign", tmp_path, words).stdout == "<>\n"


def boot_image(release):
    """As much of one as is read."""
    data = bytearray(0x400)
    data[0x202:0x206] = b"HdrS"
    data[0x20E:0x210] = (0x100).to_bytes(2, "little")
    text = f"{release} (somebody)".encode()
    data[0x300 : 0x300 + len(text)] = text
    return bytes(data)


def own_kernel(tmp_path, where):
    words = (
        f"root=$build/root from=$build; kernel={where}; in_root() {{ "
        '"$@"; }; own_kernel; echo "$image" "${kernels[@]}"'
    )
    return with_part("which-kernel", tmp_path, words).stdout.split()


def test_each_kernel_image_has_a_copy_of_its_own(tmp_path):
    """Two runs have two kernels; a path begins where the user is."""
    seen = {}
    for release in ("6.1-one", "6.1-two"):
        (tmp_path / "root/lib/modules" / release).mkdir(parents=True)
        (tmp_path / "bzImage").write_bytes(boot_image(release))
        image, found = own_kernel(tmp_path, "./bzImage")
        assert found == release
        assert own_kernel(tmp_path, tmp_path / "bzImage") == [image, found]
        copy = tmp_path / image.removeprefix("/src/build/")
        seen[copy] = boot_image(release)
    assert len(seen) == 2
    assert all(copy.read_bytes() == data for copy, data in seen.items())


def test_sudo_begins_where_the_user_is(sudo):
    (sudo / "sudo").write_text("#!/bin/sh\npwd\n")
    done = vmtest("run", "--kernel", "./bzImage", "--", "true", path=sudo, cwd=sudo)
    assert done.stdout == f"{sudo}\n"
