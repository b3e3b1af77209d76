#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# rpm.sh VERSION OUT: builds the RPM packages, and the one of the source, into OUT. Nothing is fetched.

set -eu
version=$1 out=$2
name=mptcp-sched-$version
. packaging/source.sh

rm -rf "$out"
copy_source "$out/build/$name"
maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
sed -e "s/@VERSION@/$version/" -e "s/@MAINTAINER@/$maintainer/" \
	-e "s/@DATE@/$(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')/" \
	packaging/rpm/mptcp-sched.spec.in >"$out/build/mptcp-sched.spec"
cd "$out/build"
tar -cz --sort=name --owner=root:0 --group=root:0 --mtime="@$SOURCE_DATE_EPOCH" -f "$name.tar.gz" "$name"
rm -rf "$name"

# A machine whose own packages are of another kind has a database that knows of none.
known=
rpm --quiet -q rpm || known=--nodeps

# shellcheck disable=SC2086
rpmbuild -ba $known --define "_topdir $PWD" --define "_sourcedir $PWD" \
	--define "_rpmdir $out" --define "_srcrpmdir $out" \
	--define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
	--define 'use_source_date_epoch_as_buildtime 1' --define 'build_mtime_policy clamp_to_source_date_epoch' \
	--define '_buildhost localhost' mptcp-sched.spec
cd ..
rm -rf build
