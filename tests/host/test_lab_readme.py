# SPDX-License-Identifier: GPL-2.0
"""The lab's figures in the documentation are those of the summaries that are committed beside it."""

import json

import labpath
import pytest
from report import page

RESULTS = labpath.BENCH / "results"
TOLD = {"summary.json": "README.md", "more.json": "docs/lab.md"}


@pytest.mark.parametrize("name", TOLD)
def test_the_documentation_has_the_summarys_table(name):
    digest = json.loads((RESULTS / name).read_text())
    text = (labpath.BENCH.parent / TOLD[name]).read_text()
    assert "\n".join(page.digest_lines(digest)) in text
    for kernel in {one["kernel"] for one in digest["scenarios"]}:
        assert f"Linux {kernel}" in text


def test_every_summary_is_told():
    assert {f.name for f in RESULTS.glob("*.json")} == set(TOLD)
