# SPDX-License-Identifier: GPL-2.0
"""DKMS in a guest whose headers package has no vmlinux, as with many distributions.

That it builds for a kernel that does not run is a test of the host (test_deb.py, test_btf.py).
"""

import shutil
from pathlib import Path

import dkms
import pytest
from installed import BRIDGE, sends_with_ecf
from lab import run
from privateroot import PrivateRoot


@pytest.fixture
def lab(labs):
    """Before the root is made, which sees namespaces that have their names by then."""
    return labs()


@pytest.fixture
def root(_shared, by_the_bridge, lab, kernel_release):
    """Without the module; what the kernel says of itself is the only BTF that is left."""
    _shared.need()
    run("rmmod", BRIDGE)
    made = PrivateRoot()
    try:
        made.without_the_module()
        made.without_vmlinux(kernel_release)
        made.without_image(kernel_release)
        yield made
    finally:
        run("rmmod", BRIDGE, check=False)
        made.close()
        run("modprobe", BRIDGE)


@pytest.fixture
def installed(root, kernel_release):
    dkms.install(root, kernel_release, timeout=1500)
    return root.run("modinfo", "-n", BRIDGE).stdout.strip()


@pytest.mark.timeout(1800)
def test_built_on_the_running_kernel_s_btf_and_used(lab, root, installed):
    sends_with_ecf(root, lab)
    lab.client.scheduler = "default"
    root.run("mptcp-sched", "unload", "bpf_ecf")


def test_headers_of_another_build_than_the_running_kernel(root, kernel_release):
    """The same release, other types: what the kernel says of itself counts, and that is said."""
    other = next(k for k in root.kernels() if k != kernel_release)
    headers = root.headers(kernel_release)
    shutil.copy(root.headers(other) / "vmlinux", headers / "vmlinux")
    build = f"/lib/modules/{kernel_release}/build"
    made = ["/src/kmod/btf.sh", "base", kernel_release, build, "/tmp/gen/base.btf"]
    said = root.run("sh", *made, timeout=300).stderr
    assert "vmlinux is of another build of kernel" in said
    assert "building on the BTF of the running kernel" in said
    own = Path("/sys/kernel/btf/vmlinux").read_bytes()
    same = (root.root / "tmp/gen/base.btf").read_bytes() == own
    assert same
