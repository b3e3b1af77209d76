# SPDX-License-Identifier: GPL-2.0
"""Debian packages of another architecture, compiled on this one: `vmtest.sh packages` runs this."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hostlib import TOP
from packages import output
from privateroot import DPKG, PrivateRoot, difference
from test_deb import KNOWN, build, contents, field, lintian_tags

# The kernel's name, which is QEMU's, and readelf's but for capitals
MACHINES = {"arm64": "aarch64"}


@pytest.fixture(scope="module")
def across(request):
    name = request.config.getoption("across")
    assert name in MACHINES, "vmtest.sh packages ARCHITECTURE says which"
    return name


@pytest.fixture(scope="module")
def built(version, across):
    """Kept, for who wants them."""
    out = TOP / f"build/deb-{across}"
    build(version, out, across)
    return out


@pytest.fixture(scope="module")
def package(built, version, across):
    names = {p.name for p in built.glob("*.deb")}
    # the source of the bridge is the other build's, for all architectures
    kinds = ("mptcp-sched", "mptcp-sched-dbgsym")
    assert names == {f"{name}_{version}_{across}.deb" for name in kinds}
    return built / f"mptcp-sched_{version}_{across}.deb"


@pytest.fixture(scope="module")
def unpacked(package, tmp_path_factory):
    where = tmp_path_factory.mktemp("across")
    output("dpkg-deb", "--extract", package, where)
    return where


def test_it_is_complete(package, debs):
    """The files of this architecture's package."""
    plain = {path.removesuffix(".gz") for path in contents(package)}
    here = {path.removesuffix(".gz") for path in debs["mptcp-sched"]}
    assert plain == here and len(plain) > 50


def test_what_is_compiled(unpacked, across):
    """The programs are for that architecture; what the kernel's BPF takes is the same for all."""
    programs = ("usr/sbin/mptcp-sched", "usr/lib/mptcp-sched/mptcp-sched-exporter")
    for program in programs:
        kind = output("readelf", "--file-header", unpacked / program)
        assert MACHINES[across] in kind.lower(), program
    objects = sorted((unpacked / "usr/lib/mptcp-sched").glob("*.bpf.o"))
    assert len(objects) == len(list((TOP / "bpf/schedulers").glob("*.bpf.c"))) * 2
    for path in objects:
        assert "Linux BPF" in output("readelf", "--file-header", path), path


def asked(*command):
    """Who uses what in this kernel is another matter."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    if "schedulers" in said:
        said["schedulers"] = [s for s in said["schedulers"] if s["builtin"]]
        assert len(said["schedulers"]) > 5
    return said


@pytest.mark.parametrize("word", ["help", "list"])
def test_it_tells_what_this_one_tells(unpacked, across, word):
    """All tables and both embedded objects of each scheduler, read by the program itself."""
    there = asked(f"qemu-{MACHINES[across]}", unpacked / "usr/sbin/mptcp-sched", "--json", word)
    assert there == asked(TOP / "build/mptcp-sched", "--json", word)


def test_libbpf_is_linked_in(package):
    assert field(package, "Static-Built-Using").startswith("libbpf (= ")
    assert "libbpf" not in field(package, "Depends")


def test_lintian(built):
    assert lintian_tags(built) <= KNOWN


def test_it_is_installed_and_purged(package, across):
    """Beside this architecture's libraries; what starts is the emulator's business."""
    root = PrivateRoot()
    try:
        root.without_the_project()
        before = root.changes()
        archive = shutil.copy(package, root.root / "tmp")
        root.run(*DPKG, "--install", f"/tmp/{Path(archive).name}")
        said = root.run(f"qemu-{MACHINES[across]}", "/usr/sbin/mptcp-sched", "--version").stdout
        assert said.strip().endswith(field(package, "Version"))
        root.run(*DPKG, "--purge", "mptcp-sched")
        assert difference(before, root.changes()) == {}
    finally:
        root.close()
