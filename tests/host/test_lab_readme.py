# SPDX-License-Identifier: GPL-2.0
"""The lab's figures in the documentation are those of the summaries that are committed beside it."""

import json
from pathlib import Path

import pytest
from mptcplab.report import page

TOP = Path(__file__).resolve().parents[2]
RESULTS = TOP / "bench/results"
TOLD = {
    "summary.json": "docs/results/lab.md",
    "more.json": "docs/results/lab.md",
    "dash.json": "docs/results/lab.md",
    "codel.json": "docs/results/lab.md",
    "steering.json": "docs/results/steering.md",
    "metered-video.json": "docs/results/steering.md",
}


@pytest.mark.parametrize("name", TOLD)
def test_the_documentation_has_the_summarys_table(name):
    digest = json.loads((RESULTS / name).read_text())
    text = (TOP / TOLD[name]).read_text()
    assert "\n".join(page.digest_lines(digest)) in text
    for one in digest["scenarios"]:
        assert "told" not in one or "\n".join(page.told_lines(one)) in text, one["scenario"]
    for kernel in {one["kernel"] for one in digest["scenarios"]}:
        assert f"Linux {kernel}" in text


def test_every_summary_is_told():
    """Others are no summaries of the lab's: each has a test of its own, such as test_kernels.py."""
    others = {f.name for f in RESULTS.glob("kernels*.json")}
    others |= {f.name for f in RESULTS.glob("outage*.json")}
    others |= {"fuzz.json", "demo.json", "coverage.json"}
    assert {f.name for f in RESULTS.glob("*.json")} - others == set(TOLD)
