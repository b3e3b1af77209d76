# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# A kernel's source from Debian's package, and its configuration; a part of build.sh and patches.sh. They
# set $out, $tree (in it), $flavour and $series, and have make_ready TREE, for what comes before a build.

started=$SECONDS
# One flavour's files are nearly all another's; the tree's own name in debug information is all that differs.
export CCACHE_DIR=$out/../ccache CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=4G

say() {
	printf '[%4d s] %s\n' $((SECONDS - started)) "$*" >&2
}

die() {
	echo "native/$(basename "$0"): $*" >&2
	exit 1
}

# The series of the root's newest kernel.
newest() {
	find /boot -name 'vmlinuz-*' -printf '%f\n' | sed -E 's/^vmlinuz-([0-9]+\.[0-9]+).*/\1/' |
		sort -V | tail -n 1
}

get_tools() {
	say "installing what a kernel's build needs"
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
		bc flex bison libelf-dev xz-utils >/dev/null
}

# Of the tree that is there; nothing when there is none.
series_of_tree() {
	sed -nE 's/^(VERSION|PATCHLEVEL) = //p' "$tree/Makefile" 2>/dev/null | paste -sd.
}

# Unpacks the newest point release that the archive has of the series.
get_source() {
	local package=linux-source-$series
	say "getting $package"
	apt-get update -q >/dev/null
	rm -rf "$tree.new" "$out"/linux-source-*.deb
	mkdir -p "$tree.new"
	# apt fetches as a user of its own, who may not write here; that is all it would say.
	(cd "$out" && apt-get download -q "$package" 2> >(grep -v 'unsandboxed' >&2)) >/dev/null ||
		die "the archive has no $package (there are: $(apt-cache pkgnames linux-source- | xargs))"
	say "unpacking it"
	dpkg-deb --fsys-tarfile "$out"/linux-source-*.deb |
		tar -xO "./usr/src/$package.tar.xz" |
		tar -xJ -C "$tree.new" --strip-components=1
	rm "$out"/linux-source-*.deb
	make_ready "$tree.new"
	# the release's name, by which its modules are found
	echo "-mptcp-$flavour" >"$tree.new/localversion-mptcp"
	rm -rf "$tree"
	mv "$tree.new" "$tree"
}

have_source() {
	mkdir -p "$out"
	type bc flex bison >/dev/null 2>&1 || get_tools
	[ "$(series_of_tree)" = "$series" ] || get_source
}

# configure FILE...: these on top of nothing.
configure() {
	local lost
	say "configuring"
	cat "$@" >"$out/wanted"
	make -s -C "$tree" KCONFIG_ALLCONFIG="$out/wanted" allnoconfig
	lost=$(grep '^CONFIG_' "$out/wanted" | grep -vxFf "$tree/.config") ||
		[ $? -eq 1 ] || die "cannot compare $out/wanted with $tree/.config"
	[ -z "$lost" ] || die "this kernel did not take: $lost"
}

# make_kernel: the image and modules of what was configured; sets $release.
make_kernel() {
	release=$(make -s -C "$tree" kernelrelease)
	say "building Linux $release"
	nice -n 19 make -s -C "$tree" -j"$(nproc)" CC="ccache gcc" bzImage modules
}

# install_kernel: where --kernel build/FLAVOUR/bzImage and the bridge's build look for it.
install_kernel() {
	say "installing its modules"
	make -s -C "$tree" modules_install
	cp "$tree/arch/x86/boot/bzImage" "$out/bzImage"
	say "done: build/$flavour/bzImage is Linux $release"
}
