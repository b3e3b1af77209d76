# SPDX-License-Identifier: GPL-2.0
"""A policy is a value: what is wrong with one is told by the compiler, and by name."""

import os
import subprocess

import pytest
from hostlib import TOP

SOURCE = """
#include "frame/choose.h"
#include "policy/minrtt.h"
%(tunables)s
static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_minrtt_pick(c);
}
static __always_inline int number(int i)
{
	return i;
}
MPS_POLICY(mine, %(members)s);
MPS_POLICY(other, .pick = pick);
%(scheduler)s
"""
TUNABLES = "MPS_COMMON_TUNABLES(500, 2, 1);"
ONE = 'MPS_SCHEDULER(bpf_mine, "text", mine);'
TWO = 'MPS_SCHEDULER_CHOOSES(bpf_mine, "text", , %s, mine, other);'


def said(tmp_path, members=".pick = pick", tunables=TUNABLES, scheduler=ONE, form=()):
    """What clang has to say of it, as a user would call it."""
    source = tmp_path / "mine.bpf.c"
    source.write_text(SOURCE % {"members": members, "tunables": tunables, "scheduler": scheduler})
    done = subprocess.run(
        ["clang", "--target=bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wno-unused", *form,
         f"-I{TOP}/include", f"-I{TOP}/bpf", "-idirafter", f"/usr/include/{os.uname().machine}-linux-gnu",
         "-c", source, "-o", tmp_path / "mine.o"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode == 0) == ("error:" not in done.stderr), done.stderr
    return done.stderr


@pytest.mark.parametrize("form", [(), ("-DMPS_PRE615",)])
def test_right_ones_are_taken_without_a_word(tmp_path, form):
    assert said(tmp_path, form=form) == ""
    both = {"tunables": TUNABLES + CHOOSE, "scheduler": TWO % "choose"}
    assert said(tmp_path, **both, form=form) == ""
    assert "'other_way'" in said(tmp_path, scheduler=TWO % "other_way", form=form)


CHOOSE = """
static __always_inline __u32 choose(struct mptcp_sock *msk, const struct mps_conn_store *st)
{
	return msk->token & 1;
}
"""


@pytest.mark.parametrize(
    ("members", "names"),
    [
        (".pick = pick, .pikc = pick", "'pikc'"),
        (".copies_tail = true", "no member .pick"),
        (".pick = number", "number|int (int)"),
        (".pick = pick, .metric = pick", "__u32 (*)(struct sock *"),
    ],
)
def test_a_wrong_or_missing_member_is_named(tmp_path, members, names):
    told = said(tmp_path, members)
    assert any(name in told for name in names.split("|")), told
    assert "error:" in told


def test_tunables_that_are_missing_are_named(tmp_path):
    assert "mps_common_tunables" in said(tmp_path, tunables="")
