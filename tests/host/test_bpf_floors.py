# SPDX-License-Identifier: GPL-2.0
"""The folders of include/ and bpf/ are floors: what each may include, and nothing else."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
MODEL = {"model"}
POLICY = {"model", "common", "state", "policy"}
FRAME = {"model", "common", "state", "kernel", "frame"}
# Beside itself. A policy is pure: it knows neither the frame nor the kernel.
MAY_INCLUDE = {
    "include/model": set(),
    "include/common": MODEL,
    "include/state": MODEL,
    "include/policy": POLICY,
    "bpf/kernel": {"model", "state"},
    "bpf/frame": FRAME,
    "bpf/hooks": FRAME | {"policy"},
    "bpf/schedulers": FRAME | {"policy", "hooks"},
}
# What a frame for several policies knows of them.
EXCEPT = {("bpf/frame/steering.h", "policy")}
INCLUDE = re.compile(r'^#include "([a-z]+)/[\w.]+"', re.MULTILINE)


def upward(top):
    for folder in ("include", "bpf"):
        for file in sorted((top / folder).rglob("*.[ch]")):
            where = file.relative_to(top)
            here = str(where.parent)
            if here not in MAY_INCLUDE:
                yield f"{where}: on no floor, put its folder into MAY_INCLUDE"
                continue
            for other in INCLUDE.findall(file.read_text()):
                allowed = MAY_INCLUDE[here] | {where.parent.name}
                if other not in allowed and (str(where), other) not in EXCEPT:
                    yield f"{where} includes {other}/"


def test_nobody_includes_a_higher_floor():
    assert not list(upward(TOP))


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("include/model/a.h", '#include "state/stats.h"'),
        ("include/policy/a.h", '#include "frame/send.h"'),
        ("bpf/frame/a.h", '#include "policy/rr.h"'),
        ("bpf/new/a.h", ""),
    ],
)
def test_it_would_be_found(tmp_path, where, line):
    file = tmp_path / where
    file.parent.mkdir(parents=True)
    file.write_text(line + "\n")
    assert len(list(upward(tmp_path))) == 1
