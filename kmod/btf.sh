#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The module's BTF, in place of the kernel build's own step: that takes a vmlinux of the headers
# package, which many distributions leave out, for granted, and skips BTF without one.
#
# usage: btf.sh base KVER KDIR OUT    OUT: the BTF of that kernel, raw, for everything to build on
#        btf.sh encode BASE TOOLS KO  the module's BTF, into it; TOOLS is what Kbuild wrote

set -eu

say() {
	echo "btf.sh: $*" >&2
}

die() {
	say "$*"
	exit 1
}

# need COMMAND PACKAGE
need() {
	command -v "$1" >/dev/null || die "$1 is missing: install $2"
}

# section_of ELF OUT: its .BTF, false where it has none
section_of() {
	objcopy -O binary --only-section=.BTF "$1" "$2" 2>/dev/null && [ -s "$2" ]
}

# --- the kernel inside a boot image: by the x86 boot protocol, arm64's flat image (the kernel's
# Documentation/arch/arm64/booting.rst), or that packed as an EFI program (EFI_ZBOOT)

SETUP_SECTS=497 X86_MAGIC=514 PAYLOAD_OFFSET=584 PAYLOAD_LENGTH=588
ARM64_MAGIC=56
ZBOOT_MAGIC=4 ZBOOT_OFFSET=8 ZBOOT_LENGTH=12
# struct btf_header (include/uapi/linux/btf.h): its length in a header of version 1, and where it says of
# the strings, which are last, where they begin behind the header, and how long they are
BTF_HEADER=24 BTF_STR_OFF=16 BTF_STR_LEN=20

# number FILE OFFSET BYTES: little endian
number() {
	od -An --endian=little -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

text() {
	tail -c "+$(($2 + 1))" "$1" | head -c "$3" | tr -d '\0'
}

# part FILE OFFSET BYTES
part() {
	tail -c "+$(($2 + 1))" "$1" | head -c "$3"
}

payload() {
	sectors=$(number "$1" $SETUP_SECTS 1)
	[ "$sectors" -ne 0 ] || sectors=4
	part "$1" $(((sectors + 1) * 512 + $(number "$1" $PAYLOAD_OFFSET 4))) \
		"$(number "$1" $PAYLOAD_LENGTH 4)"
}

# unpacker FILE: the command for what it is compressed with, after "whole" if it reads to its end:
# the others are followed by the size of what comes out.
unpacker() {
	case $(od -An -t x1 -N 4 "$1" | tr -d ' ') in
	28b52ffd) echo "cut zstd -dcq" ;;
	fd377a58) echo "cut xz -dc" ;;
	02214c18) echo "cut lz4 -dcq" ;;
	1f8b*) echo "whole gzip -dc" ;;
	*) return 1 ;;
	esac
}

# unpack IMAGE PACKED OUT: says on stdout why not
unpack() {
	# shellcheck disable=SC2046
	set -- "$1" "$2" "$3" $(unpacker "$2")
	[ $# -gt 3 ] || { echo "$1 is compressed in an unknown way"; return 1; }
	image=$1 packed=$2 out=$3 how=$4
	shift 4
	command -v "$1" >/dev/null || { echo "$image takes $1 to unpack, which is missing: install $1"; return 1; }
	[ "$how" = whole ] || truncate -s -4 "$packed"
	"$@" <"$packed" >"$out" 2>/dev/null || { echo "$1 cannot unpack $image"; return 1; }
}

# kernel_of IMAGE OUT: an ELF file or a flat image; says on stdout why not
kernel_of() {
	if [ "$(text "$1" $X86_MAGIC 4)" = HdrS ]; then
		payload "$1" >"$2.packed"
		unpack "$1" "$2.packed" "$2"
	elif [ "$(text "$1" $ZBOOT_MAGIC 4)" = zimg ]; then
		part "$1" "$(number "$1" $ZBOOT_OFFSET 4)" "$(number "$1" $ZBOOT_LENGTH 4)" >"$2.packed"
		unpack "$1" "$2.packed" "$2"
	elif [ "$(text "$1" $ARM64_MAGIC 4)" = ARMd ]; then
		cp "$1" "$2"
	else
		echo "$1 is no boot image of x86 or arm64"
		return 1
	fi
}

# found_in FLAT OUT: the BTF somewhere in it, by its header; false where there is none
found_in() {
	LC_ALL=C grep -abo "$(printf '\237\353\001')" "$1" | cut -d: -f1 >"$2.at"
	while read -r at; do
		[ "$(number "$1" $((at + 3)) 1) $(number "$1" $((at + 4)) 4)" = "0 $BTF_HEADER" ] || continue
		part "$1" "$at" $((BTF_HEADER + $(number "$1" $((at + BTF_STR_OFF)) 4) + \
			$(number "$1" $((at + BTF_STR_LEN)) 4))) >"$2"
		return
	done <"$2.at"
	return 1
}

# from_image IMAGE OUT: the BTF of the kernel in it; says on stdout why there is none
from_image() {
	[ -r "$1" ] || { echo "$1 cannot be read"; return 1; }
	kernel_of "$1" "$2.kernel" || return 1
	section_of "$2.kernel" "$2" || found_in "$2.kernel" "$2" ||
		{ echo "the kernel in $1 has no BTF"; return 1; }
}

# --- the base

# own KVER OUT: the BTF of the kernel itself; sets `whose`, or `why` there is none
own() {
	whose='' why=''
	if [ "$1" = "$(uname -r)" ]; then
		whose="the running kernel"
		! cat /sys/kernel/btf/vmlinux >"$2" 2>/dev/null || return 0
		why="/sys/kernel/btf/vmlinux cannot be read, "
	else
		why="that kernel does not run, "
	fi
	for image in "/boot/vmlinuz-$1" "/lib/modules/$1/vmlinuz"; do
		[ -e "$image" ] || continue
		whose=$image
		! reason=$(from_image "$image" "$2") || return 0
		why="$why$reason"
		return 1
	done
	why="${why}there is no /boot/vmlinuz-$1 (install linux-image-$1)"
	return 1
}

# has_option KDIR OPTION: unknown counts as yes
has_option() {
	[ ! -r "$1/include/config/auto.conf" ] || grep -q "^$2=y" "$1/include/config/auto.conf"
}

check() {
	[ -e "$2/Makefile" ] || die "no headers of kernel $1 in $2: install linux-headers-$1"
	for option in CONFIG_DEBUG_INFO_BTF CONFIG_DEBUG_INFO_BTF_MODULES; do
		has_option "$2" $option ||
			die "kernel $1 is built without $option, which BPF schedulers take: use another kernel"
	done
	need "${BPFTOOL:-bpftool}" bpftool
	need pahole "pahole (dwarves)"
	need objcopy binutils
	[ -x "$2/tools/bpf/resolve_btfids/resolve_btfids" ] ||
		die "$2/tools/bpf/resolve_btfids/resolve_btfids is missing: install the rest of the headers" \
			"of kernel $1 (linux-kbuild, kernel-devel), or make it in the kernel's source"
}

# The kernel's own BTF says what the module meets. The headers' vmlinux is for where that cannot be
# had: it may be of another build of the same release.
base() {
	check "$1" "$2"
	mkdir -p "${3%/*}"
	scratch=$(mktemp -d "${3%/*}/base.XXXXXX")
	trap 'rm -rf "$scratch"' EXIT
	theirs=''
	! section_of "$2/vmlinux" "$scratch/headers" || theirs=$scratch/headers
	if own "$1" "$scratch/own"; then
		found=$scratch/own
		[ -z "$theirs" ] || cmp -s "$theirs" "$found" ||
			say "$2/vmlinux is of another build of kernel $1: building on the BTF of $whose;" \
				"install headers of the same build if the module is refused"
	elif [ -n "$theirs" ]; then
		found=$theirs
	else
		die "no BTF of kernel $1 to build on: no $2/vmlinux, $why"
	fi
	# what is built on it stays as it is while this does
	cmp -s "$found" "$3" || mv "$found" "$3"
}

# --- the module's own

encode() {
	base=$1 ko=$3
	# shellcheck source=/dev/null
	. "$2"
	export OBJCOPY PAHOLE PAHOLE_FLAGS RESOLVE_BTFIDS RESOLVE_BTFIDS_FLAGS objtree
	if [ -f "$GEN_BTF" ]; then
		sh "$GEN_BTF" --btf_base "$base" "$ko"
	else
		# shellcheck disable=SC2086
		LLVM_OBJCOPY=$OBJCOPY "$PAHOLE" -J $PAHOLE_FLAGS --btf_base "$base" "$ko"
		"$RESOLVE_BTFIDS" -b "$base" "$ko"
	fi
	# a type that no kernel has: those of the API are the base's where the kernel has it
	"${BPFTOOL:-bpftool}" -B "$base" btf dump file "$ko" | grep -q "'bpf_struct_ops_mptcp_sched_clock'" ||
		die "$PAHOLE made no BTF of $ko: is it version 1.22 or newer ($("$PAHOLE" --version))?"
}

case ${1:-} in
base) base "$2" "$3" "$4" ;;
encode) encode "$2" "$3" "$4" ;;
*) die "base or encode, not '${1:-}'" ;;
esac
