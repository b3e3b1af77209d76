#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# arch.sh VERSION OUT: builds the packages for Arch Linux, and what an own build needs (PKGBUILD and
# the source), into OUT. Nothing is fetched. makepkg does not run as root.

set -eu
version=$1 out=$2
name=mptcp-sched-$version
. packaging/source.sh

rm -rf "$out"
copy_source "$out/$name"
tar -cz -C "$out" --sort=name --owner=root:0 --group=root:0 --mtime="@$SOURCE_DATE_EPOCH" \
	-f "$out/$name.tar.gz" "$name"
rm -rf "${out:?}/$name"
maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
sum=$(sha256sum "$out/$name.tar.gz")
sed -e "s/@VERSION@/$version/" -e "s/@MAINTAINER@/$maintainer/" -e "s/@SHA256@/${sum%% *}/" \
	packaging/arch/PKGBUILD.in >"$out/PKGBUILD"
cp packaging/arch/mptcp-sched.install "$out"

# A machine whose own packages are of another kind has a database that knows of none.
known=
pacman -Q pacman >/dev/null 2>&1 || known=--nodeps
cd "$out"
# shellcheck disable=SC2086
makepkg --force --clean $known
