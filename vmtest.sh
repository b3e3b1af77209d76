#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds and runs everything in a virtual machine with a stock Debian kernel: see usage() below.

set -euo pipefail
# where a path of the user's begins
from=$PWD
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
		  test     host tests, then all tests in the guest; the guest's verdict is the exit status.
		           test NAME...: these alone, each where it runs; NAME is rr for test_rr.py,
		           rr::test_turns_go_round for one of its tests
		  smoke    a few tests that say whether all of it works on a kernel, and whether what it
		           takes from the kernel is there: one line for each kernel chosen
		  bench    the lab: bench [SCENARIO...] [--scheduler WORD] [--seed N] [--full], then a report;
		           bench list, bench report [FILE...], bench compare A B (bench/mptcplab). Or one of
		           the other benchmarks: bench cost|segments|speed|quality|bulk|stress|outage|pause|timeline|many|soak
		           [OPTION...]
		  selftests  the kernel's own tests of MPTCP under its default and under each scheduler, in
		           virtual time: selftests [--scheduler NAME ...] [--quick] [SCRIPT...]; hours for
		           all, so a run goes on where an earlier one ended (docs/dev/testing.md)
		  shell    a shell in the guest (exit or Ctrl-D ends it)
		  run      runs one command in the guest, in /src (the project): run -- CMD [ARGUMENT...]
		  build    makes the root and builds the project, boots nothing
		  lint     formatters and linters
		  format   formats C and Python as the linters want it
		  fuzz     fuzz targets on this host: fuzz [--seconds N] [TARGET...], N seconds (10) for each,
		           one per CPU at a time; an input that breaks something is named and kept
		  coverage how much of the decision functions and of the command's parsers the tests of the
		           host run, and where that is kept (tests/covered.py)
		  packages the Debian packages of another architecture, compiled on this one, and their
		           tests: packages arm64
		  native   makes a kernel that has the scheduler API itself, build/native/bzImage, for
		           --kernel; half an hour or more (tests/native/build.sh). native --debug [TEST...]:
		           kernels that watch themselves, with the API and without, and tests on both.
		           native --patches [kernel|control]: the patches for upstream (patches/) apply, are
		           clean and compile; a kernel of them; one like it without them, to compare

		options
		  --kernel K       latest (default, newest backport), lts (the release's own), all (both),
		                   another of tests/vm/kernels.toml, such as 6.18 or 7.3-rt, which is got when
		                   first asked for, or a kernel image's path; for smoke: every, or ci.
		                   arm64-latest, arm64-lts: that architecture, emulated, in virtual time
		  --virtual-time   a clock that counts instructions and skips idle time (always for demo
		                   and bench): timings repeat whatever the host is doing; QEMU boots
		                   such a guest without virtme-ng
		  --timeout S      seconds that one guest may take, a shell apart
		  --brief[=TURN]   for test: what an hour has room for, as CI has it: a quarter of the tests, the
		                   commit's or that TURN, 1 to 4 (tests/guest/sets.py)
		  --memory MB      memory of the guest (2048)
		  --no-build       uses what is built and installed already
		  --slow N         factor on the time limits of tests, for a kernel that takes longer
		  --kernel-option WORD   of the guest's kernel command line
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

# A brief run has a quarter of the tests, and the next commit's run the next quarter.
turns=4
turn_of_commit() {
	echo $(($(git rev-list --count HEAD 2>/dev/null || echo 0) % turns + 1))
}

# For results: the root cannot see a work tree's repository elsewhere.
tree_commit() {
	git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown
}

# shellcheck source=tests/vm/root-and-build.sh
. tests/vm/root-and-build.sh
# shellcheck source=tests/vm/foreign.sh
. tests/vm/foreign.sh
# shellcheck source=tests/vm/which-kernel.sh
. tests/vm/which-kernel.sh
# shellcheck source=tests/vm/guests.sh
. tests/vm/guests.sh
# shellcheck source=tests/vm/named.sh
. tests/vm/named.sh
# shellcheck source=tests/vm/smoke.sh
. tests/vm/smoke.sh
# shellcheck source=tests/vm/watch.sh
. tests/vm/watch.sh
# shellcheck source=tests/vm/fuzz.sh
. tests/vm/fuzz.sh
# shellcheck source=tests/vm/selftests.sh
. tests/vm/selftests.sh
# shellcheck source=tests/vm/packages.sh
. tests/vm/packages.sh

# Mounts and chroots need root, or a user namespace in which this user is root.
get_root() {
	local enter=(unshare --user --map-root-user --map-auto --mount --)
	cd "$from"
	# a root that somebody else has made cannot be written to
	if [ -z "${VMTEST_IN_USERNS:-}" ] && { [ ! -e "$build" ] || [ -O "$build" ]; } &&
		"${enter[@]}" true 2>/dev/null; then
		VMTEST_IN_USERNS=1 exec "${enter[@]}" "$top/vmtest.sh" "$@"
	fi
	if command -v sudo >/dev/null && [ -z "${VMTEST_IN_USERNS:-}" ]; then
		say "this needs root: going on with sudo"
		exec sudo --preserve-env=MIRROR,MIRROR_SECURITY,CI -- "$top/vmtest.sh" "$@"
	fi
	die "this needs root, and there is no sudo: become root and run $top/vmtest.sh $command, or let everybody" \
		"make user namespaces and give yourself a range of ids in /etc/subuid and /etc/subgid (package uidmap)"
}

[ $# -gt 0 ] || { usage >&2; exit 2; }
given=("$@")
command=
kernel=latest
architecture=
timeout=
memory=
want_build=1
slow=1
kernel_option=
debug=0
patches=0
brief=()
virtual=()
arguments=()
names=()
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--kernel | --timeout | --memory | --slow | --kernel-option)
		[ $# -gt 1 ] || usage_error "$1 needs a value"
		name=${1#--}
		declare "${name//-/_}=$2"
		shift
		;;
	--kernel=* | --timeout=* | --memory=* | --slow=* | --kernel-option=*)
		name=${1%%=*}
		name=${name#--}
		declare "${name//-/_}=${1#*=}"
		;;
	--debug) debug=1 ;;
	--patches) patches=1 ;;
	--brief) brief=("--brief=$(turn_of_commit)") ;;
	--brief=[1-"$turns"]) brief=("$1") ;;
	--brief=*) usage_error "--brief= takes a turn, 1 to $turns" ;;
	--virtual-time) virtual=(--virtual-time) ;;
	--no-build) want_build=0 ;;
	--) shift; arguments+=("$@"); break ;;
	-*)
		# What follows these is their own.
		[[ $command = bench || $command = fuzz || $command = selftests ]] ||
			usage_error "unknown option '$1'"
		arguments+=("$1")
		;;
	*)
		if [[ $command = bench || $command = fuzz || $command = native || $command = selftests ||
			$command = packages ]]; then
			arguments+=("$1")
		elif [ "$command" = test ]; then
			names+=("$1")
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
demo | test | smoke | bench | selftests | fuzz | coverage | shell | run | build | lint | format | native | packages) ;;
'') usage_error "no command" ;;
*) usage_error "unknown command '$command'" ;;
esac
# The kernel's room for connections grows with its memory.
[[ "$command ${arguments[0]:-}" != bench\ @(many|soak) ]] || memory=${memory:-8192}
memory=${memory:-2048}
[[ $timeout =~ ^[0-9]*$ && $memory =~ ^[0-9]+$ && $slow =~ ^[1-9][0-9]*$ ]] || usage_error "not a number"
find_tests
case $kernel in arm64-*) check_foreign ;; esac
[ "$command" != run ] || [ ${#arguments[@]} -gt 0 ] || usage_error "run needs -- and a command"
[ "$command" != packages ] || check_packages
[ $debug = 0 ] || [ "$command" = native ] || usage_error "--debug is for native"
[ $patches = 0 ] || [[ $command = native && $debug = 0 ]] || usage_error "--patches is for native, alone"
[ ${#brief[@]} -eq 0 ] || [[ $command = test && ${#names[@]} -eq 0 ]] || usage_error "--brief is for all tests"
[ "$command" = smoke ] || [[ $kernel != every && $kernel != ci ]] || usage_error "--kernel $kernel is for smoke"
[ "$(uname -m)" = x86_64 ] || die "only x86_64 is supported, this is $(uname -m)"
[ "$(id -u)" = 0 ] || get_root "${given[@]}"

case $command in lint | format | fuzz | coverage | native) want_build=0 ;; esac
[ -z "$architecture" ] || enter_foreign
build_all
case $command in
build) say "done"; exit 0 ;;
lint | format) in_root make "$command" </dev/null; exit ;;
fuzz) do_fuzz; exit ;;
coverage) do_coverage; exit ;;
native)
	if [ $debug = 1 ]; then
		do_watch
	elif [ $patches = 1 ]; then
		in_root bash tests/native/patches.sh "${arguments[@]}" </dev/null
	else
		in_root bash tests/native/build.sh native "${arguments[@]}" </dev/null
	fi
	exit
	;;
esac
case $command in
run) each run 600 "${virtual[@]}" -- "${arguments[@]}" ;;
shell) each shell 0 "${virtual[@]}" --shell -- bash -i ;;
demo) each demo 900 --virtual-time --must-print -- python3 -m mptcplab demo "${arguments[@]}" ;;
bench) do_bench ;;
selftests) do_selftests ;;
packages) do_packages ;;
test) if [ ${#names[@]} -gt 0 ]; then do_named_tests; else do_test; fi ;;
smoke) do_smoke ;;
esac
