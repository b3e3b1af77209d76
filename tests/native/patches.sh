#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The patches for upstream (patches/) on the kernel that they are for: each applies on top of those before
# it, checkpatch.pl has nothing to say of it, and what it changes compiles without a warning. With
# "kernel" a kernel is made of it, too, to boot. "control" makes one of the same configuration without
# them, to compare with.
#
#   ./vmtest.sh native --patches            inside the root; minutes, and 2 GB
#   ./vmtest.sh native --patches kernel     half an hour or more: build/patched/bzImage, for --kernel
#   ./vmtest.sh native --patches control    behind that minutes: build/control/bzImage
#
# usage: patches.sh [kernel|control] [SERIES]
#        SERIES    such as 7.2; default: that of the root's newest kernel

set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
top=$(realpath "$here/../..")
flavour=patched
[ "${1:-}" != control ] || { flavour=control; shift; }
out=$top/build/$flavour
tree=$out/linux
# What the tree has of them, for the next run to take back.
applied=$out/applied.patch
# shellcheck source=tests/native/source.sh
. "$here/source.sh"

make_ready() {
	rm -f "$applied"
}

take_back() {
	[ -s "$applied" ] || return 0
	patch -d "$tree" -p1 -R -s <"$applied" || die "build/$flavour is not as it was left: remove it"
	rm "$applied"
}

apply_one() {
	local patch=$1 name
	name=$(basename "$patch")
	patch -d "$tree" -p1 -F0 --dry-run -s <"$patch" >&2 ||
		die "patches/$name does not apply to Linux $version: renew it"
	(cd "$tree" && perl scripts/checkpatch.pl --strict --terse "$patch") >&2 ||
		die "checkpatch.pl complains of patches/$name (above)"
	patch -d "$tree" -p1 -F0 -s <"$patch"
	cat "$patch" >>"$applied"
	say "patches/$name: applies, checkpatch.pl is content"
}

# All of net/mptcp, as any of it may see a header that changed; of the rest what changed itself.
objects() {
	echo net/mptcp/
	sed -n 's|^+++ b/\(.*\)\.c$|\1.o|p' "$applied" | grep -v '^net/mptcp/' | sort -u
}

[ "$here" = /src/tests/native ] || die "this runs inside the root: ./vmtest.sh native --patches"
mapfile -t patches < <(find "$top/patches" -name '*.patch' | sort)
[ ${#patches[@]} -gt 0 ] || die "no patches in patches/"
wanted_kernel=0
[ "${1:-}" != kernel ] || { wanted_kernel=1; shift; }
series=${1:-$(newest)}
have_source
if [ $flavour = control ]; then
	configure "$here/config"
	make_kernel
	install_kernel
	exit
fi
version=$(make -s -C "$tree" kernelversion)
take_back
for p in "${patches[@]}"; do apply_one "$p"; done
configure "$here/config"
mapfile -t wanted < <(objects)
say "compiling ${wanted[*]} of Linux $version"
make -s -C "$tree" -j"$(nproc)" CC="ccache gcc" prepare
make -s -C "$tree" -j"$(nproc)" CC="ccache gcc" W=1e "${wanted[@]}" ||
	die "the patches do not compile on Linux $version (above)"
say "done: ${#patches[@]} patches apply to Linux $version, are clean and compile"
[ $wanted_kernel = 0 ] || { make_kernel; install_kernel; }
