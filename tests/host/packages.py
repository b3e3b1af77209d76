# SPDX-License-Identifier: GPL-2.0
"""What the tests of packages share, of whatever kind these are."""

import re
import subprocess

from hostlib import TOP

# What Debian's packages have for their own sake.
DEB_ONLY = re.compile(r"/usr/share/doc/[^/]+/(copyright|changelog\.gz)$|/usr/share/lintian/")
COMPRESSED = re.compile(r"^(/usr/share/(?:doc|man)/.*)\.gz$")


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def plain(paths, without):
    return {COMPRESSED.sub(r"\1", path) for path in paths if not without.match(path)}


def version():
    return re.search(r'PACKAGE_VERSION="(.*)"', (TOP / "kmod/dkms.conf").read_text())[1]


def debs():
    """{package: its files}, without what compresses them."""
    output("make", "-s", "deb", cwd=TOP)
    return {
        name: {
            line.split()[5].removeprefix(".")
            for line in output("dpkg-deb", "--contents", archive).splitlines()
            if not line.endswith("/")
        }
        for name in ("mptcp-sched", "mptcp-sched-dkms")
        for archive in (TOP / "build/deb").glob(f"{name}_*.deb")
    }
