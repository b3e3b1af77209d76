# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Another architecture than the host's: a root of its own in build/ARCHITECTURE, whose programs run
# here by qemu-user, and whose guests QEMU emulates; a part of vmtest.sh, whose variables these are.

# Debian's name: QEMU's, the package with its emulator
declare -A foreign_names=([arm64]=aarch64) foreign_emulators=([arm64]=qemu-system-arm)

# check_foreign: --kernel ARCHITECTURE-WORD is one that there is, for a command that has it.
check_foreign() {
	architecture=${kernel%%-*}
	kernel=${kernel#*-}
	case $kernel in
	latest | lts | all) ;;
	*) usage_error "no kernel '$architecture-$kernel' (there are $architecture-latest, -lts and -all)" ;;
	esac
	case $command in
	build | run | shell | smoke | demo) ;;
	test) [ ${#names[@]} -gt 0 ] || usage_error "on $architecture name the tests: test NAME..." ;;
	*) usage_error "$command is not for $architecture (build, demo, run, shell, smoke, test NAME are)" ;;
	esac
}

# enter_foreign: the variables mean that architecture's root from here on.
enter_foreign() {
	build_native
	build=$top/build/$architecture
	root=$build/root
	log=$build/log
	mkdir -p "$log" "$build/out"
	take_objects
	run_foreign_programs "${foreign_names[$architecture]}"
}

# BPF's code is the same for all machines of its byte order, and a compiler that is emulated takes
# half an hour for it: what the host's root has made is up to date there, too.
take_objects() {
	[ "$want_build" = 1 ] || return 0
	(cd "$top/build" && find bpf bench tests loader/bpf -name '*.bpf.o' -print0 | tar -cf - --null -T -) |
		tar -C "$build" -xf -
}

make_native_root() {
	local architecture=''
	make_root
}

# The host's own root has the emulator, and makes the BPF objects.
build_native() {
	local emulator=${foreign_emulators[$architecture]}
	mkdir -p "$log" "$build/out"
	(
		exec 9>"$build/.lock"
		flock 9
		make_native_root
		in_root sh -c "type qemu-system-${foreign_names[$architecture]}" >/dev/null 2>&1 </dev/null ||
			step "installing QEMU for $architecture" "$emulator.log" in_root \
				sh -euxc "apt-get update -q; apt-get install -y -q --no-install-recommends $emulator"
		[ "$want_build" = 0 ] || step "building the BPF objects" build.log in_root make -j2
	)
}

# The host's kernel hands programs of QEMU's name $1 to qemu-user, from any root.
run_foreign_programs() {
	local formats=/proc/sys/fs/binfmt_misc file=/usr/lib/binfmt.d/qemu-$1.conf missing=()
	[ -z "${VMTEST_IN_USERNS:-}" ] || [ -e "$formats/qemu-$1" ] ||
		die "programs of $architecture need root on this host, once (package qemu-user-static or qemu-user-binfmt)"
	command -v arch-test >/dev/null || missing+=(arch-test)
	[ -e "$file" ] || missing+=(qemu-user-static)
	[ ${#missing[@]} -eq 0 ] || install_on_host "${missing[@]}"
	[ -e "$formats/register" ] || mount -t binfmt_misc binfmt_misc "$formats" ||
		die "no binfmt_misc on this host: its kernel cannot run programs of $architecture"
	# where no service manager did
	[ -e "$formats/qemu-$1" ] || cat "$file" >"$formats/register" || die "could not register $file"
	arch-test "$architecture" >/dev/null || die "this host does not run programs of $architecture ($file)"
}
