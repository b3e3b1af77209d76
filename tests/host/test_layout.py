# SPDX-License-Identifier: GPL-2.0
"""The look at a kernel's BTF finds what is missing there, and takes no offence at what may be."""

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

import btf
import check
import kernels

OBJECTS = [TOP / "build/bpf", TOP / "build/loader/bpf"]


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """The BTF of the root's newest kernel, in a file of its own."""
    out = tmp_path_factory.mktemp("btf")
    vmlinux = kernels.MODULES / kernels.own()[-1] / "build/vmlinux"
    command = ["objcopy", "--dump-section", f".BTF={out}/btf", vmlinux, f"{out}/rest"]
    subprocess.run(command, check=True)
    return out / "btf"


def renamed(path, *names, **others):
    """The same with the last letter of these names another one, or OLD=NEW of the same length."""
    data = path.read_bytes()
    for old, new in ({n: f"{n[:-1]}~" for n in names} | others).items():
        assert data.count(f"\0{old}\0".encode()) == 1 and len(old) == len(new), old
        data = data.replace(f"\0{old}\0".encode(), f"\0{new}\0".encode())
    other = path.with_name("other")
    other.write_bytes(data)
    return other


def test_the_root_s_own_kernels_have_it_all():
    for release in kernels.own():
        vmlinux = kernels.MODULES / release / "build/vmlinux"
        bad, counted = check.check(vmlinux, TOP / "kmod", OBJECTS)
        assert bad == [], release
        assert min(map(int, re.findall(r"\d+", counted))) > 5, "hardly anything was looked for"


def test_what_is_missing_is_named(copied):
    """A field of bridge and schedulers, one of the bridge, functions, a tracepoint."""
    gone = [
        "wnd_end",
        "timer_ival",
        "mptcp_schedule_work",
        "mptcp_subflow_active",
        "btf_trace_net_dev_start_xmit",
    ]
    bad, _ = check.check(renamed(copied, *gone), TOP / "kmod", OBJECTS)
    for line in (
        "bridge: struct mptcp_sock has no wnd_end",
        "bridge: struct mptcp_sock has no timer_ival",
        "bridge: no function mptcp_schedule_work",
        "bridge: no function mptcp_subflow_active",
        "bpf_queueaware.bpf.o: nothing to attach to: tp_btf/net_dev_start_xmit",
    ):
        assert line in bad
    lost = [line for line in bad if "mptcp_sock.wnd_end" in line]
    assert "bpf_ecf.bpf.o: no mptcp_sock.wnd_end (byte_off)" in lost


def test_a_function_named_as_a_kfunc_of_the_module_s_is_told(copied):
    """libbpf looks into the kernel's BTF first."""
    name = "bpf_sk_stream_memory_free"
    other = next(
        n for n in btf.Btf(copied).functions if len(n) == len(name) and n.startswith("tcp_")
    )
    bad, _ = check.check(renamed(copied, **{other: name}), TOP / "kmod", OBJECTS)
    assert f"bridge: the kernel has a function {name} of its own" in bad


def test_what_an_object_asks_for_first_may_be_missing(copied):
    """bpf_queueaware looks whether a queue has byte limits."""
    bad, _ = check.check(renamed(copied, "dql"), TOP / "kmod", OBJECTS)
    assert bad == []


def test_another_form_of_the_hooks_is_refused_by_name(copied):
    bad, _ = check.check(renamed(copied, "get_send"), TOP / "kmod", OBJECTS)
    assert len(bad) == 1 and "no hook that the bridge knows" in bad[0]


def test_a_kernel_without_the_clock_s_tracepoint_is_refused_by_name(copied):
    bad, _ = check.check(renamed(copied, "btf_trace_tcp_probe"), TOP / "kmod", OBJECTS)
    assert len(bad) == 1 and "no tracepoint tcp_probe(sk, skb)" in bad[0]


def test_a_guard_is_no_excuse_for_another_field():
    found = [
        ("field_exists", "netdev_queue.dql", False),
        ("byte_off", "netdev_queue.dql.num_queued", False),
        ("byte_off", "netdev_queue.dqlx", False),
        ("byte_off", "netdev_queue.qdisc", True),
    ]
    assert btf.unresolved(found) == ["netdev_queue.dqlx (byte_off)"]
