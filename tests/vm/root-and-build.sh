# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# The root and what is built in it; a part of vmtest.sh, whose variables these are.

# step TEXT LOGFILE COMMAND...: runs it quietly, shows the end of its log when it fails.
step() {
	quietly "$@" || die "failed: $1 (all of it: ${log#"$top"/}/$2)"
}

# The same, and goes on when it fails.
quietly() {
	local text=$1 file=$log/$2
	shift 2
	say "$text ..."
	"$@" >"$file" 2>&1 </dev/null || {
		tail -n 30 "$file" | sed 's/^/  /' >&2
		return 1
	}
}

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
	install_on_host "${missing[@]}"
}

install_on_host() {
	local line="apt-get install --no-install-recommends $*"
	if ! command -v apt-get >/dev/null || [ -n "${VMTEST_IN_USERNS:-}" ]; then
		die "missing on this host: $* (on Debian or Ubuntu, as root: $line)"
	fi
	say "installing on the host: $* ..."
	{
		apt-get update -q &&
			DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
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

# Runs a command in namespaces of its own, which end with it, and with this script, however that ends.
while_we_live() {
	setpriv --pdeathsig KILL -- unshare --mount --pid --fork --kill-child --mount-proc --propagation slave -- "$@"
}

make_root() {
	local want
	want=$(recipe)
	[ "$(cat "$root/.recipe" 2>/dev/null)" != "$want" ] || return 0
	host_needs
	local free
	free=$(df -Pm "$build" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$free_mb" ] || die "$free MB free in $build, $free_mb are needed"
	remove "$root.new"
	remove "$root.new.half-made"
	if [ -n "$architecture" ]; then
		say "making a Debian root of $architecture, by emulated programs (half an hour or more) ..."
	else
		say "making a Debian root with the tool chain and two kernels (2 to 10 minutes; build/log/root.log has more) ..."
	fi
	if ! ARCHITECTURE=$architecture while_we_live bash tests/vm/root.sh "$root.new" >"$log/root.log" 2>&1 </dev/null; then
		tail -n 20 "$log/root.log" | sed 's/^/  /' >&2
		! grep -qE 'Could not (resolve|connect)|Temporary failure|Unable to connect' "$log/root.log" ||
			die "no network for apt (MIRROR= names another Debian archive)"
		die "could not make the root (all of it: build/log/root.log)"
	fi
	echo "$want" >"$root.new/.recipe"
	wait_for_guests
	if [ "$(cat "$root.new/.recipe" 2>/dev/null)" = "$want" ]; then
		remove "$root"
		mv "$root.new" "$root"
	fi
	exec 8>&-
	# somebody else may have made one meanwhile
	make_root
}

# Guests that run from the old root come to their end first. Some have yet to read it, for which they wait until
# nobody builds (image.py): so we do not while we wait for them.
wait_for_guests() {
	exec 8>"$build/.in-use"
	! flock -n 8 || return 0
	say "waiting for guests that use the old root ..."
	while
		flock -u 9
		sleep 1
		flock 9
		! flock -n 8
	do :; done
}

# Runs a command inside the root, with the project at /src: nothing of it stays behind.
in_root() {
	# shellcheck disable=SC2016
	while_we_live sh -euc '
		root=$1 top=$2 build=$3; shift 3
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --rbind /sys "$root/sys"
		mount -t tmpfs tmpfs "$root/tmp"
		mkdir -p "$root/src"
		mount --bind "$top" "$root/src"
		mount --bind "$build" "$root/src/build"
		exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			PYTHONPATH=/src/bench:/src/tests/vm CI="${CI:-}" /bin/sh -euc "cd /src; exec \"\$@\"" sh "$@"
	' sh "$root" "$top" "$build" "$@"
}

# The same in the root of this host's own architecture: another's is in its /src/build/root.
in_native_root() {
	local root=$top/build/root
	in_root "$@"
}

# What some tests load besides; of another architecture only the bridge itself, in minutes.
guest_modules() {
	# shellcheck disable=SC2016
	[ -n "$architecture" ] || echo 'make guest-kmod KVER="$k"'
}

# Runs in the root: builds the bridge, and installs it as a user would, for each kernel.
bridge_script() {
	cat <<-EOF
		for k; do
			make kmod KVER="\$k"
			make kmod-install KVER="\$k"
			$(guest_modules)
			depmod "\$k"
		done
	EOF
}

# Packages; and what clangd on the host is told, whose headers are the root's.
editor_script() {
	local sees
	printf -v sees '%q ' --directory "$top" --root "$root"
	printf '%s\n' "make deb" "make compile-commands EDITOR_SEES=${sees@Q}"
}

# The same for all of the project; packages of another architecture would be compiled for most of an hour.
build_script() {
	printf '%s\n' "make -j2" "make install PREFIX=/usr"
	[ -n "$architecture" ] || editor_script
	bridge_script
}

# Fills kernels=(), and builds the project in the root for them and for the root's own.
build_all() {
	mkdir -p "$log" "$build/out"
	exec 9>"$build/.lock"
	flock -n 9 || { say "waiting for another vmtest.sh that is building ..."; flock 9; }
	make_root
	choose_kernels
	if [ "$want_build" = 1 ]; then
		local list
		mapfile -t list < <(to_build_for)
		step "building the project" build.log \
			in_root sh -euxc "$(build_script)" sh "${list[@]}"
	fi
	exec 8>"$build/.in-use"
	flock -s 8
	exec 9>&-
}
