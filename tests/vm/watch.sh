# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Kernels that watch themselves, and what the tests make them say; a part of vmtest.sh, whose
# variables these are. One is as stock kernels are and needs the bridge, the other has the API.

# The tests that make the bridge and the frame do what could hurt.
telling=(accept_race bridge counters dropped every_scheduler failing_memory interrupted passes
	random_calls reconnect registration reinject request_retrans robustness unload)
# Those that allocate and free most, for the guest that looks for leaks, and is slower still.
leaky=(registration unload reconnect robustness)

files_of() {
	printf 'tests/guest/test_%s.py\n' "$@"
}

# in_watching FLAVOUR OPTION... -- COMMAND...: in a guest of that kernel, with what it needs built for it.
in_watching() {
	local flavour=$1
	shift
	"$top/vmtest.sh" run --kernel "$build/$flavour/bzImage" --memory 4096 --timeout 10800 --slow 8 "$@"
}

watch_one() {
	local flavour=$1 status=0 wanted tests=("${telling[@]}")
	if [ "$flavour" = debug ]; then
		# what a kernel with the API answers in its own way
		tests+=(native)
	fi
	[ ${#arguments[@]} -eq 0 ] || tests=("${arguments[@]}")
	mapfile -t wanted < <(files_of "${tests[@]}")
	say "tests on a kernel that watches, $flavour"
	in_watching "$flavour" -- "${pytest[@]}" "${wanted[@]}" -m "not virtual_time" \
		--junit-xml="build/out/watch-$flavour.xml" || status=$?
	[ ${#arguments[@]} -eq 0 ] || return "$status"
	mapfile -t wanted < <(files_of "${leaky[@]}")
	say "tests on a kernel that looks for leaks, $flavour"
	# shellcheck disable=SC2016
	in_watching "$flavour" --no-build --kernel-option kmemleak=on -- sh -c \
		'status=0; "$@" || status=$?; python3 tests/native/leaks.py || status=1; exit $status' sh \
		"${pytest[@]}" "${wanted[@]}" -m "not virtual_time" \
		--junit-xml="build/out/leaks-$flavour.xml" || status=$?
	return "$status"
}

do_watch() {
	local flavour status=0
	for flavour in debug-stock debug; do
		in_root bash tests/native/build.sh "$flavour" </dev/null || die "no kernel to watch"
		watch_one "$flavour" || status=$?
	done
	return "$status"
}
