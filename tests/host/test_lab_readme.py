# SPDX-License-Identifier: GPL-2.0
"""The README's figures of the lab are those of the summary that is committed beside it."""

import json

import labpath
from report import page

SUMMARY = labpath.BENCH / "results" / "summary.json"


def test_the_readme_has_the_summarys_table():
    digest = json.loads(SUMMARY.read_text())
    readme = (labpath.BENCH.parent / "README.md").read_text()
    assert "\n".join(page.digest_lines(digest)) in readme
    for kernel in {one["kernel"] for one in digest["scenarios"]}:
        assert f"Linux {kernel}" in readme
