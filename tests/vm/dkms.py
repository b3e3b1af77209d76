#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: dkms.py KERNEL

Builds the module by DKMS, in a root of its own, as the package has it. Nothing is left but what ccache
keeps: without it, the compiler alone takes a guest without KVM minutes.
"""

import sys
from pathlib import Path

from privateroot import PrivateRoot

TOP = Path(__file__).resolve().parents[2]
# Debian's kernel headers ask for the first.
CCACHE = {"DEBIAN_KERNEL_USE_CCACHE": "1", "CCACHE_DIR": str(TOP / "build/ccache")}


def install(root, kernel, timeout):
    """The package's source is unpacked, built for that kernel and installed in the root."""
    (archive,) = (TOP / "build/deb").glob("mptcp-sched-dkms_*.deb")
    root.run("dpkg-deb", "--extract", archive, "/")
    (source,) = (root.root / "usr/src").glob("mptcp-sched-bpf-*")
    name, version = source.name.rsplit("-", 1)
    command = ["dkms", "install", f"{name}/{version}", "-k", kernel]
    root.run(*command, timeout=timeout, env=CCACHE)


def main():
    root = PrivateRoot()
    try:
        root.without_the_module()
        install(root, sys.argv[1], 300)
    finally:
        root.close()


if __name__ == "__main__":
    main()
