#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# deb.sh VERSION OUT: builds the Debian packages into OUT, from a copy of the tree in which nothing
# is built yet. Nothing is fetched.

set -eu
version=$1 out=$2
source=$out/mptcp-sched-$version

# When the project last changed: the date of the packages, so that they can be made again alike.
changed() {
	git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md
}

rm -rf "$out"
mkdir -p "$source"
tar -c --exclude=./build --exclude=./.git --exclude=__pycache__ . | tar -x -C "$source"

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(changed)}
export SOURCE_DATE_EPOCH
maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
cat >"$source/debian/changelog" <<-EOF
	mptcp-sched ($version) unstable; urgency=medium

	  * What changed is in CHANGELOG.md.

	 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
EOF

cd "$source"
# dpkg-buildpackage takes what is set in the environment for the user's wish
unset MAKEFLAGS MFLAGS MAKELEVEL
DEB_BUILD_OPTIONS="parallel=2 ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage --build=binary --unsigned-changes --unsigned-source
cd ..
rm -rf "${source##*/}"
