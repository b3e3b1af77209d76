# SPDX-License-Identifier: GPL-2.0
"""The Debian packages in a guest: installed, used, upgraded and purged, in a root of their own.

That DKMS builds the module, and what it leaves behind, is a test of the host
(test_deb.py): without KVM it takes minutes. The module that it built there is used here.
"""

import shutil

import pytest
from conftest import TOP
from hygiene import pins
from installed import BRIDGE, sends_with_ecf
from lab import run
from privateroot import DPKG, PrivateRoot, difference


@pytest.fixture(scope="module")
def archive():
    (found,) = (TOP / "build/deb").glob("mptcp-sched_*.deb")
    return found


@pytest.fixture
def lab(labs):
    """Before the root is made, which sees namespaces that have their names by then."""
    return labs()


@pytest.fixture
def built_by_dkms(kernel_release):
    """By the tests of the host; of the same sources as the one that is installed."""
    found = TOP / "build/dkms" / kernel_release / f"{BRIDGE}.ko.xz"
    assert found.exists(), "`make check-host` has DKMS build it"
    fields = [run("modinfo", "-F", "srcversion", m).stdout for m in (found, BRIDGE)]
    assert fields[0] == fields[1], "built from other sources: `make check-host`"
    return found


@pytest.fixture
def root(_shared, by_the_bridge, built_by_dkms, kernel_release):
    """With nothing of this project in it but the module, where DKMS puts it."""
    _shared.need()
    run("rmmod", BRIDGE)
    made = PrivateRoot()
    try:
        made.without_the_project()
        updates = made.root / "usr/lib/modules" / kernel_release / "updates/dkms"
        updates.mkdir(parents=True)
        shutil.copy(built_by_dkms, updates)
        made.run("depmod", kernel_release)
        yield made
    finally:
        run("rmmod", BRIDGE, check=False)
        made.close()
        run("modprobe", BRIDGE)


def uses_them(root, lab):
    """The command, the module, a scheduler, the page: each comes from its package."""
    sends_with_ecf(root, lab)
    assert "MPTCP-SCHED(8)" in root.run("man", "mptcp-sched").stdout
    completion = "/usr/share/bash-completion/completions/mptcp-sched"
    root.run("bash", "-c", f"source {completion} && complete -p mptcp-sched")


@pytest.mark.timeout(1200)
def test_installed_used_upgraded_and_purged(lab, root, archive):
    before = root.changes()
    root.run(*DPKG, "--install", archive)
    uses_them(root, lab)
    # an upgrade leaves what is loaded, for the new version to look after
    had = pins()
    root.run(*DPKG, "--install", archive)
    assert had and pins() == had
    # purged while a namespace selects a scheduler, which then has no command to go with
    assert lab.client.scheduler == "bpf_ecf"
    root.run(*DPKG, "--purge", "mptcp-sched")
    assert pins() == []
    lab.client.scheduler = "default"
    assert difference(before, root.changes()) == {}
