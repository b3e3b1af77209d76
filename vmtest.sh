#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds and runs everything in a virtual machine with a stock Debian kernel: see usage() below.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

top=$PWD
build=$top/build
root=$build/root
log=$build/log
free_mb=5000
started=$SECONDS

usage() {
	cat <<-'EOF'
		usage: vmtest.sh COMMAND [OPTION...] [-- ARGUMENT...]

		Builds the project inside a Debian 13 root of its own (made once, kept in build/), boots a
		stock Debian kernel with it in virtme-ng and runs things there. Works with and without
		KVM, as root or, where user namespaces allow it, as anybody.

		commands
		  demo     downloads over two emulated paths, one table of what each scheduler makes of them
		  test     host tests, then all tests in the guest; the guest's verdict is the exit status
		  bench    the lab: bench [SCENARIO...] [--scheduler WORD] [--seed N] [--full], then a report;
		           bench list, bench report [FILE...], bench compare A B (bench/lab.py). Or one of
		           the other benchmarks: bench cost|quality|bulk|stress|timeline|many [OPTION...]
		  shell    a shell in the guest (exit or Ctrl-D ends it)
		  run      runs one command in the guest, in /src (the project): run -- CMD [ARGUMENT...]
		  build    makes the root and builds the project, boots nothing
		  lint     formatters and linters
		  native   makes a kernel that has the scheduler API itself, build/native/bzImage, for
		           --kernel; half an hour or more (tests/native/build.sh)

		options
		  --kernel K       latest (default, newest backport), lts (the release's own), all (both),
		                   a release or the beginning of one (6.12), or a kernel image's path
		  --virtual-time   a clock that counts instructions and skips idle time (always for demo
		                   and bench): timings repeat whatever the host is doing; QEMU boots
		                   such a guest without virtme-ng
		  --timeout S      seconds that one guest may take
		  --memory MB      memory of the guest (2048)
		  --no-build       uses what is built and installed already
		  --help

		environment
		  MIRROR, MIRROR_SECURITY   Debian archives to use in place of the host's own

		exit status: the guest's own; 2 usage; 124 time limit; 125 the guest gave no verdict;
		1 anything else, a warning in the guest's kernel log included.
	EOF
}

die() {
	echo "vmtest: $*" >&2
	exit 1
}

usage_error() {
	echo "vmtest: $* (--help shows what there is)" >&2
	exit 2
}

say() {
	printf '[%4d s] %s\n' $((SECONDS - started)) "$*" >&2
}

# step TEXT LOGFILE COMMAND...: runs it quietly, shows the end of its log when it fails.
step() {
	local text=$1 file=$log/$2
	shift 2
	say "$text ..."
	if ! "$@" >"$file" 2>&1 </dev/null; then
		tail -n 30 "$file" | sed 's/^/  /' >&2
		die "failed: $text (all of it: ${file#"$top"/})"
	fi
}

# --- the root and what is built in it

host_needs() {
	local missing=() p
	for p in mmdebstrap:mmdebstrap unshare:util-linux flock:util-linux gpgv:gpgv; do
		command -v "${p%%:*}" >/dev/null || missing+=("${p##*:}")
	done
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
	if [ ${#missing[@]} -eq 0 ]; then
		# Without its lists apt cannot say which mirror is Debian's; root.sh asks it.
		! command -v apt-get >/dev/null || [ -n "${VMTEST_IN_USERNS:-}" ] || apt-get update -q >"$log/host.log" 2>&1 </dev/null ||
			say "apt-get update failed on the host, going on (build/log/host.log)"
		return 0
	fi
	local line="apt-get install --no-install-recommends ${missing[*]}"
	if ! command -v apt-get >/dev/null || [ -n "${VMTEST_IN_USERNS:-}" ]; then
		die "missing on this host: ${missing[*]} (on Debian or Ubuntu, as root: $line)"
	fi
	say "installing on the host: ${missing[*]} ..."
	{
		apt-get update -q &&
			DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
				"${missing[@]}"
	} >"$log/host.log" 2>&1 </dev/null || {
		tail -n 15 "$log/host.log" >&2
		die "could not install them; try: $line"
	}
}

recipe() {
	{
		cat "$top/tests/vm/root.sh"
		echo "${MIRROR:-} ${MIRROR_SECURITY:-}"
	} | sha256sum | cut -c1-16
}

# Removes a root, and never what somebody has mounted in it (the project itself, perhaps).
remove() {
	! grep -qF " $1/" /proc/self/mountinfo ||
		die "something is mounted below $1: unmount it first (findmnt shows what)"
	rm -rf --one-file-system "$1"
}

make_root() {
	local want
	want=$(recipe)
	[ "$(cat "$root/.recipe" 2>/dev/null)" != "$want" ] || return 0
	host_needs
	local free
	free=$(df -Pm "$build" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge $free_mb ] || die "$free MB free in $build, $free_mb are needed"
	remove "$root.new"
	remove "$root.new.half-made"
	say "making a Debian root with the tool chain and two kernels (about 2 minutes) ..."
	if ! bash tests/vm/root.sh "$root.new" >"$log/root.log" 2>&1 </dev/null; then
		tail -n 20 "$log/root.log" | sed 's/^/  /' >&2
		! grep -qE 'Could not (resolve|connect)|Temporary failure|Unable to connect' "$log/root.log" ||
			die "no network for apt (MIRROR= names another Debian archive)"
		die "could not make the root (all of it: build/log/root.log)"
	fi
	echo "$want" >"$root.new/.recipe"
	# Guests that run from the old one come to their end first.
	exec 8>"$build/.in-use"
	flock -n 8 || { say "waiting for guests that use the old root ..."; flock 8; }
	remove "$root"
	mv "$root.new" "$root"
	exec 8>&-
}

# Runs a command inside the root, with the project at /src, in namespaces of its own: nothing of it
# stays behind, whatever happens, even when this script is killed.
in_root() {
	# shellcheck disable=SC2016
	setpriv --pdeathsig KILL -- unshare --mount --pid --fork --kill-child \
		--propagation slave -- sh -euc '
		root=$1 top=$2; shift 2
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --rbind /sys "$root/sys"
		mount -t tmpfs tmpfs "$root/tmp"
		mkdir -p "$root/src"
		mount --bind "$top" "$root/src"
		exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			CI="${CI:-}" /bin/sh -euc "cd /src; exec \"\$@\"" sh "$@"
	' sh "$root" "$top" "$@"
}

installed_kernels() {
	find "$root/boot" -name 'vmlinuz-*' -printf '%f\n' | sed 's/^vmlinuz-//' | sort -V
}

# Runs in the root: builds the bridge, and installs it as a user would, for each kernel.
bridge_script() {
	cat <<-'EOF'
		for k; do
			make kmod KVER="$k"
			make kmod-install KVER="$k"
			make guest-kmod KVER="$k"
			depmod "$k"
		done
	EOF
}

# The same for all of the project.
build_script() {
	printf '%s\n' "make -j2" "make install PREFIX=/usr" "make deb"
	bridge_script
}

build_all() {
	mkdir -p "$log" "$build/out"
	exec 9>"$build/.lock"
	flock -n 9 || { say "waiting for another vmtest.sh that is building ..."; flock 9; }
	make_root
	if [ "$want_build" = 1 ]; then
		local list
		mapfile -t list < <(installed_kernels)
		[ ${#list[@]} -gt 0 ] || die "the root has no kernel; remove build/root and try again"
		step "building the project" build.log \
			in_root sh -euxc "$(build_script)" sh "${list[@]}"
	fi
	exec 8>"$build/.in-use"
	flock -s 8
	exec 9>&-
}

# --- kernels

# Fills kernels=() (releases) and image (a path inside the root, for a kernel of the user's own).
choose_kernels() {
	local list
	image=
	mapfile -t list < <(installed_kernels)
	[ ${#list[@]} -gt 0 ] || die "the root has no kernel; remove build/root and try again"
	case $kernel in
	latest) kernels=("${list[-1]}") ;;
	lts) kernels=("${list[0]}") ;;
	all) kernels=("${list[@]}") ;;
	*/*) own_kernel ;;
	*)
		local k
		kernels=()
		for k in "${list[@]}"; do
			case $k in "$kernel" | "$kernel".* | "$kernel"[-+]*) kernels+=("$k") ;; esac
		done
		[ ${#kernels[@]} -gt 0 ] ||
			usage_error "no kernel '$kernel'; there are: latest lts all ${list[*]}, or a path"
		;;
	esac
}

# A kernel image from anywhere; its modules are in the root or on the host, or it needs none.
own_kernel() {
	[ -f "$kernel" ] || usage_error "no kernel image '$kernel'"
	local release
	# The boot header points to the version string.
	release=$(in_root python3 -c '
import sys
data = sys.stdin.buffer.read()
if data[0x202:0x206] != b"HdrS":
    sys.exit("not a bootable x86 kernel image")
at = int.from_bytes(data[0x20E:0x210], "little") + 0x200
print(data[at:].split(b" ", 1)[0].decode())' <"$kernel") || die "cannot read $kernel"
	mkdir -p "$build/vm"
	cp "$kernel" "$build/vm/image"
	image=/src/build/vm/image
	if [ ! -d "$root/lib/modules/$release" ]; then
		[ -d "/lib/modules/$release" ] || die "no modules for $release: install its packages, or" \
			"'make modules_install' in its tree (they are looked for in /lib/modules/$release)"
		cp -a "/lib/modules/$release" "$root/lib/modules/"
	fi
	kernels=("$release")
	[ "$want_build" = 1 ] || return 0
	if ! in_root test -e "/lib/modules/$release/build/Makefile"; then
		say "nothing to build the bridge for $release against in the root: going without it"
		return 0
	fi
	exec 9>"$build/.lock"
	flock 9
	step "building the bridge for $release" build-own.log \
		in_root sh -euxc "$(bridge_script)" sh "$release"
	exec 9>&-
}

# KVM can be there and still not run a stock kernel, so it is tried, once per machine boot and root.
kvm_works() {
	local id answer=$build/kvm
	[ -w /dev/kvm ] || return 1
	id="$(cat /proc/sys/kernel/random/boot_id) $(cat "$root/.recipe")"
	if [ "$(sed -n 1p "$answer" 2>/dev/null)" != "$id" ]; then
		say "trying KVM ..."
		local word=no
		! in_root python3 tests/vm/boot.py --kvm --kernel "${kernels[0]}" --timeout 10 \
			--name kvm-probe -- true >"$log/kvm.log" 2>&1 </dev/null || word=yes
		printf '%s\n%s\n' "$id" "$word" >"$answer"
		say "KVM: $word"
	fi
	[ "$(sed -n 2p "$answer")" = yes ]
}

# guest KERNEL NAME TIMEOUT [boot.py option...] -- COMMAND...
guest() {
	local k=$1 name=$2 limit=${timeout:-$3} options=()
	shift 3
	case " $* " in
	*' --virtual-time '*) ;;
	*) ! kvm_works || options+=(--kvm) ;;
	esac
	[ -z "$image" ] || options+=(--image "$image")
	in_root python3 tests/vm/boot.py --kernel "$k" --name "$name" --timeout "$limit" \
		--memory "$memory" "${options[@]}" "$@"
}

# --- commands

# Mounts and chroots need root, or a user namespace in which this user is root.
without_root() {
	local enter=(unshare --user --map-root-user --map-auto --mount --)
	if [ -z "${VMTEST_IN_USERNS:-}" ] && "${enter[@]}" true 2>/dev/null; then
		VMTEST_IN_USERNS=1 exec "${enter[@]}" "$0" "$@"
	fi
	die "this needs root (sudo $0 $command), or user namespaces for everybody and a range of" \
		"user ids for you in /etc/subuid and /etc/subgid (package uidmap)"
}

# each NAME TIMEOUT [option...] -- COMMAND...: one guest per kernel wanted, the worst status wins.
each() {
	local k status=0 s
	for k in "${kernels[@]}"; do
		say "$command on Linux $k"
		s=0
		guest "$k" "$@" || s=$?
		[ $s -eq 0 ] || { status=$s; say "$command on Linux $k: exit status $s"; }
	done
	return "$status"
}

# The benchmarks that run in one guest and print a table, or the lab, which has guests of its own.
do_bench() {
	local first=${arguments[0]:-} k status=0 options=()
	case $first in
	cost | quality | bulk | stress | timeline | many)
		each bench 3600 --virtual-time --must-print -- python3 bench/bench.py "${arguments[@]}"
		return
		;;
	list | report | compare)
		in_root python3 bench/lab.py "${arguments[@]}" </dev/null
		return
		;;
	esac
	[ -z "$image" ] || die "the lab takes the root's own kernels"
	[ -z "$timeout" ] || options+=(--timeout "$timeout")
	# The root cannot see a work tree's repository elsewhere.
	! git rev-parse HEAD >/dev/null 2>&1 || options+=(--commit "$(git describe --always --dirty --abbrev=12)")
	for k in "${kernels[@]}"; do
		in_root python3 bench/lab.py run --kernel "$k" --memory "$memory" "${options[@]}" \
			"${arguments[@]}" </dev/null || status=$?
	done
	return "$status"
}

# guest_tests KERNEL MARK PART: those of the guest's tests that have the mark, in the guest that they
# need; PART I/N: one of N parts of them.
guest_tests() {
	local k=$1 which=$2 part=$3 name=test options=(--must-print) s=0
	# typeguard comes with virtme-ng and would be loaded by every pytest.
	local pytest=(python3 -m pytest -q -p no:cacheprovider -p no:typeguard -ra)
	if [ "$which" = virtual_time ]; then
		options+=(--virtual-time)
		name=test-virtual-${part%/*}
	fi
	say "guest tests ($which, part $part) on Linux $k"
	guest "$k" "$name" 2400 "${options[@]}" -- "${pytest[@]}" tests/guest -m "$which" \
		--share "$part" --junit-xml="build/out/$name-$k.xml" "${arguments[@]}" || s=$?
	# pytest's 5: nothing was selected, as when the arguments name one test.
	[ $s -ne 5 ] || [ ${#arguments[@]} -eq 0 ] || s=0
	[ $s -eq 0 ] || say "tests on Linux $k: exit status $s"
	return $s
}

# A guest in virtual time keeps one CPU of the host busy, and how fast that is does not matter to
# it: two at once have half of the tests each, and tell what they have to say when they are done.
virtual_tests() {
	local k=$1 i status=0 running=() parts=2
	if [ ${#arguments[@]} -gt 0 ] || [ "$(nproc)" -lt 2 ]; then
		guest_tests "$k" virtual_time 1/1
		return
	fi
	# What runs in the background does not hear Ctrl-C.
	trap 'jobs -p | xargs -r kill' EXIT
	for i in $(seq $parts); do
		guest_tests "$k" virtual_time "$i/$parts" </dev/null >"$log/test-virtual-$i.out" 2>&1 &
		running+=($!)
	done
	say "guest tests (virtual_time) on Linux $k, in $parts guests at once"
	for i in $(seq $parts); do
		wait "${running[i - 1]}" || status=$?
		cat "$log/test-virtual-$i.out"
	done
	trap - EXIT
	return $status
}

do_test() {
	local k status=0
	say "host tests"
	in_root make check-host </dev/null || status=$?
	for k in "${kernels[@]}"; do
		guest_tests "$k" "not virtual_time" 1/1 || status=$?
		virtual_tests "$k" || status=$?
	done
	return "$status"
}

[ $# -gt 0 ] || { usage >&2; exit 2; }
given=("$@")
command=
kernel=latest
timeout=
memory=
want_build=1
virtual=()
arguments=()
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--kernel | --timeout | --memory)
		[ $# -gt 1 ] || usage_error "$1 needs a value"
		declare "${1#--}=$2"
		shift
		;;
	--kernel=* | --timeout=* | --memory=*)
		name=${1%%=*}
		declare "${name#--}=${1#*=}"
		;;
	--virtual-time) virtual=(--virtual-time) ;;
	--no-build) want_build=0 ;;
	--) shift; arguments+=("$@"); break ;;
	-*)
		# What follows bench is its own.
		[ "$command" = bench ] || usage_error "unknown option '$1'"
		arguments+=("$1")
		;;
	*)
		if [ "$command" = bench ]; then
			arguments+=("$1")
		elif [ -n "$command" ]; then
			usage_error "unexpected '$1'"
		else
			command=$1
		fi
		;;
	esac
	shift
done
case $command in
demo | test | bench | shell | run | build | lint | native) ;;
'') usage_error "no command" ;;
*) usage_error "unknown command '$command'" ;;
esac
# bench many: the kernel's room for connections grows with its memory.
[ "$command ${arguments[0]:-}" != "bench many" ] || memory=${memory:-8192}
memory=${memory:-2048}
[[ $timeout =~ ^[0-9]*$ && $memory =~ ^[0-9]+$ ]] || usage_error "not a number"
[ "$command" != run ] || [ ${#arguments[@]} -gt 0 ] || usage_error "run needs -- and a command"
[ "$(uname -m)" = x86_64 ] || die "only x86_64 is supported, this is $(uname -m)"
[ "$(id -u)" = 0 ] || without_root "${given[@]}"

case $command in lint | native) want_build=0 ;; esac
build_all
case $command in
build) say "done"; exit 0 ;;
lint) in_root make lint </dev/null; exit ;;
native) in_root bash tests/native/build.sh "${arguments[@]}" </dev/null; exit ;;
esac
choose_kernels
case $command in
run) each run 600 "${virtual[@]}" -- "${arguments[@]}" ;;
shell) each shell 0 "${virtual[@]}" --shell -- bash -i ;;
demo) each demo 900 --virtual-time --must-print -- python3 bench/demo.py "${arguments[@]}" ;;
bench) do_bench ;;
test) do_test ;;
esac
