#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Gets the kernel's selftests of MPTCP from Debian's source package of a series, builds their programs
# and leaves them in build/selftests/SERIES, as far as a guest needs them. What is there stays, as long
# as the archive's package has that version. ./vmtest.sh selftests runs this inside the root.
#
# The programs are built with the root's own kernel headers for user space (linux-libc-dev).
#
# usage: build.sh SERIES        (such as 7.3)

set -euo pipefail

series=$1
top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
out=$top/build/selftests/$series
package=linux-source-$series
tests=tools/testing/selftests
# What the scripts call and the root may not have: programs, and their packages.
programs=(iptables nft ping)
packages=(iptables nftables iputils-ping)
started=$SECONDS

say() {
	printf '[%4d s] selftests of %s: %s\n' $((SECONDS - started)) "$series" "$*" >&2
}

die() {
	echo "selftests/build.sh: $*" >&2
	exit 1
}

version() {
	apt-cache show --no-all-versions "$package" 2>/dev/null | sed -n 's/^Version: //p'
}

get_tools() {
	! type "${programs[@]}" >/dev/null 2>&1 || return 0
	say "installing ${packages[*]}"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" >/dev/null
}

# Only what the selftests are built from.
unpack() {
	local deb
	deb=$(echo "$work"/*.deb)
	dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$package.tar.xz" |
		tar -xJ -C "$work" --strip-components=1 --wildcards \
			"*/tools/include" "*/tools/scripts" "*/scripts/subarch.include" \
			"*/$tests/lib.mk" "*/$tests/*.h" "*/$tests/net/*.sh" "*/$tests/net/lib" "*/$tests/net/mptcp"
	rm "$deb"
}

get_source() {
	say "getting $package $want"
	# apt fetches as a user of its own, who may not write here; that is all it would say.
	(cd "$work" && apt-get download -q "$package" 2> >(grep -v unsandboxed >&2)) >/dev/null ||
		die "could not fetch $package (what apt says is above)"
	say "unpacking it"
	unpack
	[ -e "$work/$tests/net/mptcp/mptcp_connect.sh" ] || die "$package has no $tests/net/mptcp"
}

# Of the tree, what runs: the scripts look for lib.sh, and others, beside their directory.
install_built() {
	local name
	rm -rf "$out.new"
	mkdir -p "$out.new/mptcp"
	cp -r "$work/$tests/net"/*.sh "$work/$tests/net/lib" "$out.new/"
	for name in "$work/$tests/net/mptcp"/*; do
		[ -x "$name" ] || [[ $name == *.sh ]] || continue
		cp "$name" "$out.new/mptcp/"
	done
	echo "$want" >"$out.new/version"
	echo "$recipe" >"$out.new/recipe"
	rm -rf "$out"
	mv "$out.new" "$out"
}

[ $# -eq 1 ] || { echo "usage: build.sh SERIES" >&2; exit 2; }
[ -n "$(find /var/lib/apt/lists -name '*_Packages*' -mmin -720 2>/dev/null)" ] || apt-get update -q >/dev/null
get_tools
want=$(version)
[ -n "$want" ] || die "the archive has no $package (there are: $(apt-cache pkgnames linux-source- | xargs))"
recipe=$(sha256sum <"$0")
[ "$(cat "$out/version" "$out/recipe" 2>/dev/null)" != "$want"$'\n'"$recipe" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get_source
say "building the programs"
make -s -C "$work/$tests/net/mptcp" -j"$(nproc)" >"$work/log" 2>&1 || {
	tail -n 20 "$work/log" >&2
	die "the programs of $package do not build"
}
install_built
say "they are in build/selftests/$series"
