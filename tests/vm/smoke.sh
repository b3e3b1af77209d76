# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# The smoke set on many kernels, one line for each; a part of vmtest.sh, whose variables these are.
# What became of each goes to build/out/smoke/NAME, of which kernel_table.py makes the table.

do_smoke() {
	local name release runs status=0 out=$build/out/smoke
	[ -z "$image" ] || die "smoke takes kernels of tests/vm/kernels.toml"
	rm -rf "$out" "$build"/out/smoke-*.xml
	mkdir -p "$out"
	while read -r name release runs <&3; do
		smoke_one "$name" "$release" "$runs" || status=1
	done 3< <(printf '%s\n' "${chosen[@]}")
	in_root python3 tests/vm/kernel_table.py --commit "$(tree_commit)" \
		${architecture:+--architecture "$architecture"} \
		--command "./vmtest.sh smoke --kernel ${architecture:+$architecture-}$kernel" build/out/smoke build/out/kernels.json </dev/null || status=1
	return $status
}

# smoke_one NAME RELEASE RUNS: what can be done with it, as far as it goes.
smoke_one() {
	local name=$1 release=$2 runs=$3 begun=$SECONDS status=0
	if [ "$release" = - ]; then
		locked fetch "$name" || { note "$name" fetched no; return 1; }
		release=$(choose "$name" | awk '{ print $2 }')
	fi
	note "$name" release "$release"
	check_layout "$name" "$release" || status=1
	if [ "$runs" != layout ]; then
		run_smoke "$name" "$release" || status=1
	fi
	note "$name" seconds $((SECONDS - begun))
	return $status
}

# note NAME KEY VALUE
note() {
	echo "$2=$3" >>"$build/out/smoke/$1"
}

# The root is written to by one at a time.
locked() {
	local status=0
	exec 9>"$build/.lock"
	flock 9
	"$@" || status=$?
	exec 9>&-
	return $status
}

check_layout() {
	local name=$1 release=$2 btf=/usr/src/btf/$2 said
	in_root test -e "$btf" || btf=/lib/modules/$release/build/vmlinux
	btf=${architecture:+/src/build/root}$(in_root readlink -m "$btf")
	if said=$(in_native_root python3 tests/layout/check.py "$btf" 2>&1 </dev/null); then
		note "$name" layout ok
	else
		note "$name" layout "$(wc -l <<<"$said") missing"
		say "layout of Linux $release:"
		printf '  %s\n' "$said" >&2
		return 1
	fi
}

# The bridge and nothing else for a kernel; the root's own have theirs, it came with the project.
build_bridge() {
	[[ $want_build = 1 && " ${own_kernels[*]} " != *" $2 "* ]] || return 0
	# shellcheck disable=SC2016
	locked quietly "building the bridge for $2" "build-$1.log" \
		in_root sh -euxc 'make kmod KVER="$1"; make kmod-install KVER="$1"; depmod "$1"' sh "$2"
}

# Builds the bridge for it and boots it.
run_smoke() {
	local name=$1 release=$2 status=0
	build_bridge "$name" "$release" || { note "$name" built no; return 1; }
	say "smoke on Linux $release"
	guest "$release" "smoke-$name" 600 --must-print -- "${pytest[@]}" tests/guest/test_smoke.py \
		--junit-xml="build/out/smoke-$name.xml" "${arguments[@]}" || status=$?
	note "$name" guest "$status"
	return "$status"
}
