# SPDX-License-Identifier: GPL-2.0
"""What kmod/features.sh reads from a kernel's types, functions and headers; which kernels DKMS skips."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "kmod/features.sh"
NEW = "\tint (*get_send)(struct mptcp_sock *);\n\tint (*get_retrans)(struct mptcp_sock *);\n"
OLD = "\tint (*get_subflow)(struct mptcp_sock *, struct mptcp_sched_data *);\n"
PROBE = "typedef void (*btf_trace_tcp_probe)(void *, struct sock *, {} *);\n"
SKB, CONST_SKB = (PROBE.format(t) for t in ("struct sk_buff", "const struct sk_buff"))
OF_6_15 = "\tint (*get_send)(struct mptcp_sock *, struct mptcp_sched_data *);\n"

# DKMS takes it for a kernel that a module is not for, and all others for a failure
SKIP = 77


def features(tmp_path, types, functions="", header=""):
    for name, text in (("types", types), ("functions", functions), ("header", header)):
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in ("types", "functions", "header")]
    return subprocess.run(
        ["sh", SCRIPT, *files, tmp_path / "no such header"],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("types", "functions", "header", "found"),
    [
        (OLD, "", "", ""),
        (NEW, "", "", "GET_SEND"),
        (NEW, "mptcp_pm_subflow_chk_stale\n", "", "GET_SEND CHK_STALE"),
        (NEW, "mptcp_pm_chk_stale\n", "", "GET_SEND"),
        (NEW, "bpf_mptcp_request_retrans\n", "", "GET_SEND REQUEST"),
        (OLD + "\tstruct timer_list mptcp_retransmit_timer;\n", "", "", "MPTCP_TIMER"),
        (OLD, "", "unsigned long icsk_timeout(const", "ICSK_TIMEOUT"),
        (OLD, "", "unsigned long icsk_timeout;", ""),
        (OLD, "", "tcp_timeout_expires(const", "TIMEOUT_EXPIRES"),
    ],
)
def test_each_difference_by_itself(tmp_path, types, functions, header, found):
    done = features(tmp_path, types + SKB, functions, header)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"-DMSB_HAVE_{name}" for name in found.split()]


@pytest.mark.parametrize(
    ("types", "said"),
    [
        (OF_6_15, "get_send(msk, data), a form that only Linux 6.15 had"),
        ("", "no hook that the bridge knows"),
    ],
)
def test_other_hooks_are_refused(tmp_path, types, said):
    done = features(tmp_path, types)
    assert done.returncode == SKIP
    assert done.stdout == ""
    assert said in done.stderr


def test_the_tracepoint_s_arguments(tmp_path):
    """Of the two forms of it that there are; any other is refused."""
    assert features(tmp_path, OLD + SKB).stdout == ""
    assert features(tmp_path, OLD + CONST_SKB).stdout.split() == ["-DMSB_HAVE_CONST_PROBE"]
    for types in (OLD, OLD + PROBE.format("struct tcp_skb_cb")):
        done = features(tmp_path, types)
        assert done.returncode == SKIP
        assert "no tracepoint tcp_probe(sk, skb)" in done.stderr


def skip(tmp_path, types):
    """As DKMS runs it; types that cannot be had are None."""
    for script in ("skip.sh", "features.sh"):
        shutil.copy(SCRIPT.parent / script, tmp_path)
    recipe = "false" if types is None else "mkdir -p out/gen && cp types out/gen/vmlinux.h"
    (tmp_path / "Makefile").write_text(f".PHONY: types\ntypes:\n\t{recipe}\n")
    (tmp_path / "types").write_text(types or "")
    words = [tmp_path / "skip.sh", "6.99", "/lib/modules/6.99/build"]
    return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("types", "status"), [(NEW + SKB, 0), (OF_6_15 + SKB, SKIP), (SKB, SKIP), (None, 0)]
)
def test_a_kernel_that_cannot_be_served_is_skipped(tmp_path, types, status):
    """One whose types are not at hand is not: its build says what to install."""
    done = skip(tmp_path, types)
    assert done.returncode == status, done.stderr


def test_dkms_asks_before_it_builds():
    words = (
        'kernelver=6.99 kernel_source_dir=/headers; . "$0"; echo $PRE_BUILD; '
        'printf "%s\n" $BUILD_EXCLUSIVE_CONFIG'
    )
    conf = SCRIPT.parent / "dkms.conf"
    done = subprocess.run(["bash", "-c", words, conf], capture_output=True, text=True, check=True)
    asked, *options = done.stdout.splitlines()
    assert asked == "skip.sh 6.99 /headers"
    assert os.access(SCRIPT.parent / "skip.sh", os.X_OK)
    assert {"CONFIG_MPTCP", "CONFIG_DEBUG_INFO_BTF"} <= set(options)
