# SPDX-License-Identifier: GPL-2.0
"""A guest in virtual time has the same files whenever those were written."""

import io
import os

import image


def archive(top):
    out = io.BytesIO()
    cpio = image.Cpio(out)
    cpio.tree(str(top), lambda path: False)
    cpio.close()
    return out.getvalue()


def test_times_are_not_in_the_archive_but_those_that_python_reads(tmp_path):
    (tmp_path / "bin").mkdir()
    tool, module = tmp_path / "bin/tool", tmp_path / "module.py"
    for file in (tool, module):
        file.write_text("x")
    for one in (tool, tool.parent, module):
        os.utime(one, (1_000_000, 1_000_000))
    before = archive(tmp_path)
    for one in (tool, tool.parent):
        os.utime(one, (2_000_000, 2_000_000))
    assert archive(tmp_path) == before
    os.utime(module, (2_000_000, 2_000_000))
    assert archive(tmp_path) != before
