# SPDX-License-Identifier: GPL-2.0
"""Fixtures of the guest's tests; each test leaves the guest as it found it."""

import contextlib
import os
import platform
import time
from pathlib import Path

import hygiene
import pytest
from command import Shared, builtin, sched
from containers import storage
from lab import PATIENCE, SLOW, STANDS_STILL, Lab, Netns, run
from sets import SETS, TURNS, brief, part_of, set_of

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "virtual_time: runs only in a guest whose clock counts instructions"
    )
    config.addinivalue_line(
        "markers", "each_kernel: also where the newest kernel, or four schedulers, stand for all"
    )
    config.addinivalue_line(
        "markers", "last: switches on what cannot be switched off again in this guest"
    )


def pytest_runtest_setup(item):
    if item.get_closest_marker("virtual_time") and os.environ.get("VM_VIRTUAL_TIME") != "1":
        pytest.fail("this takes virtual time: ./vmtest.sh run --virtual-time -- ...", pytrace=False)


def pytest_addoption(parser):
    parser.addoption(
        "--share", default="1/1", metavar="I/N", help="the I-th of N parts of the tests"
    )
    parser.addoption("--random-seed", type=int, default=1, help="of what is random")
    parser.addoption("--random-steps", type=int, default=25, help="of each of its sequences")
    parser.addoption("--random-programs", type=int, default=2, help="of test_random_calls.py")
    parser.addoption(
        "--sets",
        default=",".join(SETS),
        metavar="SET,...",
        help="; ".join(f"{name}: {what}" for name, what in SETS.items()),
    )
    parser.addoption(
        "--brief",
        type=int,
        choices=range(1, TURNS + 1),
        metavar="TURN",
        help="what an hour has room for: one of the shares that all tests are in",
    )


def limit_of(item):
    """Seconds. Generous: a hang is meant, and the guest may share its CPUs. More where the test says so."""
    steps = item.config.getoption("random_steps") if item.path.name == "test_random.py" else 0
    own = item.get_closest_marker("timeout")
    return max(600, 20 * steps, own.args[0] if own else 0) * SLOW


@pytest.hookimpl(trylast=True)  # behind -m and -k
def pytest_collection_modifyitems(config, items):
    for item in items:
        # before the test's own, which has no factor
        item.add_marker(pytest.mark.timeout(limit_of(item)), append=False)
    mine, parts = map(int, config.getoption("share").split("/"))
    wanted = config.getoption("sets").split(",")
    assert set(wanted) <= set(SETS), wanted
    chosen = [i for i in items if set_of(i) in wanted]
    turn = config.getoption("brief")
    if turn:
        chosen = list(brief(chosen, turn))
    part = set(part_of(chosen, mine - 1, parts))
    config.hook.pytest_deselected(items=[i for i in items if i not in part])
    last = [i for i in items if i in part and i.get_closest_marker("last")]
    items[:] = [i for i in items if i in part and i not in last] + last


@pytest.fixture(scope="session")
def _shared():
    run("modprobe", "mptcp_sched_bpf")
    shared = Shared()
    yield shared
    shared.need()


@pytest.fixture(scope="session")
def kernel_btf():
    """What the kernel has, told without the program under test."""
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        return f.read()


@pytest.fixture(scope="session")
def has_get_send(kernel_btf):
    """The form of the kernel's hooks."""
    return b"\0get_send\0" in kernel_btf


@pytest.fixture(scope="session")
def native(kernel_btf):
    """The kernel has the scheduler API itself (tests/native/build.sh makes one)."""
    return b"\0bpf_struct_ops_mptcp_sched_ops\0" in kernel_btf


@pytest.fixture
def by_the_bridge(native):
    """For what the bridge does and a kernel with the API does in its own way.

    Not in words that .ci/run takes for a missing feature: its kernels all need the bridge.
    """
    if native:
        pytest.skip("not by the bridge: this kernel has the API itself")


@pytest.fixture
def net():
    """A network namespace of its own."""
    made = Netns()
    yield made
    made.close()


@pytest.fixture(scope="session")
def suffix(has_get_send):
    """Of the objects for this kernel."""
    return ".bpf.o" if has_get_send else ".pre615.bpf.o"


@pytest.fixture(scope="session")
def kernel_release():
    return platform.release()


@pytest.fixture(scope="session")
def passes_go_on(kernel_release):
    """Does a pass copy more than one fragment? bpf/kernel/compat.h"""
    return tuple(map(int, kernel_release.split(".")[:2])) >= (7, 3)


@pytest.fixture(scope="session")
def compiled(has_get_send, tmp_path_factory):
    """compiled(name, *options): a test object of tests/guest/bpf in this kernel's form."""
    made = {}
    form = () if has_get_send else ("-DMPS_PRE615",)
    headers = f"/usr/include/{platform.machine()}-linux-gnu"

    def compile_object(name, *options):
        if (name, *options) not in made:
            out = tmp_path_factory.mktemp("bpf") / f"{name}.bpf.o"
            run(
                "clang",
                "--target=bpf",
                "-mcpu=v3",
                "-O2",
                "-g",
                "-Wall",
                "-Werror",
                *form,
                *options,
                f"-I{TOP}/include",
                f"-I{TOP}/bpf",
                "-idirafter",
                headers,
                "-c",
                HERE / "bpf" / f"{name}.bpf.c",
                "-o",
                out,
                timeout=400,  # clang is slow where the CPU is emulated
            )
            made[name, *options] = out
        return made[name, *options]

    return compile_object


@pytest.fixture(autouse=True)
def leaves_nothing_behind(_shared):
    """Fails a test after which the kernel complained or something is left."""
    hygiene.warn_again()
    log = hygiene.KernelLog()
    yield
    # The kernel frees sockets, namespaces and links behind the caller's back.
    deadline = time.monotonic() + 10 * SLOW * PATIENCE
    while (left := hygiene.leftovers(_shared)) and time.monotonic() < deadline:
        time.sleep(0.1)
    bad = hygiene.complaints(log.lines())
    log.close()
    assert not bad, "the kernel complained: " + "\n".join(bad)
    assert not left, "left behind: " + "; ".join(left)


@pytest.fixture
def none_loaded(_shared):
    """No scheduler of ours; what the test loads it unloads itself, or this does."""
    _shared.need()
    yield
    sched("unload", "--all", "--force")


@pytest.fixture
def both_loaded(_shared):
    """Without copies, so that where bytes go is the policy's choice and nothing else."""
    values = ("copy=0", "penalise=0", STANDS_STILL)
    _shared.need("bpf_minrtt", "bpf_ecf", values=values)
    return ("bpf_minrtt", "bpf_ecf")


@pytest.fixture(scope="module", params=builtin())
def every(request, _shared):
    """Each scheduler in turn as a user has it: with its defaults, copies among them."""
    _shared.need(request.param)
    return request.param


@pytest.fixture(scope="module")
def shared_lab(_shared):
    """shared_lab(path, ...) makes a lab that goes with the module: making one takes a second."""
    with contextlib.ExitStack() as stack:

        def make(*paths, **options):
            lab = stack.enter_context(Lab(*paths, **options))
            names = {lab.client.name, lab.server.name}
            _shared.namespaces |= names
            stack.callback(_shared.namespaces.difference_update, names)
            return lab

        yield make


@pytest.fixture
def labs():
    """labs(path, ...) makes a lab that goes with the test."""
    made = []

    def make(*paths, **options):
        made.append(Lab(*paths, **options))
        return made[-1]

    make.forget = made.remove
    yield make
    for lab in made:
        lab.close()


@pytest.fixture
def runtimes():
    """start(Crun(...)): containers that go with the test."""
    with contextlib.ExitStack() as stack:

        def start(container, check=True):
            stack.callback(container.delete)
            container.started = container.start(check)
            return container

        yield start


@pytest.fixture(scope="module")
def podmans_storage():
    """For all tests: the command asks podman as well, whose container ever it is."""
    with storage():
        yield
