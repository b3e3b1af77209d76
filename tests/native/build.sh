#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes a kernel from Debian's source package, to see what the bridge and the loader do there: with
# mptcp_net-next's scheduler API in it, from the two files beside this script, or, "stock", without.
# Modules and the link that the bridge is built through go where they belong, into the root.
#
#   ./vmtest.sh native                                 makes build/native/bzImage, inside the root
#   ./vmtest.sh test --kernel build/native/bzImage     builds the bridge for it and runs the tests on it
#   ./vmtest.sh native --debug                         both, as kernels that watch (config.debug),
#                                                      and the tests of tests/vm/watch.sh on each
#
# Not a part of CI: it takes half an hour on two processors, and 4 GB. Afterwards the tree in
# build/native/linux stays, since the bridge is built against it, and another run only makes what
# has changed.
#
# usage: build.sh [FLAVOUR [SERIES]]
#        FLAVOUR   native (default), debug (watches, with the API) or debug-stock
#        SERIES    such as 7.2; default: that of the root's newest kernel

set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
flavour=${1:-native}
out=$(realpath "$here/../..")/build/$flavour
tree=$out/linux
started=$SECONDS
# One flavour's files are nearly all another's; the tree's own name in debug information is all that differs.
export CCACHE_DIR=$out/../ccache CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=4G

say() {
	printf '[%4d s] %s\n' $((SECONDS - started)) "$*" >&2
}

die() {
	echo "native/build.sh: $*" >&2
	exit 1
}

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
	[ "$flavour" = debug-stock ] || add_api "$tree.new"
	# the release's name, by which its modules are found
	echo "-mptcp-$flavour" >"$tree.new/localversion-mptcp"
	rm -rf "$tree"
	mv "$tree.new" "$tree"
}

# Makes a function that its file keeps to itself one that BPF can call.
export_function() {
	local file=$1 type=$2 call="$3($4)"
	perl -0pi.old -e "s/^static \Q$type\E(\s)\Q$call\E\n\{/__bpf_kfunc $type\$1$call\n{/m" "$file"
	! cmp -s "$file" "$file.old" || die "no static $type $call in $file: adapt this script"
	rm "$file.old"
	sed -i "\$i $type $call;" protocol.h
}

add_api() (
	say "adding the API to net/mptcp"
	cd "$1/net/mptcp"
	msk='const struct mptcp_sock *msk'
	export_function protocol.c u64 mptcp_wnd_end "$msk"
	export_function protocol.c void mptcp_set_timeout 'struct sock *sk'
	export_function pm.c void mptcp_pm_subflow_chk_stale "$msk, struct sock *ssk"
	sed -i '0,/#include "protocol.h"/s//#include <linux\/btf.h>\n&/' protocol.c pm.c
	# shellcheck disable=SC2016
	echo 'obj-$(CONFIG_BPF_JIT) += bpf_sched.o' >>Makefile
)

configure() {
	local lost wanted=("$here/config")
	[ "$flavour" = native ] || wanted+=("$here/config.debug")
	say "configuring"
	cat "${wanted[@]}" >"$out/wanted"
	make -s -C "$tree" KCONFIG_ALLCONFIG="$out/wanted" allnoconfig
	lost=$(grep '^CONFIG_' "$out/wanted" | grep -vxFf "$tree/.config") ||
		[ $? -eq 1 ] || die "cannot compare $out/wanted with $tree/.config"
	[ -z "$lost" ] || die "this kernel did not take: $lost"
}

# Elsewhere it would put modules into somebody's /lib.
[ "$here" = /src/tests/native ] || die "this runs inside the root: ./vmtest.sh native"
case $flavour in native | debug | debug-stock) ;; *) die "no flavour '$flavour'" ;; esac
series=${2:-$(newest)}
mkdir -p "$out"
type bc flex bison >/dev/null 2>&1 || get_tools
[ "$(series_of_tree)" = "$series" ] || get_source
[ "$flavour" = debug-stock ] || cmp -s "$here/bpf_sched.c" "$tree/net/mptcp/bpf_sched.c" ||
	cp "$here/bpf_sched.c" "$tree/net/mptcp/bpf_sched.c"
configure
release=$(make -s -C "$tree" kernelrelease)
say "building Linux $release"
nice -n 19 make -s -C "$tree" -j"$(nproc)" CC="ccache gcc" bzImage modules
say "installing its modules"
make -s -C "$tree" modules_install
cp "$tree/arch/x86/boot/bzImage" "$out/bzImage"
say "done: build/$flavour/bzImage is Linux $release"
