# SPDX-License-Identifier: GPL-2.0
"""RPM packages: built without a network, accepted by rpmlint, and what the Debian packages are.

rpm's database here is empty, so nothing can be required of it (--nodeps): names of Fedora's packages
are not checked, everything else is.
"""

import os
import re
import shutil

import pytest
from elftools.elf.elffile import ELFFile
from hostlib import TOP
from kernels import by_version
from packages import DEB_ONLY, output, plain
from privateroot import PrivateRoot, difference

# What RPM packages have for their own sake.
RPM_ONLY = re.compile(r"/usr/share/licenses/|/usr/lib/\.build-id/")


@pytest.fixture(scope="module")
def built(version, tmp_path_factory):
    """In a namespace without a network device that is up."""
    out = tmp_path_factory.mktemp("rpm") / "made"
    alone = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    output(*alone, TOP / "packaging/rpm.sh", version, out, cwd=TOP)
    return out


@pytest.fixture(scope="module")
def command(built, version):
    return built / f"mptcp-sched-{version}-1.{os.uname().machine}.rpm"


@pytest.fixture(scope="module")
def bridge(built, version):
    return built / f"mptcp-sched-dkms-{version}-1.noarch.rpm"


def contents(package):
    """Without directories."""
    query = "[%{FILEMODES:perms} %{FILENAMES}\n]"
    lines = output("rpm", "-qp", "--queryformat", query, package)
    return {line.split()[1] for line in lines.splitlines() if line[0] != "d"}


def test_names_and_versions(built, command, bridge, version):
    source = built / f"mptcp-sched-{version}-1.src.rpm"
    assert {command, bridge, source} <= set(built.iterdir())
    for package in built.glob("*.rpm"):
        assert output("rpm", "-qp", "--queryformat", "%{VERSION}", package) == version


def test_same_files_as_the_debian_packages(command, bridge, debs):
    for package, name in ((command, "mptcp-sched"), (bridge, "mptcp-sched-dkms")):
        ours = plain(contents(package), RPM_ONLY)
        assert ours == plain(debs[name], DEB_ONLY) and len(ours) > 20, name


def test_what_is_needed(command, bridge):
    """libbpf is named as what is linked in; the module is built by DKMS."""
    said = output("rpm", "-qp", "--provides", command)
    assert re.search(r"^bundled\(libbpf\) = 1\.\d", said, re.MULTILINE)
    needs = output("rpm", "-qp", "--requires", command)
    assert "libelf.so" in needs and "libbpf" not in needs and "libmnl" not in needs
    assert "mptcp-sched-dkms" in output("rpm", "-qp", "--recommends", command)
    needs = output("rpm", "-qp", "--requires", bridge).split()
    assert {"dkms", "dwarves", "bpftool", "binutils", "zstd"} <= set(needs)


def test_rpmlint(built):
    """Its warnings count, too; rpmlint.toml says why some may stay."""
    said = output("rpmlint", "--config", TOP / "packaging/rpm/rpmlint.toml", built)
    assert re.search(r"4 packages .*\b0 errors, 0 warnings", said), said


@pytest.fixture
def root():
    """Of a machine that has dkms and kernels with headers, and nothing of this project."""
    made = PrivateRoot()
    made.without_the_project()
    for kernel in made.kernels():
        made.run("depmod", kernel)
    made.run("rpm", "--initdb")
    # a package of Fedora's has them, and none of this root
    made.run("mkdir", "-p", "/usr/share/licenses", "/usr/share/man/man8")
    yield made
    made.close()


def sections(path):
    """What an object does: its BTF has the paths of the sources, which rpmbuild has elsewhere."""
    with path.open("rb") as file:
        found = {s.name: s.data() for s in ELFFile(file).iter_sections()}
    assert found.pop(".BTF") and found.pop(".BTF.ext")
    return found


def only_newest(root):
    """The others lose their headers, so that DKMS has one kernel to build for; test_deb.py has more."""
    *others, newest = sorted(root.kernels(), key=by_version)
    for kernel in others:
        (root.modules(kernel) / "build").unlink()
    return newest


def test_installed_put_in_anew_and_removed(root, command, bridge, version, tmp_path):
    output("make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr", cwd=TOP)
    kernel = only_newest(root)
    before = root.changes()
    names = [f"/tmp/{p.name}" for p in (command, bridge)]
    for package in (command, bridge):
        shutil.copy(package, root.root / "tmp")
    root.run("rpm", "-i", "--nodeps", *names, timeout=300)

    assert root.run("mptcp-sched", "--version").stdout.split()[1] == version
    root.run("rpm", "-V", "--nodeps", "mptcp-sched", "mptcp-sched-dkms")
    # BPF is nothing that a package's own tools should strip
    objects = sorted((tmp_path / "usr/lib/mptcp-sched").glob("*.bpf.o"))
    assert len(objects) > 10
    for path in objects:
        assert sections(path) == sections(root.root / path.relative_to(tmp_path)), path
    assert "MPTCP-SCHED(8)" in root.run("man", "mptcp-sched").stdout

    magic = root.run("modinfo", "-F", "vermagic", "-k", kernel, "mptcp_sched_bpf")
    assert magic.stdout.split()[0] == kernel
    module = root.modules(kernel) / "updates/dkms/mptcp_sched_bpf.ko.xz"
    assert module.exists()

    # the scripts of the package that goes run last, and must leave what the new one's have made
    root.run("rpm", "-U", "--replacepkgs", "--nodeps", *names, timeout=300)
    assert module.exists()

    root.run("rpm", "-e", "mptcp-sched", "mptcp-sched-dkms", timeout=120)
    assert not module.exists()
    assert difference(before, root.changes()) == {}
