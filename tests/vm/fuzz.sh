# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Fuzz targets and coverage, in the root and without a guest; a part of vmtest.sh, whose variables these are.

# clang's runtime library, of the version that is there: these commands alone need it.
fuzz_tools_script() {
	cat <<-'EOF'
		version=$(clang -dumpversion | cut -d. -f1)
		! dpkg -s "libclang-rt-$version-dev" >/dev/null 2>&1 || exit 0
		apt-get update -q
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
			"libclang-rt-$version-dev"
	EOF
}

do_fuzz() {
	locked step "installing what fuzz targets need" fuzz-tools.log in_root sh -euxc "$(fuzz_tools_script)"
	local chosen
	chosen=$(in_root python3 tests/fuzz/fuzz_run.py --commit - --names "${arguments[@]}" </dev/null)
	locked step "building the fuzz targets" fuzz-build.log in_root make -j2 fuzz-build "FUZZ_TARGETS=$chosen"
	in_root python3 tests/fuzz/fuzz_run.py --commit "$(tree_commit)" "${arguments[@]}" </dev/null
}

do_coverage() {
	locked step "installing what coverage needs" fuzz-tools.log in_root sh -euxc "$(fuzz_tools_script)"
	in_root make coverage COMMIT="$(tree_commit)" </dev/null
}
