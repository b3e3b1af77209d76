# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's own selftests of MPTCP under each scheduler; a part of vmtest.sh, whose variables these
# are. tests/selftests has the rest.

do_selftests() {
	local k status=0
	for k in "${kernels[@]}"; do
		selftests_on "$k" || status=$?
	done
	return "$status"
}

# The last commit that changed what is tried here.
commit_of_schedulers() {
	local sources=(bpf include kmod loader) dirty=''
	git diff --quiet HEAD -- "${sources[@]}" 2>/dev/null || dirty=-dirty
	git log -1 --format=%h --abbrev=12 -- "${sources[@]}" 2>/dev/null | sed "s/\$/$dirty/" | grep . || echo unknown
}

# selftests_on RELEASE
selftests_on() {
	local series options=()
	series=$(cut -d. -f1,2 <<<"$1")
	[ -z "$timeout" ] || options+=(--timeout "$timeout")
	[ -z "$image" ] || options+=(--image "$image")
	locked in_root bash tests/selftests/build.sh "$series" </dev/null ||
		die "no selftests of Linux $series"
	say "selftests on Linux $1"
	in_root python3 tests/selftests/run.py --release "$1" --series "$series" --commit "$(commit_of_schedulers)" \
		--memory "$memory" "${options[@]}" "${arguments[@]}" </dev/null
}
