# SPDX-License-Identifier: GPL-2.0
"""What kmod/features.sh reads from a kernel's types, functions and headers."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "kmod/features.sh"
NEW = "\tint (*get_send)(struct mptcp_sock *);\n\tint (*get_retrans)(struct mptcp_sock *);\n"
OLD = "\tint (*get_subflow)(struct mptcp_sock *, struct mptcp_sched_data *);\n"
PROBE = "typedef void (*btf_trace_tcp_probe)(void *, struct sock *, {} *);\n"
SKB, CONST_SKB = (PROBE.format(t) for t in ("struct sk_buff", "const struct sk_buff"))
OF_6_15 = "\tint (*get_send)(struct mptcp_sock *, struct mptcp_sched_data *);\n"


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
    assert done.returncode != 0
    assert done.stdout == ""
    assert said in done.stderr


def test_the_tracepoint_s_arguments(tmp_path):
    """Of the two forms of it that there are; any other is refused."""
    assert features(tmp_path, OLD + SKB).stdout == ""
    assert features(tmp_path, OLD + CONST_SKB).stdout.split() == ["-DMSB_HAVE_CONST_PROBE"]
    for types in (OLD, OLD + PROBE.format("struct tcp_skb_cb")):
        done = features(tmp_path, types)
        assert done.returncode != 0
        assert "no tracepoint tcp_probe(sk, skb)" in done.stderr
