# SPDX-License-Identifier: GPL-2.0
"""Packages for Arch Linux: built by makepkg without a network, and what the Debian packages are.

pacman's database here is empty, so nothing can be required of it: names of Arch's packages are not
checked, everything else is.
"""

import re
import shutil
import subprocess

import pytest
from hostlib import TOP
from packages import DEB_ONLY, output, plain
from privateroot import PrivateRoot, difference

ARCH_ONLY = re.compile(r"/usr/share/licenses/|/\.(BUILDINFO|INSTALL|MTREE|PKGINFO)$")
# makepkg does not run as root.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/nonexistent"]


@pytest.fixture(scope="module")
def built(version, tmp_path_factory):
    """In a namespace without a network device that is up, by a user of no rights."""
    made = tmp_path_factory.mktemp("arch")
    made.chmod(0o755)
    tree = made / "tree"
    skip = shutil.ignore_patterns("build", ".git", "__pycache__")
    shutil.copytree(TOP, tree, ignore=skip, symlinks=True)
    output("chown", "-R", "65534:65534", tree)
    for above in made.parents:
        if above.name.startswith("pytest"):
            above.chmod(0o755)
    output("unshare", "--net", *NOBODY, tree / "packaging/arch.sh", version, tree / "out", cwd=tree)
    return tree / "out"


@pytest.fixture(scope="module")
def packages(built, version):
    found = {
        "mptcp-sched": f"mptcp-sched-{version}-1-x86_64.pkg.tar",
        "mptcp-sched-dkms": f"mptcp-sched-dkms-{version}-1-any.pkg.tar",
    }
    return {name: next(built.glob(f"{file}*")) for name, file in found.items()}


def contents(package):
    """Without directories."""
    lines = output("bsdtar", "-tf", package).split()
    return {f"/{line}" for line in lines if not line.endswith("/")}


def described(package):
    lines = output("bsdtar", "-xOf", package, ".PKGINFO").splitlines()
    pairs = [line.split(" = ", 1) for line in lines if " = " in line]
    return {key: [v for k, v in pairs if k == key] for key, _ in pairs}


def test_same_files_as_the_debian_packages(packages, debs):
    """But for the command, which Arch has in /usr/bin."""
    for name, package in packages.items():
        ours = plain(contents(package), ARCH_ONLY)
        theirs = {path.replace("/usr/sbin/", "/usr/bin/") for path in plain(debs[name], DEB_ONLY)}
        assert ours == theirs and len(ours) > 20, name


def test_what_is_needed(packages):
    """libbpf is the distribution's own, and the command says where it is installed."""
    command = described(packages["mptcp-sched"])
    assert {"libbpf>=1.6", "libelf", "json-c"} <= set(command["depend"])
    assert command["license"] == ["GPL-2.0-only"]
    needs = described(packages["mptcp-sched-dkms"])["depend"]
    assert {"dkms", "bpf", "pahole", "binutils", "zstd"} <= set(needs)
    unit = output(
        "bsdtar", "-xOf", packages["mptcp-sched"], "usr/lib/systemd/system/mptcp-sched.service"
    )
    assert "/usr/bin/mptcp-sched" in unit and "sbin" not in unit


def test_linked_with_the_distributions_libbpf(packages, tmp_path):
    output("bsdtar", "-xf", packages["mptcp-sched"], "-C", tmp_path, "usr/bin/mptcp-sched")
    said = output("readelf", "-d", tmp_path / "usr/bin/mptcp-sched")
    assert {"libbpf.so.1", "libmnl.so.0"} <= set(re.findall(r"NEEDED.*\[(.*)\]", said))


def test_an_own_build_is_of_this_source(built, version):
    """What the sum in PKGBUILD is of lies beside it."""
    said = re.search(r"^sha256sums=\((\w+)\)$", (built / "PKGBUILD").read_text(), re.MULTILINE)
    assert output("sha256sum", built / f"mptcp-sched-{version}.tar.gz").split()[0] == said[1]


@pytest.fixture
def root():
    made = PrivateRoot()
    made.without_the_project()
    # directories that other packages of Arch have, too
    for shared in ("doc", "licenses", "man/man8"):
        made.run("mkdir", "-p", f"/usr/share/{shared}")
        made.run("touch", f"/usr/share/{shared}/another")
    made.run("mkdir", "-p", "/var/lib/pacman")
    yield made
    made.close()


def test_installed_put_in_anew_and_removed(root, packages, version):
    pacman = ("pacman", "--noconfirm", "--noprogressbar")
    for package in packages.values():
        shutil.copy(package, root.root / "tmp")
    files = [f"/tmp/{package.name}" for package in packages.values()]
    before = root.changes()
    for _ in range(2):
        root.run(*pacman, "-Udd", *files, timeout=120)
        assert root.run("/usr/bin/mptcp-sched", "--version").stdout.split()[1] == version
    said = root.run("pacman", "-Qkk", "mptcp-sched", "mptcp-sched-dkms").stdout
    assert len(re.findall(r"\b0 altered files", said)) == 2, said
    assert "MPTCP-SCHED(8)" in root.run("man", "mptcp-sched").stdout
    root.run(*pacman, "-Rdd", *packages, timeout=120)
    left = {
        path: how
        for path, how in difference(before, root.changes()).items()
        if not re.match(r"/var/(lib/pacman|log/pacman\.log|cache/pacman)", path)
    }
    assert left == {}


def test_as_root_nothing_is_built(tmp_path):
    done = subprocess.run(
        [TOP / "packaging/arch.sh", "0", tmp_path / "out"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode and "as root" in done.stdout + done.stderr
