#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# deb.sh VERSION OUT [ARCHITECTURE]: builds the Debian packages into OUT, from a copy of the tree in
# which nothing is built yet. Nothing is fetched. Of another architecture it builds across, and only what
# differs: the source of the bridge is the same for all.

set -eu
version=$1 out=$2 architecture=${3:-}
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
set -- --build=binary
options="parallel=2 ${DEB_BUILD_OPTIONS:-}"
[ -z "$architecture" ] || {
	set -- --build=any --host-arch="$architecture"
	options="$options nocheck"
}
DEB_BUILD_OPTIONS=$options dpkg-buildpackage "$@" --unsigned-changes --unsigned-source
cd ..
rm -rf "${source##*/}"
