# SPDX-License-Identifier: GPL-2.0
"""A guest in virtual time has the same files whenever those were written."""

import argparse
import fcntl
import io
import os
import py_compile
import re
import struct

import covered
import image
import pytest
from hostlib import TOP


def archive(top):
    out = io.BytesIO()
    cpio = image.Cpio(out)
    cpio.tree(str(top), lambda path: False)
    cpio.close()
    return out.getvalue()


def compiled(top):
    out = io.BytesIO()
    image.Cpio(out).compiled(str(top))
    return out.getvalue()


def names(cpio):
    found = re.findall(rb"070701[0-9a-f]{104}([^\0]+)\0", cpio)
    return [f"/{name.decode()}" for name in found]


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


def test_what_is_compiled_goes_with_the_time_that_its_source_has_there(tmp_path):
    module, gone = tmp_path / "module.py", tmp_path / "gone.py"
    for file in (module, gone):
        file.write_text("x = 1\n")
        py_compile.compile(file)
    (pyc,) = (tmp_path / "__pycache__").glob("module.*.pyc")
    gone.unlink()
    assert names(compiled(tmp_path)) == [str(pyc.parent), str(pyc)]
    assert struct.pack("<III", 0, 1, len("x = 1\n")) in compiled(tmp_path)
    module.write_text("x = 2\n")
    os.utime(module, (1, 1))
    assert not names(compiled(tmp_path))


def test_a_file_that_goes_meanwhile_is_not_of_the_root(tmp_path):
    for name in ("gone", "there"):
        (tmp_path / name).write_text("x")

    def skip(path):
        (tmp_path / "gone").unlink(missing_ok=True)
        return False

    out = io.BytesIO()
    image.Cpio(out).tree(str(tmp_path), skip)
    assert names(out.getvalue()) == [f"{tmp_path}/there"]


def test_nobody_installs_in_the_root_while_it_is_read(tmp_path, monkeypatch):
    """The demo of CI read it while another vmtest.sh installed the project again."""
    lock = tmp_path / ".lock"
    read = []

    def tree(cpio, top, skip, base=""):
        with open(lock) as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        read.append(top)

    monkeypatch.setattr(image, "BUILD", tmp_path)
    monkeypatch.setattr(image.Cpio, "tree", tree)
    monkeypatch.setattr(image.Cpio, "path", lambda *_: None)
    image.write_initramfs(
        io.BytesIO(), argparse.Namespace(root="/", kernel="6.1", compiled=False, selftests=None), {}
    )
    assert "/" in read
    with open(lock) as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_kernels_and_what_is_for_the_host_stay_out():
    """2 GB of a kernel's source were too large for an initramfs."""
    build, patches = ((TOP / f"tests/native/{n}.sh").read_text() for n in ("build", "patches"))
    (flavours,) = re.findall(r"^case \$flavour in ([^)]+)\)", build, re.MULTILINE)
    made = {*flavours.split(" | "), *re.findall(r"^flavour=(\w+)$", patches, re.MULTILINE)}
    assert {"native", "patched"} <= made
    made |= {"ccache", covered.OUT.name, "compile_commands.json"}
    assert made <= set(image.NOT_FOR_GUESTS)
