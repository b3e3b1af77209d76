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


def install(root, kernel, timeout):
    """The package's source is unpacked, built for that kernel and installed in the root."""
    (archive,) = (TOP / "build/deb").glob("mptcp-sched-dkms_*.deb")
    root.run("dpkg-deb", "--extract", archive, "/")
    (source,) = (root.root / "usr/src").glob("mptcp-sched-bpf-*")
    name, version = source.name.rsplit("-", 1)
    root.run("dkms", "install", f"{name}/{version}", "-k", kernel, timeout=timeout)


def main():
    root = PrivateRoot()
    try:
        root.without_the_module()
        install(root, sys.argv[1], 300)
    finally:
        root.close()


if __name__ == "__main__":
    main()
