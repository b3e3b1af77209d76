# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# What all packages are made from, a part of the scripts that make them.

# copy_source DIRECTORY: the tree, in which nothing is built yet.
copy_source() {
	mkdir -p "$1"
	tar -c --exclude=./build --exclude=./.git --exclude=__pycache__ . | tar -x -C "$1"
}

# When the project last changed: the date of the packages, so that they can be made again alike.
changed() {
	git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md
}

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(changed)}
export SOURCE_DATE_EPOCH

# What is set in the environment counts as the user's wish, and make's own is none.
unset MAKEFLAGS MFLAGS MAKELEVEL
