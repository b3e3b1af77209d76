#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes the Debian 13 root that vmtest.sh builds in and boots: the tool chain, two stock kernels with
# their headers, QEMU and the test tools. Everything but mmdebstrap itself lives in that root, so the
# host's distribution and its age do not matter. One of another architecture has what builds the
# project and what its guests need; QEMU, linters and package checkers are the host's root's.
#
# usage: root.sh DIRECTORY        (DIRECTORY must not exist; it appears only when complete)
#
# MIRROR, MIRROR_SECURITY: archives to use instead of the host's own (or mmdebstrap's default).
# ARCHITECTURE: Debian's name of another than the host's, whose programs run here (foreign.sh).

set -euo pipefail

release=trixie
# libbpf before 1.6 does not find a struct_ops type whose value struct lives in a module; Debian 13
# has 1.5. Debian's next release has a newer one that installs on 13.
next=forky
export ARCHITECTURE=${ARCHITECTURE:-}
kernels=("linux-image-cloud-${ARCHITECTURE:-amd64}" "linux-headers-cloud-${ARCHITECTURE:-amd64}")

boot=(
	"${kernels[@]}"
	# Provides what linux-image wants of an initramfs tool; the usual one would bring udev along.
	tiny-initramfs
	busybox-static
)
emulator=(virtme-ng qemu-system-x86 virtiofsd)
build=(
	clang clang-format llvm lld gcc make libc6-dev pahole bpftool pkgconf dkms ccache zstd
	libelf-dev zlib1g-dev libzstd-dev libjson-c-dev libcap-dev libinih-dev libmicrohttpd-dev libmnl-dev
)
run=(
	mount procps iproute2 ethtool kmod strace tcpdump socat
	nginx-light curl jq iperf3 mptcpize mptcpd mptcpd-plugins
	python3-pytest python3-pytest-timeout python3-jsonschema
)
# What selects, starts, asks and carries: container runtimes, the checks of the unit file, who reads
# the metrics, who brings tables to the peer.
services=(crun podman systemd prometheus openssh-server openssh-client)
# What the lab's report is made with; no guest needs them.
report=(python3-matplotlib python3-jinja2 python3-dpkt)
lint=(shellcheck ruff git)
# What makes and checks the packages and the man pages; lz4: boot images are packed with that, too.
package=(
	build-essential debhelper dh-dkms lintian lz4 mandoc groff-base man-db rpm rpmlint elfutils
	makepkg pacman-package-manager libarchive-tools
)
# What headers are made with where the archive has none of a kernel (fetch-kernel.sh).
headers=(bc bison flex libssl-dev python3-pyelftools xz-utils zstd)
from_next=(libbpf1 libbpf-dev)
if [ -n "$ARCHITECTURE" ]; then
	emulator=() services=() report=() lint=(git) headers=()
	package=(build-essential debhelper dh-dkms groff-base)
fi

# The URI of the host's own Debian archive with the given label, nothing when it has none.
host_mirror() {
	command -v apt-get >/dev/null || return 0
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		awk -F'|' -v label="$1" '$1 == "Debian" && $2 == label { print $3; exit }'
}

# Runs inside mmdebstrap, before anything but the essential packages is there: $1 is the new root.
# The other suites' lines follow from the release's own, whichever mirror that one names.
hook_sources() {
	local root=$1 uri
	uri=$(awk -v r="$release" '$1 == "deb" {
		for (i = 2; i < NF; i++) if ($i ~ /^[a-z]+:/ && $(i + 1) == r) { print $i; exit }
	}' "$root/etc/apt/sources.list")
	[ -n "$uri" ] || { echo "root.sh: no $release line in sources.list" >&2; return 1; }
	# check-valid-until: the next release is not frozen and some mirrors lag behind with it. Its
	# signature is checked all the same.
	cat >"$root/etc/apt/sources.list.d/extra.list" <<-EOF
		deb $uri $release-backports main
		deb [check-valid-until=no] $uri $next main
	EOF
	cat >"$root/etc/apt/preferences.d/next" <<-EOF
		Package: *
		Pin: release n=$next
		Pin-Priority: 50
	EOF
	chroot "$root" apt-get update -q
}

# Runs inside mmdebstrap once the release is there.
hook_packages() {
	local root=$1 get=(apt-get install -y -q --no-install-recommends)
	local p named=()
	for p in "${from_next[@]}"; do named+=("$p/$next"); done
	chroot "$root" "${get[@]}" "${boot[@]}" "${emulator[@]}" "${build[@]}" "${run[@]}" "${services[@]}" \
		"${report[@]}" "${lint[@]}" "${package[@]}" "${headers[@]}" "${named[@]}"
	# The release's kernel is in; the backport of the same meta package goes beside it.
	chroot "$root" "${get[@]}" -t "$release-backports" "${kernels[@]}"
	# What tiny-initramfs made is not used, guests get their own.
	rm -f "$root"/boot/initrd.img-* "$root"/initrd.img* "$root"/vmlinuz*
	# The project is mounted there, with an owner of its own.
	printf '[safe]\n\tdirectory = /src\n' >"$root/etc/gitconfig"
	mkdir -p "$root/src"
	echo mptcp-vm >"$root/etc/hostname"
	printf '127.0.0.1 localhost mptcp-vm\n::1 localhost mptcp-vm\n' >"$root/etc/hosts"
}

case ${1:-} in
--hook-sources) hook_sources "$2"; exit ;;
--hook-packages) hook_packages "$2"; exit ;;
'' | -*) echo "usage: root.sh DIRECTORY" >&2; exit 2 ;;
esac

target=$1
[ ! -e "$target" ] || { echo "root.sh: $target exists" >&2; exit 1; }
half=$target.half-made
rm -rf --one-file-system "$half"

mirror=${MIRROR:-$(host_mirror Debian)}
lines=()
if [ -n "$mirror" ]; then
	lines+=("deb $mirror $release main" "deb $mirror $release-updates main")
	security=${MIRROR_SECURITY:-$(host_mirror Debian-Security)}
	if [ -n "$security" ]; then
		lines+=("deb $security $release-security main")
	else
		echo "root.sh: no security archive known, going without (MIRROR_SECURITY= names one)" >&2
	fi
fi

self=$(realpath "${BASH_SOURCE[0]}")
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
# mmdebstrap writes the lines of its default mirror itself when it is given none. Its mounts are in a
# namespace that ends with it: if it is killed, nothing of this machine stays mounted below the root.
unshare --mount mmdebstrap --variant=apt --include=ca-certificates ${ARCHITECTURE:+--architectures="$ARCHITECTURE"} \
	--aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Retries "3"' \
	--aptopt='Acquire::Languages "none"' \
	--dpkgopt=force-unsafe-io \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
	--customize-hook="bash '$self' --hook-sources \"\$1\"" \
	--customize-hook="bash '$self' --hook-packages \"\$1\"" \
	--skip=cleanup/reproducible \
	"$release" "$half" "${lines[@]}"

# Only a finished root gets the name.
mv "$half" "$target"
