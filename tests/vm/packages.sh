# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Debian packages of another architecture, compiled across; a part of vmtest.sh, whose variables these are.

# What compiles for $1: debian/control says it, but for what Debian's next release alone has new enough, and
# the release of what that one is built on.
across_script() {
	cat <<-EOF
		! command -v ${foreign_names[$1]}-linux-gnu-gcc || exit 0
		get="apt-get -y -q --no-install-recommends"
		export DEBIAN_FRONTEND=noninteractive
		dpkg --add-architecture $1
		apt-get update -q
		. /etc/os-release
		version=\$(dpkg-query -W -f '\${Version}' "libbpf-dev:\$(dpkg --print-architecture)")
		\$get install libbpf-dev:$1=\$version libbpf1:$1=\$version \\
			libc6:$1/\$VERSION_CODENAME libelf1t64:$1/\$VERSION_CODENAME
		mkdir -p /tmp/across/debian
		cp debian/control debian/rules /tmp/across/debian
		cd /tmp/across
		printf 'mptcp-sched (0) unstable; urgency=low\n\n  * None.\n\n -- n <n@example>  %s\n' \\
			"\$(date -R)" >debian/changelog
		\$get build-dep --host-architecture $1 --build-profiles cross ./
		# last, as it says that all is there
		\$get install crossbuild-essential-$1
	EOF
}

check_packages() {
	[[ ${#arguments[@]} = 1 && -n ${foreign_names[${arguments[0]}]:-} ]] ||
		usage_error "packages is for one of: ${!foreign_names[*]} (build makes those of this architecture)"
}

# The test builds them, without a network, and they stay in build/deb-ARCHITECTURE.
do_packages() {
	local arch=${arguments[0]}
	locked step "installing what compiles for $arch" across.log in_root sh -euxc "$(across_script "$arch")"
	in_root "${pytest[@]}" "tests/host/test_deb_across.py" --across "$arch" </dev/null
	say "the packages are in build/deb-$arch"
}
