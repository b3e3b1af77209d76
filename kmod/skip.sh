#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# For DKMS, before it builds: exit status 77, by which it skips a kernel, where the bridge cannot
# serve this one. Whatever else is missing can be had, so the build fails there and says what it is.
#
# usage: skip.sh KVER KDIR, beside the Makefile

set -eu
make -s KVER="$1" KDIR="$2" OUT=out types && [ -s out/gen/vmlinux.h ] || exit 0
# its functions and headers refuse nothing
exec sh features.sh out/gen/vmlinux.h /dev/null /dev/null >/dev/null
