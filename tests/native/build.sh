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
# shellcheck source=tests/native/source.sh
. "$here/source.sh"

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

# What a tree has before it is built, for get_source().
make_ready() {
	[ "$flavour" = debug-stock ] || add_api "$1"
}

# Elsewhere it would put modules into somebody's /lib.
[ "$here" = /src/tests/native ] || die "this runs inside the root: ./vmtest.sh native"
case $flavour in native | debug | debug-stock) ;; *) die "no flavour '$flavour'" ;; esac
series=${2:-$(newest)}
have_source
[ "$flavour" = debug-stock ] || cmp -s "$here/bpf_sched.c" "$tree/net/mptcp/bpf_sched.c" ||
	cp "$here/bpf_sched.c" "$tree/net/mptcp/bpf_sched.c"
wanted=("$here/config")
[ "$flavour" = native ] || wanted+=("$here/config.debug")
configure "${wanted[@]}"
make_kernel
# without it the tests of the native API would skip themselves, as on a stock kernel
[ "$flavour" = debug-stock ] || grep -qaF bpf_struct_ops_mptcp_sched_ops "$tree/vmlinux" ||
	die "the kernel that was built has no scheduler API"
install_kernel
