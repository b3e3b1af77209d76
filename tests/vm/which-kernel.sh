# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Which kernels are meant, and how they come into the root; a part of vmtest.sh, whose variables
# these are.

# choose WORD: lines "NAME RELEASE RUNS" (tests/vm/kernels.py)
choose() {
	in_root python3 tests/vm/kernels.py choose "$1"
}

# Fills chosen=() (such lines), kernels=() (releases), own_kernels=() (those of the root itself) and
# image (a path inside the root, for a kernel of the user's own).
choose_kernels() {
	local found
	image='' chosen=() kernels=() own_kernels=()
	found=$(choose all) || die "$found"
	# of another architecture, where it takes minutes, the bridge is built when it is asked for
	[ -n "$architecture" ] || mapfile -t own_kernels < <(awk '{ print $2 }' <<<"$found")
	case $kernel in */*) own_kernel; return ;; esac
	found=$(choose "$kernel" 2>&1) || usage_error "$found"
	mapfile -t chosen <<<"$found"
	# The smoke set goes on when one of its kernels cannot be had, and says so in its table.
	[ "$command" != smoke ] || return 0
	fetch_chosen
}

fetch_chosen() {
	local name release runs
	while read -r name release runs; do
		[ "$runs" != layout ] ||
			usage_error "Linux $name is not booted, only its layout is checked: smoke --kernel $name"
		if [ "$release" = - ]; then
			fetch "$name" || die "could not get Linux $name (all of it: build/log/fetch-$name.log)"
			release=$(choose "$name" | awk '{ print $2 }')
		fi
		kernels+=("$release")
	done < <(printf '%s\n' "${chosen[@]}")
}

# fetch NAME: into the root; what apt and make have to say goes to a file.
fetch() {
	local free
	free=$(df -Pm "$build" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge 2000 ] || die "$free MB free in $build, 2000 are needed for Linux $1"
	say "getting Linux $1 ..."
	in_root env FETCH_LOG="/src/build/log/fetch-$1.log" bash tests/vm/fetch-kernel.sh "$1" </dev/null
}

# The releases that the bridge is built for with the project: the root's own and those chosen.
to_build_for() {
	local k
	for k in "${own_kernels[@]}" "${kernels[@]}"; do
		if in_root test -e "/lib/modules/$k/build/Makefile"; then
			echo "$k"
		else
			say "nothing to build the bridge for $k against in the root: going without it"
		fi
	done | sort -u
}

# copy_image IMAGE: where a copy of it is that is no other run's, by what is in it. Those of a week ago go.
copy_image() {
	local to=$build/vm copy
	mkdir -p "$to"
	cp "$1" "$to/new"
	copy=$to/image-$(sha256sum "$to/new" | cut -c1-16)
	mv "$to/new" "$copy"
	find "$to" -name 'image-*' -mtime +7 -delete
	echo "$copy"
}

# A kernel image from anywhere; its modules are in the root or on the host, or it needs none.
own_kernel() {
	local release copy
	[[ $kernel = /* ]] || kernel=$from/$kernel
	[ -f "$kernel" ] || usage_error "no kernel image '$kernel'"
	copy=$(copy_image "$kernel")
	# The boot header points to the version string.
	release=$(in_root python3 -c '
import sys
data = sys.stdin.buffer.read()
if data[0x202:0x206] != b"HdrS":
    sys.exit("not a bootable x86 kernel image")
at = int.from_bytes(data[0x20E:0x210], "little") + 0x200
print(data[at:].split(b" ", 1)[0].decode())' <"$copy") || die "cannot read $kernel"
	image=/src/build/${copy#"$build/"}
	if [ ! -d "$root/lib/modules/$release" ]; then
		[ -d "/lib/modules/$release" ] || die "no modules for $release: install its packages, or" \
			"'make modules_install' in its tree (they are looked for in /lib/modules/$release)"
		cp -a "/lib/modules/$release" "$root/lib/modules/"
	fi
	kernels=("$release")
}
