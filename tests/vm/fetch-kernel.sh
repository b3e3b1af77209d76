#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Brings a kernel of kernels.toml into the root, in which it runs: image, modules and headers where
# Debian's own packages put them, or the BTF alone (/usr/src/btf/RELEASE). What is there already is
# left as it is. /usr/lib/modules/RELEASE/.fetched keeps such a kernel apart from the root's own two.
#
# usage: fetch-kernel.sh NAME        (FETCH_LOG=FILE takes what the tools say)

set -Eeuo pipefail

# What is said to the user, also where the tools' output goes to a file.
exec 3>&2
[ -z "${FETCH_LOG:-}" ] || exec >"$FETCH_LOG" 2>&1

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=/usr/src/fetch
started=$SECONDS

say() {
	printf '[%4d s] kernel %s: %s\n' $((SECONDS - started)) "${name:-}" "$*" >&3
}

# Says how far it came; vmtest.sh names the log.
failed() {
	[ -z "${FETCH_LOG:-}" ] || tail -n 15 "$FETCH_LOG" | sed 's/^/  /' >&3
	die "kernel ${name:-}: '$1' failed"
}
trap 'failed "$BASH_COMMAND"' ERR

die() {
	echo "fetch-kernel.sh: $*" >&3
	exit 1
}

apt_update() {
	[ -z "$(find /var/lib/apt/lists -name '*_Packages*' -mmin -720 2>/dev/null)" ] || return 0
	say "asking the archive what there is"
	apt-get update -q
}

install_packages() {
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
	# What tiny-initramfs made is not used, guests get their own.
	rm -f /boot/initrd.img-* /initrd.img* /vmlinuz*
}

newest() {
	python3 "$here/kernels.py" newest "$1"
}

# download PACKAGE: unpacked into $work/PACKAGE, and not installed.
download() {
	rm -rf "$work/deb"
	mkdir -p "$work/deb" "$work/$1"
	(cd "$work/deb" && apt-get download -q -o APT::Sandbox::User=root "$1")
	dpkg-deb -x "$work"/deb/*.deb "$work/$1"
	rm -rf "$work/deb"
}

# The version of the source package that a package was built from.
source_version() {
	apt-cache show --no-all-versions "$1" | sed -n 's/^Version: //p'
}

# get_source VERSION: the archive as its authors have made it, without Debian's patches, whose
# archive may be gone. That a private field lies elsewhere for one of them the bridge finds at load.
get_source() {
	local lists=$work/lists options
	mkdir -p "$lists/partial"
	sed -n 's/^deb /deb-src /p' /etc/apt/sources.list.d/extra.list >"$work/src.list"
	options=(-q -o Dir::Etc::sourcelist="$work/src.list" -o Dir::Etc::sourceparts=/dev/null
		-o Dir::State::lists="$lists" -o APT::Sandbox::User=root)
	apt-get update "${options[@]}"
	(cd "$work" && apt-get source "${options[@]}" --tar-only "linux=$1")
}

# unpack_source TREE: what the headers of a module's build are made of, and the sources of $modules.
unpack_source() {
	local tree=$1 archive top d exclude=() only=()
	archive=$(find "$work" -maxdepth 1 -name 'linux_*.orig.tar.*')
	top=$(tar -tf "$archive" 2>/dev/null | sed -n '1{s,/.*,,p;q}' || true)
	if [ -z "$top" ]; then
		# its words about a pipe that is closed early were swallowed above, and with them what is wrong
		tar -tf "$archive" >/dev/null || true
		die "cannot read ${archive:-the archive}"
	fi
	for d in Documentation/*/ tools/testing/ tools/perf/; do
		exclude+=("--exclude=$top/$d*")
	done
	for d in block crypto drivers fs init io_uring ipc mm net rust samples sound virt; do
		exclude+=("--exclude=$top/$d/*.[chS]" "--exclude=$top/$d/*.rs")
	done
	exclude+=("--exclude=$top/arch/[!x]*/*.[chS]" "--exclude=$top/arch/[!x]*/*.dts*")
	tar -xf "$archive" -C "$tree" --strip-components=1 --anchored --wildcards "${exclude[@]}"
	[ -n "$modules" ] || return 0
	for d in $modules; do only+=("$top/$d"); done
	# the headers beside them, too
	tar -xf "$archive" -C "$tree" --strip-components=1 --anchored --wildcards --no-wildcards-match-slash \
		"$top/net/mptcp/*.h" "${only[@]}"
}

# make_headers TREE CONFIG IMAGE
make_headers() {
	local tree=$1 option
	cp "$2" "$tree/.config"
	for option in $off; do "$tree/scripts/config" --file "$tree/.config" --disable "$option"; done
	# the part behind the version, as in the image's own name
	echo "${release#"${release%%[+-]*}"}" >"$tree/localversion"
	make -s -C "$tree" LOCALVERSION= olddefconfig
	make -s -C "$tree" LOCALVERSION= -j"$(nproc)" modules_prepare
	[ "$(make -s -C "$tree" LOCALVERSION= kernelrelease)" = "$release" ] ||
		die "the source of $release calls itself $(make -s -C "$tree" LOCALVERSION= kernelrelease)"
	python3 "$here/vmlinux.py" extract "$3" "$tree/vmlinux"
	python3 "$here/vmlinux.py" symvers "$tree/vmlinux" "$tree/Module.symvers"
	check_sizes "$tree"
}

# A module shares its structs with the image. One of another size means another configuration, and
# a kernel that crashes where nobody would look for that.
check_sizes() {
	local tree=$1 unit=$work/sizes other
	mkdir -p "$unit"
	printf '#include <%s>\n' linux/module.h linux/netdevice.h linux/fs.h linux/bpf.h \
		net/sch_generic.h net/tcp.h net/mptcp.h >"$unit/sizes.c"
	printf 'ccflags-y += -g -gdwarf-5 -fno-eliminate-unused-debug-types\nobj-m := sizes.o\n' >"$unit/Kbuild"
	make -s -C "$tree" M="$unit" CONFIG_DEBUG_INFO_BTF_MODULES= sizes.o
	pahole -F dwarf --sizes "$unit/sizes.o" | awk '{ print $1, $2 }' | sort -u >"$unit/here"
	pahole -F btf --sizes "$tree/vmlinux" | awk '{ print $1, $2 }' | sort -u >"$unit/there"
	# a name may be that of several structs
	other=$(join "$unit/here" "$unit/there" | awk '{ all[$1] } $2 == $3 { same[$1] }
		END { print length(all); for (s in all) if (!(s in same)) print s }')
	[ "$(head -n 1 <<<"$other")" -gt 100 ] || die "cannot compare the structs of $release"
	other=$(tail -n +2 <<<"$other" | xargs)
	[ -z "$other" ] || die "the headers of $release have another size than its image of: $other;" \
		"see 'off' of $name in kernels.toml"
}

# Each source becomes a module of its own, a directory those that its Makefile names.
make_modules() {
	local tree=$1 m out=$work/modules
	rm -rf "$out"
	mkdir -p "$out"
	for m in $modules; do
		cp -r "$tree/$m" "$out/"
		case $m in
		*.c) echo "obj-m += $(basename "$m" .c).o" ;;
		*) echo "obj-m += $(basename "$m")/" ;;
		esac
		echo "ccflags-y += -I\$(srctree)/$(dirname "$m")"
	done >"$out/Kbuild"
	make -s -C "$tree" M="$out" CONFIG_DEBUG_INFO_BTF_MODULES= -j"$(nproc)" modules
	find "$out" -name '*.ko' -exec strip --strip-debug {} + \
		-exec install -D -m 0644 -t "/usr/lib/modules/$release/kernel" {} +
}

mark() {
	mkdir -p "/usr/lib/modules/$release"
	echo "$1" >"/usr/lib/modules/$release/.fetched"
}

fetch_packages() {
	say "installing image and headers of $release"
	mark ""
	install_packages "$package" "${package/image/headers}"
	mark "$name"
}

fetch_source() {
	local tree=/usr/src/linux-headers-$release source_config
	rm -rf "$work" "$tree"
	mkdir -p "$work" "$tree"
	say "getting image and source of $release"
	mark ""
	download "$package"
	source_config=$work/$package/boot/config-$release
	if [ -n "$config" ]; then
		config=$(newest "$config")
		download "$config"
		source_config=$(find "$work/$config" -name 'config*' -type f)
	fi
	get_source "$(source_version "$package")"
	say "unpacking the source"
	unpack_source "$tree"
	say "making its headers"
	make_headers "$tree" "$source_config" "$work/$package/boot/vmlinuz-$release"
	if [ -d "$work/$package/usr/lib/modules" ]; then
		cp -a "$work/$package/usr/lib/modules/." /usr/lib/modules/
	elif [ -z "$modules" ]; then
		die "$package has no modules, and $name names no sources of them in kernels.toml"
	fi
	if [ -n "$modules" ]; then
		say "making its modules"
		make_modules "$tree"
	fi
	ln -sfn "../../../src/$(basename "$tree")" "/usr/lib/modules/$release/build"
	depmod "$release"
	cp "$work/$package/boot/vmlinuz-$release" /boot/
	rm -rf "$work"
	mark "$name"
}

fetch_image() {
	say "getting the BTF of $release"
	rm -rf "$work"
	mkdir -p "$work" /usr/src/btf
	download "$package"
	python3 "$here/vmlinux.py" extract "$work/$package/boot/vmlinuz-$release" "$work/vmlinux"
	objcopy --dump-section ".BTF=$work/btf" "$work/vmlinux" "$work/rest"
	mv "$work/btf" "/usr/src/btf/$release"
	rm -rf "$work"
}

[ $# -eq 1 ] || { echo "usage: fetch-kernel.sh NAME" >&2; exit 2; }
# The entry's fields become variables.
name='' had='' image='' config='' off='' modules=''
eval "$(python3 "$here/kernels.py" shell "$1")"
apt_update
package=$(newest "$image")
[ -n "$package" ] || die "the archive has no package $image any more: kernel $name cannot be had"
release=${package#linux-*-}
case $had in
packages) fetch_packages ;;
source) fetch_source ;;
image) fetch_image ;;
*) die "kernel $name comes with the root" ;;
esac
say "$release is there"
