# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# `test NAME...`: some tests by name, each where it runs; a part of vmtest.sh, whose variables these are.

# has_test FILE [CLASS::][TEST[VARIANT]]: it is there, and has that test.
has_test() {
	local test=${2%%\[*}
	[ -e "$1" ] && { [ -z "$test" ] || grep -Eq "^ *(def|class) ${test##*::}\b" "$1"; }
}

# find_tests: fills host=() and guests=(), a file for each of names=() or two: a name may be rr,
# test_rr or a path, and have ::TEST behind, which two files of one name need not both have.
find_tests() {
	local name file test found
	host=() guests=()
	for name in "${names[@]}"; do
		file=$(basename "${name%%::*}" .py)
		file=test_${file#test_}.py
		test=${name#"${name%%::*}"}
		found=0
		if has_test "tests/host/$file" "${test#::}"; then host+=("tests/host/$file$test") found=1; fi
		if has_test "tests/guest/$file" "${test#::}"; then guests+=("tests/guest/$file$test") found=1; fi
		[ $found = 1 ] ||
			usage_error "no test '$name': neither tests/host nor tests/guest has $file${test:+ with ${test#::}}; \`ls tests/host tests/guest\` shows what there is"
	done
}

# A browser for the page of `exporter --ui`: half a gigabyte, which these tests alone need.
browser_script() {
	cat <<-'EOF'
		! command -v chromium-headless-shell >/dev/null || exit 0
		apt-get update -q
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
			chromium-headless-shell fonts-dejavu-core
	EOF
}

# has_tests MARK TEST...: the mark selects some of these.
has_tests() {
	local mark=$1 s=0
	shift
	in_root "${pytest[@]}" --collect-only -m "$mark" "$@" </dev/null >"$log/named.log" 2>&1 || s=$?
	[ $s -eq 0 ] || [ $s -eq 5 ] || { cat "$log/named.log"; exit $s; }
	return $s
}

# named_in_guest NAME MARK [boot.py option...] -- TEST...: on each kernel wanted, where the mark selects any.
named_in_guest() {
	local name=$1 mark=$2 options=(--must-print)
	shift 2
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	! has_tests "$mark" "$@" ||
		each "$name" 3600 "${options[@]}" -- "${pytest[@]}" -m "$mark" "$@" "${arguments[@]}"
}

do_named_tests() {
	local status=0
	if [ -n "$architecture" ] && [ ${#host[@]} -gt 0 ]; then
		# AddressSanitizer's shadow, which is never touched elsewhere, takes all memory there
		say "tests of the host are not run on $architecture: qemu-user has no room for AddressSanitizer"
		[ ${#guests[@]} -gt 0 ] || die "no test of a guest has that name"
		host=()
	fi
	[ ${#host[@]} -eq 0 ] || in_root "${pytest[@]}" "${host[@]}" "${arguments[@]}" </dev/null || status=$?
	case " ${guests[*]}" in
	*/test_page.py*) locked step "installing a browser" browser.log in_root sh -euxc "$(browser_script)" ;;
	esac
	[ ${#guests[@]} -eq 0 ] || {
		named_in_guest test 'not virtual_time' -- "${guests[@]}" || status=$?
		named_in_guest test-virtual virtual_time --virtual-time --compiled -- "${guests[@]}" || status=$?
	}
	return $status
}
