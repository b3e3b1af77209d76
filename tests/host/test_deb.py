# SPDX-License-Identifier: GPL-2.0
"""Debian packages: built without a network, accepted by lintian, complete."""

import os
import re
import shutil
from pathlib import Path

import pytest
from hostlib import TOP
from packages import output
from privateroot import DPKG, PrivateRoot, difference

# Why a warning may stay. None has to at present.
KNOWN = set()


def build(*arguments):
    """By deb.sh, in a namespace without a network device that is up."""
    alone = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    output(*alone, TOP / "packaging/deb.sh", *arguments, cwd=TOP)


@pytest.fixture(scope="module")
def built(version, tmp_path_factory):
    out = tmp_path_factory.mktemp("deb") / "made"
    build(version, out)
    return out


def contents(package):
    lines = output("dpkg-deb", "--contents", package).splitlines()
    return {line.split()[5].removeprefix(".") for line in lines if not line.endswith("/")}


def field(package, name):
    return output("dpkg-deb", "--field", package, name).strip()


def test_version_and_names(built, version):
    names = {p.name for p in built.glob("*.deb")}
    assert names >= {
        f"mptcp-sched_{version}_amd64.deb",
        f"mptcp-sched-dkms_{version}_all.deb",
    }
    for package in built.glob("*.deb"):
        assert field(package, "Version") == version


def test_what_is_installed_is_what_make_installs(built, version, tmp_path):
    output("make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr", cwd=TOP)
    made = {f"/{p.relative_to(tmp_path)}" for p in tmp_path.rglob("*") if p.is_file()}
    found = contents(built / f"mptcp-sched_{version}_amd64.deb")
    # dpkg compresses pages and long documents, and has a list of its own
    plain = {re.sub(r"\.gz$", "", path) for path in found}
    missing = made - plain - {"/usr/lib/mptcp-sched/manifest"}
    assert not missing
    assert {"/usr/share/man/man8/mptcp-sched.8.gz", "/usr/sbin/mptcp-sched"} <= found


def test_the_module_s_source_is_complete(built, version):
    top = f"/usr/src/mptcp-sched-bpf-{version}"
    found = contents(built / f"mptcp-sched-dkms_{version}_all.deb")
    sources = [
        *(TOP / "kmod").glob("*.[ch]"),
        TOP / "kmod/Kbuild",
        TOP / "kmod/Makefile",
        *(TOP / "kmod").glob("*.sh"),
    ]
    assert {f"{top}/{s.name}" for s in sources} | {f"{top}/dkms.conf"} <= found


def test_the_unit_is_started_once_its_module_is_there(built, version):
    """A machine whose configuration came first has had it fail."""
    package = built / f"mptcp-sched-dkms_{version}_all.deb"
    script = output("dpkg-deb", "--info", package, "postinst")
    built_by, started = "/dkms/common.postinst", "deb-systemd-invoke start mptcp-sched.service"
    assert 0 < script.find(built_by) < script.find(started)


def test_libbpf_is_named_as_what_is_linked_in(built, version):
    package = built / f"mptcp-sched_{version}_amd64.deb"
    assert re.fullmatch(r"libbpf \(= [\d:.~+-]+\S*\)", field(package, "Static-Built-Using"))
    assert "libbpf" not in field(package, "Depends")


def test_nothing_of_another_suite_is_needed(built):
    """What the root has from Debian's next release is to build with, and not on a user's machine."""
    root = (TOP / "tests/vm/root.sh").read_text()
    newer = set(re.search(r"^from_next=\((.+)\)$", root, re.MULTILINE)[1].split())
    assert newer
    for package in built.glob("*.deb"):
        needed = {field(package, name) for name in ("Depends", "Pre-Depends", "Recommends")}
        names = set(re.findall(r"[a-z0-9][a-z0-9.+-]+", " ".join(needed)))
        assert not names & newer, package.name


def lintian_tags(built):
    """What it says of all packages there."""
    (changes,) = built.glob("*.changes")
    command = [
        "lintian",
        "--allow-root",
        "--fail-on",
        "error",
        "--tag-display-limit",
        "0",
    ]
    said = output(*command, changes)
    return {line.split()[2] for line in said.splitlines() if re.match(r"[EW]: ", line)}


def test_lintian(built):
    assert lintian_tags(built) <= KNOWN


@pytest.fixture
def root():
    """Of a machine that has dkms and kernels with headers, and nothing of this project."""
    made = PrivateRoot()
    made.without_the_project()
    for kernel in made.kernels():
        made.run("depmod", kernel)
    yield made
    made.close()


def module_of(root, kernel):
    return root.root / "usr/lib/modules" / kernel / "updates/dkms/mptcp_sched_bpf.ko.xz"


def test_dkms_builds_the_module_and_purging_leaves_nothing(root, built, version):
    """For each kernel, before it ever ran, with headers that have no vmlinux.

    The modules go to the guests, whose tests use them (test_packages.py).
    """
    for kernel in root.kernels():
        root.without_vmlinux(kernel)
    before = root.changes()
    archives = [shutil.copy(p, root.root / "tmp") for p in sorted(built.glob("*.deb"))]
    names = [f"/tmp/{Path(p).name}" for p in archives]
    root.run(*DPKG, "--install", *names, timeout=300)
    kernels = root.own_kernels()
    assert len(kernels) == 2
    for kernel in kernels:
        # an installation builds it for the newest kernel and the one that runs
        root.run("dkms", "install", f"mptcp-sched-bpf/{version}", "-k", kernel, timeout=300)
        magic = root.run("modinfo", "-F", "vermagic", "-k", kernel, "mptcp_sched_bpf")
        assert magic.stdout.split()[0] == kernel
        kept = TOP / "build/dkms" / kernel
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(module_of(root, kernel), kept)
    status = root.run("dkms", "status", "mptcp-sched-bpf").stdout
    installed = re.findall(r", (\S+), \S+: installed", status)
    assert set(kernels) <= set(installed)
    accounts = root.root / "var/lib/mptcp-sched/accounts"
    accounts.parent.mkdir()
    accounts.write_text("kept until it is purged\n")
    packages = ["mptcp-sched", "mptcp-sched-dkms"]
    root.run(*DPKG, "--remove", "mptcp-sched-dbgsym", "mptcp-sched")
    assert accounts.exists()
    root.run(*DPKG, "--purge", *packages, "mptcp-sched-dbgsym", timeout=120)
    assert not any(module_of(root, kernel).exists() for kernel in installed)
    assert difference(before, root.changes()) == {}


def without_option(root, kernel):
    conf = root.headers(kernel) / "include/config/auto.conf"
    conf.write_text(conf.read_text().replace("CONFIG_MPTCP=y\n", ""))


def without_tracepoint(root, kernel):
    """A bpftool that does not tell of it."""
    stub = root.root / "usr/local/sbin/bpftool"
    stub.write_text(f'#!/bin/sh\n{shutil.which("bpftool")} "$@" | sed /btf_trace_tcp_probe/d\n')
    stub.chmod(0o755)


@pytest.mark.parametrize("lack", [without_option, without_tracepoint])
def test_dkms_skips_a_kernel_that_the_module_cannot_serve(root, built, lack):
    """A failure would be that of apt, and of each later upgrade of a kernel."""
    kernel = root.own_kernels()[0]
    archive = shutil.copy(next(built.glob("mptcp-sched-dkms_*.deb")), root.root / "tmp")
    root.run("dpkg-deb", "--extract", f"/tmp/{Path(archive).name}", "/")
    (source,) = (root.root / "usr/src").glob("mptcp-sched-bpf-*")
    assert os.access(source / "skip.sh", os.X_OK)
    lack(root, kernel)
    root.run("dkms", "add", "/".join(source.name.rsplit("-", 1)))
    said = root.run("dkms", "autoinstall", "-k", kernel, timeout=60).stdout
    assert "was skipped for module(s) mptcp-sched-bpf" in said
    assert not module_of(root, kernel).exists()
