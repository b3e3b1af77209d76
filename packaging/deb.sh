#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# deb.sh VERSION OUT: builds the Debian packages into OUT, from a copy of the tree in which nothing
# is built yet. Nothing is fetched.

set -eu
version=$1 out=$2
source=$out/mptcp-sched-$version
. packaging/source.sh

rm -rf "$out"
copy_source "$source"
maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
cat >"$source/debian/changelog" <<-END
	mptcp-sched ($version) unstable; urgency=medium

	  * What changed is in CHANGELOG.md.

	 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END

cd "$source"
DEB_BUILD_OPTIONS="parallel=2 ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage --build=binary --unsigned-changes --unsigned-source
cd ..
rm -rf "${source##*/}"
