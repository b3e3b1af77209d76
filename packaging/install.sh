#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# install.sh install|uninstall MANIFEST        (with DESTDIR and, to install, a table on stdin)
#
# The table has a line "MODE SOURCE TARGET" per file. MANIFEST, a file of the installation, lists
# what was made: files, and directories that were not there before. So `uninstall` removes exactly
# that, from whichever tree and version it is called, and installing anew removes what the version
# before had and this one has not.

set -eu
: "${DESTDIR:=}"
manifest=$2

# make_directory PATH: with those above it; each that is new is listed.
make_directory() {
	[ ! -d "$DESTDIR$1" ] || return 0
	make_directory "$(dirname "$1")"
	mkdir -m 0755 "$DESTDIR$1"
	echo "$1/" >>"$list"
}

remove() {
	rm -f "$DESTDIR$1"
}

# The lines of the old manifest that are not in the new one.
gone() {
	[ ! -f "$DESTDIR$manifest" ] || grep -vxF -f "$list" "$DESTDIR$manifest" || :
}

# In one step: the one that is there lists what is installed.
write_manifest() {
	make_directory "$(dirname "$manifest")"
	echo "$manifest" >>"$list"
	sort -u "$list" | install -m 0644 /dev/stdin "$DESTDIR$manifest.new" &&
		mv "$DESTDIR$manifest.new" "$DESTDIR$manifest"
}

# An installation that failed has a list, too, by which it is uninstalled; what it made comes on top
# of what was there.
at_exit() {
	status=$?
	trap - EXIT
	if [ $status -ne 0 ] && [ -s "$list" ]; then
		[ ! -f "$DESTDIR$manifest" ] || cat "$DESTDIR$manifest" >>"$list"
		write_manifest || {
			rm -f "$DESTDIR$manifest.new"
			echo "install.sh: cannot list in $DESTDIR$manifest what was made:" >&2
			cat "$list" >&2
		}
	fi
	rm -f "$list"
	exit $status
}

do_install() {
	list=$(mktemp)
	trap at_exit EXIT
	trap 'exit 130' HUP INT TERM
	mkdir -p "$DESTDIR/"
	while read -r mode source target; do
		make_directory "$(dirname "$target")"
		# before it is there: half a file is one, too
		echo "$target" >>"$list"
		install -m "$mode" "$source" "$DESTDIR$target"
	done
	gone | while read -r path; do
		case $path in
		*/) echo "$path" >>"$list" ;; # made by an earlier installation, still ours
		"$manifest") ;;
		*) remove "$path" ;;
		esac
	done
	write_manifest
}

# Deepest first, so that a directory is empty when its turn comes. One that is not holds files of
# somebody else.
do_uninstall() {
	[ -f "$DESTDIR$manifest" ] || {
		echo "install.sh: nothing to uninstall: no $DESTDIR$manifest" >&2
		return 0
	}
	sort -r "$DESTDIR$manifest" | while read -r path; do
		case $path in
		*/) rmdir --ignore-fail-on-non-empty "$DESTDIR$path" ;;
		*) remove "$path" ;;
		esac
	done
}

case $1 in
install) do_install ;;
uninstall) do_uninstall ;;
*) exit 2 ;;
esac
